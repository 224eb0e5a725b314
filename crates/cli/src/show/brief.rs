//! Figures in few columns.

/// A length of time in at most six columns: `75.0us`, `3.81ms`.
pub fn short_time(nanos: f64) -> String {
    tailcut_base::quantity::show_time(nanos).replace(' ', "")
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
        r => tailcut_base::quantity::show_count(r),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_fit_six_columns() {
        for ns in [0.0, 7.0, 999.0, 1_000.0, 75_049.0, 99_949.0, 999_400.0, 3_812_345.0, 9.99e9, 5e10] {
            assert!(short_time(ns).len() <= 6, "{}", short_time(ns));
        }
        assert_eq!(per_cent(0.6149), "61 %");
        assert_eq!(per_cent(0.0001), "<0.1 %");
    }
}
