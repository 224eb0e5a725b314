//! Figures with their units, for people.

use tailcut_base::quantity::{plural, show_bytes, show_count, show_rate, show_time};

/// Nanoseconds of a year of 365.25 days.
const YEAR_NS: f64 = 365.25 * DAY_NS;
const DAY_NS: f64 = 24.0 * HOUR_NS;
const HOUR_NS: f64 = 3.6e12;

/// A length of time of any magnitude, given in nanoseconds: `3.81 ms`, `27.8 h`, `6.7 days`, `1.3 years`.
pub fn long_time(nanos: f64) -> String {
    match nanos.abs() {
        ns if ns >= YEAR_NS => format!("{:.1} years", nanos / YEAR_NS),
        ns if ns >= 2.0 * DAY_NS => format!("{:.1} days", nanos / DAY_NS),
        ns if ns >= 2.0 * HOUR_NS => format!("{:.1} h", nanos / HOUR_NS),
        _ => show_time(nanos),
    }
}

/// A lifetime, given in years of 365.25 days, as [`long_time`] shows it.
pub fn lifetime(years: f64) -> String {
    long_time(years * YEAR_NS)
}

/// A length of time in at most six columns, given in nanoseconds: `75.0us`, `3.81ms`, `6.7d`. A thousand
/// years take more.
pub fn short_time(nanos: f64) -> String {
    long_time(nanos).replace(" days", "d").replace(" years", "y").replace(' ', "")
}

/// A number with what it counts, whose plural ends in an s: `1 request`, `999 requests`, `67.1 k requests`.
pub fn counted(number: u64, noun: &str) -> String {
    format!("{} {}", show_count(number as f64), plural(number, noun))
}

/// A share as per cent: `61 %`, `0.3 %`.
pub fn per_cent(share: f64) -> String {
    match share * 100.0 {
        0.0 => String::from("0 %"),
        p if p < 0.05 => String::from("<0.1 %"),
        p if p < 10.0 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

/// A rate per second: `65.0 k`, `16.3`, `0.024`.
pub fn per_second(rate: f64) -> String {
    match rate {
        0.0 => String::from("0"),
        r if r < 1.0 => format!("{r:.3}"),
        r if r < 100.0 => format!("{r:.1}"),
        r => show_count(r),
    }
}

/// A figure in the units of [`Row::unit`](tailcut_study::Row::unit), for people.
pub fn figure(value: f64, unit: &str) -> String {
    match unit {
        "B" => show_bytes(value),
        "B/s" => show_rate(value),
        "s" => long_time(value * 1e9),
        "us" => long_time(value * 1e3),
        "share" => format!("{:.1} %", value * 100.0),
        "x" => format!("{value:.2} x"),
        "ratio" => format!("{value:.2}"),
        "pairs" if value.fract() == 0.0 => format!("{value} in order"),
        "1" if value.fract() != 0.0 && value.abs() < 100.0 => significant(value),
        _ => show_count(value),
    }
}

/// Three significant digits.
fn significant(value: f64) -> String {
    let decimals = (2.0 - value.abs().log10().floor()).clamp(0.0, 9.0);
    format!("{value:.*}", decimals as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_times_are_days_and_years() {
        assert_eq!(long_time(7_199e9), "7199 s");
        assert_eq!(long_time(100_000e9), "27.8 h");
        assert_eq!(long_time(576_558e9), "6.7 days");
        assert_eq!(lifetime(0.0487), "17.8 days");
        assert_eq!(lifetime(1.3), "1.3 years");
        assert_eq!(lifetime(0.0), "0 ns");
        assert_eq!(short_time(576_558e9), "6.7d");
    }

    #[test]
    fn times_fit_six_columns() {
        for ns in [0.0, 7.0, 999.0, 1_000.0, 75_049.0, 99_949.0, 999_400.0, 3_812_345.0, 9.99e9, 5e10] {
            assert!(short_time(ns).len() <= 6, "{}", short_time(ns));
        }
        for hours in [2.0, 47.9, 48.0, 999.0, 8766.0, 90_000.0] {
            assert!(short_time(hours * HOUR_NS).len() <= 6, "{}", short_time(hours * HOUR_NS));
        }
        assert_eq!(per_cent(0.6149), "61 %");
        assert_eq!(per_cent(0.0001), "<0.1 %");
    }

    #[test]
    fn one_of_something_is_singular() {
        assert_eq!(counted(0, "request"), "0 requests");
        assert_eq!(counted(1, "bad line"), "1 bad line");
        assert_eq!(counted(12_345, "drive"), "12.3 k drives");
    }

    #[test]
    fn figures_have_their_units() {
        assert_eq!(figure(1.5e9, "B/s"), "1.50 GB/s");
        assert_eq!(figure(0.712, "share"), "71.2 %");
        assert_eq!(figure(2.2, "x"), "2.20 x");
        assert_eq!(figure(5e-5, "s"), "50.0 us");
        assert_eq!(figure(123.0, "1/s"), "123");
    }
}
