//! What distinguishes the superblocks of one drive from those of another.

use crate::config::{Handling, MappingLevel, PacingMode, SsdConfig};
use crate::flash::geometry::ReadyBusy;
use tailcut_base::cast::{to_u32, whole};
use tailcut_base::config::{Configure, KeyVisitor, choose, count_u32};
use tailcut_base::{Nanos, Problem};

tailcut_base::choice! {
    /// How fast a superblock is emptied.
    pub enum CollectionPace {
        /// Collection as fast as `gc.copies` allows.
        Eager = "eager",
        /// In step with the host's writes, so that as much is reclaimed as is written; faster where fewer
        /// superblocks are free than wanted.
        Proportional = "proportional",
    }
}

/// The superblocks of a drive (`ftl.mapping = "superblock"`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuperblockConfig {
    /// Pages of the map that one operation of a die programs: planes × page types of a word line × pages of
    /// the map in a page of flash. Two planes of 16 KiB pages of TLC under a map of 4 KiB are 2 × 3 × 4 = 24.
    pub program: u32,
    /// Pages of the map that one sensing of a die makes available: planes × pages of the map in a page of
    /// flash, 8 in that example. Collection reads by sensing; the host reads single pages.
    pub sense: u32,
    /// Whether a superblock is emptied as fast as possible, or in step with the host's writes.
    pub pace: CollectionPace,
    /// Blocks of a superblock that are erased at the same time.
    pub erases: u32,
    /// The controller's own time for each program, such as updates of the map: meanwhile it takes in no pages
    /// of writes.
    pub firmware: Nanos,
}

impl SuperblockConfig {
    /// The values of drives without superblock mapping: each page is programmed and read alone.
    pub const NONE: SuperblockConfig = SuperblockConfig {
        program: 1,
        sense: 1,
        pace: CollectionPace::Proportional,
        erases: 1,
        firmware: Nanos::ZERO,
    };
}

impl Configure for SuperblockConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        count_u32(
            visit,
            "program",
            "Pages that one operation of a die programs: planes × bits per cell × pages of the map per page \
                of flash.",
            &mut self.program,
            1..=240,
        );
        count_u32(
            visit,
            "sense",
            "Pages that one sensing of a die makes available: planes × pages of the map per page of flash.",
            &mut self.sense,
            1..=64,
        );
        choose(visit, "pace", "How fast a superblock is emptied: eager or proportional.", &mut self.pace);
        count_u32(
            visit,
            "erases",
            "Blocks of a superblock that are erased at the same time.",
            &mut self.erases,
            1..=1 << 15,
        );
        visit.time(
            "firmware",
            "The controller's own time for each program, in which it takes in no pages of writes.",
            &mut self.firmware,
            Nanos(0)..=Nanos::millis(1),
        );
    }
}

impl SsdConfig {
    /// True when the drive maps by superblock.
    pub fn maps_by_superblock(&self) -> bool {
        self.ftl.mapping == MappingLevel::Superblock
    }

    /// The controller's own time for a program, whatever the mapping: none unless by superblock.
    pub fn firmware_per_program(&self) -> Nanos {
        if self.maps_by_superblock() { self.superblock.firmware } else { Nanos::ZERO }
    }

    /// True when writes can wait although the buffer has room.
    pub fn holds_writes_back(&self) -> bool {
        self.pacing.mode != PacingMode::None || self.firmware_per_program() > Nanos::ZERO
    }

    /// Pages that one operation of a die programs together, whatever the mapping: 1 unless by superblock.
    pub fn pages_per_program(&self) -> u32 {
        if self.maps_by_superblock() { self.superblock.program } else { 1 }
    }

    /// Pages that one sensing of a die makes available, whatever the mapping: 1 unless by superblock.
    pub fn pages_per_sense(&self) -> u32 {
        if self.maps_by_superblock() { self.superblock.sense } else { 1 }
    }

    /// The same drive with a part of its superblocks, one in `parts`, and of its capacity.
    pub fn at_scale(&self, parts: u32) -> SsdConfig {
        self.with_blocks((self.geometry.blocks / parts).max(1))
    }

    /// The same drive with this many blocks of each plane, and more or less capacity: each superblock is as
    /// large and collected as often as before, because the share of pages that can hold data without being of
    /// the host is the same. The superblocks that are open or kept free do not become fewer or more, so the
    /// spare share of a smaller drive is larger.
    pub fn with_blocks(&self, blocks: u32) -> SsdConfig {
        let mut scaled = self.clone();
        scaled.geometry.blocks = blocks;
        let in_use = |blocks: u32| f64::from(blocks.saturating_sub(self.superblocks_kept()).max(1));
        let user = 1.0 - f64::from(self.ftl.spare) / 1e6;
        let pages = user * f64::from(self.geometry.blocks) / in_use(self.geometry.blocks);
        let user = pages * in_use(scaled.geometry.blocks) / f64::from(scaled.geometry.blocks);
        scaled.ftl.spare = to_u32(whole(((1.0 - user) * 1e6).round()));
        scaled
    }

    /// Superblocks that hold no data for good: those that are kept free, counting what is left in those that
    /// are being written, and the one that is being emptied.
    fn superblocks_kept(&self) -> u32 {
        (self.gc.low + 1) * self.fdp.superblocks
    }

    /// What mapping by superblock needs of the rest.
    ///
    /// # Errors
    /// The key that is to be changed, and why.
    pub fn check_superblocks(&self) -> Result<(), Problem> {
        if !self.maps_by_superblock() {
            return Ok(());
        }
        let SuperblockConfig { program, sense, .. } = self.superblock;
        let bits = self.timing.cell.bits();
        let needs = |holds: bool, key: &'static str, why: &str| {
            if holds { Ok(()) } else { Err(Problem::new(key, format!("mapping by superblock {why}"))) }
        };
        let g = &self.geometry;
        needs(
            g.planes == 1 && (g.dies == 1 || g.ready_busy == ReadyBusy::Die),
            "geometry.planes",
            "takes a die as one: set planes = 1 and ready_busy = \"die\"; superblock.program and \
                superblock.sense count its planes",
        )?;
        let pages = u64::from(g.plane_count()) * u64::from(g.pages) * u64::from(self.fdp.superblocks);
        needs(
            pages <= u64::from(u32::MAX),
            "geometry.pages",
            "takes a block of each die as one, with at most 2^32 - 1 pages: set fewer pages, or larger ones",
        )?;
        if !sense.is_power_of_two() {
            return Err(Problem::new(
                "superblock.sense",
                format!("{sense} pages are no power of two; set sense = {}", sense.next_power_of_two()),
            ));
        }
        if program != sense * bits {
            return Err(Problem::new(
                "superblock.program",
                format!(
                    "a word line of {} cells holds {bits} times what one sensing makes available; set \
                        program = {}, or sense",
                    self.timing.cell,
                    sense * bits
                ),
            ));
        }
        if !g.pages.is_multiple_of(program) {
            return Err(Problem::new(
                "geometry.pages",
                format!(
                    "a block of {} pages is no whole number of programs of {program} pages; set pages = {}",
                    g.pages,
                    g.pages.next_multiple_of(program)
                ),
            ));
        }
        needs(
            self.timing.program.len() == 1,
            "timing.program",
            "programs a word line in one operation; write one time",
        )?;
        let least = u64::from(2 * program) * g.page_bytes;
        if self.buffer.size < least {
            return Err(Problem::new(
                "buffer.size",
                format!(
                    "mapping by superblock gathers {program} pages for a program; set size to at least \
                        {least} bytes"
                ),
            ));
        }
        needs(self.sets.count == 1, "sets.count", "does not divide the drive; set count = 1")?;
        needs(
            self.ftl.streams == 1,
            "ftl.streams",
            "has one superblock for the host's data; set streams = 1",
        )?;
        needs(!self.gc.ideal, "gc.ideal", "collects in time; set ideal = false")?;
        needs(
            !self.gc.background,
            "gc.background",
            "collects as superblocks are used up; set background = false, and raise gc.low",
        )?;
        needs(
            self.gc.preemptible,
            "gc.preemptible",
            "collects in step with the host's writes, which go between; set preemptible = true",
        )?;
        needs(!self.gc.merge, "gc.merge", "reads many pages for collection at once; set merge = false")?;
        needs(!self.control_api, "control_api", "has no control interface yet; set control_api = false")?;
        needs(
            !self.schedule.readdressing,
            "schedule.readdressing",
            "moves pages to other dies, where waiting requests cannot follow; set readdressing = false",
        )?;
        needs(
            self.schedule.hit_manager,
            "schedule.hit_manager",
            "answers reads of what is being programmed from the buffer; set hit_manager = true",
        )?;
        needs(
            !self.schedule.level_queues && !self.preempt.predicts_reads(),
            "schedule.level_queues",
            "gives units to dies in turn; set level_queues, preempt.place_programs, preempt.time_programs \
             and preempt.time_erases = false",
        )?;
        needs(
            self.preempt.program != Handling::Reset,
            "preempt.program",
            "cannot program spoiled word lines elsewhere yet; set program = \"suspend\"",
        )?;
        let f = &self.faults;
        needs(
            f.factory_bad == 0.0 && f.program_fail == 0.0 && f.erase_fail == 0.0,
            "faults.factory_bad",
            "has no replacement for bad blocks yet; set factory_bad, program_fail and erase_fail = 0",
        )
    }
}
