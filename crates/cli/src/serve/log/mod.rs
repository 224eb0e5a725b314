//! A server's log on standard error: a line for each event of [`tracing`], as text or as JSON.
//!
//! A thread of its own writes the lines, so that no serving thread waits for their reader; lines that
//! cannot be queued are counted.
//!
//! Some fields of an event have a meaning here:
//!
//! - `event` is its name for programs, by default its target.
//! - `frequent = true`: of several within a second only the first is logged, with a count of the others
//!   later.
//! - `one_of = "kind"`: each may matter, and there can be very many of a kind, as of damaged blocks: the
//!   first few are logged, and from then on a count every ten seconds. The event counts as `times`, 1 if
//!   there is no such field.
//! - `line` is the whole line as text, if that is not level and message.
//! - A name that ends in `.json` has a value as JSON.
//!
//! All others are figures for programs. Spans are not recorded.

#[cfg(test)]
mod tests;
mod writer;

use clap::{Args, ValueEnum};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, SystemTime};
use tracing::level_filters::LevelFilter;
use tracing::subscriber::SetGlobalDefaultError;
use tracing::{Event, Level, Metadata, Subscriber, span};
use writer::{Entry, Writer};

/// What is logged, and how.
#[derive(Clone, Copy, Debug, Args)]
pub struct LogArguments {
    /// Log events of this level and of the more severe ones
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log_level: LogLevel,
    /// Log format on standard error
    #[arg(long, alias = "log", hide_short_help = true, value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,
}

/// How lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Sentences
    #[value(alias = "human")]
    Text,
    /// An object of JSON for each line, with its time
    Json,
}

/// How much an event matters at least to be logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum LogLevel {
    /// Something is lost, or not done
    Error,
    /// The operator should look at it
    Warn,
    /// It is as it should be
    Info,
    /// Slow reads
    Debug,
    /// Each connection
    Trace,
}

impl From<LogLevel> for Level {
    fn from(level: LogLevel) -> Level {
        match level {
            LogLevel::Error => Level::ERROR,
            LogLevel::Warn => Level::WARN,
            LogLevel::Info => Level::INFO,
            LogLevel::Debug => Level::DEBUG,
            LogLevel::Trace => Level::TRACE,
        }
    }
}

/// The way to the thread that writes.
#[derive(Clone, Debug)]
pub struct Log {
    ways: SyncSender<Message>,
    level: Level,
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
    /// Writes events of this level and of the more severe ones to `out`.
    pub fn start(format: LogFormat, level: impl Into<Level>, out: impl Write + Send + 'static) -> Log {
        let (ways, messages) = sync_channel(MOST_KEPT);
        let lost = Arc::new(AtomicU64::new(0));
        let writer = Writer::new(format, out, Arc::clone(&lost));
        std::thread::spawn(move || writer.run(&messages));
        Log { ways, level: level.into(), lost }
    }

    /// As [`Log::start`], for the events of all threads of this process, to standard error.
    ///
    /// # Errors
    /// If the process has a log.
    pub fn of_process(format: LogFormat, level: impl Into<Level>) -> Result<Log, SetGlobalDefaultError> {
        let log = Log::start(format, level, std::io::stderr());
        tracing::subscriber::set_global_default(log.clone())?;
        Ok(log)
    }

    /// Waits until all is written, but not for long.
    pub fn flush(&self) {
        let (says, hears) = channel();
        if self.ways.send(Message::Flush(says)).is_ok() {
            let _ = hears.recv_timeout(PATIENCE);
        }
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::from_level(self.level))
    }

    /// Never waits.
    fn event(&self, event: &Event<'_>) {
        if self.ways.try_send(Message::Entry(SystemTime::now(), Entry::of(event))).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// Lines that wait to be written.
const MOST_KEPT: usize = 1024;
/// How long the end waits for lines to be written.
const PATIENCE: Duration = Duration::from_secs(1);
