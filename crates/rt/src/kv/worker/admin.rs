//! Administrative requests to a worker, handled between iterations.

use super::super::admin::ThreadReport;
use super::super::events::Event;
use super::Worker;
use crate::ctl::{AdminRequest, Answer, Health, Steered};
use std::sync::mpsc::Sender;
use tailcut_base::{Nanos, Time};
use tailcut_host::kv::Damage;
use tailcut_host::wire::ctl::{self, Ask};
use tailcut_host::wire::memcached::reply::stat_number;
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
    /// Whether the drive was full; None before the first check.
    is_full: Option<bool>,
    refusals: Refusals,
}

/// Whether a store that evicts nothing is full, by the number of values that it has refused for lack of room.
#[derive(Debug, Default)]
struct Refusals {
    /// Number at the last check.
    count: u64,
    /// When it last rose; None if the store counts as not full.
    rose: Option<Time>,
}

impl Refusals {
    /// There have been `count` refusals until now. Returns true if the store has become full, and false if it
    /// is not full any more.
    fn note(&mut self, now: Time, count: u64) -> Option<bool> {
        // The counters can be reset.
        let has_risen = count > self.count;
        self.count = count;
        match self.rose {
            _ if has_risen => self.rose.replace(now).is_none().then_some(true),
            Some(rose) if now >= rose + REFUSED_FOR => {
                self.rose = None;
                Some(false)
            }
            _ => None,
        }
    }
}

impl Checkup {
    /// The schedule for a drive, if there is one.
    pub(super) fn new(drive: Option<&impl Steered>) -> Checkup {
        let due = if drive.is_some() { Time::ZERO } else { Time::NEVER };
        let refusals = Refusals::default();
        Checkup { health: Health::default(), due, is_stale: false, is_full: None, refusals }
    }

    /// When the next check is due, even without other events.
    pub(super) fn next_event(&self) -> Time {
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
    pub(super) fn answer_admin(&mut self, request: AdminRequest, now: Time) {
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
        let sums = common.sums();
        let (is_full, model) = (sums.full_shards > 0, || drive.identify().model);
        let has_changed = Some(is_full) != self.checkup.is_full;
        if is_full != self.checkup.is_full.unwrap_or(false) {
            let drive = drive.full().filter(|_| is_full).unwrap_or_else(model);
            common.log(Event::Room { drive, is_full });
        }
        let refusals = self.checkup.refusals.note(now, sums.statistics.store_no_memory);
        // A full drive has been reported as such.
        if let (false, Some(is_full)) = (is_full, refusals) {
            common.log(Event::StoreFull { is_full });
        }
        for shard in 0..self.shards.common().shards() {
            let common = self.shards.common();
            while let Some(damage) = common.with(shard, |shard| shard.engine_mut().next_damage()).flatten() {
                let block = self.parts.block(shard, damage.block);
                common.log(Event::Damage { drive: model(), damage: Damage { block, ..damage } });
            }
        }
        self.shards.common().tell_change(&self.checkup.health, &health);
        let is_the_same = self.checkup.health == health && !has_changed;
        let refusals = std::mem::take(&mut self.checkup.refusals);
        self.checkup =
            Checkup { health, due: now + CHECK_EVERY, is_stale: false, is_full: Some(is_full), refusals };
        if !is_the_same {
            let mut text = Vec::new();
            self.checkup.health.write(&mut text);
            stat_number(&mut text, "drive_full", u64::from(is_full));
            self.shards.common().set_health(text);
        }
    }
}

/// Minimum interval between health checks.
const CHECK_EVERY: Nanos = Nanos::millis(100);
/// A store that has refused no value for this long counts as not full.
const REFUSED_FOR: Nanos = Nanos::secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_store_is_reported_once_and_so_is_its_room() {
        let mut refusals = Refusals::default();
        let at = |second: u64| Time(second * 1_000_000_000);
        assert_eq!(refusals.note(at(1), 0), None);
        assert_eq!(refusals.note(at(2), 3), Some(true));
        assert_eq!(refusals.note(at(8), 4), None, "it is still full");
        assert_eq!(refusals.note(at(17), 4), None);
        assert_eq!(refusals.note(at(18), 4), Some(false));
        assert_eq!(refusals.note(at(30), 4), None);
        assert_eq!(refusals.note(at(31), 0), None, "the counters were reset");
        assert_eq!(refusals.note(at(32), 1), Some(true));
    }
}
