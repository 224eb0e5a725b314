//! The thread that writes the log: entries, and counts of similar ones.

use super::{LogFormat, Message};
use serde_json::{Map, Value, json};
use std::fmt;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tracing::field::{Field, Visit};
use tracing::{Event, Level};

/// An event as it waits to be written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    level: Level,
    /// Its name for programs.
    event: String,
    /// A sentence.
    text: String,
    /// The line as text, if it is not level and sentence.
    line: Option<String>,
    /// Figures for programs.
    fields: Map<String, Value>,
    /// It can happen often.
    limit: Option<Limit>,
}

/// How many of similar entries are logged.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Limit {
    /// Entries with the same key are similar.
    key: String,
    /// Number of entries logged within `every`; the others are counted.
    first: u32,
    every: Duration,
    /// By how much the entry raises the count.
    count: u64,
}

impl Entry {
    fn new(level: Level, event: &str, text: String) -> Entry {
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

/// Writes entries, and counts what it suppresses.
pub(super) struct Writer<W> {
    format: LogFormat,
    out: W,
    /// Entries with a limit.
    limited: Vec<Counted>,
    /// The number of lines that did not fit into the queue.
    lost: Arc<AtomicU64>,
}

impl<W: Write> Writer<W> {
    /// Writes to `out`; `lost` counts the lines that did not fit into the queue.
    pub(super) fn new(format: LogFormat, out: W, lost: Arc<AtomicU64>) -> Writer<W> {
        Writer { format, out, limited: Vec::new(), lost }
    }

    pub(super) fn run(mut self, messages: &Receiver<Message>) {
        loop {
            match messages.recv_timeout(OFTEN) {
                Ok(Message::Entry(at, entry)) => self.note(at, entry),
                Ok(Message::Flush(says)) => {
                    self.sum_up(true);
                    // The requester may have stopped waiting.
                    let _ = says.send(());
                }
                Err(RecvTimeoutError::Timeout) => self.sum_up(false),
                Err(RecvTimeoutError::Disconnected) => return self.sum_up(true),
            }
        }
    }

    fn note(&mut self, at: SystemTime, entry: Entry) {
        let Some(limit) = entry.limit.clone() else { return self.write(at, &entry) };
        let found = self.limited.iter_mut().position(|counted| counted.limit.key == limit.key);
        let Some(found) = found else {
            self.write(at, &entry);
            self.limited.push(Counted { entry, limit, told: Instant::now(), logged: 1, more: 0 });
            return;
        };
        let counted = &mut self.limited[found];
        if counted.told.elapsed() >= limit.every {
            // After a quiet time the first few are logged again.
            counted.logged = if counted.more == 0 { 0 } else { limit.first.saturating_sub(1) };
            let sum = counted.sum();
            sum.iter().for_each(|sum| self.write(at, sum));
        }
        let counted = &mut self.limited[found];
        if counted.logged < limit.first {
            counted.logged += 1;
            self.write(at, &entry);
        } else {
            counted.more += limit.count;
        }
    }

    /// Logs the counts of suppressed entries that are due, or all of them at the `end`, and the number of
    /// lost lines.
    fn sum_up(&mut self, is_end: bool) {
        let due = |counted: &&mut Counted| {
            counted.more > 0 && (is_end || counted.told.elapsed() >= counted.limit.every)
        };
        let sums: Vec<Entry> = self.limited.iter_mut().filter(due).filter_map(Counted::sum).collect();
        sums.iter().for_each(|entry| self.write(SystemTime::now(), entry));
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let text = format!("{lost} lines were lost: whoever reads them was too slow");
            let mut entry = Entry::new(Level::WARN, "lost", text);
            entry.fields.insert("count".into(), lost.into());
            self.write(SystemTime::now(), &entry);
        }
    }

    fn write(&mut self, at: SystemTime, entry: &Entry) {
        let line = match (self.format, &entry.line) {
            (LogFormat::Text, Some(line)) => format!("{line}\n"),
            (LogFormat::Text, None) => format!("{}: {}\n", name(entry.level), entry.text),
            (LogFormat::Json, _) => format!("{}\n", to_json(at, entry)),
        };
        // A failure to write is ignored: the server continues.
        let _ = self.out.write_all(line.as_bytes()).and_then(|()| self.out.flush());
    }
}

/// Similar entries.
struct Counted {
    /// The first of them.
    entry: Entry,
    limit: Limit,
    /// When the first of the latest, or their count, was logged.
    told: Instant,
    /// How many have been logged since.
    logged: u32,
    /// What those stand for that were not logged since.
    more: u64,
}

impl Counted {
    /// Those that were not logged, as one entry; none if there are none. The time starts anew.
    fn sum(&mut self) -> Option<Entry> {
        self.told = Instant::now();
        let count = std::mem::take(&mut self.more);
        let mut entry = self.entry.clone();
        for text in [Some(&mut entry.text), entry.line.as_mut()].into_iter().flatten() {
            *text += &format!(" ({count} more)");
        }
        entry.fields.insert("count".into(), count.into());
        (count > 0).then_some(entry)
    }
}

fn to_json(at: SystemTime, entry: &Entry) -> Value {
    let mut all = Map::new();
    all.insert("time".into(), json!(timestamp(at)));
    all.insert("level".into(), json!(level(entry.level)));
    all.insert("event".into(), json!(entry.event));
    all.insert("message".into(), json!(entry.text));
    all.extend(entry.fields.clone());
    Value::Object(all)
}

/// The level as `--log-level` takes it.
fn level(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

/// The word before a sentence.
fn name(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warning",
        Level::INFO => "note",
        Level::DEBUG => "detail",
        Level::TRACE => "trace",
    }
}

/// Coordinated universal time as in RFC 3339, to the millisecond. Moments before 1970 are 1970.
fn timestamp(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (seconds, millis) = (since.as_secs(), since.subsec_millis());
    let (mut days, second) = (seconds / 86_400, seconds % 86_400);
    let mut year = 1970;
    while days >= days_of(year) {
        days -= days_of(year);
        year += 1;
    }
    let mut month = 1;
    while days >= days_of_month(year, month) {
        days -= days_of_month(year, month);
        month += 1;
    }
    let (day, hour, minute, second) = (days + 1, second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400)
}

fn days_of(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_of_month(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// What happens again within this time is counted.
const OFTEN: Duration = Duration::from_secs(1);
/// As [`OFTEN`], for entries each of which may matter.
const RARELY: Duration = Duration::from_secs(10);
/// Number of these logged within that time.
const FEW: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("a test").write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_count_follows_in_time_and_after_a_quiet_time_the_first_few_again() {
        let paper = Paper::default();
        let (format, out, lost) = (LogFormat::Text, paper.clone(), Arc::default());
        let mut writer = Writer::new(format, out, lost);
        let written = || {
            let bytes = std::mem::take(&mut *paper.0.lock().expect("a test"));
            String::from_utf8(bytes).expect("it is text")
        };
        // Within `every`, or when it has passed.
        let note = |writer: &mut Writer<Paper>, every: Duration| {
            let mut entry = Entry::new(Level::WARN, "damage", "a block".into());
            entry.limit = Some(Limit { key: "damage copy".into(), first: FEW, every, count: 1 });
            writer.note(SystemTime::now(), entry);
            written()
        };
        (0..FEW).for_each(|_| assert_eq!(note(&mut writer, RARELY), "warning: a block\n"));
        (0..2).for_each(|_| assert_eq!(note(&mut writer, RARELY), ""));
        writer.sum_up(false);
        assert_eq!(written(), "", "it is not due");
        let text = "warning: a block (2 more)\nwarning: a block\n";
        assert_eq!(note(&mut writer, Duration::ZERO), text, "they go on");
        assert_eq!(note(&mut writer, RARELY), "");
        writer.limited[0].limit.every = Duration::ZERO;
        writer.sum_up(false);
        assert_eq!(written(), "warning: a block (1 more)\n");
        writer.sum_up(false);
        assert_eq!(written(), "");
        assert_eq!(note(&mut writer, RARELY), "");
        writer.sum_up(false);
        assert_eq!(written(), "warning: a block (1 more)\n");
        assert_eq!(note(&mut writer, Duration::ZERO), "warning: a block\n", "after a quiet time");
        (1..FEW).for_each(|_| assert_eq!(note(&mut writer, RARELY), "warning: a block\n"));
        assert_eq!(note(&mut writer, RARELY), "");
    }

    #[test]
    fn a_moment_is_written_as_everybody_reads_it() {
        // From date(1): date -u -d @N +%FT%TZ.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_868_799, "2000-02-29T23:59:59.000Z"),
            (1_704_067_200, "2024-01-01T00:00:00.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(timestamp(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
        assert!(timestamp(UNIX_EPOCH + Duration::from_millis(1)).ends_with(".001Z"));
    }
}
