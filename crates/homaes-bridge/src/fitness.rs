/// Bounds on how often a crossing batch goes wrong, given correct AES results. Only the key's maker knows them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitness {
    /// log2 of the bound on the probability that a reading is off by half of what its value allows
    pub read_log2: f64,
    /// the same for a fifth of what a block of `tfhe` allows, the room that the sum 4a + b of two blocks needs before a
    /// bootstrap; `None` if the key leads to a TFHE set
    pub used_log2: Option<f64>,
}
