//! The storage engine: items in memory and on flash, as a state machine without I/O.

use super::admission::Admission;
use super::damage::Damages;
use super::fetch::Fetched;
use super::flash::Flash;
use super::front::Front;
use super::ghost::Ghost;
use super::hash::KeyHash;
use super::index::{Entry, Index};
use super::item::Item;
use super::place::Place;
use super::record::{Header, State};
use super::recovery::Recovery;
use super::settings::Settings;
use crate::disk::BLOCK_BYTES;
use crate::pool::Pool;
use std::collections::VecDeque;
use tailcut_base::Time;

/// A key-value storage engine.
///
/// The caller sets the time ([`Engine::tick`]), looks up items ([`Engine::find`], and [`Engine::fetch`] for
/// an item on flash) and changes them ([`Engine::change`]). After each batch of calls it submits the requests
/// of [`Engine::next_request`] to the disk, passes each completion to [`Engine::respond`], and collects
/// fetched items from [`Engine::next_fetched`]. An engine on an existing store serves while it recovers;
/// until recovery is complete, the caller also calls [`Engine::recover`].
///
/// An engine belongs to one thread or event loop; it shares no state.
#[derive(Debug)]
pub struct Engine {
    pub(super) settings: Settings,
    pub(super) seed: u64,
    pub(super) index: Index,
    pub(super) front: Front,
    pub(super) flash: Option<Flash>,
    /// Present until recovery is complete.
    pub(super) recovery: Option<Recovery>,
    pub(super) pool: Pool,
    pub(super) ghost: Ghost,
    pub(super) admission: Admission,
    pub(super) now: Time,
    pub(super) unix: u32,
    pub(super) last_cas: u64,
    /// Bytes of the current victim segment that may still move to the main queue.
    pub(super) move_budget: u64,
    pub(super) fetched: VecDeque<Fetched>,
    /// Spare memory for the keys of fetches.
    pub(super) spare_keys: Vec<Vec<u8>>,
    pub(super) figures: Figures,
    pub(super) tiers: TierFigures,
    pub(super) damages: Damages,
}

/// Result of a lookup in index and memory.
#[derive(Clone, Copy, Debug)]
pub enum Lookup<'a> {
    /// The item, which is in memory.
    Item(Item<'a>),
    /// The item is probably on flash; see [`Engine::fetch`].
    OnFlash,
    /// There is no such item.
    Nothing,
    /// Recovery has not found the key yet, but still may; see [`Engine::recover`]. [`Engine::fetch`] waits
    /// for the result.
    Unknown,
}

/// A change of an item.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// Write the item with this content and these attributes.
    Put(Put<'a>),
    /// Replace its expiry time and state.
    Amend {
        /// New expiry time in seconds of Unix time; 0 for never.
        expires: u32,
        /// New state.
        state: State,
    },
    /// Delete the item.
    Remove,
}

/// The content and attributes of a write.
#[derive(Clone, Copy, Debug)]
pub struct Put<'a> {
    /// The value, or what is added to the current one.
    pub content: Content<'a>,
    /// The client's flags: 32 bits that are stored with the item and not interpreted.
    pub flags: u32,
    /// Expiry time in seconds of Unix time; 0 for never.
    pub expires: u32,
    /// State flags of the item, such as stale and claimed.
    pub state: State,
    /// CAS value to set; None for a new one.
    pub cas: Option<u64>,
}

/// The value of a write, absolute or relative to the current value.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// Replaces the value with these bytes.
    New(&'a [u8]),
    /// Append to the current value.
    After(&'a [u8]),
    /// Prepend to the current value.
    Before(&'a [u8]),
}

/// Why a change was refused. The item is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The item is longer than [`Settings::most_item`] permits.
    #[error("the item is too large")]
    TooLarge,
    /// There is no room, and nothing may be evicted.
    #[error("the store is full")]
    Full,
    /// The disk is behind: retry after a completion from the disk.
    #[error("the disk is behind")]
    Busy,
    /// Making room evicted the current value, which an append or an amendment continues: look the item up
    /// again at once.
    #[error("the item was evicted to make room for its successor")]
    Evicted,
}

/// Counters of an engine, since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Lookups of items that were found in memory.
    pub hits_in_memory: u64,
    /// Lookups of items that were read from flash.
    pub hits_on_flash: u64,
    /// Changes of items that were stored, new items included.
    pub puts: u64,
    /// Items evicted, from memory or from flash; those moved from memory to flash are not.
    pub evicted: u64,
    /// Evicted items that were not admitted to flash.
    pub not_admitted: u64,
    /// Expired items that a request, an eviction or a reclaim came across.
    pub expired: u64,
    /// Items moved from memory to flash.
    pub moved_to_flash: u64,
    /// Bytes of records appended to the log by users, or moved there from memory.
    pub written: u64,
    /// Bytes of records copied by reclaim.
    pub copied: u64,
    /// Tombstones written to flash: records that invalidate older ones of their key.
    pub tombstones: u64,
    /// Records read from flash that were damaged, with no intact copy.
    pub damaged: u64,
    /// Segments with a damaged end or summary, or with damage between records.
    pub damaged_segments: u64,
    /// Damaged segment ends, summaries, superblocks and record copies that were rewritten.
    pub repaired: u64,
    /// Reads of the disk that failed, for clients, reclaim and recovery.
    pub failed_reads: u64,
    /// Reads from flash that found another key with an equal hash.
    pub strangers: u64,
    /// Segments of flash reclaimed and free again.
    pub reclaimed: u64,
}

counters!(Figures: hits_in_memory, hits_on_flash, puts, evicted, not_admitted, expired, moved_to_flash, written, copied,
    tombstones, damaged, damaged_segments, repaired, failed_reads, strangers, reclaimed);

/// Counters of what leaves each tier of an engine, since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TierFigures {
    /// Items evicted from memory, and not moved to flash, that were never read.
    pub evicted_unfetched: u64,
    /// Evicted items whose newest version was on flash.
    pub evicted_on_flash: u64,
    /// Expired items that an eviction or a reclaim came across.
    pub expired_evicted: u64,
    /// Expired items in memory that were never read.
    pub expired_unfetched: u64,
    /// Bytes of records of the items read from flash.
    pub read_bytes: u64,
    /// Items not admitted to flash that are shorter than [`super::AdmissionSettings::least_item`].
    pub refused_small: u64,
    /// Items not admitted to flash that expire before [`super::AdmissionSettings::least_ttl`].
    pub refused_expiring: u64,
    /// Items not admitted to flash because the write budget was used up.
    pub refused_over_budget: u64,
}

counters!(TierFigures: evicted_unfetched, evicted_on_flash, expired_evicted, expired_unfetched, read_bytes,
    refused_small, refused_expiring, refused_over_budget);

/// Use of the flash tier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashUse {
    /// Items that are on flash and not in memory.
    pub items: u64,
    /// Segments of the flash tier without records.
    pub free_segments: u64,
    /// Segments with records, replaced ones included.
    pub used_segments: u64,
    /// Length of a segment of the flash tier in bytes.
    pub segment_bytes: u64,
}

impl FlashUse {
    /// Both, of shards with segments of one size.
    pub fn plus(&self, other: &FlashUse) -> FlashUse {
        FlashUse {
            items: self.items + other.items,
            free_segments: self.free_segments + other.free_segments,
            used_segments: self.used_segments + other.used_segments,
            segment_bytes: self.segment_bytes,
        }
    }
}

impl Engine {
    /// An engine in memory only. `seed` seeds the key hashes and must be random.
    pub fn in_memory(settings: Settings, seed: u64) -> Engine {
        Engine::new(settings, seed, None, 0)
    }

    pub(super) fn new(settings: Settings, seed: u64, flash: Option<Flash>, run: u32) -> Engine {
        assert_eq!(settings.problems(), Vec::<String>::new(), "settings fit together");
        Engine {
            index: Index::new(settings.partition_bits(flash.as_ref().map_or(0, |flash| flash.log.bytes()))),
            front: Front::new(&settings),
            ghost: Ghost::new(settings.memory / GHOST_BYTES),
            admission: Admission::new(settings.admission),
            settings,
            seed,
            flash,
            recovery: None,
            pool: Pool::default(),
            now: Time::ZERO,
            unix: 1,
            last_cas: u64::from(run) << RUN_SHIFT,
            move_budget: 0,
            fetched: VecDeque::new(),
            spare_keys: Vec::new(),
            figures: Figures::default(),
            tiers: TierFigures::default(),
            damages: Damages::default(),
        }
    }

    /// Sets the time: `now` on the process's clock, `unix` in seconds of Unix time.
    pub fn tick(&mut self, now: Time, unix: u32) {
        // Several threads may have read the clock and call in another order.
        self.now = self.now.max(now);
        self.unix = unix;
    }

    /// The memory for items, for hints such as `madvise`.
    pub fn memory(&self) -> &[u8] {
        self.front.memory()
    }

    /// Limits the memory for items, to at most that of the settings. Memory beyond becomes free as items are
    /// evicted. False, and nothing is changed, if that is more, or less than the least.
    pub fn set_memory_limit(&mut self, bytes: u64) -> bool {
        let fits = self.may_evict() && bytes >= self.settings.least_memory();
        let was_set = fits && self.front.set_limit(bytes);
        if was_set {
            self.settings.memory = bytes;
        }
        was_set
    }

    /// Memory that was given up since the last call, piece by piece: its content is not needed, and its pages
    /// may be returned to the system.
    pub fn next_retired(&mut self) -> Option<&mut [u8]> {
        self.front.next_retired()
    }

    /// Seed of the key hashes.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Hash of a key, by which its item is indexed.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> KeyHash {
        KeyHash::of(self.seed, key)
    }

    /// Prefetches the index entries and records of the first [`PREFETCH_MAX`] keys into the processor's
    /// cache, in parallel. It changes no state.
    pub fn prefetch<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) {
        let mut hashes = [KeyHash(0); PREFETCH_MAX];
        let mut count = 0;
        for (hash, key) in hashes.iter_mut().zip(keys) {
            *hash = self.hash(key);
            count += 1;
        }
        let hashes = &hashes[..count];
        for &hash in hashes {
            self.index.prefetch(hash);
            self.ghost.prefetch(hash);
        }
        for &hash in hashes {
            if let Some(Entry { place: Place::Front { unit }, .. }) = self.index.find(hash) {
                self.front.prefetch(unit);
            }
        }
    }

    /// Looks up an item. `counts` is true for a client's read, which updates heat and hit counters, and false
    /// for a lookup before a change. The result describes the item before that update.
    #[inline]
    pub fn find(&mut self, key: &[u8], counts: bool) -> Lookup<'_> {
        let hash = self.hash(key);
        let entry = if counts { self.index.ask(hash) } else { self.index.find(hash) };
        let Some(entry) = entry else {
            return if self.is_unknown(hash) { Lookup::Unknown } else { Lookup::Nothing };
        };
        let Place::Front { unit } = entry.place else { return Lookup::OnFlash };
        let header = self.front.header(unit);
        if header.is_expired(self.unix) {
            self.drop_expired(hash, entry);
            return Lookup::Nothing;
        }
        if self.front.item_with(unit, header).key != key {
            return Lookup::Nothing;
        }
        if counts {
            self.figures.hits_in_memory += 1;
            let (state, accessed) = (header.state.with(State::FETCHED), self.unix);
            if (state, accessed) != (header.state, header.accessed) {
                self.front.set_header(unit, &Header { state, accessed, ..header });
            }
        }
        Lookup::Item(self.front.item_with(unit, header))
    }

    /// Changes the item with this key. For an item on flash, `fetched` is its result from
    /// [`Engine::next_fetched`], and must still be current. Returns the item's CAS value.
    ///
    /// # Errors
    /// See [`Refused`]. Amending or removing an item that does not exist does nothing.
    pub fn change(
        &mut self,
        key: &[u8],
        fetched: Option<&Fetched>,
        change: Change<'_>,
    ) -> Result<u64, Refused> {
        match change {
            Change::Put(put) => self.put(key, fetched, &put),
            Change::Amend { expires, state } => self.amend(key, fetched, expires, state),
            Change::Remove => self.remove(key),
        }
    }

    /// Invalidates all items written so far.
    ///
    /// # Errors
    /// [`Refused::Full`] from a store whose disk has failed, as for any other change: the items would
    /// reappear after a restart. A cache drops its items in memory even if the disk has failed.
    pub fn flush_all(&mut self) -> Result<(), Refused> {
        if self.is_frozen() {
            return Err(Refused::Full);
        }
        self.last_cas += 1;
        self.index.clear();
        self.front.clear();
        self.end_search();
        if let Some(flash) = &mut self.flash {
            flash.begin_anew(&mut self.pool);
        }
        Ok(())
    }

    /// Number of items, including expired ones that have not been dropped yet; during recovery, the number
    /// found so far.
    pub fn items(&self) -> u64 {
        self.index.items()
    }

    /// Bytes of memory that records of items take, headers included; replaced and deleted ones do not count.
    pub fn memory_used(&self) -> u64 {
        self.front.live()
    }

    /// Use of flash; None for an engine in memory only.
    pub fn flash_use(&self) -> Option<FlashUse> {
        let log = &self.flash.as_ref()?.log;
        let free_segments = log.free() as u64;
        Some(FlashUse {
            items: self.index.items() - self.index.in_memory(),
            free_segments,
            used_segments: log.segments() as u64 - free_segments,
            segment_bytes: u64::from(log.segment_blocks()) * BLOCK_BYTES,
        })
    }

    /// Counters of the engine since it was opened.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// Counters of what leaves each tier.
    pub fn tiers(&self) -> &TierFigures {
        &self.tiers
    }

    /// Size of the index in bytes.
    pub fn index_bytes(&self) -> u64 {
        self.index.bytes()
    }

    /// The settings that the engine was opened with; the memory as limited since.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}

/// Bytes of memory per key that the ghost remembers.
const GHOST_BYTES: u64 = 512;
/// Keys prefetched at a time: about the number of cache misses that a processor keeps outstanding.
pub const PREFETCH_MAX: usize = 16;
/// CAS values start at the run's number shifted by this, so that runs do not share values.
pub(super) const RUN_SHIFT: u32 = 40;
