//! Scheduling, data cache, mapping and garbage collection.

use super::partition::Resources;
use super::{Caching, CachingMode, Device, Dram, Flow, Interface, Priority, Scheduling, Victim};
use crate::import::draft::Draft;
use tailcut_base::config::Choice;

/// Collections of a plane at a time, and the free blocks of a plane that stop the host's writes
/// (`SSD_Device.cpp` passes 10).
const MOST_COLLECTIONS: u64 = 10;
/// The spread of erases that starts wear levelling, whatever the file has: `SSD_Device.cpp` passes none.
const LEVELLING_SPREAD: u64 = 100;
/// The longest patience of a chip with reads: MQSim has no bound.
const NO_BOUND: u64 = 10_000_000_000;

/// Translates what the controller does.
pub(super) fn translate(draft: &mut Draft, device: &Device, flows: &[Flow], resources: &Resources) {
    translate_scheduling(draft, device, flows);
    translate_cache(draft, device, flows, resources);
    translate_mapping(draft, device, flows, resources);
    translate_collection(draft, device, flows, resources);
}

fn translate_scheduling(draft: &mut Draft, device: &Device, flows: &[Flow]) {
    let origin = "Transaction_Scheduling_Policy";
    draft.set_text("device.schedule.commit", "sos", origin);
    draft.set_text("device.schedule.chip", "reads-first", "MQSim: reads, then writes, then erases");
    draft.set_time("device.schedule.write_patience", NO_BOUND, "MQSim: reads go first without end");
    draft.set_plain("device.schedule.plane_sharing", true, "MQSim: pages of one number in planes of a die");
    draft.set_plain("device.schedule.die_interleaving", false, "MQSim: one die of a chip at a time");
    let is_split = flows.iter().any(|flow| flow.priority != flows[0].priority);
    match device.scheduling {
        Scheduling::OutOfOrder => {
            draft.set_text("device.schedule.classes", "equal", origin);
            if is_split {
                draft.note(
                    "Priority_Class",
                    "OUT_OF_ORDER scheduling does not look at it: it changes nothing, there or here",
                );
            }
        }
        Scheduling::Priority => {
            draft.set_text("device.schedule.classes", "told", origin);
            if is_split {
                draft.note(
                    "Priority_Class",
                    "MQSim serves URGENT first and shares the chips between HIGH, MEDIUM and LOW by weights \
                     4, 2 and 1, reads and writes apart; here reads of URGENT flows go first, and all others \
                     are equal",
                );
            }
        }
        Scheduling::Flin => {
            draft.set_text("device.schedule.classes", "equal", origin);
            draft.note(
                "Transaction_Scheduling_Policy = FLIN",
                "MQSim's code of it is commented out: it ends with an exception; imported as OUT_OF_ORDER",
            );
        }
    }
}

impl Flow {
    /// The class of its reads under this scheduling.
    pub(super) fn read_class(&self, scheduling: Scheduling) -> u32 {
        match (scheduling, self.priority) {
            (Scheduling::Priority, Priority::Urgent) => 1,
            _ => 3,
        }
    }
}

fn translate_cache(draft: &mut Draft, device: &Device, flows: &[Flow], resources: &Resources) {
    let buffers = flows.iter().any(|flow| flow.caching.caches_writes() && flow.has_writes());
    let caches = flows.iter().any(|flow| flow.caching.caches_reads() && flow.has_reads());
    // What MQSim lets be on its way to flash: a page for each plane.
    let on_the_way = u64::from(resources.geometry().plane_count()) * device.flash.page;
    let mode = "Device_Level_Data_Caching_Mode";
    match buffers {
        true => {
            draft.set_bytes("device.buffer.size", on_the_way.min(device.cache), "a page for each plane");
            draft.set_share("device.buffer.flush_above", 0, "MQSim writes back at once");
            let (rate, access) = (device.dram.bandwidth(), device.dram.access());
            draft.set_rate("device.buffer.rate", rate, "Data_Cache_DRAM_Data_Rate × Busrt_Size × 2");
            draft.set_time("device.buffer.access", access, "Data_Cache_DRAM_tRCD + tCL");
            draft.note(
                format!("Data_Cache_Capacity = {}", device.cache),
                "MQSim writes a page back at once, and lets writes wait while as much is on the way as a \
                 page for each plane, which is the buffer here; a page that is written twice within a second \
                 stays in its cache until that is full, and is written to flash once more here",
            );
        }
        false => {
            draft.set_bytes("device.buffer.size", 0, mode);
            if flows.iter().any(|flow| flow.has_writes()) && caches {
                draft.note(mode, "writes of READ_CACHE flows complete on flash, there and here");
            }
        }
    }
    draft.set_plain("device.buffer.capacitor", true, "a write completes in the cache");
    let is_through = |flow: &Flow| !flow.caching.caches_writes() && flow.has_writes();
    if buffers && flows.iter().any(is_through) {
        draft.note(
            mode,
            "MQSim completes the writes of TURNED_OFF and READ_CACHE flows on flash; here the buffer is one \
             for all flows, and theirs complete in it like those of the others",
        );
    }
    draft.set_bytes("device.cache.size", if caches { device.cache.max(device.flash.page) } else { 0 }, mode);
    draft.set_plain("device.cache.ahead", 0, "MQSim reads nothing ahead");
    note_cache(draft, device, flows, buffers || caches);
}

fn note_cache(draft: &mut Draft, device: &Device, flows: &[Flow], is_used: bool) {
    if !is_used {
        return;
    }
    if device.caching == Caching::Simple {
        draft.note(
            "Caching_Mechanism = SIMPLE",
            "MQSim ends with an error at the first request of a flow that caches; imported as ADVANCED",
        );
    }
    if !device.cache_is_shared && flows.len() > 1 {
        draft.note(
            "Data_Cache_Sharing_Mode = EQUAL_PARTITIONING",
            "MQSim gives each flow a part of the cache and a queue of its own at the DRAM; here flows share \
             both",
        );
    }
    let Dram { row, precharge, .. } = device.dram;
    draft.note(
        format!("Data_Cache_DRAM_Row_Size = {row}, Data_Cache_DRAM_tRP = {precharge}"),
        "MQSim reckons a transfer of more than a row by another formula, about half as long; here every \
         transfer takes its bytes at the rate of the DRAM",
    );
    if flows.iter().any(|flow| flow.caching != CachingMode::Off && flow.has_reads()) {
        draft.note(
            "Device_Level_Data_Caching_Mode",
            "MQSim lets reads that hit its cache wait for the DRAM; here they take the time of the link",
        );
    }
}

impl Dram {
    /// Bytes per second of a transfer within a row.
    fn bandwidth(&self) -> u64 {
        self.rate * self.burst * 2 * 1_000_000
    }

    /// Nanoseconds before the first byte.
    fn access(&self) -> u64 {
        self.row_to_column + self.column
    }
}

fn translate_mapping(draft: &mut Draft, device: &Device, flows: &[Flow], resources: &Resources) {
    draft.set_share("device.ftl.spare", device.spare_ppm(), "Overprovisioning_Ratio");
    draft.set_text("device.ftl.mapping", "page", "Address_Mapping");
    draft.set_text("device.ftl.allocation", "static", "Plane_Allocation_Scheme");
    draft.set_text("device.ftl.order", device.order.name(), "Plane_Allocation_Scheme");
    let streams = if device.interface == Interface::Nvme { flows.len() } else { 1 };
    draft.set_plain("device.ftl.streams", streams, "write frontiers of each flow");
    if device.hybrid_mapping {
        draft.note("Address_Mapping = HYBRID", "MQSim has no code for it; imported as PAGE_LEVEL");
    }
    if !device.ideal_map {
        note_map_cache(draft, device, flows, resources);
    }
}

/// Lookups that miss the cached mapping table, which is not modelled.
fn note_map_cache(draft: &mut Draft, device: &Device, flows: &[Flow], resources: &Resources) {
    let flash = &device.flash;
    let pages = resources.geometry().page_count() as f64;
    let sectors = (flash.page / 512) as f64;
    let entry = ((2.0 * pages.log2() + sectors) / 8.0).ceil();
    let entries = (device.map_cache as f64 / entry).floor();
    let touched = |flow: &Flow| {
        let share = flow.synthetic().map_or(100, |flow| flow.working_set);
        resources.pages_of_flow() as f64 * share as f64 / 100.0
    };
    let touched: f64 = flows.iter().map(touched).sum();
    let sharing = if device.map_cache_is_shared { "SHARED" } else { "EQUAL_PARTITIONING" };
    let missed = (100.0 * (1.0 - entries / touched)).max(0.0);
    let effect = match missed >= 0.5 {
        true => format!(
            "it holds {entries} entries of the {touched:.0} pages of all working sets: of uniform lookups, \
             {missed:.0} % would read a page of the map from flash first, and write one back for an entry \
             that has changed; here the whole map is in DRAM, as in MQSim with \
             Ideal_Mapping_Table = true"
        ),
        false => format!(
            "it holds {entries} entries, enough for the {touched:.0} pages of all working sets: only the \
             first lookup of each would read a page of the map from flash; here the whole map is in DRAM"
        ),
    };
    draft.note(format!("CMT_Capacity = {}, CMT_Sharing_Mode = {sharing}", device.map_cache), effect);
}

fn translate_collection(draft: &mut Draft, device: &Device, flows: &[Flow], resources: &Resources) {
    let blocks = device.flash.blocks;
    draft.set_text("device.gc.victim", device.victim.policy().name(), "GC_Block_Selection_Policy");
    draft.set_plain("device.gc.choices", u64::from(blocks.ilog2()), "RGA: log2 of Block_No_Per_Plane");
    match device.victim {
        Victim::RandomPp => draft.note(
            "GC_Block_Selection_Policy = RANDOM_PP",
            "MQSim draws until a block has enough invalid pages, or as often as a plane has blocks; here any \
             block is as good",
        ),
        Victim::Fifo if device.preconditioned => draft.note(
            "GC_Block_Selection_Policy = FIFO",
            "MQSim's preconditioning fills blocks with the most valid pages first, which are then the \
             oldest: its first collections move nearly whole blocks; here blocks of each age are as in \
             the long run",
        ),
        Victim::Random => draft.note(
            "GC_Block_Selection_Policy = RANDOM",
            "MQSim may choose a block with free pages; here only full blocks are collected",
        ),
        _ => {}
    }
    let threshold = device.free_blocks(device.gc_threshold);
    let most = most_free_blocks(device, flows.len() as u64, resources);
    let exec = "GC_Exec_Threshold × Block_No_Per_Plane, at least 10";
    let (mut low, mut high, origin) = match (device.preemptible, device.preconditioned) {
        (false, false) => (threshold, threshold, exec),
        (false, true) => {
            let kept = blocks_at_rest(device, flows);
            note_precondition(draft, device, flows);
            (kept.max(2), kept.max(2), "what preconditioning leaves free of GC_Exec_Threshold")
        }
        // Between the thresholds MQSim collects on a chip without requests of the host.
        (true, _) => {
            let hard = device.free_blocks(device.gc_hard_threshold);
            (hard.min(threshold), threshold, "GC_Hard_Threshold × Block_No_Per_Plane, at least 10")
        }
    };
    if low > most {
        draft.note(
            format!("GC_Exec_Threshold = {}", device.gc_threshold),
            format!(
                "{low} free blocks in each plane do not fit beside the data of a full drive: {most} here; \
                 MQSim hangs or loses requests when it runs out of them"
            ),
        );
        low = most;
    }
    high = high.max(low);
    draft.set_plain("device.gc.low", low, origin);
    draft.set_plain("device.gc.high", high, if device.preemptible { exec } else { origin });
    draft.set_plain("device.gc.background", device.preemptible && high > low, "Preemptible_GC_Enabled");
    draft.set_plain("device.gc.preemptible", device.preemptible, "Preemptible_GC_Enabled");
    draft.set_plain("device.gc.copies", device.flash.pages, "MQSim queues all copies of a victim");
    draft.set_plain("device.wear.levelling", true, "MQSim always levels, at a spread of 100");
    draft.set_plain("device.wear.spread", LEVELLING_SPREAD, "MQSim always levels, at a spread of 100");
    note_collection(draft, device);
}

fn note_collection(draft: &mut Draft, device: &Device) {
    if device.copyback {
        draft.note(
            "Use_Copyback_for_GC = true",
            "MQSim copies within a plane without moving data over the bus; here copies cross it twice",
        );
    }
    if !device.preemptible {
        draft.note(
            format!("GC_Hard_Threshold = {}", device.gc_hard_threshold),
            "collection that is not preemptible is always urgent: it changes nothing, there or here",
        );
    }
    draft.note(
        format!(
            "Dynamic_Wearleveling_Enabled = {}, Static_Wearleveling_Enabled = {}, \
             Static_Wearleveling_Threshold = {}",
            device.dynamic_levelling, device.static_levelling, device.levelling_spread
        ),
        "MQSim reads them and does not pass them on: it always writes to the least worn free block and \
         levels at a spread of 100; here static levelling is likewise, and free blocks are taken in turn",
    );
}

/// Free blocks of a plane after MQSim's preconditioning: half of the threshold, less three open blocks of
/// each flow (for data, for copies, for the map).
fn blocks_at_rest(device: &Device, flows: &[Flow]) -> u64 {
    (device.free_blocks(device.gc_threshold) / 2).saturating_sub(3 * flows.len() as u64)
}

impl Device {
    /// Blocks of a plane for a threshold, which is a share of 1; at least as many as MQSim collects at a
    /// time.
    fn free_blocks(&self, threshold: f64) -> u64 {
        ((threshold * self.flash.blocks as f64) as u64).max(MOST_COLLECTIONS)
    }
}

/// How preconditioning and collection interact.
fn note_precondition(draft: &mut Draft, device: &Device, flows: &[Flow]) {
    let (threshold, kept) = (device.free_blocks(device.gc_threshold), blocks_at_rest(device, flows));
    let hangs = match kept < MOST_COLLECTIONS {
        true => "; with fewer than 10 of them MQSim lets no write of the host happen, and hangs",
        false => "",
    };
    draft.note(
        "Enabled_Preconditioning, GC_Exec_Threshold",
        format!(
            "MQSim's preconditioning leaves about {kept} blocks of a plane free, not {threshold}, and its \
             collection frees one block for each that is filled, so that it stays there: collection begins \
             below {} here{hangs}",
            kept.max(2)
        ),
    );
}

/// The most free blocks of a plane that a full drive has room for: see `SsdConfig::check_space`.
fn most_free_blocks(device: &Device, streams: u64, resources: &Resources) -> u64 {
    let planes = u64::from(resources.geometry().plane_count());
    let data = (resources.pages() / planes.max(1)).div_ceil(device.flash.pages);
    device.flash.blocks.saturating_sub(data + streams + 2).max(2)
}
