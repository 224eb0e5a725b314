//! A reference store with the behaviour of memcached 1.6.45, as simple as possible: a table and a stopped
//! clock.
//!
//! It is the oracle for replies, not an example of how to build a store.

use std::collections::BTreeMap;
use tailcut_host::wire::memcached::flags::MetaFlags;
use tailcut_host::wire::memcached::meta::StoredItem;
use tailcut_host::wire::memcached::meta::{self, Deleted};
use tailcut_host::wire::memcached::reply::{Counted, Stored};
use tailcut_host::wire::memcached::{Delta, Expiry, StoreMode, flush_moment, number};

/// A value with its metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Item {
    pub value: Vec<u8>,
    pub client_flags: u32,
    pub expiry: Expiry,
    pub cas: u64,
    pub is_fetched: bool,
    pub is_stale: bool,
    pub is_claimed: bool,
    pub has_base64_key: bool,
}

/// The store.
#[derive(Debug)]
pub(super) struct Reference {
    items: BTreeMap<Vec<u8>, Item>,
    now: u64,
    /// The last CAS value that was assigned.
    cas: u64,
    /// Every attempt to store uses up a CAS value, as in memcached.
    pub counts_attempts: bool,
    /// The CAS value of an `ms` without a proper end of its data, which memcached gives to the next item.
    left_over: Option<u64>,
    /// When a pending flush takes effect; 0 for none.
    flush_at: u64,
}

/// A storage request without its data.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    pub key: Vec<u8>,
    pub mode: StoreMode,
    pub client_flags: u32,
    pub expiry: Expiry,
    /// Expiry time of an item that `append` and `prepend` create.
    pub autovivify: Option<Expiry>,
    /// The CAS value that `append` and `prepend` require; 0 for any.
    pub cas: u64,
    /// The CAS value to assign to the item.
    pub new_cas: Option<u64>,
    /// An item with an older CAS value is stored as stale.
    pub invalidates: bool,
    pub has_base64_key: bool,
    /// `ms`.
    pub is_meta: bool,
}

/// Largest size of an item, with all its overhead.
const ITEM_BYTES: usize = 1 << 20;

impl Reference {
    /// The first item gets the CAS value after `cas`.
    pub(super) fn new(now: u64, cas: u64) -> Reference {
        Reference { items: BTreeMap::new(), now, cas, counts_attempts: false, left_over: None, flush_at: 0 }
    }

    pub(super) fn now(&self) -> u64 {
        self.now
    }

    /// The item, unless it has expired; then it is removed. The clock does not advance, so a pending flush
    /// never takes effect.
    pub(super) fn find(&mut self, key: &[u8]) -> Option<&mut Item> {
        assert!(self.flush_at == 0 || self.flush_at > self.now);
        let item = self.items.get(key)?;
        if item.expiry.is_expired(self.now) {
            self.items.remove(key);
        }
        self.items.get_mut(key)
    }

    /// The next item gets the CAS value after `cas`.
    pub(super) fn set_cas(&mut self, cas: u64) {
        self.cas = cas;
    }

    /// The CAS value of an item that changes now, unless the client chooses one.
    fn next_cas(&mut self, wish: Option<u64>) -> u64 {
        self.cas += u64::from(wish.is_none());
        wish.unwrap_or(self.cas)
    }

    fn put(&mut self, key: &[u8], item: Item, new_cas: Option<u64>) -> u64 {
        let cas = self.next_cas(new_cas);
        self.items.insert(key.to_vec(), Item { cas, ..item });
        cas
    }

    /// True if an item can be stored at all. If not, the item that it would replace is removed.
    pub(super) fn admits(&mut self, key: &[u8], client_flags: u32, length: u32, replaces: bool) -> bool {
        let fits = bytes(key, client_flags, length as usize) <= ITEM_BYTES;
        if !fits && replaces {
            self.items.remove(key);
        }
        fits
    }

    /// Stores an item. The returned CAS value is 0 if it was not stored.
    pub(super) fn store(&mut self, wish: &Wish, data: &[u8]) -> (Stored, StoredItem) {
        let old = self.find(&wish.key).cloned();
        let mut item = Item {
            value: data.to_vec(),
            client_flags: wish.client_flags,
            expiry: wish.expiry,
            has_base64_key: wish.has_base64_key,
            ..Item::default()
        };
        let is_join = matches!(wish.mode, StoreMode::Append | StoreMode::Prepend);
        let refused = match (wish.mode, &old) {
            (StoreMode::Set, _) | (StoreMode::Add, None) | (StoreMode::Replace, Some(_)) => None,
            (StoreMode::Cas(_), None) => Some(Stored::NotFound),
            (StoreMode::Cas(cas), Some(old)) => compare(&mut item, wish, cas, old),
            (StoreMode::Append | StoreMode::Prepend, Some(old)) => join(&mut item, wish, old),
            (_, None) if is_join && wish.autovivify.is_some() => {
                item.expiry = wish.autovivify.expect("it was just found");
                None
            }
            _ => Some(Stored::NotStored),
        };
        let new_cas = self.cas_of_attempt(wish);
        match refused {
            Some(refused) => (refused, StoredItem { cas: 0, length: data.len() as u32 }),
            None => {
                let length = item.value.len() as u32;
                (Stored::Stored, StoredItem { cas: self.put(&wish.key, item, new_cas), length })
            }
        }
    }

    /// The CAS value for an item that is to be stored; None for the next one.
    fn cas_of_attempt(&mut self, wish: &Wish) -> Option<u64> {
        if !self.counts_attempts {
            return wish.new_cas;
        }
        let left_over = self.left_over.take().filter(|_| !wish.is_meta);
        // memcached takes 0 for none.
        let given = wish.new_cas.or(left_over).filter(|&cas| cas != 0);
        Some(given.unwrap_or_else(|| self.next_cas(None)))
    }

    /// Data without a proper end: nothing is stored.
    pub(super) fn note_unsound(&mut self, wish: &Wish) {
        if self.counts_attempts && wish.is_meta {
            self.left_over = Some(wish.new_cas.unwrap_or_else(|| self.next_cas(None)));
        }
    }

    pub(super) fn delete(&mut self, key: &[u8]) -> bool {
        self.find(key).is_some() && self.items.remove(key).is_some()
    }

    pub(super) fn touch(&mut self, key: &[u8], exptime: i64) -> bool {
        let expiry = Expiry::new(self.now, exptime);
        self.find(key).is_some_and(|item| {
            item.expiry = expiry;
            item.is_fetched = true;
            true
        })
    }

    /// `get`, optionally with a new expiry.
    pub(super) fn get(&mut self, key: &[u8], exptime: Option<i64>) -> Option<Item> {
        let now = self.now;
        let item = self.find(key)?;
        item.is_fetched = true;
        if let Some(exptime) = exptime {
            item.expiry = Expiry::new(now, exptime);
        }
        Some(item.clone())
    }

    pub(super) fn count(&mut self, key: &[u8], delta: Delta) -> Counted {
        match self.change(key, delta, &MetaFlags::default()) {
            meta::Counted::Now { number, .. } => Counted::Now(number),
            meta::Counted::NotFound => Counted::NotFound,
            _ => Counted::NotNumeric,
        }
    }

    /// Increments or decrements. A number with no more digits than the old value has bytes overwrites it,
    /// padded with spaces; otherwise a new item replaces it and all marks are lost.
    fn change(&mut self, key: &[u8], delta: Delta, flags: &MetaFlags) -> meta::Counted {
        let cas = flags.cas.unwrap_or(0);
        let Some(item) = self.find(key).cloned() else { return meta::Counted::NotFound };
        if cas != 0 && item.cas != cas && !item.value.is_empty() {
            return meta::Counted::Exists;
        }
        let Some(number) = number::of_value(&item.value) else { return meta::Counted::NotNumeric };
        if self.counts_attempts && flags.new_cas.is_some() {
            self.next_cas(None);
        }
        let number = delta.apply(number);
        let mut value = number.to_string().into_bytes();
        let expiry = item.expiry;
        let cas = if value.len() <= item.value.len() {
            value.resize(item.value.len(), b' ');
            let cas = self.next_cas(flags.new_cas);
            self.items.insert(key.to_vec(), Item { value, cas, ..item });
            cas
        } else {
            let item = Item { value, client_flags: item.client_flags, expiry, ..Item::default() };
            self.put(key, item, flags.new_cas)
        };
        meta::Counted::Now { number, cas, expiry, is_new: false }
    }

    /// `ma`.
    pub(super) fn meta_count(&mut self, key: &[u8], flags: &MetaFlags, delta: Delta) -> meta::Counted {
        let before = self.find(key).map_or(0, |item| item.value.len());
        let counted = self.change(key, delta, flags);
        match counted {
            // The program sets the expiry of the replaced item instead of the new one.
            meta::Counted::Now { expiry, .. } if self.items[key].value.len() == before => {
                let expiry = flags.expiry(self.now, expiry, false);
                self.items.get_mut(key).expect("it was just counted").expiry = expiry;
                counted
            }
            meta::Counted::NotFound if flags.autovivify.is_some() => {
                let expiry = flags.expiry(self.now, Expiry::Never, true);
                let value = flags.initial.to_string().into_bytes();
                let cas = self.put(key, Item { value, expiry, ..Item::default() }, flags.new_cas);
                meta::Counted::Now { number: flags.initial, cas, expiry: Expiry::Never, is_new: true }
            }
            counted => counted,
        }
    }

    /// `mg`: the item as found, and its bytes.
    pub(super) fn meta_get(&mut self, key: &[u8], flags: &MetaFlags) -> Option<(meta::Item, Vec<u8>)> {
        let is_new = self.find(key).is_none() && flags.autovivify.is_some();
        if is_new {
            self.put(key, Item::default(), flags.new_cas);
        }
        let now = self.now;
        let item = self.items.get_mut(key)?;
        let seen = meta::Item {
            length: item.value.len() as u32,
            expiry: item.expiry,
            cas: item.cas,
            client_flags: item.client_flags,
            idle: 0,
            is_fetched: item.is_fetched,
            is_stale: item.is_stale,
            is_claimed: item.is_claimed,
            is_new,
            has_base64_key: item.has_base64_key,
        };
        let fetched = seen.fetch(flags, now);
        item.expiry = fetched.expiry;
        item.is_claimed |= fetched.is_won;
        item.is_fetched |= !flags.leaves_no_trace();
        Some((seen, item.value.clone()))
    }

    /// `md`.
    pub(super) fn meta_delete(&mut self, key: &[u8], flags: &MetaFlags) -> Deleted {
        let now = self.now;
        let Some(item) = self.find(key) else { return Deleted::NotFound };
        if flags.cas.is_some_and(|cas| cas != item.cas) {
            return Deleted::Exists;
        }
        if !flags.invalidates() && !flags.empties() {
            self.items.remove(key);
            return Deleted::Deleted;
        }
        if flags.empties() {
            let expiry = flags.exptime.map_or(Expiry::Never, |exptime| Expiry::new(now, exptime));
            *item = Item { client_flags: flags.client_flags, expiry, cas: item.cas, ..Item::default() };
            item.cas = flags.new_cas.unwrap_or(item.cas);
        }
        if flags.invalidates() {
            item.expiry = flags.exptime.map_or(item.expiry, |exptime| Expiry::new(now, exptime));
            (item.is_stale, item.is_claimed) = (true, false);
            let cas = self.next_cas(flags.new_cas);
            self.items.get_mut(key).expect("it was just found").cas = cas;
        }
        Deleted::Deleted
    }

    /// `me`.
    pub(super) fn debug(&mut self, key: &[u8]) -> Option<meta::Debug> {
        let item = self.find(key)?;
        let size = bytes(key, item.client_flags, item.value.len());
        Some(meta::Debug {
            expiry: item.expiry,
            idle: 0,
            cas: item.cas,
            is_fetched: item.is_fetched,
            class: class(size),
            size: size as u64,
            has_base64_key: item.has_base64_key,
        })
    }

    pub(super) fn flush(&mut self, delay: i64) {
        self.flush_at = flush_moment(self.now, delay);
        if self.flush_at <= self.now {
            self.items.clear();
            self.flush_at = 0;
            // Ours uses one up for a flush.
            self.cas += u64::from(!self.counts_attempts);
        }
    }
}

/// Compares CAS values; returns the reply if nothing is to be stored.
fn compare(item: &mut Item, wish: &Wish, cas: u64, old: &Item) -> Option<Stored> {
    if cas != 0 && cas == old.cas {
        return None;
    }
    if cas == 0 || cas > old.cas || !wish.invalidates {
        return Some(Stored::Exists);
    }
    (item.expiry, item.is_stale, item.is_claimed) = (old.expiry, true, old.is_claimed);
    None
}

/// Adds the data to the existing value; returns the reply if nothing is to be stored.
fn join(item: &mut Item, wish: &Wish, old: &Item) -> Option<Stored> {
    if wish.cas != 0 && wish.cas != old.cas {
        return Some(Stored::Exists);
    }
    let (front, back) =
        if wish.mode == StoreMode::Append { (&old.value, &item.value) } else { (&item.value, &old.value) };
    item.value = [&front[..], back].concat();
    (item.client_flags, item.expiry, item.has_base64_key) = (old.client_flags, old.expiry, false);
    (bytes(&wish.key, item.client_flags, item.value.len()) > ITEM_BYTES).then_some(Stored::NotStored)
}

/// Size of an item with its key, line ending, CAS value and the program's header.
fn bytes(key: &[u8], client_flags: u32, length: usize) -> usize {
    let flags = if client_flags == 0 { 0 } else { 4 };
    48 + 8 + key.len() + 1 + flags + length + 2
}

/// The program's slab class for a size: the first is 96 bytes, each further one a quarter larger, in steps of
/// eight.
fn class(bytes: usize) -> u32 {
    let (mut class, mut size) = (1, 96);
    while size < bytes {
        (class, size) = (class + 1, (size * 5 / 4).next_multiple_of(8));
    }
    class
}
