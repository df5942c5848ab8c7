//! Times, sizes and counts as text.

/// A number of bytes, with its unit.
#[must_use]
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    match count.max(1).ilog2().min(49) / 10 {
        0 => format!("{count} B"),
        power => {
            let value = count as f64 / 1024f64.powi(power as i32);
            format!("{value:.1} {}", UNITS[power as usize])
        }
    }
}

/// A number of things: `1 block`, `2 blocks`, `2 batches`.
#[must_use]
pub fn counted(number: u64, what: &str) -> String {
    let ending = match number {
        1 => "",
        _ if what.ends_with("ch") || what.ends_with("ss") => "es",
        _ => "s",
    };
    format!("{number} {what}{ending}")
}

/// A time, with its unit.
#[must_use]
pub fn seconds(value: f64) -> String {
    match value {
        v if v < 1e-3 => format!("{:.1} µs", v * 1e6),
        v if v < 1.0 => format!("{:.1} ms", v * 1e3),
        v => format!("{v:.2} s"),
    }
}

/// A time with three digits, in the usual unit.
#[must_use]
pub fn short_seconds(value: f64) -> String {
    const HOUR: f64 = 3600.0;
    let (value, unit) = match value {
        0.0 => return "0".into(),
        v if v < 1e-3 => (v * 1e6, "µs"),
        v if v < 1.0 => (v * 1e3, "ms"),
        v if v < 120.0 => (v, "s"),
        v if v < 2.0 * HOUR => (v / 60.0, "min"),
        v => (v / HOUR, "h"),
    };
    format!("{} {unit}", digits(value))
}

/// A number with three significant digits, or all digits before the point.
#[must_use]
pub fn digits(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 || v == 0.0 => format!("{value:.2}"),
        v => {
            let places = 2 + (-v.log10()).ceil() as usize;
            format!("{value:.places$}")
        }
    }
}

/// A number with two significant digits.
#[must_use]
pub fn rough(value: f64) -> String {
    let unit = 10f64.powi(value.abs().log10().floor() as i32 - 1);
    match (value / unit).round() * unit {
        v if v.abs() >= 10.0 => grouped(v.round() as u64),
        v if v.abs() >= 1.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// A number with commas between thousands.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string().into_bytes();
    let groups = digits.rchunks(3).rev();
    let groups: Vec<_> = groups.map(String::from_utf8_lossy).collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rough_numbers() {
        let found = [806_573.0, 99.6, 10.4, 4.74, 0.93].map(rough);
        assert_eq!(found, ["810,000", "100", "10", "4.7", "0.93"]);
    }

    #[test]
    fn sizes_and_times() {
        let sizes = [0, 1023, 1024, 1536, 1 << 20, u64::MAX].map(bytes);
        assert_eq!(
            sizes[..5],
            ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "1.0 MiB"]
        );
        assert!(sizes[5].ends_with(" TiB"));
        assert_eq!(
            [2e-6, 0.25, 61.0].map(seconds),
            ["2.0 µs", "250.0 ms", "61.00 s"]
        );
        assert_eq!(
            [0.0, 2.1e-3, 0.25, 61.0, 3599.0, 12900.0, 367_200.0].map(short_seconds),
            [
                "0", "2.10 ms", "250 ms", "61.0 s", "60.0 min", "3.58 h", "102 h"
            ]
        );
    }

    #[test]
    fn numbers() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [0.0, 1234.5, 99.94, 1.005, 0.2814, 0.003].map(digits),
            ["0.00", "1234", "99.9", "1.00", "0.281", "0.00300"]
        );
    }
}
