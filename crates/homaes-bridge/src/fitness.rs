//! How often a batch that crosses is wrong.

/// How often a batch that crosses by a bridge key is wrong, given that its results of AES are right: known to the client who made the key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitness {
    /// log2 of the bound on the probability that a reading is off by half of what a value allows
    pub read_log2: f64,
    /// the same for a fifth of what a block of `tfhe` allows, which the sum 4a + b of two blocks has room for before a bootstrap; `None` if the key leads to a set of
    /// TFHE
    pub used_log2: Option<f64>,
}
