//! The units of figures.

use tailcut_base::quantity::{show_count, show_rate, show_time, show_years};

/// The unit of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A time in nanoseconds.
    Nanos,
    /// A rate in bytes per second.
    BytesPerSecond,
    /// A rate of requests or other things per second.
    PerSecond,
    /// Years of 365 days.
    Years,
    /// A factor, such as write amplification.
    Times,
    /// A bare number: counts, shares.
    Plain,
}

impl Unit {
    /// The symbol of the unit in results, such as `ns`; empty for a number without a unit.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Nanos => "ns",
            Unit::BytesPerSecond => "B/s",
            Unit::PerSecond => "1/s",
            Unit::Years => "years",
            Unit::Times => "x",
            Unit::Plain => "",
        }
    }

    /// The unit with this symbol, if there is one.
    pub fn by_symbol(symbol: &str) -> Option<Unit> {
        let all = [Unit::Nanos, Unit::BytesPerSecond, Unit::PerSecond, Unit::Years, Unit::Times, Unit::Plain];
        all.into_iter().find(|unit| unit.symbol() == symbol)
    }

    /// Formats a value for people, in a suitable multiple of the unit.
    pub fn show(self, value: f64) -> String {
        match self {
            Unit::Nanos => show_time(value),
            Unit::BytesPerSecond => show_rate(value),
            Unit::PerSecond => show_count(value),
            Unit::Years => show_years(value),
            Unit::Times => format!("{value:.2} x"),
            Unit::Plain if value == value.trunc() => show_count(value),
            Unit::Plain if value.abs() >= 100.0 => show_count(value),
            Unit::Plain => format!("{value:.3}"),
        }
    }
}
