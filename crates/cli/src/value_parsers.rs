//! Values that several commands take on the command line.

use crate::scenario::nearest::{enumerate, nearest};
use tailcut_base::config::Choice;
use tailcut_base::quantity::parse_time;
use tailcut_base::{BadValue, Nanos};
use tailcut_ssd::Preset;

/// A drive, by the name of its preset.
///
/// # Errors
/// A sentence with the nearest name and all names.
pub fn preset(text: &str) -> Result<Preset, BadValue> {
    Preset::by_name(text).ok_or_else(|| {
        let meant = nearest(text, Preset::NAMES.iter().copied());
        let meant = meant.map_or(String::new(), |near| format!("did you mean '{near}'? "));
        BadValue::new(format!("{meant}the drives are {}", enumerate(Preset::NAMES)))
    })
}

/// A length of time, which may be zero.
///
/// # Errors
/// What is wrong with it.
pub fn time(text: &str) -> Result<Nanos, BadValue> {
    parse_time(text)
}

/// A length of time above zero.
///
/// # Errors
/// What is wrong with it.
pub fn positive_time(text: &str) -> Result<Nanos, BadValue> {
    let time = time(text)?;
    if time > Nanos::ZERO { Ok(time) } else { Err(BadValue::new("it takes some time; write 19.5us, say")) }
}
