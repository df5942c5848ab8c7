//! What an error of a scheme says beside its message.

use homaes_wire::WireError;
use std::error::Error;

/// An error of a scheme.
pub trait Failure: Error + Send + Sync + 'static {
    /// What to do, in one clause without a full stop.
    fn remedy(&self) -> &'static str;

    /// The error of the container, if it is one; otherwise this error.
    ///
    /// # Errors
    /// Itself.
    fn into_wire(self: Box<Self>) -> Result<WireError, Box<dyn Failure>>;

    /// Whether the run was cancelled.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// Remedies that the schemes share.
pub mod remedy {
    /// Two objects are of different parameter sets.
    pub const OTHER_SET: &str = "use files of one parameter set";
    /// A decryption is not a message.
    pub const WRONG_KEY: &str =
        "check that the secret key belongs to the file, or transcipher again";
    /// A file is wrong.
    pub const ANEW: &str = "make the file anew";
}
