//! Human-readable quantities: a few digits and a unit.

/// Four significant digits at most, without trailing zeros beyond the third digit's place.
fn digits(value: f64) -> String {
    let places = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.places$}")
}

const HOUR_NS: f64 = 3.6e12;
const DAY_NS: f64 = 24.0 * HOUR_NS;
const YEAR_NS: f64 = 365.0 * DAY_NS;

/// A human-readable duration: `80.0 µs`, `3.81 ms`, `27.8 h`, `6.7 days`, `1.3 years` of 365 days.
pub fn show_time(nanos: f64) -> String {
    let (value, unit) = match nanos.abs() {
        v if v >= YEAR_NS => return format!("{:.1} years", nanos / YEAR_NS),
        v if v >= 2.0 * DAY_NS => return format!("{:.1} days", nanos / DAY_NS),
        v if v >= 2.0 * HOUR_NS => return format!("{:.1} h", nanos / HOUR_NS),
        v if v >= 1e9 => (nanos / 1e9, "s"),
        v if v >= 1e6 => (nanos / 1e6, "ms"),
        v if v >= 1e3 => (nanos / 1e3, "µs"),
        _ => return format!("{nanos:.0} ns"),
    };
    format!("{} {unit}", digits(value))
}

/// A lifetime in years of 365 days, the years of JESD218's terms, as [`show_time`] shows it.
pub fn show_years(years: f64) -> String {
    show_time(years * YEAR_NS)
}

/// A human-readable size: `4.00 KiB`, `31.5 GiB`.
pub fn show_bytes(bytes: f64) -> String {
    let mut value = bytes;
    for unit in ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] {
        if value.abs() < 1024.0 || unit == "PiB" {
            return if unit == "B" { format!("{value:.0} B") } else { format!("{} {unit}", digits(value)) };
        }
        value /= 1024.0;
    }
    unreachable!("the last unit returns")
}

/// A human-readable rate, in decimal units as the industry quotes it: `512 MB/s`.
pub fn show_rate(bytes_per_second: f64) -> String {
    let (value, unit) = match bytes_per_second.abs() {
        v if v >= 1e9 => (bytes_per_second / 1e9, "GB/s"),
        v if v >= 1e6 => (bytes_per_second / 1e6, "MB/s"),
        v if v >= 1e3 => (bytes_per_second / 1e3, "kB/s"),
        _ => (bytes_per_second, "B/s"),
    };
    format!("{} {unit}", digits(value))
}

/// A number with what it counts, whose plural ends in an s: `1 request`, `0 requests`, `3 requests`.
pub fn show_number_of(number: u64, noun: &str) -> String {
    format!("{number} {}", plural(number, noun))
}

/// A noun whose plural ends in an s, in the form that follows `number`.
pub fn plural(number: u64, noun: &str) -> String {
    if number == 1 { noun.to_owned() } else { format!("{noun}s") }
}

/// A human-readable count: `999`, `67.1 k`, `4.00 M`.
pub fn show_count(count: f64) -> String {
    match count.abs() {
        v if v >= 1e9 => format!("{} G", digits(count / 1e9)),
        // A value that would round to "1000 k" is shown as a million.
        v if v >= 999_500.0 => format!("{} M", digits(count / 1e6)),
        v if v >= 1e4 => format!("{} k", digits(count / 1e3)),
        _ => format!("{count:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_duration_has_the_unit_in_which_people_read_it() {
        assert_eq!(show_time(0.0), "0 ns");
        assert_eq!(show_time(80_000.0), "80.0 µs");
        assert_eq!(show_time(7_199e9), "7199 s");
        assert_eq!(show_time(100_000e9), "27.8 h");
        assert_eq!(show_time(576_558e9), "6.7 days");
        assert_eq!(show_years(0.0487), "17.8 days");
        assert_eq!(show_years(1.0), "1.0 years");
        assert_eq!(show_years(1.3), "1.3 years");
    }
}
