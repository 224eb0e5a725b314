//! Reports events of a server to the operator and to the service manager.

use super::log::{Entry, Level, Log};
use crate::serve::condition::scrub_result;
use crate::terminal::TextRole;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tailcut_base::Nanos;
use tailcut_base::quantity::show_number_of;
use tailcut_host::array::Condition;
use tailcut_host::array::drives::Presence;
use tailcut_host::kv::DamageKind;
use tailcut_host::kv::session::Sums;
use tailcut_rt::ServiceManager;
use tailcut_rt::ctl::presence_name;
use tailcut_rt::kv::{Event, Events, Fault, Figures};

/// Writes to the log and notifies the service manager.
#[derive(Clone, Debug)]
pub struct Reporter {
    log: Log,
    service_manager: Arc<ServiceManager>,
}

impl Reporter {
    /// By these ways.
    pub fn new(log: Log, service_manager: ServiceManager) -> Reporter {
        Reporter { log, service_manager: Arc::new(service_manager) }
    }

    /// The service manager's watchdog interval; `None` without a watchdog.
    pub fn watchdog(&self) -> Option<Duration> {
        self.service_manager.watchdog()
    }

    /// Something that the user should know.
    pub fn note(&self, text: &str) {
        self.log.log(Entry::new(Level::Note, "note", text));
    }

    /// Something that the user should change.
    pub fn warn(&self, text: &str) {
        self.log.log(Entry::new(Level::Warning, "warning", text));
    }

    /// This machine did not keep up with an emulated drive.
    pub fn emulation_late(&self, text: &str) {
        self.log.log(Entry::new(Level::Warning, "emulation_late", text));
    }

    /// The start has begun.
    pub fn starting(&self, what: &str) {
        let version = env!("CARGO_PKG_VERSION");
        let text = format!("tailcut {version} starts: {what}");
        self.log.log(Entry::new(Level::Note, "start", text).with("version", version));
        self.service_manager.status("starting");
    }

    /// A callback that reports the progress of opening a store.
    pub fn progress(&self) -> impl FnMut(u32, u32) + use<> {
        let (reporter, mut next) = (self.clone(), Instant::now() + EVERY);
        move |looked_at, all| {
            if Instant::now() >= next {
                next = Instant::now() + EVERY;
                let text = format!("opening: {looked_at} of {all} segments looked at");
                reporter.service_manager.is_starting(&text, PATIENCE);
                let entry = Entry::new(Level::Note, "opening", text);
                reporter.log.log(entry.with("looked_at", looked_at).with("of", all));
            }
        }
    }

    /// It serves, while the rest of the items on flash may still be recovered.
    pub fn ready(&self, took: Nanos, sums: &Sums, places: &[String]) {
        let (seconds, items) = (took.0 as f64 / 1e9, sums.items);
        let recovery = sums.recovered.map_or_else(String::new, |(recovered, all)| {
            format!(" so far, {recovered} of {all} segments recovered,")
        });
        let text = format!(
            "ready after {seconds:.3} s with {}{recovery} at {}",
            show_number_of(items, "item"),
            places.join(", ")
        );
        self.service_manager.is_ready(&format!("serving at {}", places.join(", ")));
        let entry = Entry::new(Level::Note, "ready", text).with("seconds", seconds);
        self.log.log(entry.with("items", items).with("addresses", places));
    }

    /// Everything that is on flash was found, after it has served for a while.
    pub fn recovered(&self, took: Nanos, items: u64) {
        let seconds = took.0 as f64 / 1e9;
        let text =
            format!("everything on flash was found after {seconds:.3} s: {}", show_number_of(items, "item"));
        self.log
            .log(Entry::new(Level::Note, "recovered", text).with("seconds", seconds).with("items", items));
    }

    /// Reports the status line, and that the server is alive if `is_alive`.
    pub fn going_on(&self, status: &str, is_alive: bool) {
        self.service_manager.status(status);
        if is_alive {
            self.service_manager.is_alive();
        }
    }

    /// The end has begun.
    pub fn stopping(&self) {
        self.service_manager.is_stopping();
        let text = "stopping: finishing what is under way";
        self.log.log(Entry::new(Level::Note, "stopping", text));
    }

    /// Reports that the server has stopped, with its final statistics and what may be lost.
    pub fn stopped(&self, figures: &Figures, loss: Option<&str>, has_drive: bool) {
        let (items, statistics) = (figures.sums.items, &figures.sums.statistics);
        let (level, text) = match (figures.unreadable, loss) {
            (Some(block), _) => (Level::Error, format!("stopped: block {block} of the drive cannot be read")),
            (None, None) => (Level::Note, "stopped".into()),
            (None, Some(loss)) => (Level::Error, format!("stopped, and {loss}")),
        };
        let entry = Entry::new(level, "stopped", text).with("items", items).with("gets", statistics.gets());
        let entry = entry.with("sets", statistics.cmd_set);
        self.log.log(if has_drive {
            entry.with("drive_writes_completed", figures.is_durable())
        } else {
            entry
        });
    }

    /// Waits until all is written.
    pub fn flush(&self) {
        self.log.flush();
    }

    /// The receiver of the server's events.
    pub fn events(&self) -> Events {
        let log = self.log.clone();
        Events::to(move |event| {
            if level_of(&event) <= log.least() {
                log.log(entry(&event));
            }
        })
    }
}

fn level_of(event: &Event) -> Level {
    match event {
        Event::Connected | Event::Disconnected => Level::Trace,
        Event::Grown { .. } | Event::Room { is_full: false, .. } | Event::StoreFull { is_full: false } => {
            Level::Note
        }
        Event::Faults { what: Fault::Slow, .. } => Level::Detail,
        Event::Array(Condition::Failed { .. })
        | Event::Failed(_)
        | Event::Panicked(_)
        | Event::ShardFailed { .. } => Level::Error,
        Event::Scrubbed(scrub) if scrub_result(&scrub.to_string()).0 != TextRole::Warning => Level::Note,
        Event::Array(Condition::Optimal)
        | Event::Drive { is: Presence::InSync | Presence::Rebuilding, .. } => Level::Note,
        _ => Level::Warning,
    }
}

fn entry(event: &Event) -> Entry {
    let new = |name, text: String| Entry::new(level_of(event), name, text);
    match event {
        Event::Refused => {
            new("client_refused", "a client was turned away: there are as many as -c allows".into())
                .frequent()
        }
        Event::Exhausted => {
            let text =
                "no descriptors or memory for further clients: raise the limit (LimitNOFILE, ulimit -n)";
            new("out_of_descriptors", text.into()).frequent()
        }
        Event::LoginFailed(peer) => {
            // Not frequent: failed logins are slowed down.
            let text =
                format!("wrong name or password from {peer}; further attempts from there are slowed down");
            new("login_failed", text).with("peer", peer.to_string())
        }
        Event::Hoarding => {
            let text = "a client was disconnected that did not read its answers, or half sent a value, while others waited for the memory";
            new("client_hoarding", text.into()).frequent()
        }
        Event::Panicked(said) => {
            new("panic", format!("a bug in tailcut, please report it: {said}")).with("message", said.as_str())
        }
        Event::ShardFailed { shard, of } => {
            let text = format!("shard {shard} of {of} has failed and answers SERVER_ERROR until a restart");
            new("shard_failed", text).with("shard", *shard).with("of", *of)
        }
        Event::Damage { drive, damage } => {
            let kind = match damage.what {
                DamageKind::Superblock | DamageKind::Head | DamageKind::Summary => "metadata",
                DamageKind::Copy => "copy",
                DamageKind::Record => "record",
                DamageKind::Ends(_) | DamageKind::Hole(_) => "records",
            };
            let entry = new("damage", format!("{drive}: {damage}")).with("block", damage.block);
            entry.one_of_many(kind, 1)
        }
        Event::StoreFull { is_full: true } => {
            let text = "the store is full: values are refused until items are deleted or expire (-M)";
            new("store_full", text.into())
        }
        Event::StoreFull { .. } => new("store_has_room", "the store has refused no value for 10 s".into()),
        Event::Room { drive, is_full: true } => {
            let text = format!(
                "{drive}: no room to write: make some on its file system; it is tried again every second"
            );
            new("drive_full", text)
        }
        Event::Room { drive, .. } => new("drive_has_room", format!("{drive}: there is room to write again")),
        Event::Grown { store, drive } => {
            let text = format!(
                "the drive has {} MiB, and the store was made on {} MiB: it goes on in those",
                drive >> 8,
                store >> 8
            );
            new("drive_has_grown", text).with("blocks", *drive).with("store_blocks", *store)
        }
        Event::Connected => new("client_connected", "a client has come".into()).frequent(),
        Event::Disconnected => new("client_left", "a client has gone".into()).frequent(),
        Event::Drive { member, is } => {
            let text = match is {
                Presence::Missing => format!("drive {member} is missing: replace it with 'tailcut ctl'"),
                Presence::Rebuilding => format!("drive {member} was replaced and is rebuilt"),
                Presence::InSync => format!("drive {member} serves"),
            };
            new("drive", text).with("drive", *member).with("state", presence_name(*is))
        }
        Event::Failed(why) => new("drive_failed", why.clone()),
        Event::Array(condition) => {
            let state = match condition {
                Condition::Optimal => "optimal",
                Condition::Degraded { .. } => "degraded",
                Condition::Failed { .. } => "failed",
            };
            new("array", format!("the array is {condition}")).with("condition", state)
        }
        Event::Scrubbed(scrub) => new("scrub", scrub_result(&scrub.to_string()).1),
        Event::Faults { member, what, count } => {
            let (name, why) = match what {
                Fault::Error => ("error", "failed"),
                Fault::Corrupt => ("corrupt", "returned something else than was written"),
                Fault::Slow => ("slow", "were slow"),
            };
            let text = format!("{count} reads of drive {member} {why}");
            let entry = new("drive_faults", text).with("drive", *member).with("fault", name);
            entry.with("count", *count).one_of_many(&format!("{member} {name}"), *count)
        }
    }
}

/// How often the progress of opening is reported.
const EVERY: Duration = Duration::from_secs(2);
/// How long the service manager is to wait for the next report while a store is opened: a multiple of
/// [`EVERY`].
const PATIENCE: Duration = Duration::from_secs(60);
