//! Values as fio writes them: numbers with suffixes, times, lists per direction.

use crate::size::parse_percent;
use tailcut_base::{BadValue, Nanos};

/// The size of a `k`: see fio's HOWTO, "Parameter types", on `kb_base`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KiloBase {
    /// `k` is 1024 and `Ki` is 1000: fio's default, for old job files.
    Binary,
    /// `k` is 1000 and `Ki` is 1024, as the standards have it.
    Decimal,
}

/// A size in bytes, or a part of what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Bytes(u64),
    /// A share in parts per million.
    Share(u32),
}

/// A whole number with an optional suffix such as `4k`, `0x1000` or `1GiB`.
pub(super) fn integer(text: &str, base: KiloBase) -> Result<u64, BadValue> {
    let wrong = || BadValue::new(format!("'{text}' is no number; write it like 4096, 4k or 1g"));
    let lower = text.trim().to_ascii_lowercase();
    let (digits, radix, suffix) = match lower.strip_prefix("0x") {
        Some(hex) => {
            let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
            (&hex[..end], 16, &hex[end..])
        }
        None => {
            let end = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
            (&lower[..end], 10, &lower[end..])
        }
    };
    let number = u64::from_str_radix(digits, radix).map_err(|_| wrong())?;
    let scale = scale(suffix.trim(), base).ok_or_else(wrong)?;
    number.checked_mul(scale).ok_or_else(|| BadValue::new(format!("'{text}' is too large")))
}

fn scale(suffix: &str, base: KiloBase) -> Option<u64> {
    let suffix = suffix.strip_suffix('b').unwrap_or(suffix);
    let (letter, marked) = match suffix.strip_suffix('i') {
        Some(letter) => (letter, true),
        None => (suffix, false),
    };
    let power = match letter {
        "" if !marked => return Some(1),
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    let binary = marked == (base == KiloBase::Decimal);
    Some(if binary { 1024u64.pow(power) } else { 1000u64.pow(power) })
}

/// A number or a percentage.
pub(super) fn extent(text: &str, base: KiloBase) -> Result<Extent, BadValue> {
    match text.trim().strip_suffix('%') {
        Some(percent) => parse_percent(percent)?
            .map(Extent::Share)
            .ok_or_else(|| BadValue::new("there is no number before the %")),
        None => integer(text, base).map(Extent::Bytes),
    }
}

/// A length of time; a number without a unit counts in `unit`.
pub(super) fn time(text: &str, unit: Nanos) -> Result<Nanos, BadValue> {
    let wrong = || BadValue::new(format!("'{text}' is no length of time; write it like 30s, 500ms or 10m"));
    let lower = text.trim().to_ascii_lowercase();
    let end = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let number: u64 = lower[..end].parse().map_err(|_| wrong())?;
    let scale = match lower[end..].trim() {
        "" => unit.0,
        "ns" | "nsec" => 1,
        "us" | "usec" => 1_000,
        "ms" | "msec" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return Err(wrong()),
    };
    let nanos = number.checked_mul(scale).filter(|&n| n <= LONGEST);
    nanos.map(Nanos).ok_or_else(|| BadValue::new(format!("'{text}' is longer than ten years")))
}

/// Yes or no; a key without a value means yes.
pub(super) fn boolean(value: Option<&str>) -> Result<bool, BadValue> {
    match value {
        None | Some("" | "1" | "true") => Ok(true),
        Some("0" | "false") => Ok(false),
        Some(other) => Err(BadValue::new(format!("'{other}' is neither 1 nor 0"))),
    }
}

/// Values for reads, writes and trims, separated by commas. A value that no comma follows holds
/// for the directions behind it too; an empty one is `None`, the default.
pub(super) fn per_direction<T: Clone>(
    text: &str,
    mut parse: impl FnMut(&str) -> Result<T, BadValue>,
) -> Result<[Option<T>; 3], BadValue> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if parts.len() > 3 {
        return Err(BadValue::new("more than three values; there are reads, writes and trims"));
    }
    let mut values = [None, None, None];
    for (i, value) in values.iter_mut().enumerate() {
        let part = parts[i.min(parts.len() - 1)];
        if !part.is_empty() {
            *value = Some(parse(part)?);
        }
    }
    Ok(values)
}

/// Ten years: sums of a few times stay far from overflow.
const LONGEST: u64 = 10 * 365 * 86_400 * 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_mean_what_fio_means() {
        let read = |text| integer(text, KiloBase::Binary);
        assert_eq!(read("4k"), Ok(4096));
        assert_eq!(read("4KB"), Ok(4096));
        assert_eq!(read("4KiB"), Ok(4000));
        assert_eq!(read("0x1000"), Ok(4096));
        assert_eq!(read("1G"), Ok(1 << 30));
        assert_eq!(integer("4KiB", KiloBase::Decimal), Ok(4096));
        assert_eq!(integer("4k", KiloBase::Decimal), Ok(4000));
        for bad in ["", "k", "4x", "-1", "1.5k", "99999999999p", "ib", "4i"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn lists_fill_up_as_the_howto_says() {
        let read = |text| per_direction(text, |t| integer(t, KiloBase::Binary));
        assert_eq!(read("256k"), Ok([Some(262_144); 3]));
        assert_eq!(read("8k,32k"), Ok([Some(8192), Some(32_768), Some(32_768)]));
        assert_eq!(read("8k,32k,"), Ok([Some(8192), Some(32_768), None]));
        assert_eq!(read(",8k"), Ok([None, Some(8192), Some(8192)]));
        assert_eq!(read(",8k,"), Ok([None, Some(8192), None]));
        assert!(read("1,2,3,4").is_err());
    }

    #[test]
    fn times_have_the_unit_of_their_key() {
        assert_eq!(time("30", Nanos::secs(1)), Ok(Nanos::secs(30)));
        assert_eq!(time("30", Nanos::micros(1)), Ok(Nanos::micros(30)));
        assert_eq!(time("5m", Nanos::micros(1)), Ok(Nanos::secs(300)));
        assert!(time("5 parsecs", Nanos::secs(1)).is_err());
        assert!(time("99999999999d", Nanos::secs(1)).is_err());
    }
}
