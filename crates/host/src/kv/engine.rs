//! The engine: items in memory and on flash, as a machine.

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
use crate::pool::Pool;
use std::collections::VecDeque;
use tailcut_base::Time;

/// A store of items with keys.
///
/// Its user tells it what time it is ([`Engine::tick`]), looks for items ([`Engine::find`]; [`Engine::fetch`]
/// where that says that one is on flash) and changes them ([`Engine::change`]). After each batch of calls it
/// gives the disk what [`Engine::next_request`] returns, each answer of the disk to [`Engine::respond`], and
/// takes what was fetched from [`Engine::next_fetched`]. One that was opened serves while it finds what is on
/// flash; for that, [`Engine::recover`] is called.
///
/// One store has one user, a thread or an event loop: nothing in it is shared.
#[derive(Debug)]
pub struct Engine {
    pub(super) settings: Settings,
    pub(super) seed: u64,
    pub(super) index: Index,
    pub(super) front: Front,
    pub(super) flash: Option<Flash>,
    /// While something on flash is not known.
    pub(super) recovery: Option<Recovery>,
    pub(super) pool: Pool,
    pub(super) ghost: Ghost,
    pub(super) now: Time,
    pub(super) unix: u32,
    pub(super) last_cas: u64,
    /// Bytes that may be moved to the main queue from the segment that is given up.
    pub(super) move_budget: u64,
    pub(super) fetched: VecDeque<Fetched>,
    /// Memory for keys that are fetched.
    pub(super) spare_keys: Vec<Vec<u8>>,
    pub(super) figures: Figures,
    pub(super) damages: Damages,
}

/// What is found of a key without the disk.
#[derive(Clone, Copy, Debug)]
pub enum Found<'a> {
    /// The item.
    Item(Item<'a>),
    /// Something on flash that is likely to be the item; see [`Engine::fetch`].
    OnFlash,
    /// There is none.
    Nothing,
    /// It was not found yet, and may be; see [`Engine::recover`]. [`Engine::fetch`] waits until that is
    /// known.
    Unknown,
}

/// What is to become of an item.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// It is written.
    Put(Put<'a>),
    /// It gets another time to live and state, and is otherwise the same.
    Amend {
        /// When it expires, in seconds of Unix time; 0 for never.
        expires: u32,
        /// Its state.
        state: State,
    },
    /// It is deleted.
    Remove,
}

/// What is written.
#[derive(Clone, Copy, Debug)]
pub struct Put<'a> {
    /// The value.
    pub content: Content<'a>,
    /// The client's flags.
    pub flags: u32,
    /// When it expires, in seconds of Unix time; 0 for never.
    pub expires: u32,
    /// Its state.
    pub state: State,
    /// Its CAS value, if it is not to get a new one.
    pub cas: Option<u64>,
}

/// A value, by itself or by what was there.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// These bytes.
    New(&'a [u8]),
    /// These bytes behind what is there.
    After(&'a [u8]),
    /// These bytes before what is there.
    Before(&'a [u8]),
}

/// Why an item was not written. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is longer than [`Settings::most_item`] permits.
    #[error("the item is too large")]
    TooLarge,
    /// There is no room, and nothing may be given up.
    #[error("the store is full")]
    Full,
    /// The disk is behind: the same again, when it has answered something.
    #[error("the disk is behind")]
    Busy,
}

/// What an engine has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Items found in memory.
    pub hits_in_memory: u64,
    /// Items read from flash.
    pub hits_on_flash: u64,
    /// Items written.
    pub puts: u64,
    /// Items given up for others.
    pub evicted: u64,
    /// Of those, not found worth writing to flash.
    pub not_admitted: u64,
    /// Items whose time was over when they were come across.
    pub expired: u64,
    /// Items moved from memory to flash.
    pub moved_to_flash: u64,
    /// Bytes of records appended to the log by users, or moved there from memory.
    pub written: u64,
    /// Bytes of records copied for room.
    pub copied: u64,
    /// Tombstones written.
    pub tombstones: u64,
    /// Records on flash that were not what had been written.
    pub damaged: u64,
    /// Segments of which an end, the summary or something between records was not what had been written.
    pub damaged_segments: u64,
    /// Ends and summaries of segments, superblocks and copies of records that were damaged and written again.
    pub repaired: u64,
    /// Reads of the disk that failed.
    pub failed_reads: u64,
    /// Other keys found instead, for the sake of equal hashes.
    pub strangers: u64,
    /// Segments made free.
    pub reclaimed: u64,
}

counters!(Figures: hits_in_memory, hits_on_flash, puts, evicted, not_admitted, expired, moved_to_flash, written, copied,
    tombstones, damaged, damaged_segments, repaired, failed_reads, strangers, reclaimed);

impl Engine {
    /// A store in memory only, which knows keys by hashes with this seed; take a random number.
    pub fn in_memory(settings: Settings, seed: u64) -> Engine {
        Engine::new(settings, seed, None, 0)
    }

    pub(super) fn new(settings: Settings, seed: u64, flash: Option<Flash>, run: u32) -> Engine {
        assert_eq!(settings.problems(), Vec::<String>::new(), "settings fit together");
        Engine {
            index: Index::new(settings.partition_bits(flash.as_ref().map_or(0, |flash| flash.log.bytes()))),
            front: Front::new(settings.memory, settings.most_item),
            ghost: Ghost::new(settings.memory / GHOST_BYTES),
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
            damages: Damages::default(),
        }
    }

    /// What time it is: `now` by the clock of the process, `unix` in seconds of Unix time.
    pub fn tick(&mut self, now: Time, unix: u32) {
        // Several threads may have looked at the clock, and come in another order.
        self.now = self.now.max(now);
        self.unix = unix;
    }

    /// The memory for items, for who may give it a hint to the system.
    pub fn memory(&self) -> &[u8] {
        self.front.memory()
    }

    /// The seed of the keys' hashes.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The hash of a key.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> KeyHash {
        KeyHash::of(self.seed, key)
    }

    /// These keys are likely to be asked for next: what the index and memory say of the first
    /// [`MOST_FORESEEN`] of them is fetched from memory to the processor. It changes nothing, and each is
    /// waited for no longer than all of them.
    pub fn prefetch<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) {
        let mut hashes = [KeyHash(0); MOST_FORESEEN];
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

    /// Looks for an item, because somebody asks for it (`counts`), or to change it. What is said of it is
    /// what was true before.
    #[inline]
    pub fn find(&mut self, key: &[u8], counts: bool) -> Found<'_> {
        let hash = self.hash(key);
        let entry = if counts { self.index.ask(hash) } else { self.index.find(hash) };
        let Some(entry) = entry else {
            return if self.is_unknown(hash) { Found::Unknown } else { Found::Nothing };
        };
        let Place::Front { unit } = entry.place else { return Found::OnFlash };
        let header = self.front.header(unit);
        if header.is_expired(self.unix) {
            self.drop_expired(hash, entry);
            return Found::Nothing;
        }
        if self.front.item_with(unit, header).key != key {
            return Found::Nothing;
        }
        if counts {
            self.figures.hits_in_memory += 1;
            let (state, accessed) = (header.state.with(State::FETCHED), self.unix);
            if (state, accessed) != (header.state, header.accessed) {
                self.front.set_header(unit, &Header { state, accessed, ..header });
            }
        }
        Found::Item(self.front.item_with(unit, header))
    }

    /// Changes the item with this key. `fetched` is what [`Engine::next_fetched`] has returned for it, if it
    /// was on flash; nothing may have changed it since. Returns its CAS value.
    ///
    /// # Errors
    /// See [`Refused`]. Amending and removing what is not there does nothing.
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

    /// Forgets all items that were written so far.
    ///
    /// # Errors
    /// [`Refused::Full`] from a store whose disk has failed, as for any other change: after a restart the
    /// items would be there again. A cache forgets what is in memory whatever the disk does.
    pub fn flush_all(&mut self) -> Result<(), Refused> {
        if self.is_frozen() {
            return Err(Refused::Full);
        }
        self.last_cas += 1;
        self.index.clear();
        self.front.clear();
        self.end_search();
        if let Some(flash) = &mut self.flash {
            flash.superblock.flushed = flash.log.begin_anew(&mut self.pool);
            flash.has_dirty_superblock = true;
        }
        Ok(())
    }

    /// Items in it, those included whose time is over and that nobody has come across; while it is
    /// recovering, those that were found.
    pub fn items(&self) -> u64 {
        self.index.items()
    }

    /// What it has done.
    pub fn figures(&self) -> &Figures {
        &self.figures
    }

    /// Bytes of its index.
    pub fn index_bytes(&self) -> u64 {
        self.index.bytes()
    }

    /// Its settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }
}

/// The ghost remembers a key for so many bytes of memory.
const GHOST_BYTES: u64 = 512;
/// Keys that are looked for at a time before their turn comes: as many as a processor waits for at once, more
/// or less.
pub const MOST_FORESEEN: usize = 16;
/// CAS values of different runs differ.
pub(super) const RUN_SHIFT: u32 = 40;
