//! Figures with their units, for people.

use tailcut_base::quantity::{plural, show_bytes, show_count, show_rate, show_time};

/// A length of time in at most six columns, given in nanoseconds: `75.0µs`, `3.81ms`, `6.7d`. A thousand
/// years take more.
pub fn short_time(nanos: f64) -> String {
    show_time(nanos).replace(" days", "d").replace(" years", "y").replace(' ', "")
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
        "s" => show_time(value * 1e9),
        "us" => show_time(value * 1e3),
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
    fn times_fit_six_columns() {
        for ns in [0.0, 7.0, 999.0, 1_000.0, 75_049.0, 99_949.0, 999_400.0, 3_812_345.0, 9.99e9, 5e10] {
            assert!(short_time(ns).chars().count() <= 6, "{}", short_time(ns));
        }
        for hours in [2.0, 47.9, 48.0, 999.0, 8766.0, 90_000.0] {
            let shown = short_time(hours * 3.6e12);
            assert!(shown.chars().count() <= 6, "{shown}");
        }
        assert_eq!(short_time(576_558e9), "6.7d");
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
        assert_eq!(figure(5e-5, "s"), "50.0 µs");
        assert_eq!(figure(123.0, "1/s"), "123");
    }
}
