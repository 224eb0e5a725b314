//! The store: its threads, and what they share.

use super::cache::BlockCache;
use super::client::Clients;
use super::figures::Figures;
use super::job::Job;
use super::law::Law;
use super::memtable::Memtable;
use super::mix::Mix;
use super::page_cache::PageCache;
use super::plan::Plan;
use super::popularity::Popularity;
use super::reader::Reader;
use super::space::{Extent, Space};
use super::tree::{LEVELS, Tree};
use super::writer::{State, Writer};
use crate::{DrivenRequest, Pace, Problem, Request, Source};
use std::collections::VecDeque;
use tailcut_base::quantity::{exact_bytes, show_bytes};
use tailcut_base::random::Stream;
use tailcut_base::timers::Timers;
use tailcut_base::{Class, Op, Status, Time};

/// A store at work: a [`Source`] that is driven by the answers to its own requests.
#[derive(Debug)]
pub struct Store {
    pub(super) plan: Plan,
    pub(super) law: Law,
    pub(super) false_positives: f64,
    pub(super) tree: Tree,
    pub(super) space: Space,
    pub(super) cache: BlockCache,
    pub(super) page_cache: PageCache,
    /// The memtable that takes puts.
    pub(super) memtable: Memtable,
    /// Memtables that wait to be flushed, the oldest first.
    pub(super) sealed: VecDeque<Memtable>,
    /// Threads that get, or clients.
    pub(super) readers: Vec<Reader>,
    /// What clients share, of a store that has them.
    pub(super) clients: Option<Clients>,
    /// Gets, or operations of clients, that have not begun.
    pub(super) gets_left: u64,
    /// Gets that have begun and not ended.
    pub(super) gets_open: u32,
    pub(super) writer: Writer,
    /// The flush thread, then those that compact.
    pub(super) background: Vec<Option<Job>>,
    /// Extents to be discarded, one after another, before they are free.
    pub(super) discards: VecDeque<Extent>,
    /// When each thread next has work of its own: readers, the writer, the background.
    pub(super) timers: Timers,
    pub(super) asked: Vec<DrivenRequest>,
    pub(super) get_keys: Stream,
    pub(super) figures: Figures,
    /// Blocks that puts leave to flushes and compactions.
    pub(super) reserve: u64,
    pub(super) failure: Option<String>,
}

/// Whose request it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Reader(u32),
    /// Whole pages of the log; part of a page, before a flush; the flush.
    Log,
    LogFlush,
    /// A piece of the input of a background thread.
    Input(u32, u32),
    Output(u32),
    Discard,
}

impl Owner {
    fn token(self) -> u64 {
        let pack =
            |kind: u64, thread: u32, piece: u32| kind | u64::from(thread) << 8 | u64::from(piece) << 32;
        match self {
            Owner::Reader(thread) => pack(0, thread, 0),
            Owner::Log => pack(1, 0, 0),
            Owner::LogFlush => pack(2, 0, 0),
            Owner::Input(thread, piece) => pack(3, thread, piece),
            Owner::Output(thread) => pack(4, thread, 0),
            Owner::Discard => pack(5, 0, 0),
        }
    }

    fn of(token: u64) -> Owner {
        let (thread, piece) = ((token >> 8) as u32 & 0xFF_FFFF, (token >> 32) as u32);
        match token & 0xFF {
            0 => Owner::Reader(thread),
            1 => Owner::Log,
            2 => Owner::LogFlush,
            3 => Owner::Input(thread, piece),
            4 => Owner::Output(thread),
            _ => Owner::Discard,
        }
    }
}

/// The flush thread among the background threads.
pub(super) const FLUSH: usize = 0;

impl Store {
    /// The store of `plan` in the run with `seed`, filled.
    ///
    /// # Errors
    /// Everything that is wrong with the plan, with its key.
    pub fn new(plan: &Plan, seed: u64) -> Result<Store, Vec<Problem>> {
        let problems = plan.problems();
        if !problems.is_empty() {
            return Err(problems);
        }
        let law = law(plan);
        let mut space = Space::new(plan.region);
        let tree = planted(plan, &law, &mut space);
        let inserted = if plan.mix == Mix::Load { 0 } else { plan.keys };
        let background = 1 + plan.compactions as usize;
        let mut store = Store {
            false_positives: plan.false_positives(),
            tree,
            space,
            law,
            cache: BlockCache::new(plan.cache),
            page_cache: PageCache::new(plan.region, plan.page_cache),
            clients: plan.mix.has_clients().then(|| Clients::new(plan, seed, inserted)),
            memtable: Memtable::new(0, inserted),
            sealed: VecDeque::new(),
            readers: vec![Reader::default(); plan.readers as usize],
            gets_left: if plan.readers == 0 { 0 } else { plan.gets },
            gets_open: 0,
            writer: Writer {
                state: State::Computing,
                left: plan.puts,
                begun: Time::ZERO,
                log_writes: 0,
                unsynced: 0,
            },
            background: vec![None; background],
            discards: VecDeque::new(),
            timers: Timers::new(plan.readers as usize + 1 + background),
            asked: Vec::new(),
            get_keys: Stream::new(seed, "lsm get key"),
            figures: Figures::since(Time(plan.measured_from.0)),
            reserve: 0,
            failure: None,
            plan: plan.clone(),
        };
        store.set_reserve();
        for reader in 0..store.readers.len() {
            store.begin_get(reader, Time::ZERO);
        }
        store.begin_put(Time::ZERO);
        store.begin_compactions(Time::ZERO);
        Ok(store)
    }

    /// Counters and latencies of the store since it began to count.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// The files of the store, level by level.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Keys of a store that grows: in its files and memtables, and nowhere twice.
    pub fn inserted(&self) -> Option<u64> {
        self.clients.as_ref().filter(|_| self.plan.mix.inserts()).map(|clients| clients.inserted)
    }

    /// The law by which puts choose their keys.
    pub fn law(&self) -> &Law {
        &self.law
    }

    /// Number of puts in memtables, which no file has yet.
    pub fn puts_in_memory(&self) -> u64 {
        self.sealed.iter().chain([&self.memtable]).map(|memtable| memtable.puts).sum()
    }

    /// The free and the occupied blocks of the region.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The parameters that the store was built from.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Verifies the invariants of the store. For tests: walks all files and extents.
    ///
    /// # Panics
    /// If files share blocks or keys that must not, a block is neither free nor in use by one file or log, or
    /// a level is over its target while nothing is at work that could give room for its compaction.
    pub fn check(&self) {
        self.tree.check();
        let at_rest = self.background.iter().all(Option::is_none) && !self.is_discarding();
        if self.failure.is_none() && at_rest {
            let is_due = |level| self.tree.score(level, &self.plan) >= 1.0;
            assert!(!(0..LEVELS).any(is_due), "a compaction is due and none is at work");
        }
        let mut extents: Vec<Extent> = self.tree.placed().flat_map(|table| table.extents.clone()).collect();
        let memtables = self.sealed.iter().chain([&self.memtable]);
        extents.extend(memtables.flat_map(|memtable| memtable.log.clone()));
        extents.extend(&self.discards);
        extents.sort_by_key(|extent| extent.first);
        let disjoint = extents.windows(2).all(|pair| pair[0].first + pair[0].blocks <= pair[1].first);
        assert!(disjoint, "a block has one owner");
        let used: u64 = extents.iter().map(|extent| extent.blocks).sum();
        assert_eq!(used + self.space.free_blocks(), self.space.blocks(), "no block is lost");
    }

    pub(super) fn writer_timer(&self) -> usize {
        self.readers.len()
    }

    pub(super) fn counts(&self, now: Time) -> bool {
        now >= self.figures.from
    }

    pub(super) fn ask(&mut self, now: Time, op: Op, class: Class, extent: Extent, owner: Owner) {
        self.ask_in_stream(now, op, (class, 0), extent, owner);
    }

    /// Asks with a latency class and a write stream.
    pub(super) fn ask_in_stream(
        &mut self,
        now: Time,
        op: Op,
        (class, stream): (Class, u8),
        extent: Extent,
        owner: Owner,
    ) {
        let of_block = self.plan.block_sectors();
        let request = Request {
            due: now,
            op,
            fua: false,
            class,
            stream,
            sector: if op == Op::Flush { 0 } else { self.plan.first + extent.first * of_block },
            sectors: (extent.blocks * of_block) as u32,
        };
        self.asked.push(DrivenRequest { request, token: owner.token() });
    }

    /// What ended the store, if it has done all that it was to do.
    fn end(&self) -> Option<String> {
        if self.failure.is_some() || !self.has_ended() {
            return None;
        }
        let Plan { mix, gets, puts, readers, keys, .. } = &self.plan;
        let (done, keys) = match mix {
            Mix::PutsAndGets if *readers == 0 => (format!("its {puts} puts were"), "lsm.puts"),
            Mix::PutsAndGets => (format!("its {gets} gets and {puts} puts were"), "lsm.gets and lsm.puts"),
            Mix::Load => (format!("its {keys} inserts were"), "lsm.keys"),
            _ => (format!("the {gets} operations of its clients were"), "lsm.operations"),
        };
        Some(format!("the run ended when {done} done, with its ramp; raise {keys} for a longer one"))
    }

    fn has_ended(&self) -> bool {
        self.failure.is_some()
            || (self.gets_left == 0 && self.gets_open == 0 && self.writer.state == State::Done)
    }
}

/// Which keys the puts of a mix go to.
fn law(plan: &Plan) -> Law {
    match plan.mix {
        Mix::PutsAndGets => Law::Uniform,
        Mix::Load | Mix::YcsbD => Law::Growing,
        Mix::YcsbA | Mix::YcsbB | Mix::YcsbC => Law::Skewed(Popularity::ycsb(plan.keys)),
    }
}

/// The files that a store begins with, the oldest keys at the bottom.
fn planted(plan: &Plan, law: &Law, space: &mut Space) -> Tree {
    let mut tree = Tree::new();
    let mut born = 0;
    for (level, files) in plan.levels().into_iter().enumerate().rev() {
        let all: u64 = files.iter().map(|span| span.entries).sum();
        for mut span in files {
            // Level 0: what is left of as many puts as fill a memtable, each file later than the last.
            let births = if level == 0 { born..born + span.entries } else { born..born + all };
            born += if level == 0 { span.entries } else { 0 };
            if let (0, Law::Skewed(_)) = (level, law) {
                span.entries = law.distinct(span.entries, plan.keys);
            }
            let id = tree.make(span, births, law, plan);
            assert!(tree.place(id, space), "the plan has been checked against the region");
            tree.add(level, id);
        }
        born += if level == 0 { 0 } else { all };
    }
    tree
}

/// Room.
impl Store {
    pub(super) fn release_file(&mut self, file: u32, now: Time) {
        let extents = self.tree.take_extents(file);
        self.release(extents, now);
    }

    /// Frees blocks that are not needed any more: at once, or after the device has discarded them.
    pub(super) fn release(&mut self, extents: Vec<Extent>, now: Time) {
        for &extent in &extents {
            self.page_cache.remove(extent);
        }
        if !self.plan.discard {
            return extents.into_iter().for_each(|extent| self.space.give(extent));
        }
        let at_rest = self.discards.is_empty();
        let most = u64::from(u16::MAX) / self.plan.block_sectors();
        for Extent { mut first, mut blocks } in extents {
            while blocks > 0 {
                let piece = Extent { first, blocks: blocks.min(most) };
                self.discards.push_back(piece);
                (first, blocks) = (first + piece.blocks, blocks - piece.blocks);
            }
        }
        if at_rest {
            self.discard(now);
        }
    }

    pub(super) fn discard(&mut self, now: Time) {
        if let Some(&extent) = self.discards.front() {
            self.ask(now, Op::Trim, self.plan.log_class, extent, Owner::Discard);
        }
    }

    pub(super) fn has_discarded(&mut self, now: Time) {
        let extent = self.discards.pop_front().expect("an extent was discarded");
        self.space.give(extent);
        self.discard(now);
        self.begin_compactions(now);
        self.end_stall(now);
    }

    /// Blocks are on their way to be free.
    pub(super) fn is_discarding(&self) -> bool {
        !self.discards.is_empty()
    }

    pub(super) fn fail(&mut self) {
        self.failure = Some(format!(
            "the store has filled its region of {}: compactions do not keep up with puts; set a smaller \
             lsm.keys, or lsm.put_rate",
            exact_bytes(self.space.blocks() * self.plan.block)
        ));
    }
}

impl Source for Store {
    fn name(&self) -> &str {
        "log-structured merge store"
    }

    fn pace(&self) -> Pace {
        Pace::Driven { depth: self.plan.depth() }
    }

    fn next(&mut self) -> Option<Request> {
        None
    }

    fn len_hint(&self) -> Option<u64> {
        None
    }

    fn advance(&mut self, now: Time, asked: &mut Vec<DrivenRequest>) {
        while let Some((at, timer)) = self.timers.first().filter(|(at, _)| *at <= now) {
            self.timers.clear(timer);
            if self.has_ended() {
                continue;
            }
            match timer.checked_sub(self.readers.len()) {
                None => self.has_computed(timer, at),
                Some(0) if self.writer.state == State::Delayed => self.put(at),
                Some(0) => self.make_room(at),
                Some(thread) => self.has_merged(thread - 1, at),
            }
            self.admit(at);
        }
        asked.append(&mut self.asked);
    }

    fn next_event(&self) -> Time {
        if self.has_ended() { Time::NEVER } else { self.timers.next() }
    }

    fn answered(&mut self, now: Time, token: u64, _status: Status) {
        if self.has_ended() {
            return;
        }
        self.figures.until = self.figures.until.max(now);
        match Owner::of(token) {
            Owner::Reader(reader) => self.has_read_block(reader as usize, now),
            Owner::Log => self.has_written_log(now),
            Owner::LogFlush => self.has_flushed_log(now),
            Owner::Input(thread, piece) => self.has_read_input(thread as usize, piece, now),
            Owner::Output(thread) => self.has_written_output(thread as usize, now),
            Owner::Discard => self.has_discarded(now),
        }
        self.admit(now);
        if self.has_ended() {
            self.asked.clear();
        }
    }

    fn failure(&self) -> Option<String> {
        self.failure.clone()
    }

    fn store(&self) -> Option<&Store> {
        Some(self)
    }

    fn notes(&self) -> Vec<String> {
        let bytes = |bytes: u64| show_bytes(bytes as f64);
        let before = if self.plan.mix == Mix::Load {
            "the store was empty before the run, which inserts"
        } else {
            "the store was there before the run:"
        };
        let store = format!(
            "{before} {} keys, {}; memtables of {}, files of {}, level 1 of {}",
            self.plan.keys,
            bytes(self.plan.keys * self.plan.entry),
            bytes(self.plan.write_buffer),
            bytes(self.plan.file),
            bytes(self.plan.base)
        );
        std::iter::once(store).chain(self.end()).collect()
    }
}
