//! Clients: threads that do one operation after another, as those of YCSB do.

use super::law::{Key, Law};
use super::mix::{Mix, Operation};
use super::plan::Plan;
use super::popularity::{RANKS, THETA};
use super::store::Store;
use super::writer::State;
use crate::zipf::YcsbZipf;
use std::collections::VecDeque;
use tailcut_base::Time;
use tailcut_base::random::{Permutation, Stream, mix64};

/// The shared state of a store's clients: which operation comes next, for which key, and which clients wait
/// to put.
#[derive(Clone, Debug)]
pub struct Clients {
    kinds: Stream,
    keys: Stream,
    /// Ranks of YCSB: of [`RANKS`] where keys are scrambled, of the keys at the start where the latest
    /// are the most popular.
    ranks: YcsbZipf,
    /// Where in the order of keys a key of some rank or age is.
    order: Permutation,
    /// Clients with a put to do, in the order in which they came.
    waiting: VecDeque<u32>,
    /// Whose put is being done.
    pub(super) putting: Option<u32>,
    /// Keys that are in the store.
    pub(super) inserted: u64,
}

impl Clients {
    /// The clients of `plan` in the run with `seed`; `inserted` keys are present.
    pub fn new(plan: &Plan, seed: u64, inserted: u64) -> Clients {
        let ranks = if plan.mix == Mix::YcsbD { plan.keys } else { RANKS };
        Clients {
            kinds: Stream::new(seed, "lsm operation"),
            keys: Stream::new(seed, "lsm operation key"),
            ranks: YcsbZipf::new(ranks, THETA),
            order: Permutation::new(plan.places(), seed),
            waiting: VecDeque::with_capacity(plan.readers as usize),
            putting: None,
            inserted,
        }
    }

    /// The next kind of operation of a mix.
    pub fn operation(&mut self, mix: Mix) -> Operation {
        mix.operation(self.kinds.below(1_000_000) as u32)
    }

    /// The key of the next operation by the law of the store, which has `keys` keys at the start.
    pub fn key(&mut self, law: &Law, keys: u64) -> Key {
        let rank = self.ranks.draw(&mut self.keys);
        match law {
            Law::Skewed(popularity) => {
                let rank = scrambled(rank, keys);
                Key { place: self.order.at(rank), age: 0, weight: popularity.weight(rank) }
            }
            _ => {
                let age = (self.inserted - 1).saturating_sub(rank);
                Key { place: self.order.at(age), age, weight: 0.0 }
            }
        }
    }
}

/// A rank among `keys` keys: a rank beyond them falls on any key, by a hash, always on the same one.
fn scrambled(rank: u64, keys: u64) -> u64 {
    if rank < keys { rank } else { ((u128::from(mix64(rank)) * u128::from(keys)) >> 64) as u64 }
}

/// Operations.
impl Store {
    pub(super) fn next_operation(&mut self) -> Operation {
        let mix = self.plan.mix;
        self.clients.as_mut().map_or(Operation::Get, |clients| clients.operation(mix))
    }

    pub(super) fn next_key(&mut self) -> Key {
        match &mut self.clients {
            Some(clients) => clients.key(&self.law, self.plan.keys),
            None => {
                let place = self.get_keys.below(self.plan.keys);
                Key { place, age: place, weight: 0.0 }
            }
        }
    }

    /// A client has what it puts. Puts are done one by one, as the leader of RocksDB's writers does
    /// them; their time on the processor is their clients', each on its own.
    pub(super) fn wait_to_put(&mut self, client: usize) {
        let clients = self.clients.as_mut().expect("only clients wait to put");
        clients.waiting.push_back(client as u32);
    }

    /// Does the puts that wait, as far as nothing stops them.
    pub(super) fn admit(&mut self, now: Time) {
        while self.writer.state == State::Done
            && let Some(clients) = &mut self.clients
            && let Some(client) = clients.waiting.pop_front()
        {
            clients.putting = Some(client);
            self.make_room(now);
        }
    }

    /// A client's put is in the memtable, and in the log as far as it must be.
    pub(super) fn has_put(&mut self, now: Time) {
        let client = self.clients.as_mut().and_then(|clients| clients.putting.take());
        match client {
            None => self.begin_put(now),
            Some(client) => {
                self.writer.state = State::Done;
                self.end_operation(client as usize, now);
            }
        }
    }

    pub(super) fn end_operation(&mut self, thread: usize, now: Time) {
        self.gets_open -= 1;
        let (begun, operation) = (self.readers[thread].begun, self.readers[thread].operation);
        if self.counts(begun) {
            self.figures.end(operation, now.since(begun));
        }
        self.begin_get(thread, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_beyond_the_keys_fall_on_all_of_them_evenly() {
        assert_eq!([0, 1, 99].map(|rank| scrambled(rank, 100)), [0, 1, 99]);
        let mut counts = [0u32; 100];
        (100..1_000_100).for_each(|rank| counts[scrambled(rank, 100) as usize] += 1);
        // Ten standard deviations of a hundred draws in ten thousand.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 1000), "{counts:?}");
    }
}
