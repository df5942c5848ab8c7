//! Who runs the AES key schedule.

/// Who runs the AES key schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Expansion {
    /// The server, under encryption, once per wrapped key: the file holds the AES key alone.
    #[default]
    Server,
    /// The client, in the clear: the file holds all round keys.
    Client,
}

impl Expansion {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Server, Self::Client];

    /// The word on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}
