//! A test harness: an engine with its disk, its user and the model, with power loss.

use super::disk::TestDisk;
use super::model::{Content, Model};
use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Time};
use tailcut_host::kv::{
    self, Append, Change, Engine, Fetched, Item, Keep, Lookup, OpenMode, Opening, Put, Refused, Settings,
    State,
};

pub(super) const KEYS: u64 = 400;

pub(super) struct Harness {
    pub engine: Engine,
    pub disk: TestDisk,
    pub model: Model,
    random: Stream,
    time: u64,
    /// Settings, effective from the next start.
    pub settings: Settings,
    /// The model's durability point: one more for each change.
    point: u64,
    pub hits: u64,
    pub misses: u64,
    pub refused: u64,
    /// The last item could not be read.
    was_lost: bool,
    /// The last item had not been recovered yet, and the lookup did not wait for it.
    was_unknown: bool,
    /// Lookups wait for items that are not recovered yet.
    waits: bool,
    /// Recovery advances once in this many opportunities, on average.
    pub recovers_every: u64,
    /// Pending background fetches: ticket and key.
    asked: Vec<(u32, u64)>,
    /// Commands with a definite result during recovery.
    pub early: u64,
    /// Items may disappear without being deleted.
    pub may_lose: bool,
}

pub(super) fn settings(keep: Keep) -> Settings {
    Settings {
        memory: 1 << 20,
        most_item: 20_000,
        keep,
        may_evict_store: false,
        append: Append::OnLeaving,
        admission: kv::AdmissionSettings::default(),
        segment_blocks: 16,
        patience: Nanos::millis(5),
    }
}

/// Creates or opens a store. Recovery may still be pending.
pub(super) fn open(
    settings: Settings,
    disk: &mut TestDisk,
    making: OpenMode,
) -> Result<Engine, kv::CannotOpen> {
    open_within(settings, disk, making, u64::MAX).expect("it comes to an end")
}

/// Creates or opens a store; None if it needs more than `answers` completions of the disk.
fn open_within(
    settings: Settings,
    disk: &mut TestDisk,
    making: OpenMode,
    answers: u64,
) -> Option<Result<Engine, kv::CannotOpen>> {
    let mut opening = Opening::new(settings, disk.shape.clone(), making);
    for _ in 0..answers {
        while let Some(request) = opening.next_request() {
            disk.submit(request);
        }
        if let Some(response) = disk.answer() {
            opening.respond(response);
        }
        if opening.is_done() {
            return Some(opening.end());
        }
    }
    None
}

fn key(number: u64) -> Vec<u8> {
    let mut key = format!("key-{number}-").into_bytes();
    key.resize(8 + (number * 7 % 120) as usize, b'x');
    key
}

fn content_of(item: &Item<'_>) -> Content {
    let mut value = Vec::new();
    item.value.append_to(&mut value);
    (value, item.header.flags)
}

impl Harness {
    pub(super) fn new(settings: Settings, blocks: u64, volatile_cache: bool, seed: u64) -> Harness {
        let mut disk = TestDisk::new(blocks, volatile_cache, seed);
        let making = OpenMode::Create { store: u128::from(seed) + 1, seed };
        let engine = open(settings, &mut disk, making).expect("a new store");
        let (model, random) = (Model::default(), Stream::new(seed, "user"));
        let mut harness = Harness {
            engine,
            disk,
            model,
            random,
            time: 1,
            settings,
            point: 1,
            hits: 0,
            misses: 0,
            refused: 0,
            was_lost: false,
            was_unknown: false,
            waits: false,
            recovers_every: 1,
            asked: Vec::new(),
            early: 0,
            may_lose: settings.keep == Keep::WhatIsUsed,
        };
        harness.tick();
        harness
    }

    fn tick(&mut self) {
        if self.time.is_multiple_of(16) {
            self.engine.check().expect("index, memory and log agree");
        }
        self.time += 1 + self.random.below(100_000);
        self.engine.tick(Time(self.time), 1000);
    }

    fn value(&mut self) -> Vec<u8> {
        let most = [30, 300, 3000, 12_000][self.random.below(4) as usize];
        let fill = self.random.bits() as u8;
        (0..self.random.below(most)).map(|at| fill.wrapping_add(at as u8)).collect()
    }

    /// Passes pending requests to the disk, and completes some of them.
    pub(super) fn run(&mut self, answers: u64) {
        for _ in 0..=answers {
            while let Some(request) = self.engine.next_request() {
                self.disk.submit(request);
            }
            if let Some(response) = self.disk.answer() {
                self.engine.respond(response);
            }
            if self.random.below(self.recovers_every) == 0 {
                let most = 1 + self.random.below(12);
                self.engine.recover(most as usize);
            }
        }
    }

    /// Runs until the disk and the engine are idle and recovery is complete.
    pub(super) fn settle(&mut self) {
        for round in 0..200_000 {
            self.run(1);
            if self.disk.is_idle() && self.engine.is_idle() && self.engine.recovered().is_none() {
                self.engine.check_at_rest().expect("index, memory and log agree");
                return;
            }
            assert!(round < 199_999, "the engine comes to rest");
        }
    }

    pub(super) fn sync(&mut self) {
        let point = self.engine.sync();
        for _ in 0..200_000 {
            if self.engine.durable() >= point {
                self.model.note_durable(self.point);
                return;
            }
            self.run(1);
        }
        panic!("what is written becomes durable");
    }

    /// Reads an item from flash, and waits for it.
    fn fetch(&mut self, number: u64, counts: bool) -> Fetched {
        let ticket = self.random.bits() as u32;
        self.engine.fetch(&key(number), ticket, counts);
        for _ in 0..200_000 {
            while let Some(fetched) = self.engine.next_fetched() {
                if self.note_asked(&fetched) {
                    continue;
                }
                assert_eq!((fetched.ticket, fetched.key()), (ticket, &key(number)[..]));
                return fetched;
            }
            self.run(0);
        }
        panic!("a fetch ends");
    }

    /// True if the item completes a background fetch: its content is correct, unless it is stale and has to
    /// be looked up again.
    fn note_asked(&mut self, fetched: &Fetched) -> bool {
        let Some(at) = self.asked.iter().position(|&(ticket, _)| ticket == fetched.ticket) else {
            return false;
        };
        let (_, number) = self.asked.swap_remove(at);
        assert_eq!(fetched.key(), key(number));
        let content = fetched.is_there().then(|| content_of(&fetched.item()));
        if self.engine.is_current(fetched) {
            let is_lost = content.is_none() && (self.may_lose || fetched.is_lost);
            assert!(is_lost || self.model.may_be(number, content.as_ref()), "key {number}: not what it was");
        }
        true
    }

    /// Starts a background fetch of an item that is on flash or not recovered yet.
    pub(super) fn ask(&mut self, number: u64) {
        // Often enough to promote the item to memory.
        for _ in 0..self.random.below(3) {
            self.engine.find(&key(number), true);
        }
        if let Lookup::Unknown | Lookup::OnFlash = self.engine.find(&key(number), true) {
            let ticket = self.random.bits() as u32;
            self.asked.push((ticket, number));
            self.engine.fetch(&key(number), ticket, true);
        }
        while let Some(fetched) = self.engine.next_fetched() {
            assert!(self.note_asked(&fetched), "nobody else waits");
        }
    }

    /// The engine's content of an item.
    pub(super) fn look(&mut self, number: u64, counts: bool) -> (Option<Content>, Option<Fetched>) {
        self.was_lost = false;
        loop {
            match self.engine.find(&key(number), counts) {
                Lookup::Nothing => return (None, None),
                Lookup::Item(item) => return (Some(content_of(&item)), None),
                Lookup::Unknown if !self.waits => {
                    assert!(!self.model.has_changed(number), "what was changed is known");
                    self.was_unknown = true;
                    return (None, None);
                }
                Lookup::OnFlash | Lookup::Unknown => {}
            }
            let fetched = self.fetch(number, counts);
            assert!(!fetched.is_lost || self.disk.bad_reads.is_some(), "nothing is lost");
            self.was_lost = fetched.is_lost;
            let content = fetched.is_there().then(|| content_of(&fetched.item()));
            if self.engine.is_current(&fetched) || !fetched.is_there() {
                return (content, Some(fetched));
            }
            if counts {
                // The lookup copied it to memory.
                return (content, None);
            }
        }
    }

    pub(super) fn check(&mut self, number: u64, counts: bool) -> Option<Fetched> {
        let (found, fetched) = self.look(number, counts);
        if std::mem::take(&mut self.was_unknown) {
            return None;
        }
        self.early += u64::from(self.engine.recovered().is_some());
        if !self.model.is_certain(number) {
            self.settle_on(number, found);
            return fetched;
        }
        match (&found, self.model.now(number)) {
            (Some(found), wanted) => {
                assert!(wanted == Some(found), "key {number}: not what was written");
                self.hits += 1;
            }
            (None, Some(_)) => {
                assert!(self.may_lose || self.disk.bad_reads.is_some(), "key {number} is gone");
                self.misses += 1;
                if self.was_lost {
                    // The next read may succeed.
                    return fetched;
                }
                let point = self.next_point();
                self.model.set(number, None, point);
            }
            (None, None) => {}
        }
        fetched
    }

    /// Determines an item's content after a power loss.
    fn settle_on(&mut self, number: u64, found: Option<Content>) {
        let is_lost = found.is_none() && self.may_lose;
        let known = self.model.may_be(number, found.as_ref());
        assert!(
            known || is_lost,
            "key {number}: {:?}, and not {:?}",
            found.map(|(value, flags)| (value.len(), flags)),
            self.model.now(number).map(|(value, flags)| (value.len(), flags))
        );
        self.model.settle(number, found);
    }

    fn next_point(&mut self) -> u64 {
        self.point += 1;
        self.point
    }

    fn change(&mut self, number: u64, fetched: Option<&Fetched>, change: Change<'_>) -> bool {
        for _ in 0..100_000 {
            match self.engine.change(&key(number), fetched, change) {
                Ok(_) => return true,
                Err(Refused::Busy) => {
                    // Recovery may have to complete before space is available.
                    self.engine.recover(12);
                    self.run(1);
                }
                Err(Refused::Full) => {
                    self.refused += 1;
                    return false;
                }
                Err(Refused::Evicted) => {}
                Err(Refused::TooLarge) => panic!("it is not that large"),
            }
            if matches!(change, Change::Put(Put { content: kv::Content::New(_), .. })) {
                continue;
            }
            // The old item may have moved: the caller looks it up again.
            return false;
        }
        panic!("a disk that answers is not behind for ever");
    }

    pub(super) fn put(&mut self, number: u64) {
        let (value, flags) = (self.value(), self.random.bits() as u32);
        let content = kv::Content::New(&value);
        // Some items expire immediately.
        let expires = u32::from(self.random.below(16) == 0);
        let put = Put { content, flags, expires, state: State::default(), cas: None };
        if self.change(number, None, Change::Put(put)) {
            let point = self.next_point();
            self.model.set(number, Some((value, flags)).filter(|_| expires == 0), point);
        }
    }

    pub(super) fn append(&mut self, number: u64) {
        let fetched = self.check(number, false);
        if fetched.as_ref().is_some_and(|fetched| fetched.is_lost) {
            return;
        }
        if matches!(self.engine.find(&key(number), false), Lookup::Unknown) {
            return;
        }
        let Some((mut value, flags)) = self.model.now(number).cloned() else { return };
        let (added, is_before) = (self.value(), self.random.below(2) == 0);
        if value.len() + added.len() > 15_000 {
            return;
        }
        let content = if is_before { kv::Content::Before(&added) } else { kv::Content::After(&added) };
        let put = Put { content, flags, expires: 0, state: State::default(), cas: None };
        if self.change(number, fetched.as_ref(), Change::Put(put)) {
            let at = if is_before { 0 } else { value.len() };
            value.splice(at..at, added);
            let point = self.next_point();
            self.model.set(number, Some((value, flags)), point);
        }
    }

    fn amend(&mut self, number: u64) {
        let fetched = self.check(number, false).filter(Fetched::is_there);
        let expires = 2000 + self.random.below(9) as u32;
        self.change(number, fetched.as_ref(), Change::Amend { expires, state: State::default() });
    }

    /// Deletes an item; false if there is no room for a tombstone.
    pub(super) fn remove(&mut self, number: u64) -> bool {
        let is_done = self.change(number, None, Change::Remove);
        if is_done {
            let point = self.next_point();
            self.model.set(number, None, point);
        }
        is_done
    }

    pub(super) fn flush_all(&mut self) {
        self.engine.flush_all().expect("the disk works");
        let point = self.next_point();
        (0..KEYS).for_each(|number| self.model.set(number, None, point));
    }

    pub(super) fn any_below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn any_key(&mut self) -> u64 {
        // Some keys are accessed more often.
        let bound = [KEYS, KEYS / 8, KEYS / 40][self.random.below(3) as usize];
        self.random.below(bound)
    }

    pub(super) fn step(&mut self) {
        self.tick();
        self.waits = self.random.below(100) == 0;
        let number = self.any_key();
        match self.random.below(20) {
            0..=6 => self.put(number),
            7..=8 => self.append(number),
            9 => self.amend(number),
            10..=11 => _ = self.remove(number),
            12 => {
                let answers = self.random.below(30);
                self.run(answers);
            }
            13 if self.random.below(10) == 0 => self.sync(),
            14 if self.random.below(200) == 0 => self.flush_all(),
            15 => {
                let number = self.random.below(KEYS);
                self.ask(number);
            }
            _ => drop(self.check(number, true)),
        }
        if self.random.below(3) == 0 {
            self.run(1);
        }
    }

    /// Restarts after a power loss or a clean shutdown; recovery may complete now or later.
    pub(super) fn reopen(&mut self, is_cut: bool) {
        self.begin_again(is_cut);
        self.recovers_every = [2, 30, 300][self.random.below(3) as usize];
        if self.random.below(2) == 0 {
            self.check_all();
        }
    }

    /// Restarts without any recovery yet.
    pub(super) fn begin_again(&mut self, is_cut: bool) {
        if is_cut {
            self.disk.lose_power();
        } else {
            self.recovers_every = 1;
            self.sync();
            self.settle();
        }
        self.model.note_cut();
        self.asked.clear();
        self.engine = loop {
            let answers = [self.random.below(200), u64::MAX][self.random.below(2) as usize];
            match open_within(self.settings, &mut self.disk, OpenMode::Open, answers) {
                Some(engine) => break engine.expect("it is found again"),
                // Power is lost again before the store is open.
                None => self.disk.lose_power(),
            }
        };
        self.tick();
    }

    /// Looks up all items, and waits for those not recovered yet.
    pub(super) fn check_all(&mut self) {
        self.waits = true;
        for number in 0..KEYS {
            let (found, _) = self.look(number, false);
            self.settle_on(number, found);
        }
        // Recovered data is durable on disk already, but the model does not know that yet.
        self.sync();
    }
}
