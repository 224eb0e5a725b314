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
    /// It can happen often: of several within a second only the first is logged, with a count of the others
    /// later.
    pub is_frequent: bool,
}

impl Entry {
    /// Without figures.
    pub fn new(level: Level, event: &'static str, text: impl Into<String>) -> Entry {
        Entry { level, event, text: text.into(), fields: Map::new(), is_frequent: false }
    }

    /// With one more figure.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Entry {
        self.fields.insert(name.into(), value.into());
        self
    }

    /// It can happen often.
    pub fn frequent(mut self) -> Entry {
        self.is_frequent = true;
        self
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
        let writer = Writer { form, out, frequent: Vec::new(), lost: Arc::clone(&lost) };
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
    /// Frequent events: the entry, when it was last logged, and how many there were since.
    frequent: Vec<(Entry, Instant, u64)>,
    lost: Arc<AtomicU64>,
}

impl<W: Write> Writer<W> {
    fn run(mut self, messages: &Receiver<Message>) {
        loop {
            match messages.recv_timeout(OFTEN) {
                Ok(Message::Entry(at, entry)) => self.note(at, entry),
                Ok(Message::Flush(says)) => {
                    self.sum_up(Duration::ZERO);
                    // The requester may have stopped waiting.
                    let _ = says.send(());
                }
                Err(RecvTimeoutError::Timeout) => self.sum_up(OFTEN),
                Err(RecvTimeoutError::Disconnected) => return self.sum_up(Duration::ZERO),
            }
        }
    }

    fn note(&mut self, at: SystemTime, entry: Entry) {
        if !entry.is_frequent {
            return self.write(at, &entry);
        }
        match self.frequent.iter_mut().find(|(told, ..)| told.event == entry.event) {
            Some((_, told, more)) if told.elapsed() < OFTEN => *more += 1,
            Some((_, told, _)) => {
                *told = Instant::now();
                self.sum_up(Duration::ZERO);
                self.write(at, &entry);
            }
            None => {
                self.write(at, &entry);
                self.frequent.push((entry, Instant::now(), 0));
            }
        }
    }

    /// Logs the counts of suppressed events that were last logged at least `ago` ago, and the number of
    /// lost lines.
    fn sum_up(&mut self, ago: Duration) {
        let is_due = |(_, told, more): &&mut (Entry, Instant, u64)| *more > 0 && told.elapsed() >= ago;
        let due: Vec<Entry> = self.frequent.iter_mut().filter(is_due).map(again).collect();
        due.iter().for_each(|entry| self.write(SystemTime::now(), entry));
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

/// What happened often, as one entry.
fn again((entry, told, more): &mut (Entry, Instant, u64)) -> Entry {
    *told = Instant::now();
    let count = std::mem::take(more);
    let text = format!("{} ({count} more)", entry.text);
    Entry { text, ..entry.clone() }.with("count", count)
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
