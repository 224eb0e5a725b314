//! A server's log on standard error: a line for each event, as text or as JSON.
//!
//! A thread of its own writes the lines, so that no serving thread waits for their reader; lines that
//! cannot be queued are counted.

use clap::ValueEnum;
use serde_json::{Map, Value, json};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Sentences
    Human,
    /// An object of JSON for each line, with its time
    Json,
}

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something is lost, or not done.
    Error,
    /// The operator should look at it.
    Warning,
    /// It is as it should be.
    Note,
    /// Logged with `-v`.
    Detail,
    /// Logged with `-vv`.
    Trace,
}

/// Something that has happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// How much it matters.
    pub level: Level,
    /// Its name for programs.
    pub event: &'static str,
    /// A sentence.
    pub text: String,
    /// Figures for programs.
    pub fields: Map<String, Value>,
    /// It can happen often.
    pub limit: Option<Limit>,
}

/// How many of similar entries are logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Entries with the same key are similar.
    key: String,
    /// Number of entries logged within `every`; the others are counted.
    first: u32,
    every: Duration,
    /// By how much the entry raises the count.
    count: u64,
}

impl Entry {
    /// Without figures.
    pub fn new(level: Level, event: &'static str, text: impl Into<String>) -> Entry {
        Entry { level, event, text: text.into(), fields: Map::new(), limit: None }
    }

    /// With one more figure.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Entry {
        self.fields.insert(name.into(), value.into());
        self
    }

    /// It can happen often: of several within a second only the first is logged, with a count of the others
    /// later.
    pub fn frequent(self) -> Entry {
        let limit = Limit { key: self.event.into(), first: 1, every: OFTEN, count: 1 };
        Entry { limit: Some(limit), ..self }
    }

    /// Each may matter, and there can be very many of a kind, as of damaged blocks: the first few are logged, and
    /// from then on a count every ten seconds, in which this entry is `count`.
    pub fn one_of_many(self, kind: &str, count: u64) -> Entry {
        let limit = Limit { key: format!("{} {kind}", self.event), first: FEW, every: RARELY, count };
        Entry { limit: Some(limit), ..self }
    }
}

/// The way to the thread that writes.
#[derive(Clone, Debug)]
pub struct Log {
    ways: SyncSender<Message>,
    least: Level,
    /// The number of lines that did not fit into the queue.
    lost: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Message {
    Entry(SystemTime, Entry),
    /// Acknowledge when all earlier entries are written.
    Flush(Sender<()>),
}

impl Log {
    /// Writes events of sufficient level to `out`; `verbose` is the number of `-v` options.
    pub fn start(form: Form, verbose: u8, out: impl Write + Send + 'static) -> Log {
        let (ways, messages) = sync_channel(MOST_KEPT);
        let lost = Arc::new(AtomicU64::new(0));
        let writer = Writer { form, out, limited: Vec::new(), lost: Arc::clone(&lost) };
        std::thread::spawn(move || writer.run(&messages));
        let least = match verbose {
            0 => Level::Note,
            1 => Level::Detail,
            _ => Level::Trace,
        };
        Log { ways, least, lost }
    }

    /// Logs an entry of sufficient level. Never waits.
    pub fn log(&self, entry: Entry) {
        if entry.level <= self.least && self.ways.try_send(Message::Entry(SystemTime::now(), entry)).is_err()
        {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The least severe level that is logged.
    pub fn least(&self) -> Level {
        self.least
    }

    /// Waits until all is written, but not for long.
    pub fn flush(&self) {
        let (says, hears) = channel();
        if self.ways.send(Message::Flush(says)).is_ok() {
            let _ = hears.recv_timeout(PATIENCE);
        }
    }
}

struct Writer<W> {
    form: Form,
    out: W,
    /// Entries with a limit.
    limited: Vec<Counted>,
    lost: Arc<AtomicU64>,
}

impl<W: Write> Writer<W> {
    fn run(mut self, messages: &Receiver<Message>) {
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

    /// Logs the counts of suppressed entries that are due, or all of them at the `end`, and the number of lost
    /// lines.
    fn sum_up(&mut self, is_end: bool) {
        let due = |counted: &&mut Counted| {
            counted.more > 0 && (is_end || counted.told.elapsed() >= counted.limit.every)
        };
        let sums: Vec<Entry> = self.limited.iter_mut().filter(due).filter_map(Counted::sum).collect();
        sums.iter().for_each(|entry| self.write(SystemTime::now(), entry));
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            let text = format!("{lost} lines were lost: whoever reads them was too slow");
            self.write(SystemTime::now(), &Entry::new(Level::Warning, "lost", text).with("count", lost));
        }
    }

    fn write(&mut self, at: SystemTime, entry: &Entry) {
        let line = match self.form {
            Form::Human => format!("{}: {}\n", entry.level.name(), entry.text),
            Form::Json => format!("{}\n", to_json(at, entry)),
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
        let text = format!("{} ({count} more)", self.entry.text);
        (count > 0).then(|| Entry { text, ..self.entry.clone() }.with("count", count))
    }
}

fn to_json(at: SystemTime, entry: &Entry) -> Value {
    let mut all = Map::new();
    all.insert("time".into(), json!(timestamp(at)));
    all.insert("level".into(), json!(entry.level.name()));
    all.insert("event".into(), json!(entry.event));
    all.insert("message".into(), json!(entry.text));
    all.extend(entry.fields.clone());
    Value::Object(all)
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
            Level::Detail => "detail",
            Level::Trace => "trace",
        }
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

/// Lines that wait to be written.
const MOST_KEPT: usize = 1024;
/// What happens again within this time is counted.
const OFTEN: Duration = Duration::from_secs(1);
/// As [`OFTEN`], for entries each of which may matter.
const RARELY: Duration = Duration::from_secs(10);
/// Number of these logged within that time.
const FEW: u32 = 5;
/// How long the end waits for lines to be written.
const PATIENCE: Duration = Duration::from_secs(1);

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

    fn written(form: Form, verbose: u8, entries: &[Entry]) -> String {
        let paper = Paper::default();
        let log = Log::start(form, verbose, paper.clone());
        entries.iter().for_each(|entry| log.log(entry.clone()));
        log.flush();
        let bytes = paper.0.lock().expect("a test").clone();
        String::from_utf8(bytes).expect("it is text")
    }

    #[test]
    fn what_matters_enough_is_told() {
        let all = [
            Entry::new(Level::Warning, "drive", "drive 1 is missing"),
            Entry::new(Level::Detail, "faults", "slow"),
            Entry::new(Level::Trace, "connected", "a client"),
        ];
        assert_eq!(written(Form::Human, 0, &all), "warning: drive 1 is missing\n");
        assert_eq!(written(Form::Human, 1, &all).lines().count(), 2);
        assert_eq!(written(Form::Human, 3, &all).lines().count(), 3);
    }

    #[test]
    fn programs_get_an_object_a_line() {
        let entry = Entry::new(Level::Note, "ready", "line\nend").with("items", 7);
        let text = written(Form::Json, 0, &[entry]);
        assert_eq!(text.lines().count(), 1, "{text}");
        let value: Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(
            (&value["event"], &value["items"], &value["level"]),
            (&json!("ready"), &json!(7), &json!("note"))
        );
        assert_eq!(value["time"].as_str().map(str::len), Some(24));
    }

    #[test]
    fn what_happens_often_is_counted() {
        let one = Entry::new(Level::Warning, "refused", "a client was turned away").frequent();
        let text = written(Form::Human, 0, &vec![one; 500]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() < 20, "{text}");
        let more = |line: &&str| -> u64 {
            let count = line.split_once('(').and_then(|(_, rest)| rest.split_once(" more)"));
            count.map_or(1, |(count, _)| count.parse().expect("a number"))
        };
        assert_eq!(lines.iter().map(more).sum::<u64>(), 500, "{text}");
    }

    #[test]
    fn of_many_the_first_few_of_each_kind_are_logged_and_the_others_counted() {
        let entry = |block: u32, kind: &str| {
            let text = format!("block {block}: a damaged {kind}");
            Entry::new(Level::Warning, "damage", text).one_of_many(kind, 2)
        };
        let mut all: Vec<Entry> = (0..130).map(|block| entry(block, "copy")).collect();
        all.push(entry(130, "record"));
        let text = written(Form::Human, 0, &all);
        let first: Vec<String> =
            (0..5).map(|block| format!("warning: block {block}: a damaged copy")).collect();
        let last = ["warning: block 130: a damaged record", "warning: block 0: a damaged copy (250 more)"];
        assert_eq!(text.lines().collect::<Vec<_>>(), [first, last.map(String::from).into()].concat());
    }

    #[test]
    fn a_count_follows_in_time_and_after_a_quiet_time_the_first_few_again() {
        let paper = Paper::default();
        let (form, out, lost) = (Form::Human, paper.clone(), Arc::default());
        let mut writer = Writer { form, out, limited: Vec::new(), lost };
        let written = || {
            let bytes = std::mem::take(&mut *paper.0.lock().expect("a test"));
            String::from_utf8(bytes).expect("it is text")
        };
        // Within `every`, or when it has passed.
        let note = |writer: &mut Writer<Paper>, every: Duration| {
            let mut entry = Entry::new(Level::Warning, "damage", "a block").one_of_many("copy", 1);
            entry.limit.iter_mut().for_each(|limit| limit.every = every);
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
