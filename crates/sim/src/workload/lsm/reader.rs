//! Threads that get.

use super::memtable::Memtable;
use super::plan::Plan;
use super::space::Extent;
use super::store::{Owner, Store};
use super::tree::{LEVELS, Tree};
use std::collections::VecDeque;
use tailcut_base::{Op, Time};

/// A block that a get looks into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The file.
    pub file: u32,
    /// Its block.
    pub block: u64,
    /// The filter was wrong: the key is not there.
    pub is_false: bool,
}

/// A thread that gets, one key after another.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    /// When its get began.
    pub begun: Time,
    /// What it has yet to look into.
    pub steps: VecDeque<Step>,
    /// The files that it keeps from going away.
    pub pinned: Vec<u32>,
}

/// The blocks that a get of `key` looks into, one after another, until it has found it: none when a
/// memtable has the key; otherwise those of the files of level 0, the newest first, and of one file
/// of each further level, whose filters do not say that the key is not there.
pub fn path<'a>(
    key: u64,
    tree: &Tree,
    memtables: impl Iterator<Item = &'a Memtable>,
    plan: &Plan,
    false_positives: f64,
) -> VecDeque<Step> {
    let mut steps = VecDeque::new();
    if memtables.into_iter().any(|memtable| memtable.holds(key, plan.keys)) {
        return steps;
    }
    let level0 = tree.level(0).filter(|table| table.span.overlaps(key, key));
    let sorted = (1..LEVELS).filter_map(|level| tree.covering(level, key));
    for table in level0.chain(sorted) {
        let has_key = table.holds(key);
        if has_key || table.is_mistaken(key, false_positives) {
            let block = table.block_of(key);
            steps.push_back(Step { file: table.id, block, is_false: !has_key });
        }
        if has_key {
            break;
        }
    }
    steps
}

/// Gets.
impl Store {
    pub(super) fn begin_get(&mut self, reader: usize, now: Time) {
        if self.gets_left == 0 {
            return;
        }
        self.gets_left -= 1;
        self.gets_open += 1;
        self.readers[reader].begun = now;
        self.timers.set(reader, now + self.plan.get_time);
    }

    /// The get has computed, and knows what to look into.
    pub(super) fn look_up(&mut self, reader: usize, now: Time) {
        let key = self.get_keys.below(self.plan.keys);
        let memtables = self.sealed.iter().chain([&self.memtable]);
        let steps = path(key, &self.tree, memtables, &self.plan, self.false_positives);
        for step in &steps {
            self.tree.pin(step.file);
            self.readers[reader].pinned.push(step.file);
        }
        self.readers[reader].steps = steps;
        self.next_step(reader, now);
    }

    /// Looks into the next blocks, up to one that must be read.
    pub(super) fn next_step(&mut self, reader: usize, now: Time) {
        while let Some(&step) = self.readers[reader].steps.front() {
            let is_cached = self.cache.touch(step.file, step.block);
            if self.counts(now) {
                self.figures.lookups += 1;
                self.figures.cache_hits += u64::from(is_cached);
                self.figures.false_positives += u64::from(step.is_false);
            }
            if !is_cached {
                let at = self.tree.table(step.file).locate(step.block);
                let block = Extent { blocks: 1, ..at };
                return self.ask(now, Op::Read, self.plan.get_class, block, Owner::Reader(reader as u32));
            }
            self.readers[reader].steps.pop_front();
        }
        self.end_get(reader, now);
    }

    pub(super) fn has_read_block(&mut self, reader: usize, now: Time) {
        let step = self.readers[reader].steps.pop_front().expect("a reader waits for a block");
        self.cache.insert(step.file, step.block);
        self.next_step(reader, now);
    }

    pub(super) fn end_get(&mut self, reader: usize, now: Time) {
        for file in std::mem::take(&mut self.readers[reader].pinned) {
            if self.tree.unpin(file) {
                self.release_file(file, now);
            }
        }
        self.gets_open -= 1;
        let begun = self.readers[reader].begun;
        if self.counts(begun) {
            self.figures.gets.record(now.since(begun));
        }
        self.begin_get(reader, now);
    }
}
