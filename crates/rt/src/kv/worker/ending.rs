//! Shutdown: requests in flight are completed, and writes are made durable.

use super::super::figures::{Obstacle, Unwritten};
use super::super::shards::{Common, Message, Recovery};
use super::Worker;
use crate::ctl::Steered;
use std::sync::atomic::Ordering;
use tailcut_base::{Nanos, Time};
use tailcut_host::kv::session::Shard;
use tailcut_host::kv::{Engine, WriteNumber};

/// Phase of the shutdown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stopping {
    /// The worker serves.
    Not,
    /// Requests in flight complete. At `quiet`, connections of clients that read none of their replies are
    /// closed: no client has taken any for a while. Connections left at `deadline` are closed.
    Emptying { deadline: Time, quiet: Time },
    /// No connection is left; writes become durable up to these points of the shards. A drive without any
    /// completion until `deadline`, or without room, is abandoned.
    Settling { points: Vec<WriteNumber>, deadline: Time },
    /// Shutdown is complete.
    Done { unwritten: Option<Unwritten> },
}

impl<D: Steered> Worker<D> {
    /// Begins the shutdown.
    pub(super) fn begin_end(&mut self) {
        if self.stopping != Stopping::Not {
            return;
        }
        self.listeners.close();
        self.datagram_sockets.close();
        let now = self.clock.now();
        self.stopping =
            Stopping::Emptying { deadline: now + self.limits.patience, quiet: now + READING_PATIENCE };
        // A client without requests in flight is disconnected at its next check.
        self.slots.all().for_each(|slot| self.note_answer(slot));
    }

    /// Advances recovery while it is still needed. Nothing is served before it is complete.
    pub(super) fn recover(&mut self) {
        if !self.may_recover() {
            return;
        }
        self.shards.recover();
        let recovery = self.shards.common().recovery();
        self.is_recovered = recovery == Recovery::Over;
        if recovery == Recovery::Failed && self.stopping == Stopping::Not {
            let common = self.shards.common();
            (1..common.threads()).for_each(|thread| common.mailbox(thread).stop());
            self.begin_end();
        }
    }

    /// True if recovery can advance in another iteration.
    pub(super) fn can_recover(&self) -> bool {
        self.may_recover() && self.shards.common().recovery() == Recovery::GoesOn
    }

    fn may_recover(&self) -> bool {
        let is_of_use = matches!(self.stopping, Stopping::Not | Stopping::Emptying { .. });
        self.thread == 0 && !self.is_recovered && is_of_use
    }

    /// Extends the deadline, because the drive has completed a request.
    pub(super) fn note_progress(&mut self, now: Time) {
        let Stopping::Settling { deadline, .. } = &mut self.stopping else { return };
        let common = self.shards.common();
        // Rejected retries of writes to a full drive are no progress.
        let is_full = |shard| common.with(shard, |shard| shard.engine().is_full()).unwrap_or(false);
        if !(0..common.shards()).any(is_full) {
            *deadline = now + self.limits.patience;
        }
    }

    pub(super) fn wind_down(&mut self, now: Time) {
        match &self.stopping {
            Stopping::Not | Stopping::Done { .. } => {}
            &Stopping::Emptying { deadline, quiet } => self.empty(now, deadline, quiet),
            Stopping::Settling { points, deadline } => {
                let common = self.shards.common();
                let is_durable = (0..)
                    .zip(points)
                    .all(|(shard, &point)| is_so(common, shard, |shard| shard.engine().durable() >= point));
                let is_idle =
                    (0..common.shards()).all(|shard| is_so(common, shard, |shard| shard.engine().is_idle()));
                // A drive that has failed makes no more writes durable, so there is nothing to wait for.
                let is_over = (0..).zip(points).all(|(shard, &point)| {
                    is_so(common, shard, |shard| {
                        shard.engine().durable() >= point || shard.engine().has_failed()
                    })
                });
                if now >= *deadline
                    || is_over && is_idle && self.drive.as_mut().is_none_or(|drive| drive.come_to_rest(now))
                {
                    let is_all = is_durable && common.failed_shards() == 0;
                    let unwritten = (!is_all).then(|| unwritten(common, self.promises_durability));
                    self.stopping = Stopping::Done { unwritten };
                }
            }
        }
    }

    /// Replies were sent to a client, or its socket took none. Clients that read keep the others from being
    /// closed.
    pub(super) fn note_reading(&mut self, has_read: bool) {
        let Stopping::Emptying { quiet, .. } = &mut self.stopping else { return };
        if has_read || *quiet == Time::NEVER {
            *quiet = self.clock.now() + READING_PATIENCE;
        }
    }

    /// True if all requests of a client are answered, and it does not read the replies.
    fn is_stuck(&self, slot: u32) -> bool {
        let client = self.slots.get(slot);
        client.is_some_and(|client| !client.socket.has_room && self.clients.is_answered(client.name))
    }

    /// Waits until no connection is left. The first thread, which owns the drive, also waits for the others.
    fn empty(&mut self, now: Time, deadline: Time, quiet: Time) {
        let is_late = now >= deadline;
        if is_late || now >= quiet {
            for slot in self.slots.all() {
                if is_late || self.is_stuck(slot) {
                    self.close(slot);
                }
            }
            // The next attempt to send sets it again.
            self.stopping = Stopping::Emptying { deadline, quiet: Time::NEVER };
        }
        if !self.slots.is_empty() {
            return;
        }
        let common = self.shards.common();
        if self.thread > 0 {
            common.finished.fetch_add(1, Ordering::SeqCst);
            common.post(0, Message::Poll);
            self.stopping = Stopping::Done { unwritten: None };
        } else if is_late || common.finished.load(Ordering::SeqCst) + 1 >= common.threads() as usize {
            let close = |shard| common.with(shard, |shard| shard.engine_mut().close()).unwrap_or_default();
            let points = (0..common.shards()).map(close).collect();
            self.stopping = Stopping::Settling { points, deadline: now + self.limits.patience };
            self.shards.go_on_everywhere();
            self.is_told = true;
        }
    }
}

/// How long no client reads replies until shutdown closes the connections that have unread ones: as long as a
/// client may need to be scheduled.
const READING_PATIENCE: Nanos = Nanos::millis(500);

/// What is not durable at the end, and why.
fn unwritten(common: &Common, promises_durability: bool) -> Unwritten {
    let is_any = |what: fn(&Engine) -> bool| {
        (0..common.shards()).any(|shard| common.with(shard, |shard| what(shard.engine())).unwrap_or(false))
    };
    let why = match common.failed_shards() {
        0 if is_any(Engine::is_full) => Obstacle::Full,
        0 if is_any(Engine::has_failed) => Obstacle::Failed,
        0 => Obstacle::Silent,
        _ => Obstacle::ShardFailed,
    };
    // The changes of a failed shard cannot be counted.
    let changes = |shard| common.with(shard, |shard| shard.engine().undurable_changes());
    let lost = if promises_durability { Some(0) } else { (0..common.shards()).map(changes).sum() };
    Unwritten::new(why, lost)
}

/// True if the condition holds for a shard, or the shard has failed, so that there is nothing to wait for.
fn is_so(common: &Common, shard: u32, what: impl FnOnce(&mut Shard) -> bool) -> bool {
    common.with(shard, what).unwrap_or(true)
}
