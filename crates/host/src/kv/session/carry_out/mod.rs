//! Execution of each operation: its effect on an item and its reply. The semantics are memcached's
//! (`proto_text.c`, `items.c`); the tests compare with the original.

mod counting;
mod deletion;

use super::latency::Source;
use super::operation::{Answer, Operation, Store, to_expiry, to_seconds};
use super::prefixes::{PrefixCounters, PrefixCounts};
use super::statistics::Statistics;
use crate::kv::{Change, Content, Engine, Fetched, Header, Item, Keep, Lookup, Put, Refused, State};
use crate::wire::memcached::meta::{self, StoredItem};
use crate::wire::memcached::reply::{self, Stored};
use crate::wire::memcached::{Expiry, Key, MetaFlags, StoreMode};
use tailcut_base::cast::to_u32;

/// Result of an attempt to execute an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Executed, with its reply written; gives the source of the item.
    Done(Source),
    /// The item is or may be on flash and must be fetched first. Nothing has changed.
    OnFlash {
        /// The fetch is for a client's read.
        counts: bool,
        /// Recovery has not found the key yet.
        is_unknown: bool,
    },
    /// The disk is behind: retry later. Nothing has changed.
    Busy,
}

/// The context of an operation.
pub(super) struct Work<'a> {
    /// The storage engine of the shard.
    pub engine: &'a mut Engine,
    /// Counters of client commands, to be updated.
    pub statistics: &'a mut Statistics,
    /// Counters by key prefix, if they are enabled.
    pub prefixes: Option<&'a mut PrefixCounters>,
    /// Buffer for the reply.
    pub out: &'a mut Vec<u8>,
    /// Scratch memory for computed values.
    pub scratch: &'a mut Vec<u8>,
    /// Current time in seconds of Unix time.
    pub unix: u64,
    /// Largest item in bytes, as memcached counts them.
    pub most_item: u64,
    /// CAS values are shown and compared; otherwise they are all 0.
    pub shows_cas: bool,
    /// The operation treats an item that recovery has not found yet as a miss.
    pub may_miss: bool,
    /// Changes are durable before they are acknowledged.
    pub is_durable: bool,
    /// The item, if it was fetched from flash.
    pub fetched: Option<&'a Fetched>,
    /// State of the current attempt.
    pub attempt: Attempt,
}

/// State of an attempt to execute an operation.
#[derive(Debug)]
pub(super) struct Attempt {
    /// Source of the item, as far as it was looked up.
    source: Source,
    /// A change was refused with [`Refused::Evicted`].
    was_evicted: bool,
}

impl Attempt {
    /// An attempt that has looked up nothing yet.
    pub(super) const NEW: Attempt = Attempt { source: Source::Memory, was_evicted: false };
}

/// The item is or may be on flash and has not been fetched.
struct NotHere {
    /// Recovery has not found the key yet.
    is_unknown: bool,
}

impl Work<'_> {
    /// Executes an operation. `data` is its payload, empty for operations without one.
    pub(super) fn carry_out(&mut self, key: Key<'_>, operation: &Operation, data: &[u8]) -> Outcome {
        loop {
            let outcome = self.execute(key, operation, data);
            // The next lookup finds the evicted item on flash or not at all, so this ends.
            if !std::mem::replace(&mut self.attempt, Attempt::NEW).was_evicted {
                return outcome;
            }
        }
    }

    /// Makes one attempt. Not inlined into the loop: the compiler would load the fields of all operations
    /// ahead of the loop, some 100 instructions for each get.
    #[inline(never)]
    fn execute(&mut self, key: Key<'_>, operation: &Operation, data: &[u8]) -> Outcome {
        let before = self.out.len();
        if self.is_lost() && self.engine.settings().keep == Keep::Everything && says_so(operation) {
            reply::server_error(self.out, DAMAGED);
            return Outcome::Done(Source::Miss);
        }
        if self.cannot_write(operation) {
            if let Operation::Store(store) = operation {
                self.statistics.note_store(store.mode, Stored::NoMemory);
            }
            reply::server_error(self.out, why_not_written(self.engine));
            return Outcome::Done(Source::Memory);
        }
        let outcome = match operation {
            Operation::Get { with_cas, exptime } => self.get(key, *with_cas, *exptime),
            Operation::MetaGet(flags) => self.meta_get(key, flags),
            Operation::Store(store) => self.store(key, store, data),
            Operation::Count { delta, noreply } => self.count(key, *delta, *noreply),
            Operation::MetaCount { flags, delta } => self.meta_count(key, flags, *delta),
            Operation::Touch { exptime, noreply } => self.touch(key, *exptime, *noreply),
            Operation::Delete { noreply } => self.delete(key, *noreply),
            Operation::MetaDelete(flags) => self.meta_delete(key, flags),
            Operation::MetaDebug => self.debug(key),
            Operation::TooLarge { replaces, answer } => Ok(self.refuse(key, *replaces, answer)),
            Operation::Unsound(answer) => {
                answer_store(self.out, key, answer, Stored::Unsound, StoredItem::default());
                Ok(Some(()))
            }
        };
        let counts = matches!(operation, Operation::Get { .. } | Operation::Touch { .. })
            || matches!(operation, Operation::MetaGet(flags) if !flags.leaves_no_trace());
        match outcome {
            Ok(Some(())) => Outcome::Done(self.attempt.source),
            Ok(None) => {
                self.out.truncate(before);
                Outcome::Busy
            }
            Err(NotHere { is_unknown }) => {
                self.out.truncate(before);
                Outcome::OnFlash { counts, is_unknown }
            }
        }
    }

    /// True for a change that a store must refuse because its drive is full or accepts no writes: it would be
    /// gone after a restart. Without `--durable`, a delete may be undone by a restart, so it is accepted on a
    /// full drive.
    fn cannot_write(&self, operation: &Operation) -> bool {
        let is_refused = match operation {
            Operation::Delete { .. } | Operation::MetaDelete(_) => self.is_durable || !self.engine.is_full(),
            operation => operation.writes(),
        };
        is_refused && self.engine.settings().keep == Keep::Everything && self.engine.has_failed()
    }

    /// Looks up an item and passes it to a closure.
    fn see<R>(
        &mut self,
        key: Key<'_>,
        counts: bool,
        look: impl FnOnce(Option<&Item<'_>>, &mut Vec<u8>) -> R,
    ) -> Result<R, NotHere> {
        let shows_cas = self.shows_cas;
        let look = |item: Option<&Item<'_>>, out: &mut Vec<u8>| match item {
            Some(item) if !shows_cas => {
                look(Some(&Item { header: Header { cas: 0, ..item.header }, ..*item }), out)
            }
            item => look(item, out),
        };
        if let Some(fetched) = self.fetched {
            let item = fetched.is_there().then(|| fetched.item());
            self.attempt.source = if item.is_some() { Source::Flash } else { Source::Miss };
            return Ok(look(item.as_ref(), self.out));
        }
        match self.engine.find(key.as_bytes(), counts) {
            Lookup::Item(item) => Ok(look(Some(&item), self.out)),
            Lookup::Unknown if !self.may_miss => Err(NotHere { is_unknown: true }),
            Lookup::Nothing | Lookup::Unknown => {
                self.attempt.source = Source::Miss;
                Ok(look(None, self.out))
            }
            Lookup::OnFlash => Err(NotHere { is_unknown: false }),
        }
    }

    fn header(&mut self, key: Key<'_>, counts: bool) -> Result<Option<Header>, NotHere> {
        self.see(key, counts, |item, _| item.map(|item| item.header))
    }

    /// Changes the item. [`Refused::Evicted`] is returned as [`Refused::Busy`]; [`Work::carry_out`] then
    /// tries again.
    fn change(&mut self, key: Key<'_>, change: Change<'_>) -> Result<u64, Refused> {
        let result = self.engine.change(key.as_bytes(), self.fetched, change);
        self.attempt.was_evicted = result == Err(Refused::Evicted);
        if self.attempt.was_evicted {
            return Err(Refused::Busy);
        }
        result.map(|cas| if self.shows_cas { cas } else { 0 })
    }

    fn get(&mut self, key: Key<'_>, with_cas: bool, exptime: Option<i64>) -> Result<Option<()>, NotHere> {
        let seen = self.see(key, true, |item, out| {
            let item = item?;
            // Reserve all of it at once: growing the buffer behind a large value would double its memory.
            out.reserve(item.value.bytes() + AROUND_VALUE);
            let Header { flags, cas, .. } = item.header;
            let (length, cas) = (to_u32(item.value.bytes()), with_cas.then_some(cas));
            reply::value(out, key, reply::Hit { client_flags: flags, length, cas });
            item.value.append_to(out);
            out.extend_from_slice(reply::TAIL);
            Some(item.header)
        })?;
        if let (Some(header), Some(exptime)) = (seen, exptime) {
            let expires = to_seconds(Expiry::new(self.unix, exptime));
            let state = header.state.with(State::FETCHED);
            if self.change(key, Change::Amend { expires, state }) == Err(Refused::Busy) {
                return Ok(None);
            }
        }
        self.statistics.note_get(seen.is_some(), exptime.is_some());
        let hits = u64::from(seen.is_some());
        self.count_prefix(key, PrefixCounts { gets: 1, hits, ..PrefixCounts::default() });
        Ok(Some(()))
    }

    fn meta_get(&mut self, key: Key<'_>, flags: &MetaFlags) -> Result<Option<()>, NotHere> {
        let (unix, counts) = (self.unix, !flags.leaves_no_trace());
        let seen = self.see(key, counts, |item, out| {
            let item = item?;
            let seen = as_meta(item.header, unix);
            let returns_value = flags.returns_value(seen.cas);
            if returns_value {
                out.reserve(item.value.bytes() + AROUND_VALUE);
            }
            meta::hit(out, flags, key, &seen, unix);
            if returns_value {
                item.value.append_to(out);
                out.extend_from_slice(reply::TAIL);
            }
            Some((item.header.state, seen))
        })?;
        let done = match seen {
            Some((state, seen)) => {
                let fetched = seen.fetch(flags, unix);
                let state = if fetched.is_won { state.with(State::WIN_SENT) } else { state };
                let state = if counts { state.with(State::FETCHED) } else { state };
                let change = Change::Amend { expires: to_seconds(fetched.expiry), state };
                let is_the_same = fetched.expiry == seen.expiry && !fetched.is_won;
                let is_busy = !is_the_same && self.change(key, change) == Err(Refused::Busy);
                (!is_busy).then_some(())
            }
            None if flags.autovivify.is_some() => self.autovivify(key, flags),
            None => {
                meta::miss(self.out, flags, key);
                Some(())
            }
        };
        if done.is_some() {
            // memcached counts an autovivified item as a hit.
            let is_hit = seen.is_some() || flags.autovivify.is_some();
            self.statistics.note_get(is_hit, flags.exptime.is_some());
        }
        Ok(done)
    }

    /// Autovivifies an item after a miss; the client is to fill it.
    fn autovivify(&mut self, key: Key<'_>, flags: &MetaFlags) -> Option<()> {
        let new = meta::Item { is_new: true, ..meta::Item::default() };
        let fetched = new.fetch(flags, self.unix);
        let state = if fetched.is_won { State::WIN_SENT } else { State::default() };
        let state = if flags.leaves_no_trace() { state } else { state.with(State::FETCHED) };
        let expires = to_seconds(fetched.expiry);
        let put = Put { content: Content::New(&[]), flags: 0, expires, state, cas: flags.new_cas };
        match self.change(key, Change::Put(put)) {
            Ok(cas) => {
                meta::hit(self.out, flags, key, &meta::Item { cas, ..new }, self.unix);
                if flags.returns_value(cas) {
                    self.out.extend_from_slice(reply::TAIL);
                }
            }
            Err(Refused::Busy) => return None,
            Err(_) => reply::server_error(self.out, NO_ROOM),
        }
        Some(())
    }

    fn store(&mut self, key: Key<'_>, store: &Store, data: &[u8]) -> Result<Option<()>, NotHere> {
        let old = match store.mode {
            StoreMode::Set => None,
            _ => self.header(key, false)?,
        };
        let state = if store.has_base64_key { State::BASE64_KEY } else { State::default() };
        let put = Put {
            content: Content::New(data),
            flags: store.client_flags,
            expires: to_seconds(store.expiry),
            state,
            cas: store.new_cas,
        };
        let put = match (store.mode, old) {
            (StoreMode::Set, _) | (StoreMode::Add, None) | (StoreMode::Replace, Some(_)) => Ok(put),
            (StoreMode::Cas(_), None) => Err(Stored::NotFound),
            (StoreMode::Cas(cas), Some(old)) => compare(put, store, cas, &old),
            (StoreMode::Append | StoreMode::Prepend, Some(old)) => self.join(key, put, store, &old, data),
            (StoreMode::Append | StoreMode::Prepend, None) => match store.autovivify {
                Some(expiry) => Ok(Put { expires: to_seconds(expiry), ..put }),
                None => Err(Stored::NotStored),
            },
            _ => Err(Stored::NotStored),
        };
        let (stored, cas) = match put.map(|put| self.change(key, Change::Put(put))) {
            Ok(Ok(cas)) => (Stored::Stored, cas),
            Ok(Err(Refused::Busy | Refused::Evicted)) => return Ok(None),
            Ok(Err(Refused::Full)) => (Stored::NoMemory, 0),
            Ok(Err(Refused::TooLarge)) => (Stored::TooLarge, 0),
            Err(refused) => (refused, 0),
        };
        let is_joined =
            stored == Stored::Stored && matches!(store.mode, StoreMode::Append | StoreMode::Prepend);
        let before = old.filter(|_| is_joined).map_or(0, |old| old.value);
        let item = StoredItem { cas, length: before + to_u32(data.len()) };
        self.statistics.note_store(store.mode, stored);
        self.count_set(key, &store.answer);
        answer_store(self.out, key, &store.answer, stored, item);
        Ok(Some(()))
    }

    /// Counts a storage command for the key's prefix, unless it is a meta command.
    fn count_set(&mut self, key: Key<'_>, answer: &Answer) {
        if let Answer::Classic { .. } = answer {
            self.count_prefix(key, PrefixCounts { sets: 1, ..PrefixCounts::default() });
        }
    }

    fn count_prefix(&mut self, key: Key<'_>, counts: PrefixCounts) {
        if let Some(prefixes) = &mut self.prefixes {
            prefixes.count(key, counts);
        }
    }

    /// Refuses a value that is too large, and removes the outdated item.
    fn refuse(&mut self, key: Key<'_>, replaces: bool, answer: &Answer) -> Option<()> {
        if replaces && self.remove(key) == Err(Refused::Busy) {
            return None;
        }
        self.statistics.store_too_large += 1;
        self.count_set(key, answer);
        answer_store(self.out, key, answer, Stored::TooLarge, StoredItem::default());
        Some(())
    }

    /// Appends or prepends data to the current value; the item's other attributes stay.
    fn join<'d>(
        &self,
        key: Key<'_>,
        put: Put<'d>,
        store: &Store,
        old: &Header,
        data: &'d [u8],
    ) -> Result<Put<'d>, Stored> {
        if store.cas != 0 && store.cas != old.cas {
            return Err(Stored::Exists);
        }
        let length = u64::from(old.value) + data.len() as u64;
        if counted_bytes(key, old.flags, length) > self.most_item {
            return Err(Stored::NotStored);
        }
        let is_append = store.mode == StoreMode::Append;
        let content = if is_append { Content::After(data) } else { Content::Before(data) };
        Ok(Put { content, flags: old.flags, expires: old.expires, state: State::default(), ..put })
    }

    fn touch(&mut self, key: Key<'_>, exptime: i64, noreply: bool) -> Result<Option<()>, NotHere> {
        let header = self.header(key, true)?;
        if let Some(header) = header {
            let expires = to_seconds(Expiry::new(self.unix, exptime));
            let state = header.state.with(State::FETCHED);
            match self.change(key, Change::Amend { expires, state }) {
                Ok(_) => {}
                Err(Refused::Busy) => return Ok(None),
                Err(_) => {
                    reply::server_error(self.out, NO_ROOM);
                    return Ok(Some(()));
                }
            }
        }
        self.statistics.note_touch(header.is_some());
        reply::touched(self.out, header.is_some(), noreply);
        Ok(Some(()))
    }

    /// True if the item could not be read. It may be readable next time, so a delete applies to it.
    fn is_lost(&self) -> bool {
        self.fetched.is_some_and(|fetched| fetched.is_lost)
    }

    /// True during recovery: a delete applies to an item not found yet as well, but replies that there is
    /// none.
    fn may_be_found(&self) -> bool {
        self.engine.recovered().is_some()
    }

    fn debug(&mut self, key: Key<'_>) -> Result<Option<()>, NotHere> {
        let unix = self.unix;
        self.see(key, false, |item, out| {
            let Some(item) = item else { return meta::debug_miss(out) };
            let header = &item.header;
            let debug = meta::Debug {
                expiry: to_expiry(header.expires),
                idle: unix.saturating_sub(u64::from(header.accessed)),
                cas: header.cas,
                is_fetched: header.state.has(State::FETCHED),
                class: 1,
                size: header.record_bytes(),
                has_base64_key: header.state.has(State::BASE64_KEY),
            };
            meta::debug(out, key, &debug, unix);
        })?;
        Ok(Some(()))
    }
}

/// Room reserved in a reply buffer for the header and trailer around a value, in bytes.
pub(super) const AROUND_VALUE: usize = 512;
/// True for an operation that a store answers with an error if the item is lost. `get` has no error reply per
/// key, so it returns a miss. Operations that replace or delete an item need not know it.
fn says_so(operation: &Operation) -> bool {
    match operation {
        Operation::MetaGet(_)
        | Operation::Count { .. }
        | Operation::MetaCount { .. }
        | Operation::Touch { .. }
        | Operation::MetaDebug => true,
        Operation::Store(store) => store.mode != StoreMode::Set || store.cas != 0,
        _ => false,
    }
}

/// Error reply for a lost item.
const DAMAGED: &str = "the item is damaged on flash: set or delete it";
const NO_ROOM: &str = "out of memory";
pub(super) const DRIVE_FULL: &str = "the drive is full";
const DRIVE_FAILED: &str = "the drive takes no writes";

/// Error reply of a store to a change that its disk does not take.
pub(super) fn why_not_written(engine: &Engine) -> &'static str {
    if engine.is_full() { DRIVE_FULL } else { DRIVE_FAILED }
}

enum Step {
    Counted(meta::Counted),
    Busy,
}

/// Replies to a storage command.
fn answer_store(out: &mut Vec<u8>, key: Key<'_>, answer: &Answer, stored: Stored, item: StoredItem) {
    match answer {
        Answer::Classic { noreply } => reply::stored(out, stored, *noreply),
        Answer::Meta(flags) => meta::stored(out, flags, key, stored, item),
    }
}

/// Size of an item in bytes as memcached counts it: with its header, the terminators of key and value, and
/// its CAS value.
pub(super) fn counted_bytes(key: Key<'_>, client_flags: u32, length: u64) -> u64 {
    let flags = if client_flags == 0 { 0 } else { 4 };
    48 + 8 + key.as_bytes().len() as u64 + 1 + flags + length + 2
}

fn compare<'d>(put: Put<'d>, store: &Store, cas: u64, old: &Header) -> Result<Put<'d>, Stored> {
    if cas != 0 && cas == old.cas {
        return Ok(put);
    }
    if cas == 0 || cas > old.cas || !store.invalidates {
        return Err(Stored::Exists);
    }
    let claimed = State(old.state.0 & State::WIN_SENT.0);
    Ok(Put { expires: old.expires, state: put.state.with(State::STALE).with(claimed), ..put })
}

fn as_meta(header: Header, unix: u64) -> meta::Item {
    meta::Item {
        length: header.value,
        expiry: to_expiry(header.expires),
        cas: header.cas,
        client_flags: header.flags,
        idle: unix.saturating_sub(u64::from(header.accessed)),
        is_fetched: header.state.has(State::FETCHED),
        is_stale: header.state.has(State::STALE),
        is_claimed: header.state.has(State::WIN_SENT),
        is_new: false,
        has_base64_key: header.state.has(State::BASE64_KEY),
    }
}
