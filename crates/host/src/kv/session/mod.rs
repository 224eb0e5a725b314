//! The conversation of a client with the engine: bytes in, bytes out.
//!
//! Answers go out in the order of the commands, while items are read from flash in any order: a client that asks for a hundred of them
//! waits for about as long as for one. A command that changes something waits for nothing but its own item, and those behind it
//! wait for it; so what a client sends takes effect in the order in which it was sent.

mod about;
mod carry_out;
mod service;
mod statistics;
mod tickets;
mod verb;

pub use service::{Service, ServiceSettings};
pub use statistics::Statistics;

use super::engine::Engine;
use super::fetch::Fetched;
use super::settings::Keep;
use crate::wire::memcached::receiver::Step;
use crate::wire::memcached::reply::{self, Stored};
use crate::wire::memcached::{
    Command, Expiry, FlushAll, Key, Reason, Receiver, Stats, StoreMode, flush_moment,
};
use about::About;
use carry_out::{Outcome, Work, answer_store, counted_bytes};
use std::collections::VecDeque;
use tickets::Tickets;
use verb::{Answer, KeptKey, Store, Verb};

/// A client's side of the conversation.
#[derive(Debug, Default)]
struct Session {
    receiver: Receiver,
    /// What can be sent.
    pub out: Vec<u8>,
    /// Answers that are not complete, in their order.
    waiting: VecDeque<Waiting>,
    /// The number of the first of them.
    first: u64,
    /// The command whose data are received.
    storing: Option<(KeptKey, Store)>,
    data: Vec<u8>,
    /// Nothing more is carried out before all that waits is answered.
    is_blocked: bool,
    /// No more commands come; it ends when everything is answered.
    pub closing: Option<Reason>,
    /// It is in the service's list of those that wait for a disk that is behind.
    pub is_stuck: bool,
    /// It is in the service's list of those with something to be made durable.
    pub is_undurable: bool,
}

/// An answer that is not complete.
#[derive(Debug)]
struct Waiting {
    what: What,
    /// The answers of the commands behind it, and its own in front of them as soon as it is known.
    text: Vec<u8>,
}

#[derive(Debug)]
enum What {
    /// For an item on flash, which takes so many bytes at the most.
    Item(KeptKey, Verb, u64),
    /// For a disk that is behind.
    Disk(KeptKey, Verb),
    /// Until what was written before this point is durable; the point is not known before the next sync.
    Durable(Option<u64>),
    /// For those before it.
    Others,
    /// For the same, and then everything is to be forgotten.
    Flush(FlushAll),
}

/// What all sessions share.
struct Shared<'a> {
    pub engine: &'a mut Engine,
    pub statistics: &'a mut Statistics,
    pub scratch: &'a mut Vec<u8>,
    pub about: About,
    /// When everything is to be forgotten.
    pub flush_at: &'a mut Option<u64>,
    pub tickets: &'a mut Tickets,
    /// Whose session it is, and how many had its place before.
    pub client: (u32, u32),
}

impl Session {
    /// True while it takes more input.
    pub fn is_willing(&self) -> bool {
        !self.is_blocked
            && self.closing.is_none()
            && self.waiting.len() < MOST_WAITING
            && self.answer_bytes() < MOST_OUT
            && self.awaited_bytes() < MOST_AWAITED
    }

    /// Bytes of items that are under way.
    fn awaited_bytes(&self) -> u64 {
        let bytes = |waiting: &Waiting| if let What::Item(_, _, bytes) = waiting.what { bytes } else { 0 };
        self.waiting.iter().map(bytes).sum()
    }

    /// Bytes of answers that can be sent, or wait for others.
    fn answer_bytes(&self) -> usize {
        self.out.len() + self.waiting.iter().map(|waiting| waiting.text.len()).sum::<usize>()
    }

    /// True when everything was answered.
    pub fn is_answered(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Does what the input says, as far as it goes.
    pub fn receive(&mut self, input: &mut &[u8], shared: &mut Shared<'_>) {
        let before = input.len();
        let mut receiver = std::mem::take(&mut self.receiver);
        while self.is_willing() {
            match receiver.next(input) {
                Step::More => break,
                Step::Command(command) => {
                    if !self.command(&command, shared) {
                        receiver.refuse();
                    }
                }
                Step::Data(data) => self.data.extend_from_slice(data),
                Step::End { is_sound } => self.end_store(is_sound, shared),
                Step::Refused(refusal) => self.tail().extend_from_slice(refusal.line()),
                Step::Close(reason) => {
                    self.closing = Some(reason);
                    break;
                }
            }
        }
        self.receiver = receiver;
        shared.statistics.bytes_read += (before - input.len()) as u64;
    }

    /// Where the next answer goes.
    fn tail(&mut self) -> &mut Vec<u8> {
        self.waiting.back_mut().map_or(&mut self.out, |waiting| &mut waiting.text)
    }

    /// False if data follow that are not wanted.
    fn command(&mut self, command: &Command<'_>, shared: &mut Shared<'_>) -> bool {
        match *command {
            Command::Get(get) => {
                self.verb(get.key, Verb::Get { with_cas: get.with_cas, exptime: get.exptime }, shared);
            }
            Command::GetEnd => reply::end(self.tail()),
            Command::Store(header) => {
                let store = Store {
                    mode: header.mode,
                    client_flags: header.client_flags,
                    expiry: Expiry::new(shared.about.unix, header.exptime),
                    cas: 0,
                    new_cas: None,
                    invalidates: false,
                    has_base64_key: false,
                    answer: Answer::Classic { noreply: header.noreply },
                };
                let replaces = header.mode == StoreMode::Set;
                return self.begin_store(header.key, store, header.length, replaces, shared);
            }
            Command::MetaStore(header) => {
                let flags = header.flags;
                let never = Expiry::Never;
                let store = Store {
                    mode: header.mode,
                    client_flags: flags.client_flags,
                    expiry: flags.exptime.map_or(never, |exptime| Expiry::new(shared.about.unix, exptime)),
                    cas: flags.cas.unwrap_or(0),
                    new_cas: flags.new_cas,
                    invalidates: flags.invalidates(),
                    has_base64_key: flags.has_base64_key(),
                    answer: Answer::Meta(flags),
                };
                return self.begin_store(header.key, store, header.length, true, shared);
            }
            Command::Count(count) => {
                let (direction, delta, noreply) = (count.direction, count.delta, count.noreply);
                self.verb(count.key, Verb::Count { direction, delta, noreply }, shared);
            }
            Command::Touch(touch) => {
                let (exptime, noreply) = (touch.exptime, touch.noreply);
                self.verb(touch.key, Verb::Touch { exptime, noreply }, shared);
            }
            Command::Delete(delete) => {
                self.verb(delete.key, Verb::Delete { noreply: delete.noreply }, shared);
            }
            Command::MetaGet(get) => self.verb(get.key, Verb::MetaGet(get.flags), shared),
            Command::MetaDelete(delete) => self.verb(delete.key, Verb::MetaDelete(delete.flags), shared),
            Command::MetaCount(count) => {
                let (flags, direction, delta) = (count.flags, count.direction, count.delta);
                self.verb(count.key, Verb::MetaCount { flags, direction, delta }, shared);
            }
            Command::MetaDebug(debug) => self.verb(debug.key, Verb::MetaDebug, shared),
            Command::MetaNoop => crate::wire::memcached::meta::noop(self.tail()),
            Command::FlushAll(flush) => {
                self.is_blocked = true;
                self.wait(What::Flush(flush), Vec::new());
                self.advance(shared);
            }
            Command::Verbosity(verbosity) => reply::ok(self.tail(), verbosity.noreply),
            Command::Version => reply::version(self.tail(), VERSION),
            // How much may be taken is decided when it is started.
            Command::MemoryLimit(limit) => reply::memory_limit(self.tail(), false, limit.noreply),
            Command::Stats(Stats::Reset) => {
                *shared.statistics = Statistics::default();
                reply::reset(self.tail());
            }
            Command::Stats(Stats::Detail(_)) => reply::ok(self.tail(), false),
            Command::Stats(stats) => {
                shared.about.tell(stats, shared.statistics, shared.engine, self.tail());
            }
        }
        true
    }

    /// A verb without data.
    fn verb(&mut self, key: Key<'_>, verb: Verb, shared: &mut Shared<'_>) {
        self.carry_out(key, verb, &[], shared);
    }

    fn carry_out(&mut self, key: Key<'_>, verb: Verb, data: &[u8], shared: &mut Shared<'_>) -> Outcome {
        let mut text = std::mem::take(self.tail());
        let before = text.len();
        let outcome = shared.carry_out(key, &verb, data, None, &mut text);
        let is_held = outcome == Outcome::Done && shared.about.settings.is_durable && !verb.only_looks();
        let held = if is_held { text.split_off(before) } else { Vec::new() };
        *self.tail() = text;
        match outcome {
            Outcome::Done if is_held => self.wait(What::Durable(None), held),
            Outcome::Done => {}
            Outcome::OnFlash { counts, is_unknown } => {
                // What is unknown is what it is when it is found: nothing behind may change it before.
                self.is_blocked |= is_unknown || !verb.only_looks();
                self.fetch(KeptKey::new(key), verb, counts, shared);
            }
            Outcome::Busy => {
                self.is_blocked = true;
                self.wait(What::Disk(KeptKey::new(key), verb), Vec::new());
            }
        }
        outcome
    }

    fn begin_store(
        &mut self,
        key: Key<'_>,
        store: Store,
        length: u32,
        replaces: bool,
        shared: &mut Shared<'_>,
    ) -> bool {
        if counted_bytes(key, store.client_flags, u64::from(length)) <= shared.about.settings.most_item {
            self.data.clear();
            self.storing = Some((KeptKey::new(key), store));
            return true;
        }
        if replaces {
            // Nobody shall read what is out of date.
            let _ = shared.engine.change(key.as_bytes(), None, crate::kv::Change::Remove);
        }
        shared.statistics.store_too_large += 1;
        answer_store(self.tail(), key, &store.answer, (Stored::TooLarge, 0));
        false
    }

    fn end_store(&mut self, is_sound: bool, shared: &mut Shared<'_>) {
        let (kept, store) = self.storing.take().expect("data follow a command");
        if !is_sound {
            return answer_store(self.tail(), kept.key(), &store.answer, (Stored::Unsound, 0));
        }
        let data = std::mem::take(&mut self.data);
        let outcome = self.carry_out(kept.key(), Verb::Store(store), &data, shared);
        // Who waits will want them again.
        if outcome != Outcome::Done || data.capacity() <= MOST_KEPT {
            self.data = data;
        }
    }

    fn fetch(&mut self, key: KeptKey, verb: Verb, counts: bool, shared: &mut Shared<'_>) {
        let ticket = shared.tickets.take(shared.client, self.first + self.waiting.len() as u64);
        let bytes = shared.engine.fetch(key.key().as_bytes(), ticket, counts);
        self.wait(What::Item(key, verb, bytes), Vec::new());
    }

    fn wait(&mut self, what: What, text: Vec<u8>) {
        self.waiting.push_back(Waiting { what, text });
    }

    /// An item has come for the answer with this number.
    pub fn note_fetched(&mut self, number: u64, fetched: &Fetched, shared: &mut Shared<'_>) {
        // Whoever waits keeps its place until it is answered, unless all are given up.
        let Some(at) = number.checked_sub(self.first).map(|at| at as usize) else { return };
        let What::Item(kept, verb, _) = self.waiting[at].what else {
            panic!("an item comes for who waits for it")
        };
        // Who has only looked gets what there was, whatever has changed since.
        let is_usable = verb.only_looks() && fetched.was_read() || shared.engine.is_current(fetched);
        self.try_again(at, kept, verb, is_usable.then_some(fetched), shared);
        self.advance(shared);
    }

    /// Once more, with the item that was missing if it has come.
    fn try_again(
        &mut self,
        at: usize,
        kept: KeptKey,
        verb: Verb,
        fetched: Option<&Fetched>,
        shared: &mut Shared<'_>,
    ) {
        let data = std::mem::take(&mut self.data);
        let mut text = Vec::new();
        let outcome = shared.carry_out(kept.key(), &verb, &data, fetched, &mut text);
        self.data = data;
        let waiting = &mut self.waiting[at];
        waiting.what = match outcome {
            Outcome::Done if shared.about.settings.is_durable && !verb.only_looks() => What::Durable(None),
            Outcome::Done => What::Others,
            Outcome::Busy => What::Disk(kept, verb),
            Outcome::OnFlash { counts, .. } => {
                let ticket = shared.tickets.take(shared.client, self.first + at as u64);
                let bytes = shared.engine.fetch(kept.key().as_bytes(), ticket, counts);
                What::Item(kept, verb, bytes)
            }
        };
        if outcome == Outcome::Done {
            text.append(&mut waiting.text);
            waiting.text = text;
        }
    }

    /// The disk has moved: those that waited for that try again.
    pub fn retry(&mut self, shared: &mut Shared<'_>) {
        for at in 0..self.waiting.len() {
            if let What::Disk(kept, verb) = self.waiting[at].what {
                self.try_again(at, kept, verb, None, shared);
            }
        }
        self.advance(shared);
    }

    /// True if somebody waits for a disk that is behind.
    pub fn waits_for_disk(&self) -> bool {
        self.waiting.iter().any(|waiting| matches!(waiting.what, What::Disk(..)))
    }

    /// What was written so far is durable at this point; true if somebody wants to know.
    pub fn set_point(&mut self, point: u64) {
        for waiting in &mut self.waiting {
            if let What::Durable(wanted @ None) = &mut waiting.what {
                *wanted = Some(point);
            }
        }
    }

    /// True if somebody waits for what is not on its way to the disk.
    pub fn needs_sync(&self) -> bool {
        self.waiting.iter().any(|waiting| matches!(waiting.what, What::Durable(None)))
    }

    /// Answers whoever waits for nothing any more.
    pub fn advance(&mut self, shared: &mut Shared<'_>) {
        while let Some(waiting) = self.waiting.front_mut() {
            match waiting.what {
                What::Others => {}
                What::Durable(_) if shared.engine.has_failed() => return self.give_up(),
                What::Durable(Some(point)) if point <= shared.engine.durable() => {}
                What::Flush(flush) => {
                    shared.flush(flush.delay);
                    let mut text = Vec::new();
                    reply::ok(&mut text, flush.noreply);
                    text.append(&mut waiting.text);
                    waiting.text = text;
                    if shared.about.settings.is_durable {
                        waiting.what = What::Durable(None);
                        break;
                    }
                }
                _ => break,
            }
            self.out.append(&mut waiting.text);
            self.waiting.pop_front();
            self.first += 1;
        }
        self.unblock();
    }

    /// What was changed cannot be made durable any more: nobody is told that it was, and nothing more is promised.
    fn give_up(&mut self) {
        self.first += self.waiting.len() as u64;
        self.waiting.clear();
        reply::server_error(&mut self.out, "the disk has failed");
        self.closing = Some(Reason::Quit);
    }

    fn unblock(&mut self) {
        let is_harmless = |waiting: &Waiting| matches!(waiting.what, What::Others | What::Durable(_));
        if self.waiting.iter().all(is_harmless) {
            self.is_blocked = false;
        }
    }
}

impl Shared<'_> {
    fn flush(&mut self, delay: i64) {
        self.statistics.cmd_flush += 1;
        let moment = flush_moment(self.about.unix, delay);
        *self.flush_at = (moment > self.about.unix).then_some(moment);
        if self.flush_at.is_none() {
            self.engine.flush_all();
        }
    }

    fn carry_out(
        &mut self,
        key: Key<'_>,
        verb: &Verb,
        data: &[u8],
        fetched: Option<&Fetched>,
        out: &mut Vec<u8>,
    ) -> Outcome {
        let Shared { engine, statistics, scratch, about, .. } = self;
        let (unix, most_item) = (about.unix, about.settings.most_item);
        let may_miss = verb.may_miss() && engine.settings().keep == Keep::WhatIsUsed;
        Work { engine, statistics, out, scratch, unix, most_item, may_miss, fetched }
            .carry_out(key, verb, data)
    }
}

/// What clients are told: the version of the program whose protocol is spoken, by which they choose what they use, and ours behind it.
/// libmemcached takes a version that begins with 0 for none at all.
const VERSION: &str = concat!("1.6.18-tailcut-", env!("CARGO_PKG_VERSION"));
/// Commands of one client that wait for flash at a time.
const MOST_WAITING: usize = 128;
/// While so many bytes of items are under way for a client, no more are asked for; so there is one at least, however long.
const MOST_AWAITED: u64 = 4 << 20;
/// A client that does not read its answers is not served any more when there are so many bytes of them.
const MOST_OUT: usize = 1 << 20;
/// Memory for data that a client keeps between its commands.
const MOST_KEPT: usize = 64 << 10;
