//! Human-readable quantities, `80us`, `4KiB`, `200MB/s`, `70%`: parsing and formatting.
//!
//! Sizes: `KiB`, `MiB`, `GiB`, `TiB` are powers of 1024; `kB`/`KB`, `MB`, `GB`, `TB` powers of
//! 1000. A bare `k`, `m`, `g`, `t` (fio's spelling) is a power of 1024. Times: `ns`, `us`, `ms`,
//! `s`, `min`, `h`. Rates are a size followed by `/s`, or `MT/s` (one byte per transfer on an
//! 8-bit bus).

use crate::problem::BadValue;
pub use crate::show::{plural, show_bytes, show_count, show_number_of, show_rate, show_time, show_years};
use crate::time::Nanos;

fn bad(text: &str, what: &str, example: &str) -> BadValue {
    BadValue::new(format!("'{text}' is not {what}; write it like {example}"))
}

/// Splits a text into its leading decimal number, as (mantissa, decimals), and its unit.
fn split(text: &str) -> Option<(u128, u32, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (mut mantissa, mut decimals, mut point, mut digits) = (0u128, 0u32, false, 0);
    for c in number.chars() {
        match c {
            '.' if point => return None,
            '.' => point = true,
            '_' => {}
            c => {
                mantissa = mantissa.checked_mul(10)?.checked_add(u128::from(c as u8 - b'0'))?;
                digits += 1;
                if digits > 24 {
                    return None;
                }
                decimals += u32::from(point);
            }
        }
    }
    (digits > 0).then(|| (mantissa, decimals, unit.trim()))
}

/// `mantissa / 10^decimals × scale`, rounded to the nearest integer; `None` on overflow.
fn scaled(mantissa: u128, decimals: u32, scale: u128) -> Option<u64> {
    let divisor = 10u128.checked_pow(decimals)?;
    let value = mantissa.checked_mul(scale)?.checked_add(divisor / 2)? / divisor;
    u64::try_from(value).ok()
}

/// `mantissa / 10^decimals × scale` is a whole number.
fn is_whole(mantissa: u128, decimals: u32, scale: u128) -> bool {
    let whole = |divisor: u128| Some(mantissa.checked_mul(scale)?.is_multiple_of(divisor));
    10u128.checked_pow(decimals).and_then(whole).unwrap_or(false)
}

/// Parses a duration such as `80us`, `1.5ms` or `2min`. A unit is required, except for `0`. A fraction of a
/// nanosecond is refused: time is counted in whole ones.
///
/// # Errors
/// The text has no number, an unknown or missing unit, more than 2^64 - 1 ns, or a fraction of a nanosecond.
///
/// # Examples
/// ```
/// use tailcut_base::Nanos;
/// use tailcut_base::quantity::parse_time;
///
/// assert_eq!(parse_time("1.5ms"), Ok(Nanos::micros(1500)));
/// let error = parse_time("80").unwrap_err();
/// assert!(error.message.contains("write it like"));
/// ```
pub fn parse_time(text: &str) -> Result<Nanos, BadValue> {
    let wrong = || bad(text, "a length of time", "\"80us\", \"1.5ms\" or \"10s\"");
    let (mantissa, decimals, unit) = split(text).ok_or_else(wrong)?;
    let scale = match unit {
        "ns" => 1,
        "us" | "µs" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "min" | "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        "" if mantissa == 0 => 1,
        _ => return Err(wrong()),
    };
    let time = scaled(mantissa, decimals, scale).map(Nanos).ok_or_else(wrong)?;
    if !is_whole(mantissa, decimals, scale) {
        return Err(bad(text, "a whole number of nanoseconds", "\"1ns\" or \"1.5us\""));
    }
    Ok(time)
}

/// Parses a size in bytes such as `4KiB`, `512`, `1.5GiB` or `200MB`.
///
/// # Errors
/// The text has no number, an unknown unit, or more than 2^64 - 1 bytes.
pub fn parse_bytes(text: &str) -> Result<u64, BadValue> {
    let wrong = || bad(text, "a size", "\"4KiB\", \"512\" or \"1GiB\"");
    let (mantissa, decimals, unit) = split(text).ok_or_else(wrong)?;
    let scale: u128 = match unit {
        "" | "B" | "b" => 1,
        "k" | "K" | "Ki" | "KiB" => 1 << 10,
        "m" | "M" | "Mi" | "MiB" => 1 << 20,
        "g" | "G" | "Gi" | "GiB" => 1 << 30,
        "t" | "T" | "Ti" | "TiB" => 1 << 40,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return Err(wrong()),
    };
    scaled(mantissa, decimals, scale).ok_or_else(wrong)
}

/// Parses a rate in bytes per second such as `200MB/s`, `1GiB/s` or `333MT/s`.
///
/// # Errors
/// The text does not end in `/s`, is not a size before it, or exceeds 2^64 - 1 bytes per second.
pub fn parse_rate(text: &str) -> Result<u64, BadValue> {
    let wrong = || bad(text, "a rate", "\"200MB/s\", \"1GiB/s\" or \"333MT/s\"");
    let size = text.trim().strip_suffix("/s").ok_or_else(wrong)?;
    if let Some(transfers) = size.strip_suffix("MT") {
        let (mantissa, decimals, rest) = split(transfers).ok_or_else(wrong)?;
        if !rest.is_empty() {
            return Err(wrong());
        }
        return scaled(mantissa, decimals, 1_000_000).ok_or_else(wrong);
    }
    parse_bytes(size).map_err(|_| wrong())
}

/// Parses a share such as `70%` or `0.7`, as parts per million.
///
/// # Errors
/// The text has no number, another unit than `%`, or a share above 100 %.
pub fn parse_share(text: &str) -> Result<u32, BadValue> {
    let wrong = || bad(text, "a share", "\"70%\" or 0.7");
    let (mantissa, decimals, unit) = split(text).ok_or_else(wrong)?;
    let scale = match unit {
        "%" => 10_000,
        "" => 1_000_000,
        _ => return Err(wrong()),
    };
    let ppm = scaled(mantissa, decimals, scale).ok_or_else(wrong)?;
    u32::try_from(ppm).ok().filter(|&p| p <= 1_000_000).ok_or_else(wrong)
}

/// Parses a whole number such as `64`, `10_000`, `64k` or `10M` (decimal thousands and millions).
///
/// # Errors
/// The text has no number, an unknown unit, a fraction without a unit, or a number above 2^64 - 1.
pub fn parse_count(text: &str) -> Result<u64, BadValue> {
    let wrong = || bad(text, "a whole number", "64, 10_000, \"64k\" or \"10M\"");
    let (mantissa, decimals, unit) = split(text).ok_or_else(wrong)?;
    let scale: u128 = match unit {
        "" => 1,
        "k" | "K" => 1_000,
        "m" | "M" => 1_000_000,
        "g" | "G" => 1_000_000_000,
        _ => return Err(wrong()),
    };
    if unit.is_empty() && decimals > 0 {
        return Err(wrong());
    }
    scaled(mantissa, decimals, scale).ok_or_else(wrong)
}

/// Formats a duration so that [`parse_time`] returns exactly the same.
pub fn exact_time(nanos: Nanos) -> String {
    let (n, unit) = exact_unit(nanos.0, &[(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")]);
    format!("{n}{unit}")
}

/// Formats a size so that [`parse_bytes`] returns exactly the same.
pub fn exact_bytes(bytes: u64) -> String {
    let (n, unit) = exact_unit(
        bytes,
        &[(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")],
    );
    format!("{n}{unit}")
}

/// Formats a rate so that [`parse_rate`] returns exactly the same.
pub fn exact_rate(bytes_per_second: u64) -> String {
    let (n, unit) = exact_unit(
        bytes_per_second,
        &[(1_000_000_000, "GB/s"), (1_000_000, "MB/s"), (1_000, "kB/s"), (1, "B/s")],
    );
    format!("{n}{unit}")
}

fn exact_unit<'a>(value: u64, units: &[(u64, &'a str)]) -> (u64, &'a str) {
    let fits = |&&(scale, _): &&(u64, &str)| value.is_multiple_of(scale) && value >= scale;
    let &(scale, unit) = units.iter().find(fits).unwrap_or(&units[units.len() - 1]);
    (value / scale, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_people_write_them() {
        assert_eq!(parse_time("80us"), Ok(Nanos(80_000)));
        assert_eq!(parse_time("1.5 ms"), Ok(Nanos(1_500_000)));
        assert_eq!(parse_time("0"), Ok(Nanos(0)));
        assert_eq!(parse_bytes("4KiB"), Ok(4096));
        assert_eq!(parse_bytes("4k"), Ok(4096));
        assert_eq!(parse_bytes("200MB"), Ok(200_000_000));
        assert_eq!(parse_rate("333MT/s"), Ok(333_000_000));
        assert_eq!(parse_rate("1GiB/s"), Ok(1 << 30));
        assert_eq!(parse_share("70%"), Ok(700_000));
        assert_eq!(parse_share("0.7"), Ok(700_000));
        assert_eq!(parse_count("64k"), Ok(64_000));
    }

    #[test]
    fn what_is_no_quantity_is_refused_with_an_example() {
        for text in ["80", "us", "1..5us", "80 parsecs", "-3us", "99999999999999999999s"] {
            assert!(parse_time(text).unwrap_err().message.contains("80us"), "{text}");
        }
        assert!(parse_bytes("12QB").is_err());
        assert!(parse_rate("200MB").is_err());
        assert!(parse_share("120%").is_err());
        assert!(parse_count("1.5").is_err());
    }

    #[test]
    fn a_fraction_of_a_nanosecond_is_refused_and_not_rounded() {
        for text in ["0.5ns", "1.5 ns", "1.0005us", "0.0000000001s"] {
            let message = parse_time(text).expect_err(text).message;
            assert!(message.contains("whole number of nanoseconds"), "{message}");
        }
        assert_eq!(parse_time("1.0ns"), Ok(Nanos(1)));
        assert_eq!(
            parse_time("1.000500us"),
            Err(bad("1.000500us", "a whole number of nanoseconds", "\"1ns\" or \"1.5us\""))
        );
        assert_eq!(parse_time("0.000000001s"), Ok(Nanos(1)));
    }

    #[test]
    fn exact_forms_read_back() {
        for n in [0, 1, 999, 1_000, 1_500_000, 3_800_000, 75_000_000_001] {
            assert_eq!(parse_time(&exact_time(Nanos(n))), Ok(Nanos(n)));
            assert_eq!(parse_bytes(&exact_bytes(n)), Ok(n));
            assert_eq!(parse_rate(&exact_rate(n)), Ok(n));
        }
    }
}
