//! Reports events of a server to the operator and to the service manager.

use crate::serve::condition::scrub_result;
use crate::terminal::TextRole;
use serde_json::json;
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
use tracing::{debug, error, info, trace, warn};

/// Logs, and notifies the service manager.
#[derive(Clone, Debug)]
pub struct Reporter {
    service_manager: Arc<ServiceManager>,
}

impl Reporter {
    /// A reporter to the log and to `service_manager`.
    pub fn new(service_manager: ServiceManager) -> Reporter {
        Reporter { service_manager: Arc::new(service_manager) }
    }

    /// The service manager's watchdog interval; `None` without a watchdog.
    pub fn watchdog(&self) -> Option<Duration> {
        self.service_manager.watchdog()
    }

    /// Logs something that the user should know.
    pub fn note(&self, text: &str) {
        info!(event = "note", "{text}");
    }

    /// Logs a warning: something that the user should change.
    pub fn warn(&self, text: &str) {
        warn!(event = "warning", "{text}");
    }

    /// A limit is nearly reached.
    pub fn near_limit(&self, text: &str) {
        warn!(event = "near_limit", "{text}");
    }

    /// This machine did not keep up with an emulated drive.
    pub fn emulation_late(&self, text: &str) {
        warn!(event = "emulation_late", "{text}");
    }

    /// Reports that the server starts; `what` describes it.
    pub fn starting(&self, what: &str) {
        let version = env!("CARGO_PKG_VERSION");
        info!(event = "start", version, "tailcut {version} starts: {what}");
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
                info!(event = "opening", looked_at, of = all, "{text}");
            }
        }
    }

    /// It serves, while the rest of the items on flash may still be recovered.
    pub fn ready(&self, took: Nanos, sums: &Sums, places: &[String]) {
        let (seconds, items) = (took.0 as f64 / 1e9, sums.items);
        let recovery = sums.recovered.map_or_else(String::new, |(recovered, all)| {
            format!(" so far, {recovered} of {all} segments recovered,")
        });
        self.service_manager.is_ready(&format!("serving at {}", places.join(", ")));
        info!(
            event = "ready",
            seconds,
            items,
            addresses.json = %json!(places),
            "ready after {seconds:.3} s with {}{recovery} at {}",
            show_number_of(items, "item"),
            places.join(", ")
        );
    }

    /// Everything that is on flash was found, after it has served for a while.
    pub fn recovered(&self, took: Nanos, items: u64) {
        let seconds = took.0 as f64 / 1e9;
        info!(
            event = "recovered",
            seconds,
            items,
            "everything on flash was found after {seconds:.3} s: {}",
            show_number_of(items, "item")
        );
    }

    /// Reports the status line, and that the server is alive if `is_alive`.
    pub fn going_on(&self, status: &str, is_alive: bool) {
        self.service_manager.status(status);
        if is_alive {
            self.service_manager.is_alive();
        }
    }

    /// Reports that the server has begun to stop.
    pub fn stopping(&self) {
        self.service_manager.is_stopping();
        info!(event = "stopping", "stopping: finishing what is under way");
    }

    /// Reports that the server has stopped, with its final statistics and what may be lost.
    pub fn stopped(&self, figures: &Figures, loss: Option<&str>, has_drive: bool) {
        let (items, statistics) = (figures.sums.items, &figures.sums.statistics);
        let (gets, sets) = (statistics.gets(), statistics.cmd_set);
        let drive_writes_completed = has_drive.then(|| figures.is_durable());
        match (figures.unreadable, loss) {
            (Some(block), _) => {
                let text = format!("stopped: block {block} of the drive cannot be read");
                error!(event = "stopped", items, gets, sets, drive_writes_completed, "{text}");
            }
            (None, Some(loss)) => {
                error!(event = "stopped", items, gets, sets, drive_writes_completed, "stopped, and {loss}");
            }
            (None, None) => info!(event = "stopped", items, gets, sets, drive_writes_completed, "stopped"),
        }
    }

    /// The receiver of the server's events.
    pub fn events(&self) -> Events {
        Events::to(|event| log_event(&event))
    }
}

/// Logs an event of the server.
fn log_event(event: &Event) {
    match event {
        Event::Refused => warn!(
            event = "client_refused",
            frequent = true,
            "a client was turned away: there are as many as -c allows"
        ),
        Event::Exhausted => warn!(
            event = "out_of_descriptors",
            frequent = true,
            "no descriptors or memory for further clients: raise the limit (LimitNOFILE, ulimit -n)"
        ),
        // Not frequent: failed logins are slowed down.
        Event::LoginFailed(peer) => warn!(
            event = "login_failed",
            %peer,
            "wrong name or password from {peer}; further attempts from there are slowed down"
        ),
        Event::Hoarding => warn!(
            event = "client_hoarding",
            frequent = true,
            "a client was disconnected that did not read its answers, or half sent a value, while others \
             waited for the memory"
        ),
        Event::Panicked(said) => {
            error!(event = "panic", said = said.as_str(), "a bug in tailcut, please report it: {said}");
        }
        Event::ShardFailed { shard, of } => error!(
            event = "shard_failed",
            shard, of, "shard {shard} of {of} has failed and answers SERVER_ERROR until a restart"
        ),
        Event::Damage { drive, damage } => {
            let kind = match damage.what {
                DamageKind::Superblock | DamageKind::Head | DamageKind::Summary => "metadata",
                DamageKind::Copy => "copy",
                DamageKind::Record => "record",
                DamageKind::Ends(_) | DamageKind::Hole(_) => "records",
            };
            warn!(event = "damage", one_of = kind, block = damage.block, "{drive}: {damage}");
        }
        Event::StoreFull { is_full: true } => warn!(
            event = "store_full",
            "the store is full: values are refused until items are deleted or expire (-M)"
        ),
        Event::StoreFull { .. } => {
            info!(event = "store_has_room", "the store has refused no value for 10 s");
        }
        Event::Room { drive, is_full: true } => warn!(
            event = "drive_full",
            "{drive}: no room to write: make some on its file system; it is tried again every second"
        ),
        Event::Room { drive, .. } => {
            info!(event = "drive_has_room", "{drive}: there is room to write again");
        }
        Event::Grown { store, drive } => info!(
            event = "drive_has_grown",
            blocks = drive,
            store_blocks = store,
            "the drive has {} MiB, and the store was made on {} MiB: it goes on in those",
            drive >> 8,
            store >> 8
        ),
        Event::Connected => trace!(event = "client_connected", frequent = true, "a client has come"),
        Event::Disconnected => trace!(event = "client_left", frequent = true, "a client has gone"),
        Event::Drive { member, is } => log_drive(*member, *is),
        Event::Failed(why) => error!(event = "drive_failed", "{why}"),
        Event::Array(condition) => log_condition(condition),
        Event::Scrubbed(scrub) => match scrub_result(&scrub.to_string()) {
            (TextRole::Warning, text) => warn!(event = "scrub", "{text}"),
            (_, text) => info!(event = "scrub", "{text}"),
        },
        Event::Faults { member, what, count } => log_faults(*member, *what, *count),
    }
}

fn log_drive(drive: usize, is: Presence) {
    let state = presence_name(is);
    match is {
        Presence::Missing => {
            warn!(event = "drive", drive, state, "drive {drive} is missing: replace it with 'tailcut ctl'");
        }
        Presence::Rebuilding => {
            info!(event = "drive", drive, state, "drive {drive} was replaced and is rebuilt");
        }
        Presence::InSync => info!(event = "drive", drive, state, "drive {drive} serves"),
    }
}

fn log_condition(condition: &Condition) {
    match condition {
        Condition::Optimal => {
            info!(event = "array", condition = "optimal", "the array is {condition}");
        }
        Condition::Degraded { .. } => {
            warn!(event = "array", condition = "degraded", "the array is {condition}");
        }
        Condition::Failed { .. } => {
            error!(event = "array", condition = "failed", "the array is {condition}");
        }
    }
}

fn log_faults(drive: usize, what: Fault, count: u64) {
    let (fault, why) = match what {
        Fault::Error => ("error", "failed"),
        Fault::Corrupt => ("corrupt", "returned something else than was written"),
        Fault::Slow => ("slow", "were slow"),
    };
    let one_of = format!("{drive} {fault}");
    let (one_of, times) = (one_of.as_str(), count);
    if what == Fault::Slow {
        debug!(
            event = "drive_faults",
            one_of, times, drive, fault, count, "{count} reads of drive {drive} {why}"
        );
    } else {
        warn!(
            event = "drive_faults",
            one_of, times, drive, fault, count, "{count} reads of drive {drive} {why}"
        );
    }
}

/// How often the progress of opening is reported.
const EVERY: Duration = Duration::from_secs(2);
/// How long the service manager is to wait for the next report while a store is opened: a multiple of
/// [`EVERY`].
const PATIENCE: Duration = Duration::from_secs(60);
