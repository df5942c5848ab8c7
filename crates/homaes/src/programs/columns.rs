//! Columns of records in a message, and conditions on them.

use crate::error::quoted;
use crate::{Error, ErrorKind, Result};
use homaes_bgv::ByteOrder;
use std::fmt;
use std::num::NonZeroU8;
use std::str::FromStr;

const SYNTAX: &str = "a type, '@', an offset and perhaps '/' and the bytes of a record, as in u16be@4/16; types are u8, \
                      i8, and u16, i16, u32, i32 each with be or le";
const CONDITION: &str = "a column, one of == != < <= > >=, and a number, as in u8@0 == 65";

/// A number in each record of a message: of `bytes` bytes, at `offset`, `offset + stride`, … The message is cut into
/// records of `stride` bytes from its first byte on.
///
/// ```
/// let column: homaes::Column = "u16be@4/16".parse()?;
/// assert_eq!((column.bytes, column.offset, column.stride), (2, 4, Some(16)));
/// assert_eq!(column.to_string(), "u16be@4/16");
/// # Ok::<(), homaes::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// 1, 2 or 4.
    pub bytes: u8,
    /// Whether numbers are two's complement.
    pub signed: bool,
    /// Order of the bytes.
    pub order: ByteOrder,
    /// Offset of the first number in the message, in bytes.
    pub offset: u64,
    /// Bytes from a number to the next; `None`: as other columns have it.
    pub stride: Option<u64>,
}

impl Column {
    /// Bits of a number.
    pub(crate) fn bits(&self) -> u32 {
        8 * u32::from(self.bytes)
    }

    /// Least and largest number.
    fn range(&self) -> [i64; 2] {
        let half = 1 << (self.bits() - 1);
        match self.signed {
            true => [-half, half - 1],
            false => [0, 2 * half - 1],
        }
    }

    /// Place of the byte of weight 256^`i` after the beginning of the number.
    pub(crate) fn place(&self, i: u8) -> u64 {
        match self.order {
            ByteOrder::Big => u64::from(self.bytes - 1 - i),
            ByteOrder::Little => u64::from(i),
        }
    }

    /// Whole records in a message of `bytes` bytes, from that of the first number on.
    pub(crate) fn records(&self, bytes: u64) -> Result<u64> {
        let stride = self.stride.unwrap_or(self.bytes.into());
        if self.offset % stride + u64::from(self.bytes) > stride {
            let message = format!("column {self} crosses the end of its record of {stride} bytes");
            return Err(Error::refused(ErrorKind::Argument, message));
        }
        let first = self.offset / stride * stride;
        match bytes.saturating_sub(first) / stride {
            0 => {
                let message = format!(
                    "column {self}: the message has {bytes} bytes and no whole record of {stride} bytes there"
                );
                Err(Error::refused(ErrorKind::Argument, message)
                    .with(bytes, first.saturating_add(stride)))
            }
            records => Ok(records),
        }
    }
}

impl FromStr for Column {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parse = || {
            let (kind, place) = text.split_once('@')?;
            let (offset, stride) = match place.split_once('/') {
                Some((offset, stride)) => (offset, Some(stride.parse().ok()?)),
                None => (place, None),
            };
            let (kind, order) = match kind.strip_suffix("be") {
                Some(kind) => (kind, Some(ByteOrder::Big)),
                None => match kind.strip_suffix("le") {
                    Some(kind) => (kind, Some(ByteOrder::Little)),
                    None => (kind, None),
                },
            };
            let signed = kind.starts_with('i');
            let bytes = match kind.strip_prefix(['u', 'i'])? {
                "8" => 1,
                "16" => 2,
                "32" => 4,
                _ => return None,
            };
            let order = match bytes {
                1 => order.is_none().then_some(ByteOrder::Little)?,
                _ => order?,
            };
            let column = Self {
                bytes,
                signed,
                order,
                offset: offset.parse().ok()?,
                stride,
            };
            (stride != Some(0)).then_some(column)
        };
        parse().ok_or_else(|| wrong("column", text, SYNTAX))
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.signed { 'i' } else { 'u' };
        let order = match self.order {
            _ if self.bytes == 1 => "",
            ByteOrder::Big => "be",
            ByteOrder::Little => "le",
        };
        write!(f, "{sign}{}{order}@{}", self.bits(), self.offset)?;
        match self.stride {
            Some(stride) => write!(f, "/{stride}"),
            None => Ok(()),
        }
    }
}

/// How a condition compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// ==
    Equal,
    /// !=
    NotEqual,
    /// <
    Below,
    /// <=
    AtMost,
    /// \>
    Above,
    /// \>=
    AtLeast,
}

impl Test {
    /// Longer ones first.
    const ALL: [(&str, Self); 6] = [
        ("==", Self::Equal),
        ("!=", Self::NotEqual),
        ("<=", Self::AtMost),
        (">=", Self::AtLeast),
        ("<", Self::Below),
        (">", Self::Above),
    ];
}

/// A public condition on each record: its column compared with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Condition {
    /// What is compared.
    pub column: Column,
    /// How.
    pub test: Test,
    /// With what.
    pub number: i64,
}

/// A condition as circuits evaluate it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Check {
    /// All bytes are these, lowest first.
    Equal(Vec<u8>),
    /// The only byte, XORed with 0x80 if it has a sign, is below this one.
    Below(NonZeroU8),
}

impl Condition {
    /// The check, and whether the condition is its opposite.
    ///
    /// # Errors
    /// `ErrorKind::Argument` for a number that the column cannot hold, a condition that all or no numbers meet, and an
    /// order of numbers of more than a byte.
    pub(crate) fn check(&self) -> Result<(Check, bool)> {
        let ([least, most], number) = (self.column.range(), self.number);
        let equals = matches!(self.test, Test::Equal | Test::NotEqual);
        let refuse = |why: &str| {
            let message = format!("condition '{self}': {why}");
            Err(Error::refused(ErrorKind::Argument, message))
        };
        if !(least..=most).contains(&number) {
            return refuse(&format!("its column holds {least} to {most}"));
        }
        if equals {
            let bytes = number.to_le_bytes()[..self.column.bytes.into()].to_vec();
            return Ok((Check::Equal(bytes), self.test == Test::NotEqual));
        }
        if self.column.bytes > 1 {
            return refuse("only u8 and i8 are compared by < <= > >=, others by == and !=");
        }
        let bound = number - least + i64::from(matches!(self.test, Test::AtMost | Test::Above));
        let above = matches!(self.test, Test::Above | Test::AtLeast);
        match u8::try_from(bound).ok().and_then(NonZeroU8::new) {
            Some(bound) => Ok((Check::Below(bound), above)),
            None => refuse(match above == (bound == 0) {
                true => "all numbers meet it",
                false => "no number meets it",
            }),
        }
    }
}

impl FromStr for Condition {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || wrong("condition", text, CONDITION);
        let of = |(sign, test): &(&str, Test)| Some((text.split_once(sign)?, *test));
        let ((column, number), test) = Test::ALL.iter().find_map(of).ok_or_else(wrong)?;
        let number = number.trim();
        let number = match number.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16),
            None => number.parse(),
        };
        Ok(Self {
            column: column.trim().parse()?,
            test,
            number: number.map_err(|_| wrong())?,
        })
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = Test::ALL.iter().find(|(_, test)| *test == self.test);
        let sign = sign.map_or("", |(sign, _)| sign);
        write!(f, "{} {sign} {}", self.column, self.number)
    }
}

fn wrong(what: &str, text: &str, expected: &str) -> Error {
    let message = format!("{what} {}: expected {expected}", quoted(text));
    Error::refused(ErrorKind::Argument, message).with(text, expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_and_conditions_are_read_as_they_are_written() {
        for text in [
            "u8@0",
            "i8@3/9",
            "u16be@4/16",
            "i16le@0",
            "u32le@8/12",
            "i32be@1/5",
        ] {
            assert_eq!(text.parse::<Column>().unwrap().to_string(), text);
        }
        for text in ["u8@0 == 65", "i8@1/2 < -3", "u32be@0/4 != 4294967295"] {
            assert_eq!(text.parse::<Condition>().unwrap().to_string(), text);
        }
        let spaced: Condition = " u8@0>=0x41".parse().unwrap();
        assert_eq!(spaced.to_string(), "u8@0 >= 65");
        for text in [
            "", "u8", "u8be@0", "u16@0", "u64be@0", "u8@", "u8@-1", "u8@0/0", "x8@0",
        ] {
            let found = text.parse::<Column>().unwrap_err().to_string();
            assert!(
                found.starts_with(&format!("column {text:?}: expected a type")),
                "{found}"
            );
        }
        for text in ["u8@0", "u8@0 = 4", "u8@0 == x", "u8@0 == 0xg"] {
            assert!(text.parse::<Condition>().is_err(), "{text}");
        }
    }

    #[test]
    fn records_end_with_the_message() {
        let records = |text: &str, bytes| text.parse::<Column>().unwrap().records(bytes);
        for (text, bytes, count) in [
            ("u8@0/16", 16, 1),
            ("u8@0/16", 31, 1),
            ("u32be@12/16", 47, 2),
            ("u32be@12/16", 48, 3),
            ("u8@33/16", 48, 1),
            ("u16le@100/2", 102, 1),
            ("u16le@0", 7, 3),
        ] {
            assert_eq!(records(text, bytes).unwrap(), count, "{text}");
        }
        let found = records("u32be@13/16", 100).unwrap_err().to_string();
        assert_eq!(
            found,
            "column u32be@13/16 crosses the end of its record of 16 bytes"
        );
        let found = records("u16le@12/8", 15).unwrap_err().to_string();
        let want =
            "column u16le@12/8: the message has 15 bytes and no whole record of 8 bytes there";
        assert_eq!(found, want);
    }

    /// Every condition on a byte against numbers.
    #[test]
    fn checks_are_conditions() {
        for signed in [false, true] {
            let column: Column = if signed { "i8@0" } else { "u8@0" }.parse().unwrap();
            let [least, most] = column.range();
            for (_, test) in Test::ALL {
                for number in least..=most {
                    let condition = Condition {
                        column,
                        test,
                        number,
                    };
                    let meets = |x: i64| match test {
                        Test::Equal => x == number,
                        Test::NotEqual => x != number,
                        Test::Below => x < number,
                        Test::AtMost => x <= number,
                        Test::Above => x > number,
                        Test::AtLeast => x >= number,
                    };
                    let met = (least..=most).filter(|x| meets(*x)).count();
                    let found = condition.check();
                    let Ok((check, opposite)) = found else {
                        let why = found.unwrap_err().to_string();
                        let no = why.ends_with("no number meets it");
                        assert!(no || why.ends_with("all numbers meet it"), "{why}");
                        assert_eq!(met, if no { 0 } else { 256 }, "{condition}");
                        continue;
                    };
                    let checked = |x: i64| match &check {
                        Check::Equal(bytes) => x as u8 == bytes[0],
                        Check::Below(bound) => x - least < i64::from(bound.get()),
                    };
                    let same = (least..=most).all(|x| meets(x) == (checked(x) != opposite));
                    assert!(same && met > 0 && met < 256, "{condition}");
                }
            }
        }
    }
}
