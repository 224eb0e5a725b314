//! A thread's access to the shards while it executes the requests of a client.

use super::place::{Place, Recovery, Seized};
use super::{Common, fault_injection};
use crate::system::{return_memory, user_and_system_time};
use tailcut_base::Time;
use tailcut_host::kv::PREFETCH_MAX;
use tailcut_host::kv::session::dispatch::ServerNews;
use tailcut_host::kv::session::hand_over::{Deferred, Outputs};
use tailcut_host::kv::session::shard_request::{Progress, Requester, ShardRequest};
use tailcut_host::kv::session::{Dispatch, Effect, Shard};
use tailcut_host::wire::memcached::reply;

/// A thread's access to the shards while it executes the requests received from one client.
///
/// The shard is released after each command, so that other threads find it free. The only thread of a server
/// keeps it until it needs another shard, or the guard is dropped: taking or releasing a lock waits for all
/// earlier stores, and so for memory.
#[derive(Debug)]
pub(super) struct ShardGuard<'a> {
    common: &'a Common,
    outputs: &'a mut Outputs,
    now: Time,
    unix: u64,
    held: Option<HeldShard<'a>>,
}

/// A shard that this thread holds exclusively.
#[derive(Debug)]
struct HeldShard<'a> {
    number: u32,
    place: &'a Place,
    shard: Seized<'a>,
}

impl<'a> ShardGuard<'a> {
    /// A guard of the thread whose outputs are collected in `outputs`.
    #[inline]
    pub(super) fn new(common: &'a Common, outputs: &'a mut Outputs, now: Time, unix: u64) -> ShardGuard<'a> {
        ShardGuard { common, outputs, now, unix, held: None }
    }

    /// Runs `work` on a shard; `None` if another thread has it or it has failed.
    #[inline]
    pub(super) fn with<R>(&mut self, number: u32, work: impl FnOnce(&mut Shard) -> R) -> Option<R> {
        if self.held.as_ref().is_none_or(|held| held.number != number) {
            self.release();
            self.held = Some(self.seize(number)?);
        }
        let result = self.held.as_mut().map(|held| {
            held.shard.is_in_use = true;
            let result = work(&mut held.shard);
            held.shard.is_in_use = false;
            result
        });
        if self.common.threads() > 1 {
            self.release();
        }
        result
    }

    fn seize(&mut self, number: u32) -> Option<HeldShard<'a>> {
        let place = &self.common.places[number as usize];
        let mut shard = place.seize()?;
        shard.tick(self.now, self.unix);
        if let Some(left) = place.take_left() {
            self.outputs.carry_out(left, &mut shard);
        }
        Some(HeldShard { number, place, shard })
    }

    /// Polls a shard for requests to the drive; `None` if another thread has it or it has failed. True if the
    /// first thread must know: the shard's next event has become earlier, or recovery can advance.
    pub(super) fn ask(&mut self, number: u32) -> Option<bool> {
        self.release();
        let place = &self.common.places[number as usize];
        let mut shard = place.seize()?;
        self.outputs.ask(number, &mut shard);
        let before = place.set_next_event(shard.next_event());
        let is_earlier = before > shard.next_event();
        self.collect(place, shard);
        self.see_to_what_was_left(number);
        Some(is_earlier || place.recovery() == Recovery::GoesOn)
    }

    /// Collects the outputs of a shard, and releases it.
    #[inline]
    fn collect(&mut self, place: &Place, mut shard: Seized<'_>) {
        place.note_recovery(&shard);
        // One piece at a time, so that no client waits for many.
        if let Some(memory) = shard.engine_mut().next_retired() {
            return_memory(memory);
        }
        self.outputs.collect(&mut shard);
    }

    /// Defers an operation to a shard that is taken.
    pub(super) fn leave(&mut self, number: u32, left: Deferred) {
        self.release();
        self.common.places[number as usize].leave(left);
        // If the shard is free by now, the operation is executed at once.
        self.with(number, |_| {});
    }

    /// Releases the shard.
    #[inline]
    fn release(&mut self) {
        let Some(HeldShard { number, place, mut shard }) = self.held.take() else { return };
        if std::thread::panicking() {
            // The handler of the panic takes care of earlier outputs.
            return;
        }
        shard.is_in_use = true;
        self.outputs.note_touch(number, &shard);
        self.collect(place, shard);
        if place.has_left() {
            self.see_to_what_was_left(number);
        }
    }

    /// Executes operations deferred to a shard after its release, unless another thread has it by now.
    #[cold]
    fn see_to_what_was_left(&mut self, number: u32) {
        let place = &self.common.places[number as usize];
        while place.has_left() {
            let Some(mut shard) = place.seize() else { break };
            if let Some(left) = place.take_left() {
                self.outputs.carry_out(left, &mut shard);
            }
            self.outputs.note_touch(number, &shard);
            self.collect(place, shard);
        }
    }
}

impl Drop for ShardGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.release();
    }
}

impl ShardGuard<'_> {
    /// Carries out the effects of a client's commands. Returns the rest of its input.
    #[inline]
    pub(super) fn serve<'i>(&mut self, mut dispatch: Dispatch<'_, 'i>) -> &'i [u8] {
        while let Some(effect) = dispatch.next_effect() {
            match effect {
                Effect::Request { shard, requester, request, out } => {
                    let progress = self.carry_out(shard, requester, request, out);
                    dispatch.note(progress);
                }
                Effect::Prefetch(keys) => self.prefetch(keys),
                Effect::Tell(news) => self.add_server_news(news),
            }
        }
        dispatch.rest()
    }

    /// Executes a request on its shard, or defers it to the holder of the shard.
    #[inline]
    fn carry_out(
        &mut self,
        shard: u32,
        requester: Requester,
        request: ShardRequest<'_>,
        out: &mut Vec<u8>,
    ) -> Progress {
        fault_injection::check(&request, fault_injection::SESSION);
        if let Some(progress) = self.with(shard, |shard| {
            fault_injection::check(&request, fault_injection::SHARD);
            shard.receive(requester, request, out)
        }) {
            return progress;
        }
        if self.common.places[shard as usize].has_failed() {
            return Progress::Failed;
        }
        if !request.can_be_deferred() {
            return Progress::Taken;
        }
        let is_recovering = self.common.places[shard as usize].recovery() != Recovery::Over;
        self.leave(shard, Deferred::ShardRequest(requester, request.keep()));
        Progress::Deferred { is_recovering }
    }

    fn prefetch(&mut self, keys: &[&[u8]]) {
        let division = self.common.division();
        let mut homes = [u32::MAX; PREFETCH_MAX];
        homes.iter_mut().zip(keys).for_each(|(home, key)| *home = division.home(key));
        for (at, &home) in homes.iter().enumerate().take(keys.len()) {
            if homes[..at].contains(&home) {
                continue;
            }
            let there = keys.iter().zip(homes).filter(|&(_, other)| other == home).map(|(key, _)| *key);
            self.with(home, |shard| shard.engine().prefetch(there));
        }
    }

    /// Adds to `stats` the clients of other threads, the drive, and the process.
    fn add_server_news(&self, news: &mut ServerNews) {
        news.add_clients(&self.common.tallied_but_of(self.outputs.thread()));
        let is_about_connections = news.is_about_connections();
        let out = news.lines();
        if is_about_connections {
            return self.common.open_connections().write(out);
        }
        reply::stat_number(out, "panics", self.common.panics());
        reply::stat_number(out, "failed_shards", self.common.failed_shards());
        self.common.tell_health(out);
        if let Ok([user, system]) = user_and_system_time() {
            for (name, time) in [("rusage_user", user), ("rusage_system", system)] {
                let microseconds = time.0 / 1000;
                let text = format!("{}.{:06}", microseconds / 1_000_000, microseconds % 1_000_000);
                reply::stat(out, name, &text);
            }
        }
    }
}
