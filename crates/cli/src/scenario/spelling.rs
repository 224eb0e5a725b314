//! How the values of keys are spelled: exactly, so that what is printed can be read back.

use std::ops::RangeInclusive;
use tailcut_base::Nanos;
use tailcut_base::quantity::{exact_bytes, exact_rate, exact_time};

/// A kind of value with an order: how it is spelled, where its range ends by itself.
pub trait RangeValue: Copy + PartialOrd {
    /// Below this there is nothing, so that a range from here has no lower end worth saying.
    const LEAST: Self;
    /// Above this there is nothing.
    const MOST: Self;
}

impl RangeValue for Nanos {
    const LEAST: Nanos = Nanos(0);
    const MOST: Nanos = Nanos(u64::MAX);
}

impl RangeValue for u64 {
    const LEAST: u64 = 0;
    const MOST: u64 = u64::MAX;
}

/// Parts per million.
impl RangeValue for u32 {
    const LEAST: u32 = 0;
    const MOST: u32 = 1_000_000;
}

impl RangeValue for f64 {
    const LEAST: f64 = f64::NEG_INFINITY;
    const MOST: f64 = f64::INFINITY;
}

/// `10us to 10ms`, `at least 1`, `at most 4GiB`, or `any`; `show` spells one end.
pub fn range<T: RangeValue>(range: &RangeInclusive<T>, show: impl Fn(T) -> String) -> String {
    let (low, high) = (*range.start(), *range.end());
    match (low > T::LEAST, high < T::MOST) {
        _ if low == high => show(low),
        (true, true) => format!("{} to {}", show(low), show(high)),
        (true, false) => format!("at least {}", show(low)),
        (false, true) => format!("at most {}", show(high)),
        (false, false) => String::from("any"),
    }
}

/// A length of time: `75us`.
pub fn time(value: Nanos) -> String {
    exact_time(value)
}

/// Spells a size exactly, in the largest unit that divides it, such as `4KiB`.
pub fn bytes(value: u64) -> String {
    exact_bytes(value)
}

/// Spells a rate in bytes per second exactly, such as `333MB/s`.
pub fn rate(value: u64) -> String {
    exact_rate(value)
}

/// A share in parts per million as per cent: `70%`, `0.0001%`.
pub fn share(ppm: u32) -> String {
    let (whole, rest) = (ppm / 10_000, ppm % 10_000);
    if rest == 0 {
        return format!("{whole}%");
    }
    format!("{whole}.{}%", format!("{rest:04}").trim_end_matches('0'))
}

/// A number as TOML writes it: with a point or an exponent.
pub fn number(value: f64) -> String {
    match value {
        v if v.is_nan() => String::from("nan"),
        // The debug form is the shortest one that reads back to the same bits.
        v => format!("{v:?}"),
    }
}

/// Spells a whole number in decimal digits.
pub fn count(value: u64) -> String {
    value.to_string()
}

/// A text in the quotes and escapes of TOML.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::quantity::parse_share;

    #[test]
    fn shares_read_back_exactly() {
        for ppm in [0, 1, 10, 123, 9_999, 10_000, 333_333, 500_000, 705_000, 999_999, 1_000_000] {
            assert_eq!(parse_share(&share(ppm)), Ok(ppm), "{}", share(ppm));
        }
        assert_eq!(share(705_000), "70.5%");
    }

    #[test]
    fn ranges_say_only_the_ends_that_bind() {
        assert_eq!(range(&(Nanos(10_000)..=Nanos(10_000_000)), time), "10us to 10ms");
        assert_eq!(range(&(1..=u64::MAX), count), "at least 1");
        assert_eq!(range(&(0..=64), count), "at most 64");
        assert_eq!(range(&(0..=0), count), "0");
        assert_eq!(range(&(7..=7), count), "7");
        assert_eq!(range(&(0..=1_000_000), share), "any");
        assert_eq!(range(&(0.0..=1.0), number), "0.0 to 1.0");
    }
}
