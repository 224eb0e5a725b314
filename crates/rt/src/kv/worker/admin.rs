//! Administrative requests to a worker, handled between iterations.

use super::super::admin::ThreadReport;
use super::super::events::Event;
use super::Worker;
use crate::ctl::{AdminRequest, Answer, Health, Steered};
use std::sync::mpsc::Sender;
use tailcut_base::{Nanos, Time};
use tailcut_host::kv::Damage;
use tailcut_host::wire::ctl::{self, Ask};
use tailcut_host::wire::metrics::Metrics;

/// Schedule of health checks of the drive, on the first thread.
#[derive(Debug)]
pub(super) struct Checkup {
    /// Result of the last check.
    health: Health,
    /// Earliest time of the next check; never where there is nothing to report.
    due: Time,
    /// There was activity since the last check.
    is_stale: bool,
    /// The drive was full.
    is_full: bool,
}

impl Checkup {
    /// The schedule for a drive, if there is one.
    pub fn new(drive: Option<&impl Steered>) -> Checkup {
        let due = if drive.is_some() { Time::ZERO } else { Time::NEVER };
        Checkup { health: Health::default(), due, is_stale: false, is_full: false }
    }

    /// When the next check is due, even without other events.
    pub fn next_event(&self) -> Time {
        if self.is_stale { self.due } else { Time::NEVER }
    }
}

impl<D: Steered> Worker<D> {
    /// Reports the thread's counters to the control server.
    pub(super) fn report(&mut self, answer: &Sender<ThreadReport>) {
        let told = ThreadReport { latencies: self.clients.take_latencies(), traffic: self.traffic };
        if let Err(unheard) = answer.send(told) {
            // The requester has gone; the next report includes these latencies.
            self.shards.common().latencies().merge(unheard.0.latencies);
        }
    }

    /// Executes an administrative request about the drive.
    pub(super) fn answer_admin(&mut self, request: AdminRequest) {
        let now = self.clock.now();
        let said = match (&request.ask, &mut self.drive) {
            (Ask::Status, Some(drive)) => Answer::Text(drive.describe()),
            (Ask::Status, None) => Answer::Text(String::new()),
            (Ask::Metrics, drive) => {
                let mut metrics = Metrics::default();
                drive.iter().for_each(|drive| drive.count(&mut metrics));
                Answer::Metrics(metrics)
            }
            (_, None) => Answer::Text(ctl::refusal("everything is in memory: there is no drive")),
            (_, Some(drive)) => {
                self.checkup.due = self.checkup.due.min(now);
                return self.steering.carry_out(drive, now, request);
            }
        };
        // Ignored: the requester no longer waits.
        let _ = request.answer.send(said);
    }

    /// Checks the drive's health at intervals while there is activity, and reports changes.
    pub(super) fn check_up(&mut self, now: Time) {
        self.checkup.is_stale = true;
        let Some(drive) = self.drive.as_ref().filter(|_| self.checkup.due <= now) else { return };
        let health = drive.health();
        let common = self.shards.common();
        let is_full = (0..common.shards())
            .any(|shard| common.with(shard, |shard| shard.engine().is_full()).unwrap_or(false));
        if is_full != self.checkup.is_full {
            self.checkup.is_full = is_full;
            common.log(Event::Room { drive: drive.identify().model, is_full });
        }
        for shard in 0..self.shards.common().shards() {
            let common = self.shards.common();
            while let Some(damage) = common.with(shard, |shard| shard.engine_mut().next_damage()).flatten() {
                let block = self.parts.block(shard, damage.block);
                common.log(Event::Damage(Damage { block, ..damage }));
            }
        }
        self.shards.common().tell_change(&self.checkup.health, &health);
        let is_the_same = self.checkup.health == health;
        let is_full = self.checkup.is_full;
        self.checkup = Checkup { health, due: now + CHECK_EVERY, is_stale: false, is_full };
        if !is_the_same {
            let mut text = Vec::new();
            self.checkup.health.write(&mut text);
            self.shards.common().set_health(text);
        }
    }
}

/// Minimum interval between health checks.
const CHECK_EVERY: Nanos = Nanos::millis(100);
