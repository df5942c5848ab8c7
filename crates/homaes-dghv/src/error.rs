//! Errors of the DGHV scheme and its files.

pub use homaes_scheme::bits::{Error, Result};

/// Why a [`ParamSet`](crate::sets::ParamSet) is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamsError {
    /// A number is outside its range.
    #[error("{what} {found}: expected {least} to {most}")]
    Range {
        /// which number
        what: &'static str,
        /// found
        found: usize,
        /// least
        least: usize,
        /// most
        most: usize,
    },
}
