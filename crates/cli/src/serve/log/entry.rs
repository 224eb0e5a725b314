//! An event as an entry of the log.

use serde_json::{Map, Value};
use std::fmt;
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::{Event, Level};

/// An event as it waits to be written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) level: Level,
    /// Its name for programs.
    pub(super) event: String,
    /// A sentence.
    pub(super) text: String,
    /// The line as text, if it is not level and sentence.
    pub(super) line: Option<String>,
    /// Figures for programs.
    pub(super) fields: Map<String, Value>,
    /// It can happen often.
    pub(super) limit: Option<Limit>,
}

/// How many of similar entries are logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    /// Entries with the same key are similar.
    pub(super) key: String,
    /// Number of entries logged within `every`; the others are counted.
    pub(super) first: u32,
    pub(super) every: Duration,
    /// By how much the entry raises the count.
    pub(super) count: u64,
}

impl Entry {
    pub(super) fn new(level: Level, event: &str, text: String) -> Entry {
        Entry { level, event: event.into(), text, line: None, fields: Map::new(), limit: None }
    }

    pub(super) fn of(event: &Event<'_>) -> Entry {
        let metadata = event.metadata();
        let mut reader = FieldReader {
            entry: Entry::new(*metadata.level(), metadata.target(), String::new()),
            is_frequent: false,
            one_of: None,
            times: 1,
        };
        event.record(&mut reader);
        let FieldReader { mut entry, is_frequent, one_of, times } = reader;
        entry.limit = match one_of {
            Some(kind) => {
                let key = format!("{} {kind}", entry.event);
                Some(Limit { key, first: FEW, every: RARELY, count: times })
            }
            None => is_frequent.then(|| Limit { key: entry.event.clone(), first: 1, every: OFTEN, count: 1 }),
        };
        entry
    }
}

/// Reads the fields of an event into an entry.
struct FieldReader {
    entry: Entry,
    is_frequent: bool,
    one_of: Option<String>,
    times: u64,
}

impl FieldReader {
    fn text(&mut self, field: &Field, text: String) {
        match field.name() {
            "message" => self.entry.text = text,
            "event" => self.entry.event = text,
            "line" => self.entry.line = Some(text),
            "one_of" => self.one_of = Some(text),
            name => {
                let (name, value) = match name.strip_suffix(".json") {
                    Some(name) => (name, serde_json::from_str(&text).unwrap_or(Value::String(text))),
                    None => (name, Value::String(text)),
                };
                self.entry.fields.insert(name.into(), value);
            }
        }
    }

    fn figure(&mut self, field: &Field, value: impl Into<Value>) {
        self.entry.fields.insert(field.name().into(), value.into());
    }
}

impl Visit for FieldReader {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.figure(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        match u64::try_from(value) {
            Ok(value) => self.record_u64(field, value),
            Err(_) => self.figure(field, value),
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            "times" => self.times = value,
            _ => self.figure(field, value),
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        match field.name() {
            "frequent" => self.is_frequent = value,
            _ => self.figure(field, value),
        }
    }
}

/// What happens again within this time is counted.
pub(super) const OFTEN: Duration = Duration::from_secs(1);
/// As [`OFTEN`], for entries each of which may matter.
pub(super) const RARELY: Duration = Duration::from_secs(10);
/// Number of these logged within that time.
pub(super) const FEW: u32 = 5;
