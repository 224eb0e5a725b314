//! The thread that writes the log.

use super::entry::{Entry, Limit, OFTEN};
use super::{LogFormat, Message};
use serde_json::{Map, Value, json};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tracing::Level;

/// Writes entries, and the counts of those that are suppressed.
pub(super) struct Writer<W> {
    pub(super) format: LogFormat,
    pub(super) out: W,
    /// Entries with a limit.
    pub(super) limited: Vec<Counted>,
    /// The number of lines that did not fit into the queue.
    pub(super) lost: Arc<AtomicU64>,
}

impl<W: Write> Writer<W> {
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

    pub(super) fn note(&mut self, at: SystemTime, entry: Entry) {
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
    pub(super) fn sum_up(&mut self, is_end: bool) {
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
pub(super) struct Counted {
    /// The first of them.
    entry: Entry,
    pub(super) limit: Limit,
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
    all.insert("level".into(), json!(name(entry.level)));
    all.insert("event".into(), json!(entry.event));
    all.insert("message".into(), json!(entry.text));
    all.extend(entry.fields.clone());
    Value::Object(all)
}

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
pub(super) fn timestamp(at: SystemTime) -> String {
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
