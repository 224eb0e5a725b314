//! Threads that get, and the reads of clients.

use super::law::{Key, Law};
use super::memtable::Memtable;
use super::mix::Operation;
use super::plan::Plan;
use super::space::Extent;
use super::store::{Owner, Store};
use super::tree::{LEVELS, Tree};
use std::collections::VecDeque;
use tailcut_base::{Op, Time};

/// A block that a get looks into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Number of the file that the block belongs to.
    pub file: u32,
    /// Number of the block in its file, from 0.
    pub block: u64,
    /// The filter was wrong: the key is not there.
    is_false: bool,
}

/// A thread that gets, one key after another; or a client.
#[derive(Clone, Debug)]
pub struct Reader {
    /// The kind of the operation under way.
    pub operation: Operation,
    /// When the get or operation under way began.
    pub begun: Time,
    /// When the reader asked for the block that it waits for.
    pub asked: Time,
    /// The places that it has yet to look into.
    pub steps: VecDeque<Step>,
    /// Numbers of the files that must not be removed before the operation has ended.
    pub pinned: Vec<u32>,
}

impl Default for Reader {
    fn default() -> Reader {
        Reader {
            operation: Operation::Get,
            begun: Time::ZERO,
            asked: Time::ZERO,
            steps: VecDeque::new(),
            pinned: Vec::new(),
        }
    }
}

/// The blocks that a get of `key` looks into, one after another, until it has found it: none when a
/// memtable has the key; otherwise those of the files of level 0, the newest first, and of one file
/// of each further level, whose filters do not say that the key is not there.
pub fn path<'a>(
    key: Key,
    tree: &Tree,
    memtables: impl Iterator<Item = &'a Memtable>,
    law: &Law,
    plan: &Plan,
    false_positives: f64,
) -> VecDeque<Step> {
    let mut steps = VecDeque::new();
    if memtables.into_iter().any(|memtable| memtable.holds(key, plan.keys, law)) {
        return steps;
    }
    let level0 = tree.level(0).filter(|table| table.span.overlaps(key.place, key.place));
    let sorted = (1..LEVELS).filter_map(|level| tree.covering(level, key.place));
    for table in level0.chain(sorted) {
        let has_key = table.holds(key, law);
        if has_key || table.is_mistaken(key.place, false_positives) {
            let block = table.block_of(key.place);
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
        let operation = self.next_operation();
        self.readers[reader].operation = operation;
        self.timers.set(reader, now + self.plan.time_of(operation));
    }

    /// The thread has computed: it looks its key up, or puts.
    pub(super) fn has_computed(&mut self, reader: usize, now: Time) {
        match self.readers[reader].operation {
            Operation::Insert => self.wait_to_put(reader),
            Operation::Update if !self.plan.update_reads => self.wait_to_put(reader),
            _ => self.look_up(reader, now),
        }
    }

    /// The get has computed, and knows what to look into.
    pub(super) fn look_up(&mut self, reader: usize, now: Time) {
        let key = self.next_key();
        let memtables = self.sealed.iter().chain([&self.memtable]);
        let steps = path(key, &self.tree, memtables, &self.law, &self.plan, self.false_positives);
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
                if self.is_in_page_cache(block, now) {
                    self.cache.insert(step.file, step.block);
                    self.readers[reader].steps.pop_front();
                    continue;
                }
                self.readers[reader].asked = now;
                return self.ask(now, Op::Read, self.plan.get_class, block, Owner::Reader(reader as u32));
            }
            self.readers[reader].steps.pop_front();
        }
        self.end_get(reader, now);
    }

    fn is_in_page_cache(&mut self, block: Extent, now: Time) -> bool {
        let is_there = self.page_cache.touch(block);
        if self.counts(now) && self.page_cache.is_on() {
            self.figures.page_cache_lookups += 1;
            self.figures.page_cache_hits += u64::from(is_there);
        }
        is_there
    }

    pub(super) fn has_read_block(&mut self, reader: usize, now: Time) {
        let step = self.readers[reader].steps.pop_front().expect("a reader waits for a block");
        let Reader { operation, asked, .. } = self.readers[reader];
        if self.counts(asked) {
            self.figures.end_disk_read(operation, now.since(asked));
        }
        let at = self.tree.table(step.file).locate(step.block);
        self.page_cache.insert(Extent { blocks: 1, ..at });
        self.cache.insert(step.file, step.block);
        self.next_step(reader, now);
    }

    pub(super) fn end_get(&mut self, reader: usize, now: Time) {
        for file in std::mem::take(&mut self.readers[reader].pinned) {
            if self.tree.unpin(file) {
                self.release_file(file, now);
            }
        }
        let Reader { operation, begun, .. } = self.readers[reader];
        self.figures.searches += u64::from(operation != Operation::Get && self.counts(begun));
        if operation == Operation::Update {
            // The record is known; it is changed and put back.
            return self.wait_to_put(reader);
        }
        self.end_operation(reader, now);
    }
}
