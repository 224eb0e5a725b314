//! From a store as configured to a plan for a device.

use super::config::LsmConfig;
use super::mix::Mix;
use super::plan::Plan;
use super::store::Store;
use crate::Problem;
use crate::address::WHOLE;
use tailcut_base::quantity::exact_bytes;
use tailcut_base::{Class, Nanos, SECTOR_BYTES};

/// Keys of the store whose sizes the defaults are (the thesis' load), and how many of them share a get
/// and a put.
const KEYS: f64 = 1e9;
/// Keys of a store with clients: SWAN's 64 GB of records of 1000 bytes (table 3).
const RECORDS: f64 = 64e6;
const KEYS_PER_GET: u64 = 500;

impl LsmConfig {
    /// The plan for a device of `sectors` sectors, which may be too large for it. The store counts
    /// from `measured_from` on.
    pub fn plan(&self, sectors: u64, measured_from: Nanos) -> Plan {
        let keys = if self.keys > 0 { self.keys } else { self.most_keys(sectors).max(1) };
        self.plan_of(keys, sectors, measured_from)
    }

    /// The most keys that a device has room for; 0 when there is no room for one.
    pub fn most_keys(&self, sectors: u64) -> u64 {
        let fits = |keys| {
            let plan = self.plan_of(keys, sectors, Nanos::ZERO);
            plan.blocks_needed() <= plan.region
        };
        // No more fit than blocks full of entries.
        let one = self.plan_of(1, sectors, Nanos::ZERO);
        let (mut low, mut high) = (0, one.region.saturating_mul(one.block_entries()));
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            (low, high) = if fits(middle) { (middle, high) } else { (low, middle - 1) };
        }
        low
    }

    fn plan_of(&self, keys: u64, sectors: u64, measured_from: Nanos) -> Plan {
        let entry = (self.key_size + self.value_size).max(1);
        // A block holds one entry at least.
        let block = if entry <= self.block { self.block } else { entry.next_multiple_of(4096) };
        let all = if self.mix.has_clients() { RECORDS } else { KEYS };
        let scale = if self.scale > 0.0 { self.scale } else { keys as f64 / all };
        let whole = |bytes: u64| (bytes / block).max(1) * block;
        let scaled = |bytes: u64| whole((bytes as f64 * scale) as u64).max(4 * block);
        let class = |number: u32| Class::new(number as u8).expect("the range of the key is 1 to 5");
        // Rounded down to whole sectors, then to whole blocks.
        let region = (u128::from(sectors) * u128::from(self.region_share) / u128::from(WHOLE)) as u64;
        let (gets, puts, readers) = self.threads(keys);
        let region_blocks = region / (block / SECTOR_BYTES);
        Plan {
            first: 0,
            region: region_blocks,
            mix: self.mix,
            keys,
            entry,
            block,
            bloom_bits: self.bloom_bits,
            cache: (self.block_cache as f64 * scale) as u64 / block,
            page_cache: ((self.page_cache as f64 * scale) as u64 / block).min(region_blocks),
            write_buffer: scaled(self.write_buffer),
            write_buffers: self.write_buffers,
            file: scaled(self.target_file),
            base: scaled(self.base_level),
            multiplier: self.multiplier,
            l0_trigger: self.l0_trigger,
            l0_slowdown: self.l0_slowdown,
            l0_stop: self.l0_stop,
            delayed_rate: self.delayed_rate,
            gets,
            puts,
            readers,
            update_reads: self.update_reads,
            put_rate: self.put_rate,
            sync_every: self.sync_every,
            compactions: self.compactions,
            read_ahead: whole(self.read_ahead),
            write_size: whole(self.write_size),
            write_depth: self.write_depth,
            discard: self.discard,
            get_time: self.get_time,
            put_time: self.put_time,
            merge_rate: self.merge_rate,
            get_class: class(self.get_class),
            compaction_read_class: class(self.compaction_read_class),
            compaction_write_class: class(self.compaction_write_class),
            flush_class: class(self.flush_class),
            log_class: class(self.log_class),
            streams: self.streams,
            measured_from,
        }
    }

    /// Gets or operations, puts, and the threads of the former.
    fn threads(&self, keys: u64) -> (u64, u64, u32) {
        let or = |count: u64, otherwise: u64| if count > 0 { count } else { otherwise };
        let shared = (keys / KEYS_PER_GET).max(1);
        match self.mix {
            Mix::PutsAndGets => (or(self.gets, shared), or(self.puts, shared), self.readers),
            Mix::Load => (keys, 0, self.clients),
            _ => (or(self.operations, keys), 0, self.clients),
        }
    }

    /// The source on a device of `sectors` sectors, in the run with `seed`; it counts from
    /// `measured_from` on.
    ///
    /// # Errors
    /// Every value that does not fit the device or the other values, with its key; a region that is too small
    /// for the files with the number of keys that would fit.
    pub fn source(&self, sectors: u64, seed: u64, measured_from: Nanos) -> Result<Store, Vec<Problem>> {
        let plan = self.plan(sectors, measured_from);
        if plan.blocks_needed() > plan.region {
            return Err(vec![self.too_small(&plan, sectors)]);
        }
        Store::new(&plan, seed)
    }

    fn too_small(&self, plan: &Plan, sectors: u64) -> Problem {
        let bytes = |blocks: u64| exact_bytes(blocks * plan.block);
        let most = self.most_keys(sectors);
        let remedy = if most > 0 {
            format!(
                "set lsm.keys = {most} or less (0 for as many as fit), or a smaller lsm.scale or \
                    lsm.value_size"
            )
        } else {
            "set a smaller lsm.scale or lsm.l0_stop, a larger lsm.region_share, or take a larger device"
                .into()
        };
        let message = format!(
            "a store of {} keys needs {} with the room that compactions take, and its region has {}; \
                {remedy}",
            plan.keys,
            bytes(plan.blocks_needed()),
            bytes(plan.region)
        );
        Problem { key: "keys", message }
    }
}
