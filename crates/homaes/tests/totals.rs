//! Totals of columns are those of the plain numbers; impossible ones are refused.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use crate::common::{World, layout, levels, message, part};
use homaes::{
    Cancel, Ciphertexts, Column, Condition, Error, ErrorKind, Layout, Numbers, Output, Pool,
    Result, Total, Totals,
};
use homaes_bgv::ByteOrder;

fn of(totals: &[&str], conditions: &[&str]) -> Totals {
    let conditions = conditions
        .iter()
        .map(|text| text.parse::<Condition>().unwrap());
    Totals::new(
        totals.iter().map(|text| text.parse::<Total>().unwrap()),
        conditions,
    )
}

impl World {
    fn totals(&self, results: &[u8], totals: &[&str], conditions: &[&str]) -> Result<Vec<Numbers>> {
        let results = Ciphertexts::of_read(results, "results")?;
        let (pool, cancel) = (Pool::new(0), Cancel::new());
        let totals = of(totals, conditions);
        let computed = totals.run(&self.keys.eval, results, &pool, &cancel)?;
        let (output, buffer) = Output::memory();
        computed.write(output)?;
        self.keys
            .secret
            .open_values_of(&buffer.take()[..], "totals.hcv")
    }

    /// Each total of one number, signed ones sign-extended.
    fn numbers_of(&self, results: &[u8], totals: &[&str], conditions: &[&str]) -> Vec<i64> {
        let values = self.totals(results, totals, conditions).unwrap();
        let number = |value: &Numbers| {
            assert_eq!(value.numbers.len(), 1);
            match value.meta.is_signed() {
                true => value.signed().next().unwrap(),
                false => value.numbers[0] as i64,
            }
        };
        values.iter().map(number).collect()
    }
}

/// The column's numbers in plain bytes, of so many records.
fn plain(text: &str, bytes: &[u8], records: usize) -> Vec<i64> {
    let column: Column = text.parse().unwrap();
    let width = usize::from(column.bytes);
    let stride = column.stride.map_or(width, |stride| stride as usize);
    let number = |record: usize| {
        let at = column.offset as usize + record * stride;
        let digits = bytes[at..at + width].iter();
        let value = match column.order {
            ByteOrder::Big => digits.fold(0, |x, b| x << 8 | i64::from(*b)),
            ByteOrder::Little => digits.rev().fold(0, |x, b| x << 8 | i64::from(*b)),
        };
        let unused = 64 - 8 * width;
        if column.signed {
            value << unused >> unused
        } else {
            value
        }
    };
    (0..records).map(number).collect()
}

/// Records within blocks, across them, and across batches of 16 blocks.
#[test]
fn sums_are_exact() {
    let world = World::of("bgv/toy-255", &levels(8));
    let bytes = message(16 * 40 + 7);
    let results = world.results(part(&bytes));
    for (column, records) in [
        ("u8@0/1", bytes.len()),
        ("u32be@4/16", 40),
        ("u16le@3/16", 40),
        ("u16be@5/10", 64),
        ("u32le@0/48", 13),
        ("i8@2/16", 40),
        ("i16be@0/2", 323),
        ("i32le@12/16", 40),
    ] {
        let want: i64 = plain(column, &bytes, records).iter().sum();
        let sum = format!("sum {column}");
        let found = world.numbers_of(&results, &[&sum, "count"], &[]);
        assert_eq!(found, [want, records as i64], "{column}");
    }
    // one record, none of its numbers in whole blocks
    let found = world.numbers_of(&results, &["sum u16be@640/2"], &[]);
    let want: i64 = plain("u16be@640/2", &bytes, 3).iter().sum();
    assert_eq!(found, [want]);
}

/// Records that meet conditions on other columns.
#[test]
fn conditions_choose_records() {
    let world = World::of("bgv/toy-255", &levels(17));
    let mut bytes = message(16 * 20);
    bytes.iter_mut().step_by(16).for_each(|byte| *byte %= 4);
    let results = world.results(part(&bytes));
    let [kind, level] = ["u8@0/16", "i8@1/16"].map(|column| plain(column, &bytes, 20));
    let pair = plain("u16be@2/16", &bytes, 20);
    type Meets<'m> = &'m dyn Fn(usize) -> bool;
    let cases: [(&[&str], Meets<'_>); 6] = [
        (&["u8@0 == 2"], &|i| kind[i] == 2),
        (&["u8@0 != 2"], &|i| kind[i] != 2),
        (&["i8@1 < -5"], &|i| level[i] < -5),
        (&["i8@1 >= -20", "u8@0 <= 1"], &|i| {
            level[i] >= -20 && kind[i] <= 1
        }),
        (&["u16be@2 != 7"], &|i| pair[i] != 7),
        (&["i8@1 < 0"], &|i| level[i] < 0),
    ];
    for (conditions, meets) in cases {
        let sum = |column: &str| -> i64 {
            let all = plain(column, &bytes, 20);
            all.iter()
                .enumerate()
                .filter(|(i, _)| meets(*i))
                .map(|(_, x)| x)
                .sum()
        };
        let totals = ["sum u16be@6/16", "sum i16le@8/16", "count"];
        let count = (0..20).filter(|i| meets(*i)).count() as i64;
        let want = [sum("u16be@6/16"), sum("i16le@8/16"), count];
        assert_eq!(
            world.numbers_of(&results, &totals, conditions),
            want,
            "{conditions:?}"
        );
    }
}

/// Two columns of one record, two halves of a message, and squares.
#[test]
fn dot_products_are_right_modulo_a_power_of_two() {
    let world = World::of("bgv/toy-255", &levels(17));
    // two batches of 16 blocks
    let bytes = message(16 * 32);
    let results = world.results(part(&bytes));
    for [x, y] in [
        ["u16be@0/16", "u16le@6/16"],
        ["u16be@0/2", "u16be@256/2"],
        ["u8@3/16", "u32be@8/16"],
        ["i16be@4/16", "u16be@8/16"],
    ] {
        let records = if x.ends_with("/2") { 128 } else { 32 };
        let [left, right] = [x, y].map(|column| plain(column, &bytes, records));
        let want: i64 = left.iter().zip(&right).map(|(a, b)| a * b).sum();
        let found = world.numbers_of(&results, &[&format!("dot {x} {y}")], &[]);
        let signed = x.starts_with('i');
        let want = if signed {
            i64::from(want as i16)
        } else {
            want % (1 << 16)
        };
        assert_eq!(found, [want], "{x} {y}");
    }
    let chosen = world.numbers_of(&results, &["dot u8@3/16 u8@4/16"], &["u8@0 >= 100"]);
    let [a, b, c] = ["u8@3/16", "u8@4/16", "u8@0/16"].map(|column| plain(column, &bytes, 32));
    let want: i64 = (0..32).filter(|i| c[*i] >= 100).map(|i| a[i] * b[i]).sum();
    assert_eq!(chosen, [want % (1 << 16)]);
}

#[test]
fn what_cannot_be_totalled_is_refused() {
    let world = World::of("bgv/toy-255", &levels(3));
    let results = world.results(part(&message(100)));
    let refused = |totals: &[&str], conditions: &[&str]| {
        let error = world.totals(&results, totals, conditions).unwrap_err();
        assert!(!matches!(error.kind(), ErrorKind::Fault), "{error}");
        error.to_string()
    };
    for (totals, conditions, words) in [
        (&[][..], &[][..], "nothing to compute"),
        (&["count"], &[], "nothing to compute"),
        (
            &["sum u32be@14/16"],
            &[],
            "crosses the end of its record of 16 bytes",
        ),
        (
            &["sum u16be@100/200"],
            &[],
            "the message has 100 bytes and no whole record of 200 bytes",
        ),
        (&["sum u8@0", "sum u8@0"], &[], "another one for each value"),
        (
            &["sum u8@0/16"],
            &["u8@0 == 256"],
            "its column holds 0 to 255",
        ),
        (&["sum u8@0/16"], &["u8@0 < 0"], "no number meets it"),
        (
            &["sum u8@0/16"],
            &["u16be@0 < 5"],
            "only u8 and i8 are compared",
        ),
        (
            &["sum u8@0/32"],
            &["u8@17 == 5"],
            "record 0 has these columns in different blocks",
        ),
        (
            &["dot i8@0/16 u8@1/16"],
            &[],
            "expected columns of u8, or of 16 or 32 bits",
        ),
        (
            &["sum u8@0/4"],
            &["u8@1/8 == 5"],
            "u8@0/4 and u8@1/8: expected records of one length",
        ),
        (
            &["count"],
            &["u8@1 == 5"],
            "u8@1: how long is a record? Write u8@1/16",
        ),
        (
            &["sum u8@0/16"],
            &["u8@1 == 5"],
            "results: sum u8@0/16 where u8@1/16 == 5: the 5 multiplications left",
        ),
        (
            &["sum u8@0/16"],
            &[],
            "results: sum u8@0/16: the 5 multiplications left on the results are too few",
        ),
    ] {
        let error = refused(totals, conditions);
        assert!(error.contains(words), "{words}: {error}");
    }
    let bits = World::of("bgv/toy-255", &layout(Layout::Bits));
    let results = bits.results(part(&message(16)));
    let error = bits
        .totals(&results, &["sum u8@0"], &[])
        .unwrap_err()
        .to_string();
    assert!(
        error
            .contains("results in layout bits with 0 multiplications left, expected layout sliced"),
        "{error}"
    );
    let error = world.totals(&results, &["sum u8@0"], &[]).unwrap_err();
    assert!(matches!(error, Error::File { .. }), "{error}");
}

/// A batch of records after AES-128, where results are in another ring.
#[test]
#[ignore = "nightly: two minutes and 8 GB"]
fn nightly_totals_at_full_size() {
    let world = World::of("bgv/aes256+8", &levels(14));
    let mut bytes = message(16 * 2048);
    bytes.iter_mut().step_by(16).for_each(|byte| *byte %= 4);
    let results = world.results(part(&bytes));
    let all = |column: &str| plain(column, &bytes, 2048);
    let [kind, level, amount] = ["u8@0/16", "i8@1/16", "i32be@4/16"].map(all);
    let chosen = || (0..2048).filter(|i| kind[*i] == 2 && level[*i] < -5);
    let want = [chosen().map(|i| amount[i]).sum(), chosen().count() as i64];
    let totals = ["sum i32be@4/16", "count"];
    let found = world.numbers_of(&results, &totals, &["u8@0 == 2", "i8@1 < -5"]);
    assert_eq!(found, want);
    let [x, y] = ["u16be@2/4", "u16le@0/4"].map(|column| plain(column, &bytes, 8192));
    let want: i64 = x.iter().zip(&y).map(|(a, b)| a * b).sum();
    let found = world.numbers_of(&results, &["dot u16be@2/4 u16le@0/4"], &[]);
    assert_eq!(found, [want % (1 << 16)]);
}
