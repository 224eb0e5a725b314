//! What a disk is like.

use tailcut_base::device::{BLOCK_BYTES, SECTOR_BYTES};
use tailcut_ssd::presets::Personality;

/// What a disk is like: its personality, and what differs from it.
///
/// ```
/// use tailcut_disk::{DiskConfig, Personality};
///
/// let config = DiskConfig::new(Personality::Pm9a3).capacity(16 << 20).volatile_cache(1 << 20);
/// assert_eq!(config.volatile_cache_bytes(), 1 << 20);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskConfig {
    personality: Personality,
    /// In bytes.
    capacity: u64,
    /// In bytes; 0 for none.
    volatile_cache: u64,
    /// In sectors.
    atomic_sectors: u64,
    depth: u32,
}

impl DiskConfig {
    /// A disk of 64 MiB with atomic units of 4 KiB and a queue of 128 operations. The first four
    /// personalities have a volatile cache of 16 MiB; the buffer of the others survives a power cut, so that
    /// a completed write is durable.
    pub const fn new(personality: Personality) -> DiskConfig {
        DiskConfig {
            personality,
            capacity: 64 << 20,
            volatile_cache: volatile_cache_of(personality),
            atomic_sectors: BLOCK_BYTES / SECTOR_BYTES,
            depth: 128,
        }
    }

    /// Sets the capacity in bytes.
    ///
    /// # Panics
    /// If it is not a multiple of 4096 from 64 KiB to 1 TiB.
    pub fn capacity(mut self, bytes: u64) -> DiskConfig {
        let is_valid = bytes.is_multiple_of(BLOCK_BYTES) && (64 << 10..=1 << 40).contains(&bytes);
        assert!(is_valid, "a capacity is a multiple of 4096 bytes from 64 KiB to 1 TiB, not {bytes}");
        self.capacity = bytes;
        self
    }

    /// Sets how many bytes of completed writes the disk keeps in volatile memory before it makes the oldest
    /// durable by itself. 0: there is no volatile cache, and a completed write is durable.
    pub fn volatile_cache(mut self, bytes: u64) -> DiskConfig {
        self.volatile_cache = bytes;
        self
    }

    /// Sets the atomic unit (NVMe's AWUPF) in bytes: of the part of a write within one aligned unit, a power
    /// cut leaves all or nothing.
    ///
    /// # Panics
    /// If it is not a power of two from 512 bytes to 1 MiB.
    pub fn atomic_unit(mut self, bytes: u64) -> DiskConfig {
        let is_valid = bytes.is_power_of_two() && (SECTOR_BYTES..=1 << 20).contains(&bytes);
        assert!(is_valid, "an atomic unit is a power of two from 512 bytes to 1 MiB, not {bytes}");
        self.atomic_sectors = bytes / SECTOR_BYTES;
        self
    }

    /// Sets how many operations the disk has in flight at the most.
    ///
    /// # Panics
    /// If it is not 1 … 4096.
    pub fn queue_depth(mut self, operations: u32) -> DiskConfig {
        assert!((1..=4096).contains(&operations), "a queue has 1 to 4096 operations, not {operations}");
        self.depth = operations;
        self
    }

    /// The personality.
    pub fn personality(&self) -> Personality {
        self.personality
    }

    /// The capacity in bytes.
    pub fn capacity_bytes(&self) -> u64 {
        self.capacity
    }

    /// The capacity in sectors.
    pub fn sectors(&self) -> u64 {
        self.capacity / SECTOR_BYTES
    }

    /// The size of the volatile cache in bytes; 0 if there is none.
    pub fn volatile_cache_bytes(&self) -> u64 {
        self.volatile_cache
    }

    /// The atomic unit in sectors.
    pub fn atomic_sectors(&self) -> u64 {
        self.atomic_sectors
    }

    /// The most operations in flight.
    pub fn depth(&self) -> u32 {
        self.depth
    }
}

/// The size in bytes of the volatile cache that a disk has by default.
const fn volatile_cache_of(personality: Personality) -> u64 {
    match personality {
        Personality::Fresh | Personality::Collecting | Personality::Worn | Personality::ThermalStall => {
            16 << 20
        }
        _ => 0,
    }
}

impl From<Personality> for DiskConfig {
    fn from(personality: Personality) -> DiskConfig {
        DiskConfig::new(personality)
    }
}
