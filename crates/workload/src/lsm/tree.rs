//! The tree: which files there are on each level, and which to compact next.
//!
//! Level 0 holds files as they were flushed, the newest first, each over all keys; on every further
//! level no two files share a key. The level with the highest score is compacted, as in RocksDB's
//! `LevelCompactionPicker`: files ÷ trigger on level 0, bytes ÷ target on the others. Of a level
//! above 0 the file behind the last one that was taken goes (a key pointer for each level, LevelDB's
//! round-robin and RocksDB's `kRoundRobin`; its default `kByCompensatedSize` takes the largest file,
//! which without deletions chooses among files of nearly one size).

use super::law::Law;
use super::merge::Span;
use super::plan::Plan;
use super::space::{Extent, Space};
use super::table::Table;
use std::collections::BTreeSet;
use std::ops::Range;

/// Levels that there can be (RocksDB's `num_levels`).
pub const LEVELS: usize = 7;

/// The work of a compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// The level that the files come from; its successor takes them.
    pub level: usize,
    /// Files of that level, and of the next that share keys with them.
    pub inputs: [Vec<u32>; 2],
}

/// The files of a store, by level.
#[derive(Clone, Debug)]
pub struct Tree {
    tables: Vec<Table>,
    levels: [Vec<u32>; LEVELS],
    /// Bytes of the files that no compaction works on, by level.
    idle_blocks: [u64; LEVELS],
    /// The key behind the last file that was taken from a level.
    pointers: [u64; LEVELS],
    /// Obsolete files that are still being read.
    lingering: BTreeSet<u32>,
}

impl Tree {
    /// A tree without files.
    pub fn new() -> Tree {
        Tree {
            tables: Vec::new(),
            levels: Default::default(),
            idle_blocks: [0; LEVELS],
            pointers: [0; LEVELS],
            lingering: BTreeSet::new(),
        }
    }

    /// The file with this number.
    pub fn table(&self, id: u32) -> &Table {
        &self.tables[id as usize]
    }

    /// The files of a level: of level 0 the newest first, of others in the order of their keys.
    pub fn level(&self, level: usize) -> impl Iterator<Item = &Table> {
        self.levels[level].iter().map(|&id| self.table(id))
    }

    /// Number of files in a level.
    pub fn files(&self, level: usize) -> usize {
        self.levels[level].len()
    }

    /// A file that is about to be written, with the keys inserted within `births`; it belongs to no level
    /// yet.
    pub fn make(&mut self, span: Span, births: Range<u64>, law: &Law, plan: &Plan) -> u32 {
        let id = self.tables.len() as u32;
        self.tables.push(Table {
            id,
            span,
            births,
            puts: law.puts(span.density()),
            data_blocks: plan.data_blocks(span.entries),
            blocks: plan.blocks(span.entries),
            extents: Vec::new(),
            pins: 0,
            is_busy: false,
            is_obsolete: false,
        });
        id
    }

    /// When the keys of a compaction's inputs that lie in `span` were inserted: from the oldest file to
    /// the newest, so that no key falls between two levels. A file that is given more than its own finds
    /// a key a level above the one that has it.
    ///
    /// # Panics
    /// If no input of `work` overlaps `span`.
    pub fn births(&self, work: &Work, span: &Span) -> Range<u64> {
        let inputs = work.inputs.iter().flatten().map(|&id| self.table(id));
        let inputs = inputs.filter(|table| table.span.overlaps(span.lo, span.hi));
        let births = inputs.map(|table| table.births.clone());
        births
            .reduce(|all, of| all.start.min(of.start)..all.end.max(of.end))
            .expect("an output comes of an input")
    }

    /// Gives a file its place; false when the region has none.
    ///
    /// # Panics
    /// If the file has its place already.
    #[must_use]
    pub fn place(&mut self, id: u32, space: &mut Space) -> bool {
        let table = &mut self.tables[id as usize];
        assert!(table.extents.is_empty(), "a file is placed once");
        match space.take(table.blocks) {
            Some(extents) => table.extents = extents,
            None => return false,
        }
        true
    }

    /// Adds a file that has been written to a level.
    pub fn add(&mut self, level: usize, id: u32) {
        let lo = self.table(id).span.lo;
        let at = if level == 0 { 0 } else { self.first_behind(level, lo) };
        self.levels[level].insert(at, id);
        self.idle_blocks[level] += self.table(id).blocks;
    }

    /// The place of the first file of a sorted level that ends at `key` or later.
    fn first_behind(&self, level: usize, key: u64) -> usize {
        self.levels[level].partition_point(|&id| self.table(id).span.hi < key)
    }

    /// The file of a sorted level whose range has `key`.
    pub fn covering(&self, level: usize, key: u64) -> Option<&Table> {
        let id = *self.levels[level].get(self.first_behind(level, key))?;
        Some(self.table(id)).filter(|table| table.span.lo <= key)
    }

    /// The files of a sorted level that share keys with `lo..=hi`.
    fn overlapping(&self, level: usize, lo: u64, hi: u64) -> Vec<u32> {
        let behind = self.levels[level][self.first_behind(level, lo)..].iter();
        behind.copied().take_while(|&id| self.table(id).span.lo <= hi).collect()
    }

    /// How much a level asks to be compacted; from 1 on it is.
    pub fn score(&self, level: usize, plan: &Plan) -> f64 {
        match level {
            0 => self.levels[0].len() as f64 / f64::from(plan.l0_trigger),
            _ if level + 1 == LEVELS => 0.0,
            _ => (self.idle_blocks[level] * plan.block) as f64 / plan.level_bytes(level) as f64,
        }
    }

    /// The next compaction that writes no more than `room` blocks, and marks its files as busy. `None` when
    /// there is none to do, or none beside those at work.
    pub fn pick(&mut self, plan: &Plan, room: u64) -> Option<Work> {
        let mut levels: Vec<(f64, usize)> = (0..LEVELS - 1).map(|l| (self.score(l, plan), l)).collect();
        levels.retain(|(score, _)| *score >= 1.0);
        levels.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let work = levels.into_iter().find_map(|(_, level)| self.work(level, room))?;
        for (step, inputs) in work.inputs.iter().enumerate() {
            for &id in inputs {
                self.tables[id as usize].is_busy = true;
                self.idle_blocks[work.level + step] -= self.table(id).blocks;
            }
        }
        if let (1.., [first, ..]) = (work.level, work.inputs[0].as_slice()) {
            self.pointers[work.level] = self.table(*first).span.hi + 1;
        }
        Some(work)
    }

    /// The inputs of a compaction of `level`, if no other has a part of them and it has room.
    fn work(&self, level: usize, room: u64) -> Option<Work> {
        let idle = |ids: &[u32]| ids.iter().all(|&id| !self.table(id).is_busy);
        let blocks = |ids: &[u32]| ids.iter().map(|&id| self.table(id).blocks).sum::<u64>();
        let fits = |from: &[u32], to: &[u32]| blocks(from) + blocks(to) <= room;
        if level == 0 {
            let all = self.levels[0].clone();
            let spans = all.iter().map(|&id| self.table(id).span);
            let lo = spans.clone().map(|span| span.lo).min()?;
            let next = self.overlapping(1, lo, spans.map(|span| span.hi).max()?);
            let can = idle(&all) && idle(&next) && fits(&all, &next);
            return can.then_some(Work { level, inputs: [all, next] });
        }
        let files = &self.levels[level];
        let start = files.partition_point(|&id| self.table(id).span.lo < self.pointers[level]);
        files[start..].iter().chain(&files[..start]).find_map(|&id| {
            let span = self.table(id).span;
            let next = self.overlapping(level + 1, span.lo, span.hi);
            // A file with nothing under it goes down as it is.
            let can = idle(&[id]) && idle(&next) && (next.is_empty() || fits(&[id], &next));
            can.then(|| Work { level, inputs: [vec![id], next] })
        })
    }

    /// Replaces the inputs of a compaction by its outputs. Returns the files that are not read any more.
    ///
    /// # Panics
    /// If an input was not taken by a compaction, or was replaced already.
    pub fn replace(&mut self, work: &Work, outputs: &[u32]) -> Vec<u32> {
        let mut gone = Vec::new();
        for (step, inputs) in work.inputs.iter().enumerate() {
            self.levels[work.level + step].retain(|id| !inputs.contains(id));
            for &id in inputs {
                let table = &mut self.tables[id as usize];
                assert!(table.is_busy && !table.is_obsolete, "a file is compacted once");
                table.is_obsolete = true;
                if table.pins == 0 {
                    gone.push(id);
                } else {
                    self.lingering.insert(id);
                }
            }
        }
        for &id in outputs {
            self.add(work.level + 1, id);
        }
        gone
    }

    /// Moves the file of a compaction without anything to merge it with to the next level.
    pub fn descend(&mut self, work: &Work) {
        let id = work.inputs[0][0];
        self.levels[work.level].retain(|&other| other != id);
        self.tables[id as usize].is_busy = false;
        self.add(work.level + 1, id);
    }

    /// A get may read the file until it is unpinned.
    pub fn pin(&mut self, id: u32) {
        self.tables[id as usize].pins += 1;
    }

    /// A get is done with the file. True when it can go now.
    pub fn unpin(&mut self, id: u32) -> bool {
        let table = &mut self.tables[id as usize];
        table.pins -= 1;
        table.pins == 0 && self.lingering.remove(&id)
    }

    /// Takes the extents of a file that is gone.
    ///
    /// # Panics
    /// If the file is still in use: not obsolete, or pinned by a get.
    pub fn take_extents(&mut self, id: u32) -> Vec<Extent> {
        let table = &mut self.tables[id as usize];
        assert!(table.is_obsolete && table.pins == 0, "a file that is read stays");
        std::mem::take(&mut table.extents)
    }

    /// All files that occupy blocks, those that are only kept for readers included.
    pub fn placed(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().filter(|table| !table.extents.is_empty())
    }

    /// Blocks of the files of a level.
    pub fn blocks(&self, level: usize) -> u64 {
        self.level(level).map(|table| table.blocks).sum()
    }

    /// Verifies the invariants of the tree. For tests: walks all files.
    ///
    /// # Panics
    /// If two files of a level above 0 share a key, or the sums are wrong.
    pub fn check(&self) {
        for level in 0..LEVELS {
            let idle = self.level(level).filter(|table| !table.is_busy);
            assert_eq!(idle.map(|table| table.blocks).sum::<u64>(), self.idle_blocks[level]);
            assert!(self.level(level).all(|table| !table.is_obsolete && !table.extents.is_empty()));
            let spans: Vec<Span> = self.level(level).map(|table| table.span).collect();
            let disjoint = level == 0 || spans.windows(2).all(|pair| pair[0].hi < pair[1].lo);
            assert!(disjoint, "files of level {level} share keys");
        }
    }
}

impl Default for Tree {
    fn default() -> Tree {
        Tree::new()
    }
}
