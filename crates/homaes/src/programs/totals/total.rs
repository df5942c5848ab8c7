//! A total, and its text.

use crate::error::quoted;
use crate::programs::columns::Column;
use crate::{Error, ErrorKind, Result};
use std::fmt;
use std::str::FromStr;

/// Bits of a dot product.
pub(super) const DOT_BITS: u32 = 16;

/// What is computed from all records that meet the conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Total {
    /// The sum of a column, exact.
    Sum(Column),
    /// The number of records.
    Count,
    /// Σ x·y over two columns modulo 2^16, as two's complement if one has signs; with twice the same column, the sum of
    /// squares.
    Dot(Column, Column),
}

impl FromStr for Total {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.split_whitespace().collect::<Vec<_>>()[..] {
            ["sum", column] => Ok(Self::Sum(column.parse()?)),
            ["count"] => Ok(Self::Count),
            ["dot", x, y] => Ok(Self::Dot(x.parse()?, y.parse()?)),
            _ => {
                let expected = "'sum COLUMN', 'count' or 'dot COLUMN COLUMN'";
                let message = format!("total {}: expected {expected}", quoted(text));
                Err(Error::refused(ErrorKind::Argument, message).with(text, expected))
            }
        }
    }
}

impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sum(column) => write!(f, "sum {column}"),
            Self::Count => f.write_str("count"),
            Self::Dot(x, y) => write!(f, "dot {x} {y}"),
        }
    }
}

impl Total {
    pub(super) fn columns_mut(&mut self) -> Vec<&mut Column> {
        match self {
            Self::Sum(column) => vec![column],
            Self::Count => Vec::new(),
            Self::Dot(x, y) => vec![x, y],
        }
    }

    pub(super) fn columns(mut self) -> Vec<Column> {
        self.columns_mut()
            .into_iter()
            .map(|column| *column)
            .collect()
    }

    /// Numbers, bits and signs of the value, of so many records.
    pub(super) fn form(&self, records: u64) -> (u64, u8, bool) {
        let log2 = |x: u64| 64 - x.saturating_sub(1).leading_zeros();
        let (bits, signed) = match self {
            Self::Sum(column) => (column.bits() + log2(records), column.signed),
            Self::Count => (log2(records + 1).max(1), false),
            Self::Dot(x, y) => (DOT_BITS, x.signed || y.signed),
        };
        (1, bits.min(64) as u8, signed)
    }
}

impl Column {
    /// What each lifted number is less than the number, modulo 2^64: -128 times the weight of the highest digit.
    pub(super) fn offset_weight(&self) -> u64 {
        match self.signed {
            true => (1u64 << (self.bits() - 1)).wrapping_neg(),
            false => 0,
        }
    }
}
