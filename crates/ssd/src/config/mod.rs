//! The configuration of a drive.

mod buffer;
mod bus;
mod cache;
mod fdp;
mod ftl;
mod link;
mod pacing;
mod preempt;
mod preset;
mod queue;
mod schedule;
mod sets;
mod superblock;

pub use buffer::{BufferConfig, DramConfig};
pub use bus::{Arbitration, BusConfig};
pub use cache::CacheConfig;
pub use fdp::FdpConfig;
pub use ftl::{Allocation, FtlConfig, MappingLevel, Order, SPARE_MOST, VictimPolicy};
pub use link::LinkConfig;
pub use pacing::{PacingConfig, PacingMode};
pub use preempt::{Handling, PreemptConfig};
pub use preset::Preset;
pub use queue::{AHCI_DEPTH, Protocol, QueueArbitration, QueueConfig, SECTORS_MAX};
pub use schedule::{ChipPolicy, Classes, CommitPolicy, FailFast, ScheduleConfig};
pub use sets::{SetsBy, SetsConfig};
pub use superblock::{CollectionPace, SuperblockConfig};

use crate::flash::nand::Faults;
use crate::flash::{Geometry, Timing};
use tailcut_base::config::{Choice, Configure, KeyVisitor, choose, count_u32};
use tailcut_base::control::GcThresholds;
use tailcut_base::quantity::show_bytes;
use tailcut_base::{BadValue, Problem};

/// Configuration of garbage collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GcConfig {
    /// How collection chooses the block that it empties.
    pub victim: VictimPolicy,
    /// Number of blocks that the victim policy `d-choices` compares.
    pub choices: u32,
    /// A plane with fewer free blocks than this collects in the foreground.
    pub low: u32,
    /// Number of free blocks of a plane at which background collection ends; at least `low`.
    pub high: u32,
    /// Whether planes collect while their chip is idle, until they have `high` free blocks.
    pub background: bool,
    /// User requests may go between the page copies of a collection.
    pub preemptible: bool,
    /// A read of the host of a page that a collection is about to read serves both.
    pub merge: bool,
    /// Page copies of one collection under way at a time.
    pub copies: u32,
    /// Collection takes no time and holds no chip; pages moved and erases are counted as ever. For
    /// comparisons.
    pub ideal: bool,
}

impl Configure for GcConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        choose(visit, "victim", "Victim policy.", &mut self.victim);
        count_u32(visit, "choices", "Blocks that d-choices looks at.", &mut self.choices, 1..=1024);
        count_u32(
            visit,
            "low",
            "A plane with fewer free blocks than this collects in the foreground.",
            &mut self.low,
            2..=1 << 16,
        );
        count_u32(
            visit,
            "high",
            "Free blocks of a plane at which background collection ends.",
            &mut self.high,
            2..=1 << 16,
        );
        visit.flag("background", "Collect while a chip is idle, up to the high mark.", &mut self.background);
        visit.flag(
            "preemptible",
            "User requests may go between the page copies of a collection.",
            &mut self.preemptible,
        );
        visit.flag(
            "merge",
            "A read of the host of a page that a collection is about to read serves both.",
            &mut self.merge,
        );
        count_u32(
            visit,
            "copies",
            "Page copies of one collection under way at a time; by superblock, sensings and programs of it.",
            &mut self.copies,
            1..=1 << 16,
        );
        visit.flag(
            "ideal",
            "Collection takes no time and holds no chip; pages moved and erases count as ever. For \
                comparisons.",
            &mut self.ideal,
        );
        if self.high < self.low {
            visit.problem(
                "high",
                format!("high is {} and below low; set high to at least {}", self.high, self.low),
            );
        }
    }
}

/// Configuration of static wear levelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WearConfig {
    /// Move data off the least worn block of a plane when the spread is too large.
    pub levelling: bool,
    /// Difference of erases between the most and the least worn block of a plane that starts it.
    pub spread: u32,
}

impl Configure for WearConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        visit.flag(
            "levelling",
            "Static wear levelling: data leaves the least worn block of a plane when the \
            spread is too large.",
            &mut self.levelling,
        );
        count_u32(
            visit,
            "spread",
            "Spread of erases within a plane that starts levelling.",
            &mut self.spread,
            2..=1_000_000,
        );
    }
}

/// Everything that describes a drive.
///
/// # Examples
/// ```
/// use tailcut_ssd::Preset;
///
/// let mut config = Preset::G.config();
/// assert_eq!(config.check_space(), Ok(()));
/// config.ftl.spare = 0;
/// assert!(config.check_space().unwrap_err().message.contains("set spare to at least"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SsdConfig {
    /// The preset that the configuration started from; its other values may have been changed since.
    pub preset: Preset,
    /// Whether the host may query and steer collection through [`tailcut_base::control`].
    pub control_api: bool,
    /// Channels, chips, dies, planes, blocks and pages, and the size of a page.
    pub geometry: Geometry,
    /// Times of cells, bus cycles, suspension and reset, and the rated endurance.
    pub timing: Timing,
    /// How the transfers of a channel's chips share its bus.
    pub bus: BusConfig,
    /// Probabilities that blocks are bad from the factory, and that programs and erases fail.
    pub faults: Faults,
    /// Bandwidth of the link to the host, and its cost for each command.
    pub link: LinkConfig,
    /// Protocol and depth of the device queue, and the controller's own time for each command.
    pub queue: QueueConfig,
    /// The order in which requests are committed to chips and served by them.
    pub schedule: ScheduleConfig,
    /// Preemption of programs and erases by reads.
    pub preempt: PreemptConfig,
    /// Size of the DRAM write buffer, and when it writes pages to flash.
    pub buffer: BufferConfig,
    /// The rate at which pages of writes may enter the drive.
    pub pacing: PacingConfig,
    /// Size of the read cache in DRAM, and what is read ahead into it.
    pub cache: CacheConfig,
    /// Mapping of logical addresses, placement of writes, and the share of capacity kept spare.
    pub ftl: FtlConfig,
    /// How blocks form superblocks; only for the mapping by superblock.
    pub superblock: SuperblockConfig,
    /// Reclaim unit handles of Flexible Data Placement; only for the mapping by superblock.
    pub fdp: FdpConfig,
    /// Choice of victims of garbage collection, and when it begins and ends.
    pub gc: GcConfig,
    /// When wear levelling empties blocks that have been erased less often than others.
    pub wear: WearConfig,
    /// Division of the drive into NVM sets, each with its own part of the flash and of the addresses.
    pub sets: SetsConfig,
}

impl Configure for SsdConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        let before = self.preset;
        choose(visit, "preset", "The drive that all other values start from.", &mut self.preset);
        if self.preset != before {
            *self = self.preset.config();
        }
        visit.flag(
            "control_api",
            "The drive has the control interface (free blocks, thresholds, run_gc, windows, \
                is_ready_for_read, Predictable Latency Mode).",
            &mut self.control_api,
        );
        visit.section("geometry", "What the drive is built of.", &mut self.geometry);
        visit.section("timing", "How long cells and bus take.", &mut self.timing);
        visit.section("bus", "Arbitration of the channels.", &mut self.bus);
        visit.section("faults", "Faults of the NAND flash.", &mut self.faults);
        visit.section("link", "The link to the host.", &mut self.link);
        visit.section("queue", "The device queue.", &mut self.queue);
        visit.section("schedule", "What goes first.", &mut self.schedule);
        visit.section("preempt", "Programs and erases that make way for reads.", &mut self.preempt);
        visit.section("buffer", "The DRAM buffer.", &mut self.buffer);
        visit.section("pacing", "How fast writes are admitted to the buffer.", &mut self.pacing);
        visit.section("cache", "The read cache, and reading ahead.", &mut self.cache);
        visit.section("ftl", "Translation and allocation.", &mut self.ftl);
        visit.section("superblock", "Superblocks (ftl.mapping = \"superblock\").", &mut self.superblock);
        visit.section("fdp", "Flexible Data Placement (NVMe FDP).", &mut self.fdp);
        visit.section("gc", "Garbage collection.", &mut self.gc);
        visit.section("wear", "Wear levelling.", &mut self.wear);
        visit.section("sets", "NVM sets: parts with flash and addresses of their own.", &mut self.sets);
        if let Err(BadValue { message }) = self.check_space() {
            visit.problem("ftl.spare", message);
        }
        if let Err(Problem { key, message }) = self.check_preemption() {
            visit.problem(key, message);
        }
        if let Err(Problem { key, message }) = self.check_sets() {
            visit.problem(key, message);
        }
        if self.pacing.mode != PacingMode::None && self.buffer.size == 0 {
            visit.problem(
                "pacing.mode",
                "without a buffer there is nothing that writes are admitted to; set mode = \"none\" or \
                    buffer.size"
                    .into(),
            );
        }
        if self.pacing.mode != PacingMode::None && self.preempt.time_programs {
            visit.problem(
                "pacing.mode",
                "writes are admitted by a pace, or programs wait for silence, but not both; set mode = \
                 \"none\" or preempt.time_programs = false"
                    .into(),
            );
        }
        if let Err(Problem { key, message }) = self.check_superblocks() {
            visit.problem(key, message);
        }
        if let Err(Problem { key, message }) = self.check_fdp() {
            visit.problem(key, message);
        }
        if let Err(BadValue { message }) = self.check_cache() {
            visit.problem("cache.size", message);
        }
        if let Err(BadValue { message }) = self.check_stripe() {
            visit.problem("ftl.stripe", message);
        }
        if self.gc.ideal && self.ftl.mapping == MappingLevel::Block {
            visit.problem(
                "gc.ideal",
                "a drive that maps by block copies pages to write others, which takes its time; set ideal = \
                 false, or ftl.mapping = \"page\""
                    .into(),
            );
        }
    }
}

impl SsdConfig {
    /// Free blocks of a plane that only garbage collection may take: one for the block that it
    /// fills, and one more where programs may fail.
    pub fn gc_reserve(&self) -> u32 {
        if self.faults.program_fail > 0.0 { 2 } else { 1 }
    }

    /// Blocks of a plane that hold no data for good: open ones, the reserve, and those kept free.
    pub fn blocks_kept(&self) -> u32 {
        let open = self.ftl.streams.max(self.fdp.handles) + self.fdp.destinations();
        (open + self.gc_reserve().max(self.gc.low) + 1) * self.fdp.superblocks
    }

    /// What preemption needs of the rest.
    ///
    /// # Errors
    /// A key that preemption contradicts: a chip that serves in order, collection that is not preemptible, or
    /// resets of programs with a mapping by block.
    pub fn check_preemption(&self) -> Result<(), Problem> {
        if !self.preempt.is_on() {
            return Ok(());
        }
        if self.schedule.chip != ChipPolicy::ReadsFirst {
            return Err(Problem::new(
                "schedule.chip",
                "a chip that serves its work in order has no use for preemption (preempt.program, \
                 preempt.erase); set chip = \"reads-first\"",
            ));
        }
        if !self.gc.preemptible {
            return Err(Problem::new(
                "gc.preemptible",
                "collection that lets nothing go between its pages would go before the read that preempts \
                 it; set preemptible = true",
            ));
        }
        if self.preempt.program == Handling::Reset && self.ftl.mapping == MappingLevel::Block {
            return Err(Problem::new(
                "preempt.program",
                "a drive that maps by block cannot program spoiled pages elsewhere; use \"suspend\", or \
                    ftl.mapping = \"page\"",
            ));
        }
        Ok(())
    }

    /// Capacity that the host can address, in bytes.
    pub fn user_bytes(&self) -> u64 {
        self.ftl.logical_pages(&self.geometry) * self.geometry.page_bytes
    }

    /// The model name: that of the preset, with the capacity if that is another one, as in `m-32g (448 MiB)`.
    pub fn model_name(&self) -> String {
        let (preset, bytes) = (self.preset.name(), self.user_bytes());
        match self.preset.config().user_bytes() == bytes {
            true => preset.to_string(),
            false => format!("{preset} ({})", show_bytes(bytes as f64)),
        }
    }

    fn logical_pages_per_plane(&self) -> u64 {
        let planes = u64::from(self.geometry.plane_count());
        self.ftl.logical_pages(&self.geometry) / planes.max(1)
    }

    /// True when a host may set these thresholds of collection: in their order, not below what the
    /// configuration may say, with room for `low` as [`SsdConfig::check_space`] wants it, and with `high` a
    /// number of free blocks that a plane without bad blocks can have when all of its logical pages hold
    /// data: all but those that hold the data and the open ones.
    pub fn has_room_for(&self, thresholds: GcThresholds) -> bool {
        let GcThresholds { low, high } = thresholds;
        let each = u64::from(self.fdp.superblocks);
        let data = self.logical_pages_per_plane().div_ceil(u64::from(self.geometry.pages) * each);
        let open = u64::from(self.ftl.streams) + 1;
        let reachable = (u64::from(self.geometry.blocks) / each).saturating_sub(data + open);
        let mut with_low = self.clone();
        with_low.gc.low = low;
        low >= 2 && low <= high && u64::from(high) <= reachable && with_low.check_space().is_ok()
    }

    /// Stripes need block-level mapping and share the planes out evenly.
    ///
    /// # Errors
    /// A message that names the conflict and the values that would fit.
    pub fn check_stripe(&self) -> Result<(), BadValue> {
        let (stripe, planes) = (self.ftl.stripe, self.geometry.plane_count());
        if stripe > 1 && self.ftl.mapping == MappingLevel::Page {
            return Err(BadValue::new(
                "a drive that maps by page has no stripes; set stripe = 1, or ftl.mapping = \"block\"",
            ));
        }
        if !planes.is_multiple_of(stripe) {
            return Err(BadValue::new(format!(
                "the drive's {planes} planes cannot be shared out to stripes of {stripe}: use a divisor of \
                    {planes}"
            )));
        }
        Ok(())
    }

    /// Each set needs a page of the read cache, where there is one.
    ///
    /// # Errors
    /// A message that names the smallest sufficient size.
    pub fn check_cache(&self) -> Result<(), BadValue> {
        let needed = self.geometry.page_bytes * u64::from(self.sets.count);
        if self.cache.size > 0 && self.cache.size < needed {
            return Err(BadValue::new(format!(
                "a read cache of {} bytes does not give each set ({}) a page: set cache.size to at least \
                    {needed}, or to 0",
                self.cache.size, self.sets.count
            )));
        }
        Ok(())
    }

    /// The most logical pages that leave garbage collection room to work: a plane's open blocks,
    /// the reserve and the blocks kept free by the low mark hold no data for good.
    ///
    /// # Errors
    /// The drive offers no page to the host, or its planes would hold more logical pages than their blocks
    /// that may keep data; the message names the spare that would do.
    pub fn check_space(&self) -> Result<(), BadValue> {
        let g = &self.geometry;
        let kept = self.blocks_kept();
        let per_plane = self.logical_pages_per_plane();
        if per_plane == 0 {
            return Err(BadValue::new("the drive offers no page to the host; lower spare"));
        }
        let room = u64::from(g.blocks.saturating_sub(kept)) * u64::from(g.pages);
        if per_plane > room {
            let remedy = match self.least_spare(room) {
                Some(spare) => {
                    format!(
                        "set spare to at least {}.{}%, or use more blocks",
                        spare / 10_000,
                        spare / 1000 % 10
                    )
                }
                None => "use more blocks".into(),
            };
            let fdp =
                if self.fdp.is_on() { ", or fewer device.fdp.handles, groups or superblocks" } else { "" };
            return Err(BadValue::new(format!(
                "each plane holds {} blocks, of which {kept} must stay without data (open blocks, gc.low, \
                    reserve): {remedy}{fdp}",
                g.blocks
            )));
        }
        Ok(())
    }

    /// The least spare, in whole tenths of a per cent, that leaves each plane no more than `room` logical
    /// pages; in parts per million. `None` where no spare that is accepted does.
    fn least_spare(&self, room: u64) -> Option<u32> {
        let planes = u64::from(self.geometry.plane_count());
        let per_plane = |spare: &u32| {
            let ftl = FtlConfig { spare: *spare, ..self.ftl.clone() };
            ftl.logical_pages(&self.geometry) / planes
        };
        (0..=SPARE_MOST).step_by(1000).find(|spare| (1..=room).contains(&per_plane(spare)))
    }
}
