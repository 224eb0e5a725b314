//! Configuration keys by name, for values that a program has chosen: `device.timing.erase` = 3.8 ms.
//!
//! A value of several durations, one per page type, has a key for each: `device.timing.read[1]` is that of
//! the second page type, and `device.timing.read` without a number is all of them.

use std::ops::RangeInclusive;
use tailcut_base::config::{Configure, KeyVisitor, Names};
use tailcut_base::quantity::{parse_bytes, parse_count, parse_rate, parse_share, parse_time};
use tailcut_base::{BadValue, Nanos};

/// A value for a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum KeyValue<'v> {
    /// In the key's base unit, rounded to the nearest whole one: nanoseconds, bytes, bytes per second, parts
    /// per million; a number of its own is not rounded.
    Number(f64),
    /// As in a scenario: `45us`, `4KiB`, `12%`, `true`, a name. Several durations are separated by commas.
    Text(&'v str),
}

/// Why a key cannot be set or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No such key; or it has no number as value, if a number was wanted.
    #[error("there is no key '{0}' with such a value; 'tailcut run --keys' lists all keys")]
    Unknown(String),
    /// The value is none for this key.
    #[error("{key}: {message}")]
    Value {
        /// The key.
        key: String,
        /// What is wrong and what would be right.
        message: String,
    },
    /// The values do not fit together.
    #[error("{key}: {message}")]
    Together {
        /// The key to blame, without its section.
        key: String,
        /// What is wrong and what would be right.
        message: String,
    },
}

/// Sets several keys of `part`, in the order in which `part` visits its keys: a preset comes before the keys
/// that depart from it. After an error `part` may hold some of the values.
///
/// # Errors
/// The first of the errors.
pub fn set(part: &mut dyn Configure, values: &[(&str, KeyValue<'_>)]) -> Result<(), KeyError> {
    let mut setter = Setter { values, used: vec![false; values.len()], path: String::new(), error: None };
    part.configure(&mut setter);
    let unused = values.iter().zip(&setter.used).find(|(_, used)| !**used);
    match (setter.error, unused) {
        (Some(error @ KeyError::Value { .. }), _) => Err(error),
        (_, Some(((key, _), _))) => Err(KeyError::Unknown(key.to_string())),
        (Some(error), None) => Err(error),
        (None, None) => Ok(()),
    }
}

/// The value of a key in its base unit (see [`KeyValue::Number`]).
///
/// # Errors
/// [`KeyError::Unknown`].
pub fn get(part: &mut dyn Configure, key: &str) -> Result<f64, KeyError> {
    let mut getter = Getter { wanted: key, path: String::new(), found: None };
    part.configure(&mut getter);
    getter.found.ok_or_else(|| KeyError::Unknown(key.to_string()))
}

/// The path of a key in a section.
fn path_of(section: &str, key: &str) -> String {
    if section.is_empty() { key.to_string() } else { format!("{section}.{key}") }
}

/// A key and the number of one of its values, if it names one.
fn split_index(key: &str) -> (&str, Option<usize>) {
    let index = key.strip_suffix(']').and_then(|rest| rest.split_once('['));
    match index.and_then(|(key, index)| Some((key, index.parse().ok()?))) {
        Some((key, index)) => (key, Some(index)),
        None => (key, None),
    }
}

struct Setter<'v> {
    values: &'v [(&'v str, KeyValue<'v>)],
    used: Vec<bool>,
    path: String,
    error: Option<KeyError>,
}

impl Setter<'_> {
    fn fail(&mut self, error: KeyError) {
        self.error.get_or_insert(error);
    }

    /// The value for a key, if there is one.
    fn find(&mut self, key: &str) -> Option<KeyValue<'_>> {
        let path = path_of(&self.path, key);
        let index = self.values.iter().rposition(|(wanted, _)| *wanted == path)?;
        for (used, (wanted, _)) in self.used.iter_mut().zip(self.values) {
            *used |= *wanted == path;
        }
        Some(self.values[index].1)
    }

    /// Sets a value that is a whole number of its base unit.
    fn whole(
        &mut self,
        key: &str,
        value: &mut u64,
        range: RangeInclusive<u64>,
        parse: impl Fn(&str) -> Result<u64, BadValue>,
    ) {
        let Some(wanted) = self.find(key) else { return };
        match whole_of(wanted, &range, parse) {
            Ok(good) => *value = good,
            Err(BadValue { message }) => {
                let key = path_of(&self.path, key);
                self.fail(KeyError::Value { key, message });
            }
        }
    }
}

fn whole_of(
    value: KeyValue<'_>,
    range: &RangeInclusive<u64>,
    parse: impl Fn(&str) -> Result<u64, BadValue>,
) -> Result<u64, BadValue> {
    let whole = match value {
        // Saturates, and is then out of the range.
        KeyValue::Number(number) => number.round() as u64,
        KeyValue::Text(text) => parse(text)?,
    };
    let (least, most) = (range.start(), range.end());
    match range.contains(&whole) {
        true => Ok(whole),
        false => Err(BadValue::new(format!("{whole} is out of range; it can be {least} to {most}"))),
    }
}

fn nanos_range(range: RangeInclusive<Nanos>) -> RangeInclusive<u64> {
    range.start().0..=range.end().0
}

fn time_text(text: &str) -> Result<u64, BadValue> {
    parse_time(text).map(|time| time.0)
}

impl KeyVisitor for Setter<'_> {
    fn section(&mut self, key: &'static str, _: &'static str, part: &mut dyn Configure) {
        let length = self.path.len();
        self.path = path_of(&self.path, key);
        part.configure(self);
        self.path.truncate(length);
    }

    fn time(&mut self, key: &'static str, _: &'static str, value: &mut Nanos, range: RangeInclusive<Nanos>) {
        self.whole(key, &mut value.0, nanos_range(range), time_text);
    }

    fn times(
        &mut self,
        key: &'static str,
        _: &'static str,
        value: &mut Vec<Nanos>,
        range: RangeInclusive<Nanos>,
    ) {
        let range = nanos_range(range);
        let (path, mut error) = (path_of(&self.path, key), None);
        for (number, (wanted, new)) in self.values.iter().enumerate() {
            let (wanted, index) = split_index(wanted);
            if wanted != path {
                continue;
            }
            self.used[number] = true;
            let parts: Vec<KeyValue<'_>> = match new {
                KeyValue::Number(_) => vec![*new; if index.is_some() { 1 } else { value.len() }],
                KeyValue::Text(text) => text.split(',').map(|part| KeyValue::Text(part.trim())).collect(),
            };
            let times: Result<Vec<Nanos>, BadValue> =
                parts.iter().map(|&part| whole_of(part, &range, time_text).map(Nanos)).collect();
            match (times, index) {
                (Ok(times), None) => *value = times,
                (Ok(times), Some(index)) if times.len() == 1 && index < value.len() => {
                    value[index] = times[0]
                }
                (Ok(_), Some(_)) => {
                    error = Some(format!("it has {} values, which are numbered from 0", value.len()))
                }
                (Err(bad), _) => error = Some(bad.message),
            }
        }
        if let Some(message) = error {
            self.fail(KeyError::Value { key: path, message });
        }
    }

    fn bytes(&mut self, key: &'static str, _: &'static str, value: &mut u64, range: RangeInclusive<u64>) {
        self.whole(key, value, range, parse_bytes);
    }

    fn rate(&mut self, key: &'static str, _: &'static str, value: &mut u64, range: RangeInclusive<u64>) {
        let parse = |text: &str| if text == "0" { Ok(0) } else { parse_rate(text) };
        self.whole(key, value, range, parse);
    }

    fn share(&mut self, key: &'static str, _: &'static str, value: &mut u32, range: RangeInclusive<u32>) {
        let mut wide = u64::from(*value);
        let range = u64::from(*range.start())..=u64::from(*range.end());
        let parse = |text: &str| parse_share(text).map(u64::from);
        self.whole(key, &mut wide, range, parse);
        *value = u32::try_from(wide).expect("a share keeps its range");
    }

    fn number(&mut self, key: &'static str, _: &'static str, value: &mut f64, range: RangeInclusive<f64>) {
        let Some(wanted) = self.find(key) else { return };
        let number = match wanted {
            KeyValue::Number(number) => Some(number),
            KeyValue::Text(text) => text.trim().parse().ok(),
        };
        match number.filter(|number| range.contains(number)) {
            Some(number) => *value = number,
            None => {
                let (least, most) = (range.start(), range.end());
                let message = format!("not a number from {least} to {most}");
                let key = path_of(&self.path, key);
                self.fail(KeyError::Value { key, message });
            }
        }
    }

    fn count(&mut self, key: &'static str, _: &'static str, value: &mut u64, range: RangeInclusive<u64>) {
        self.whole(key, value, range, parse_count);
    }

    fn flag(&mut self, key: &'static str, _: &'static str, value: &mut bool) {
        let good = match self.find(key) {
            None => return,
            Some(KeyValue::Text("true")) => Some(true),
            Some(KeyValue::Text("false")) => Some(false),
            Some(_) => None,
        };
        match good {
            Some(flag) => *value = flag,
            None => {
                let key = path_of(&self.path, key);
                self.fail(KeyError::Value { key, message: "neither true nor false".into() });
            }
        }
    }

    fn choice(&mut self, key: &'static str, _: &'static str, value: &mut usize, names: Names) {
        let good = match self.find(key) {
            None => return,
            Some(KeyValue::Text(text)) => names.position(text),
            Some(KeyValue::Number(_)) => None,
        };
        match good {
            Some(index) => *value = index,
            None => {
                let message = format!("the names are {}", names.shown.join(", "));
                let key = path_of(&self.path, key);
                self.fail(KeyError::Value { key, message });
            }
        }
    }

    fn text(&mut self, key: &'static str, _: &'static str, value: &mut String) {
        if let Some(KeyValue::Text(text)) = self.find(key) {
            *value = text.to_string();
        }
    }

    fn problem(&mut self, key: &'static str, message: String) {
        let key = path_of(&self.path, key);
        self.fail(KeyError::Together { key, message });
    }
}

struct Getter<'k> {
    wanted: &'k str,
    path: String,
    found: Option<f64>,
}

impl Getter<'_> {
    fn offer(&mut self, key: &str, value: f64) {
        if path_of(&self.path, key) == self.wanted {
            self.found = Some(value);
        }
    }
}

impl KeyVisitor for Getter<'_> {
    fn section(&mut self, key: &'static str, _: &'static str, part: &mut dyn Configure) {
        let length = self.path.len();
        self.path = path_of(&self.path, key);
        part.configure(self);
        self.path.truncate(length);
    }
    fn time(&mut self, key: &'static str, _: &'static str, value: &mut Nanos, _: RangeInclusive<Nanos>) {
        self.offer(key, value.0 as f64);
    }
    fn times(
        &mut self,
        key: &'static str,
        _: &'static str,
        value: &mut Vec<Nanos>,
        _: RangeInclusive<Nanos>,
    ) {
        let (wanted, index) = split_index(self.wanted);
        if path_of(&self.path, key) == wanted {
            self.found = value.get(index.unwrap_or(0)).map(|time| time.0 as f64);
        }
    }
    fn bytes(&mut self, key: &'static str, _: &'static str, value: &mut u64, _: RangeInclusive<u64>) {
        self.offer(key, *value as f64);
    }
    fn rate(&mut self, key: &'static str, _: &'static str, value: &mut u64, _: RangeInclusive<u64>) {
        self.offer(key, *value as f64);
    }
    fn share(&mut self, key: &'static str, _: &'static str, value: &mut u32, _: RangeInclusive<u32>) {
        self.offer(key, f64::from(*value));
    }
    fn number(&mut self, key: &'static str, _: &'static str, value: &mut f64, _: RangeInclusive<f64>) {
        self.offer(key, *value);
    }
    fn count(&mut self, key: &'static str, _: &'static str, value: &mut u64, _: RangeInclusive<u64>) {
        self.offer(key, *value as f64);
    }
    fn flag(&mut self, _: &'static str, _: &'static str, _: &mut bool) {}
    fn choice(&mut self, _: &'static str, _: &'static str, _: &mut usize, _: Names) {}
    fn text(&mut self, _: &'static str, _: &'static str, _: &mut String) {}
    fn problem(&mut self, _: &'static str, _: String) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_ssd::Preset;
    use tailcut_ssd::config::SsdConfig;

    fn drive() -> SsdConfig {
        Preset::TlcNvme.config()
    }

    #[test]
    fn numbers_and_texts_set_keys_of_every_kind() {
        let mut device = drive();
        let values = [
            ("preset", KeyValue::Text("m-32g")),
            ("timing.read", KeyValue::Text("45us, 60us")),
            ("timing.program[0]", KeyValue::Number(400_400.4)),
            ("ftl.spare", KeyValue::Number(150_000.0)),
            ("gc.preemptible", KeyValue::Text("true")),
            ("schedule.chip", KeyValue::Text("fifo")),
        ];
        set(&mut device, &values).expect("good keys");
        assert_eq!(device.timing.read, [Nanos::micros(45), Nanos::micros(60)]);
        assert_eq!(device.timing.program[0], Nanos(400_400));
        assert_eq!(device.preset, Preset::M, "the preset is set before what departs from it");
        assert_eq!(get(&mut device, "timing.read[1]"), Ok(60_000.0));
        assert_eq!(get(&mut device, "ftl.spare"), Ok(150_000.0));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let message = |key: &str, value| set(&mut drive(), &[(key, value)]).expect_err("wrong").to_string();
        assert!(message("timing.raed", KeyValue::Number(1.0)).contains("no key 'timing.raed'"));
        assert!(message("timing.read", KeyValue::Number(-5.0)).contains("timing.read: 0 is out of range"));
        assert!(message("timing.read[7]", KeyValue::Number(5e4)).contains("numbered from 0"));
        assert!(message("ftl.spare", KeyValue::Text("much")).contains("is not a share"));
        assert!(message("gc.low", KeyValue::Number(60_000.0)).contains("high"), "values must fit together");
        assert!(get(&mut drive(), "schedule.chip").is_err(), "a name is no number");
    }
}
