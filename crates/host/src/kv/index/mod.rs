//! The index of all items: 12 bytes per entry in a table that is at least four fifths full, so at most 15
//! bytes per item.
//!
//! Some bits of a key's hash select a partition. A partition is an array of entries ordered by tag; each is
//! in the slot proportional to its tag, or in the nearest free one behind it (ordered linear probing: Amble
//! and Knuth 1974). A search ends at the first larger tag, so a miss is as fast as a hit. A partition that is
//! 85 % full grows by a sixteenth, which moves only its own few entries and wastes little memory.
//!
//! An entry holds 52 bits of the hash, and the partition implies more. Two keys that agree in all of them
//! collide when one of them is written: the newer replaces the older, which is lost. With 10⁸ items and 2¹⁶
//! partitions that happens once in 10¹² writes. A read compares keys, so it never returns the item of another
//! key.

mod check;

use super::hash::KeyHash;
use super::place::Place;
use prefetch_index::prefetch_index;
use tailcut_base::cast::{low_u32, to_u8, to_u32};

/// The index: maps key hashes to the places of items.
#[derive(Debug)]
pub struct Index {
    partitions: Vec<Partition>,
    items: u64,
    /// Items in memory.
    in_memory: u64,
}

/// An item's index entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where the item is: in memory or on flash.
    pub place: Place,
    /// Number of recent accesses, at most [`MOST_HEAT`].
    pub heat: u8,
}

/// Largest heat that is counted (S3-FIFO, Yang and others 2023, §4.1: two bits).
pub const MOST_HEAT: u8 = 3;

#[derive(Debug, Default)]
struct Partition {
    slots: Vec<Slot>,
    /// Home slots; the slots behind them take the overflow of the last ones.
    homes: u32,
    used: u32,
}

/// An encoded entry: 52 bits of tag, 2 of heat, 42 of place; all zeros if empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Slot([u32; 3]);

impl Index {
    /// An empty index of 2^`bits` partitions; each is worth at least some hundred items.
    ///
    /// # Panics
    /// If `bits` is above 20.
    pub fn new(bits: u32) -> Index {
        assert!(bits <= 20, "more partitions than are good for anything");
        let partitions = (0..1 << bits).map(|_| Partition::default()).collect();
        Index { partitions, items: 0, in_memory: 0 }
    }

    /// Number of items indexed, in memory and on flash.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Number of items in memory.
    pub fn in_memory(&self) -> u64 {
        self.in_memory
    }

    /// Memory that the index occupies, in bytes.
    pub fn bytes(&self) -> u64 {
        let slots: usize = self.partitions.iter().map(|partition| partition.slots.capacity()).sum();
        (slots * size_of::<Slot>() + self.partitions.capacity() * size_of::<Partition>()) as u64
    }

    /// The entry of a key.
    #[inline]
    pub fn find(&self, hash: KeyHash) -> Option<Entry> {
        let (partition, tag) = self.split(hash);
        let partition = &self.partitions[partition];
        partition.find(tag).map(|at| partition.slots[at].entry())
    }

    /// The entry of a key, after counting an access.
    #[inline]
    pub fn ask(&mut self, hash: KeyHash) -> Option<Entry> {
        let (partition, tag) = self.split(hash);
        let partition = &mut self.partitions[partition];
        let at = partition.find(tag)?;
        let entry = partition.slots[at].entry();
        if entry.heat < MOST_HEAT {
            partition.slots[at] = Slot::new(tag, Entry { heat: entry.heat + 1, ..entry });
        }
        Some(entry)
    }

    /// Inserts or replaces the entry of a key. Returns the previous entry.
    pub fn set(&mut self, hash: KeyHash, entry: Entry) -> Option<Entry> {
        let (partition, tag) = self.split(hash);
        let partition = &mut self.partitions[partition];
        let slot = Slot::new(tag, entry);
        match partition.locate(tag) {
            Ok(at) => {
                let before = partition.slots[at].entry();
                partition.slots[at] = slot;
                self.in_memory = self.in_memory + is_in_memory(entry) - is_in_memory(before);
                return Some(before);
            }
            Err(at) => partition.add(at, slot),
        }
        self.items += 1;
        self.in_memory += is_in_memory(entry);
        None
    }

    /// Inserts the entry of a key unless there is one already; true if inserted.
    #[inline]
    pub fn enter(&mut self, hash: KeyHash, entry: Entry) -> bool {
        let (partition, tag) = self.split(hash);
        let partition = &mut self.partitions[partition];
        let Err(at) = partition.locate(tag) else { return false };
        partition.add(at, Slot::new(tag, entry));
        self.items += 1;
        self.in_memory += is_in_memory(entry);
        true
    }

    /// Reserves memory for about `items` items in total, so that partitions need not grow one by one.
    pub fn reserve(&mut self, items: u64) {
        let each = items / self.partitions.len() as u64;
        for partition in &mut self.partitions {
            partition.grow(to_u32(each.saturating_sub(u64::from(partition.used))));
        }
    }

    /// Prefetches the slots of a key into the processor's cache.
    #[inline]
    pub fn prefetch(&self, hash: KeyHash) {
        let (partition, tag) = self.split(hash);
        let partition = &self.partitions[partition];
        let home = partition.home(tag);
        prefetch_index(&partition.slots, home);
        // Entries are up to some slots behind their home.
        prefetch_index(&partition.slots, home + LINE_SLOTS);
    }

    /// Removes a key and returns its entry; `None` if the key is not indexed.
    pub fn remove(&mut self, hash: KeyHash) -> Option<Entry> {
        let (partition, tag) = self.split(hash);
        let partition = &mut self.partitions[partition];
        let at = partition.find(tag)?;
        let entry = partition.slots[at].entry();
        partition.remove(at);
        self.items -= 1;
        self.in_memory -= is_in_memory(entry);
        Some(entry)
    }

    /// The places of all entries.
    pub fn places(&self) -> impl Iterator<Item = Place> {
        let slots = self.partitions.iter().flat_map(|partition| &partition.slots);
        slots.filter(|slot| !slot.is_empty()).map(|slot| slot.entry().place)
    }

    /// Removes the entries whose places fail `keeps`. Returns the number removed.
    pub fn retain(&mut self, keeps: impl Fn(Place) -> bool) -> u64 {
        let before = self.items;
        for partition in &mut self.partitions {
            for at in (0..partition.slots.len()).rev() {
                let slot = partition.slots[at];
                if !slot.is_empty() && !keeps(slot.entry().place) {
                    partition.remove(at);
                    self.items -= 1;
                    self.in_memory -= is_in_memory(slot.entry());
                }
            }
        }
        before - self.items
    }

    /// Removes all entries and frees their memory.
    pub fn clear(&mut self) {
        self.partitions.iter_mut().for_each(|partition| *partition = Partition::default());
        (self.items, self.in_memory) = (0, 0);
    }

    #[inline]
    fn split(&self, hash: KeyHash) -> (usize, u64) {
        let partition = hash.0 as usize & (self.partitions.len() - 1);
        (partition, (hash.0 >> 64) as u64 >> (64 - TAG_BITS))
    }
}

/// 1 for an item in memory, 0 for one on flash.
#[inline]
fn is_in_memory(entry: Entry) -> u64 {
    u64::from(matches!(entry.place, Place::Front { .. }))
}

impl Partition {
    /// Home slot of a tag.
    #[inline]
    fn home(&self, tag: u64) -> usize {
        ((u128::from(tag) * u128::from(self.homes)) >> TAG_BITS) as usize
    }

    #[inline]
    fn find(&self, tag: u64) -> Option<usize> {
        self.locate(tag).ok()
    }

    /// The slot of a tag, or else the slot to insert it at.
    #[inline]
    fn locate(&self, tag: u64) -> Result<usize, usize> {
        let mut at = self.home(tag);
        loop {
            let Some(slot) = self.slots.get(at) else { return Err(at) };
            if slot.is_empty() || slot.tag() > tag {
                return Err(at);
            }
            if slot.tag() == tag {
                return Ok(at);
            }
            at += 1;
        }
    }

    fn has_room(&self) -> bool {
        u64::from(self.used) * 100 < u64::from(self.homes) * MOST_PERCENT
    }

    /// Inserts a new entry at slot `at`, growing the partition if necessary.
    fn add(&mut self, at: usize, slot: Slot) {
        if self.has_room() {
            return self.insert(at, slot);
        }
        self.grow(1);
        let at = self.locate(slot.tag()).expect_err("growing enters nothing");
        self.insert(at, slot);
    }

    /// Inserts a new entry at slot `at`, shifting those behind it.
    fn insert(&mut self, at: usize, slot: Slot) {
        let behind = self.slots[at..].iter().position(|other| other.is_empty());
        let free = behind.map_or(self.slots.len(), |distance| at + distance);
        if free == self.slots.len() {
            self.lengthen();
        }
        self.slots.copy_within(at..free, at + 1);
        self.slots[at] = slot;
        self.used += 1;
    }

    /// Adds slots at the end: the last ones overflow.
    fn lengthen(&mut self) {
        self.slots.reserve_exact(BEHIND);
        self.slots.push(Slot::default());
    }

    /// Removes a slot; those behind it move up until one is at its home.
    fn remove(&mut self, at: usize) {
        let mut end = at + 1;
        while let Some(slot) = self.slots.get(end) {
            if slot.is_empty() || self.home(slot.tag()) == end {
                break;
            }
            end += 1;
        }
        self.slots.copy_within(at + 1..end, at);
        self.slots[end - 1] = Slot::default();
        self.used -= 1;
    }

    /// Grows the partition for at least `more` further entries.
    fn grow(&mut self, more: u32) {
        let needed = to_u32((u64::from(self.used + more) * 100).div_ceil(MOST_PERCENT)) + 1;
        let homes = needed.max(self.homes + self.homes / 16).max(LEAST_HOMES);
        if homes <= self.homes {
            return;
        }
        let slots = vec![Slot::default(); homes as usize + BEHIND];
        let before = std::mem::replace(&mut self.slots, slots);
        self.homes = homes;
        self.used = 0;
        let mut free = 0;
        for slot in before.into_iter().filter(|slot| !slot.is_empty()) {
            // Entries arrive in order, so each goes right behind the last one or to its home.
            let at = self.home(slot.tag()).max(free);
            if at == self.slots.len() {
                self.lengthen();
            }
            self.slots[at] = slot;
            free = at + 1;
            self.used += 1;
        }
    }
}

impl Slot {
    fn new(tag: u64, entry: Entry) -> Slot {
        let place = entry.place.encode();
        debug_assert!(place != 0 && place >> PLACE_BITS == 0 && entry.heat <= MOST_HEAT);
        let low = place | u64::from(entry.heat) << PLACE_BITS;
        // 44 bits of the entry, and the tag above them.
        let high = tag << 12 | low >> 32;
        Slot([low_u32(low), low_u32(high), low_u32(high >> 32)])
    }

    #[inline]
    fn is_empty(self) -> bool {
        self.0 == [0; 3]
    }

    #[inline]
    fn tag(self) -> u64 {
        u64::from(self.0[2]) << 20 | u64::from(self.0[1]) >> 12
    }

    #[inline]
    fn entry(self) -> Entry {
        let low = u64::from(self.0[0]) | u64::from(self.0[1] & 0xFFF) << 32;
        Entry { place: Place::decode(low & ((1 << PLACE_BITS) - 1)), heat: to_u8(low >> PLACE_BITS) }
    }
}

const TAG_BITS: u32 = 52;
const PLACE_BITS: u32 = Place::BITS;
/// Slots per 64-byte cache line.
const LINE_SLOTS: usize = 64 / size_of::<Slot>();
const LEAST_HOMES: u32 = 16;
/// Load factor at which a partition grows. The fuller it is, the more entries an insertion shifts: here about
/// twenty.
const MOST_PERCENT: u64 = 85;
/// Overflow slots behind the home slots of a partition.
const BEHIND: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn place(number: u64) -> Place {
        match number.is_multiple_of(3) {
            true => Place::Log { unit: number, pages: 1 },
            false => Place::Front { unit: crate::kv::place::FrontUnit::new(number as u32) },
        }
    }

    fn hash(number: u64) -> KeyHash {
        KeyHash::of(7, &number.to_le_bytes())
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_map(steps in prop::collection::vec((0u8..5, 0u64..300, 0u32..99), 1..3000)) {
            let (mut index, mut model) = (Index::new(1), BTreeMap::new());
            for (kind, key, unit) in steps {
                let is_new = !model.contains_key(&key);
                let entry = Entry { place: place(u64::from(unit)), heat: (unit % 4) as u8 };
                match kind {
                    0 | 1 => prop_assert_eq!(index.set(hash(key), entry), model.insert(key, entry)),
                    2 => prop_assert_eq!(index.remove(hash(key)), model.remove(&key)),
                    3 => {
                        prop_assert_eq!(index.enter(hash(key), entry), is_new);
                        model.entry(key).or_insert(entry);
                    }
                    _ => prop_assert_eq!(index.find(hash(key)), model.get(&key).copied()),
                }
                prop_assert_eq!(index.items(), model.len() as u64);
                let in_memory = model.values().map(|&entry| is_in_memory(entry)).sum::<u64>();
                prop_assert_eq!(index.in_memory(), in_memory);
            }
            for (&key, &entry) in &model {
                prop_assert_eq!(index.find(hash(key)), Some(entry));
            }
        }

        #[test]
        fn an_entry_keeps_its_bits(tag in 0u64..1 << 52, unit in 0u64..1 << 38, pages in 1u8..8, heat in 0u8..4) {
            let entry = Entry { place: Place::Log { unit, pages }, heat };
            let slot = Slot::new(tag, entry);
            prop_assert_eq!((slot.tag(), slot.entry()), (tag, entry));
        }
    }

    #[test]
    fn an_item_takes_fifteen_bytes() {
        let mut index = Index::new(4);
        for number in 0..40_000 {
            index.set(hash(number), Entry { place: place(number), heat: 0 });
            assert!(number < 10_000 || index.bytes() <= 16 * index.items(), "{} of {number}", index.bytes());
        }
    }

    #[test]
    fn tags_at_the_very_end_have_room() {
        let mut index = Index::new(0);
        for number in 0..1000u128 {
            let last = KeyHash((u128::MAX - (number << 76)) & !0xFFFF_FFFF);
            assert_eq!(index.set(last, Entry { place: place(number as u64), heat: 0 }), None);
        }
        for number in 0..1000u128 {
            let last = KeyHash((u128::MAX - (number << 76)) & !0xFFFF_FFFF);
            assert_eq!(index.remove(last).map(|entry| entry.place), Some(place(number as u64)));
        }
        assert_eq!(index.items(), 0);
    }

    #[test]
    fn heat_has_an_end() {
        let mut index = Index::new(0);
        index.set(hash(1), Entry { place: place(1), heat: 0 });
        let heats: Vec<u8> = (0..6).map(|_| index.ask(hash(1)).expect("it is there").heat).collect();
        assert_eq!(heats, [0, 1, 2, 3, 3, 3]);
    }
}
