//! Errors of the DGHV scheme and its files.

pub use homaes_scheme::bits::{Error, Result};

/// Why a [`ParamSet`](crate::sets::ParamSet) is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} {found}: expected {least} to {most}")]
pub struct ParamsError {
    /// which number
    pub what: &'static str,
    /// found
    pub found: usize,
    /// least
    pub least: usize,
    /// most
    pub most: usize,
}
