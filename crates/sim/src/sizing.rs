//! How many drives an array of spatially separated groups needs: SWAN (Kim et al., ATC 2019), section 3.5.
//!
//! One group of drives (R-group) takes what the network brings while the others collect. A group has enough
//! drives to write as fast as the network; there are enough groups that each has finished its collection
//! before its turn comes again.

use serde::{Deserialize, Serialize};
use tailcut_base::choice;
use tailcut_base::config::Choice;
use tailcut_host::array::log::LogConfig;
use tailcut_ssd::SsdConfig;
use tailcut_ssd::flash::timing::Phases;

choice! {
    /// The redundancy of a group.
    pub enum Raid {
        /// No parity.
        Zero = "0",
        /// One drive of parity.
        Four = "4",
        /// Parity of one drive, spread over all.
        Five = "5",
    }
}

impl Raid {
    /// Drives of a group whose bandwidth parity takes.
    pub fn parity(self) -> u64 {
        u64::from(self != Raid::Zero)
    }
}

/// Bytes of a block, the unit of the array's map (SWAN, section 3.2).
pub const BLOCK: u64 = 4096;
/// Blocks of a segment: SWAN's of 1 MiB.
pub const SEGMENT_BLOCKS: u64 = 256;

/// The cost of a segment on one drive.
///
/// # Examples
/// ```
/// use tailcut_sim::sizing::{Costs, fill, utilisation};
///
/// let costs = Costs::PAPER;
/// assert_eq!(costs.segment_write_ns(), costs.write_ns * costs.blocks as f64);
/// assert!((fill(utilisation(0.8)) - 0.8).abs() < 1e-9);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// Number of blocks of 4 KiB in a segment, *B*.
    pub blocks: u64,
    /// Erasing a segment, *T_e*, in ns.
    pub erase_ns: f64,
    /// Reading a block, *t_r*, in ns.
    pub read_ns: f64,
    /// Writing a block, *t_w*, in ns.
    pub write_ns: f64,
    /// Time in ns in which a drive takes a block for long, with the erases that make room for it.
    pub sustained_ns: f64,
}

impl Costs {
    /// The measurements of SWAN's prototype (section 3.5).
    pub const PAPER: Costs = Costs {
        blocks: SEGMENT_BLOCKS,
        erase_ns: 4e6,
        read_ns: 15_600.0,
        write_ns: 19_500.0,
        sustained_ns: 19_500.0,
    };

    /// The costs that follow from the parts of a drive that reads and writes sequentially, in segments of
    /// `blocks` blocks.
    ///
    /// A line serves *M* pages at a time (planes, and dies behind it, as far as they may share), in cell +
    /// *M* × (command + transfer). A block takes its bytes ÷ the least of what all lines, all channels and
    /// the link carry. *T_e* is the segment's share of the drive's time, spread over all planes: its pages ÷
    /// pages of a block × erase ÷ planes of the drive; written for long, a block takes that share, too.
    pub fn of(drive: &SsdConfig, blocks: u64) -> Costs {
        let phases = Phases::new(&drive.timing, &drive.geometry);
        let page = drive.geometry.page_bytes as f64;
        let bus = |command: f64| command + phases.transfer.0 as f64;
        let (read_bus, write_bus) = (bus(phases.read_command.0 as f64), bus(phases.program_command.0 as f64));
        let page_ns = |cell: f64, bus: f64, together: u32| {
            let together = f64::from(together);
            let lines = (cell + together * bus) / (together * f64::from(drive.geometry.luns()));
            lines.max(bus / f64::from(drive.geometry.channels))
        };
        let link_ns = BLOCK as f64 / drive.link.rate as f64 * 1e9;
        let block_ns = |cell: f64, bus: f64, together: u32| {
            (page_ns(cell, bus, together) * BLOCK as f64 / page).max(link_ns)
        };
        let erase = (phases.erase + phases.erase_command).0 as f64;
        let segment_pages = (blocks * BLOCK) as f64 / page;
        let erase_ns =
            segment_pages / f64::from(drive.geometry.pages) * erase / f64::from(drive.geometry.plane_count());
        let write_ns = block_ns(
            phases.program_cell_mean(),
            write_bus,
            pages_together(drive) * drive.pages_per_program(),
        );
        Costs {
            blocks,
            erase_ns,
            read_ns: block_ns(phases.read_cell_mean(), read_bus, pages_together(drive)),
            write_ns,
            sustained_ns: write_ns + erase_ns / blocks as f64,
        }
    }

    /// Time to write a segment of one drive, *T_w*, in ns.
    pub fn segment_write_ns(&self) -> f64 {
        self.write_ns * self.blocks as f64
    }

    /// Time to read a segment of one drive, *T_r*, in ns.
    pub fn segment_read_ns(&self) -> f64 {
        self.read_ns * self.blocks as f64
    }

    /// Sustained sequential write rate of one drive, in bytes per second.
    pub fn write_rate(&self) -> f64 {
        BLOCK as f64 / self.sustained_ns * 1e9
    }
}

/// The most pages that one transaction reads, or programs page by page.
fn pages_together(drive: &SsdConfig) -> u32 {
    let planes = if drive.schedule.plane_sharing { drive.geometry.planes } else { 1 };
    let dies = if drive.schedule.die_interleaving { drive.geometry.dies_per_lun() } else { 1 };
    planes * dies
}

/// The share of a log-structured disk that holds data when the segments that are collected have the share
/// `utilisation` of valid blocks: *u_d* = (*u* − 1) ÷ ln *u* (Menon, HPDC 1995). Between 0 and 1, as is
/// `utilisation`.
pub fn fill(utilisation: f64) -> f64 {
    filled(-libm::log(utilisation))
}

/// (1 − e^(−y)) ÷ y: the same by *y* = −ln *u*, which has all digits at both ends.
fn filled(y: f64) -> f64 {
    if y == 0.0 { 1.0 } else { -libm::expm1(-y) / y }
}

/// The share of valid blocks *u* of the segments that are collected on a disk of which the share `fill`
/// holds data, both between 0 and 1 and neither of them.
///
/// By bisection of *y* = −ln *u* between 2(1 − *u_d*) and 1 ÷ *u_d*, which hold the solution because
/// 1 − *y* ÷ 2 ≤ (1 − e^(−y)) ÷ *y* ≤ 1 ÷ *y*, until nothing lies between the ends. Within 10⁻¹² of the
/// solution.
///
/// # Panics
/// If `fill` is not above 0 and below 1.
pub fn utilisation(fill: f64) -> f64 {
    assert!(fill > 0.0 && fill < 1.0, "a share between 0 and 1");
    // The fill falls as y grows.
    let (mut low, mut high) = (2.0 * (1.0 - fill), 1.0 / fill);
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return libm::exp(-middle);
        }
        if filled(middle) > fill { low = middle } else { high = middle }
    }
}

/// The least number of groups so that none waits for its collection, and what it is made of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Groups {
    /// *u*: share of valid blocks in a segment that is collected.
    pub utilisation: f64,
    /// (*T_e* ÷ *T_w*) ÷ (1 − *u*).
    pub erase_term: f64,
    /// (*T_r* ÷ *T_w* + 1) × *u* ÷ (1 − *u*).
    pub copy_term: f64,
    /// Both terms and 1: equation 1.
    pub equation: f64,
    /// Equation 1 without the erase term. The paper prints 1.89 for its own figures, which is this;
    /// equation 1 gives 3.08 for them.
    pub without_erase: f64,
    /// Equation 1 rounded up, 2 at least: one writes, one collects.
    pub groups: u64,
    /// Groups that collect at a time when the front end writes as fast as its drives can: both terms.
    pub collecting: f64,
}

impl Groups {
    /// True when `count` groups, of which no more than `at_a_time` collect at a time, keep up with the
    /// front end. Equation 1 lets all but the front end collect; SWAN's figure 6 shows one, as ours does.
    pub fn are_enough(&self, count: u32, at_a_time: u32) -> bool {
        self.equation <= f64::from(count) && self.collecting <= f64::from(at_a_time)
    }
}

/// The share of the space of a log that may be filled of which the share `fill` holds data, when the share
/// `free` is kept erased ahead of writes (`log.collect_below`): what is erased holds nothing out of date,
/// so the rest is the fuller for it.
pub fn fill_beside(fill: f64, free: f64) -> f64 {
    (fill / (1.0 - free)).min(FILL_MOST)
}

/// A log that is fuller would only collect.
const FILL_MOST: f64 = 0.999;

/// Equation 1 at disks of which the share `fill` holds data: *N* ≥ (*T_e* ÷ *T_w*) ÷ (1 − *u*) +
/// (*T_r* ÷ *T_w* + 1) × *u* ÷ (1 − *u*) + 1, for a front end that writes as fast as its drives can.
pub fn groups(costs: &Costs, fill: f64) -> Groups {
    groups_at(costs, utilisation(fill))
}

/// [`groups`] for segments of which the share `utilisation` is valid.
pub fn groups_at(costs: &Costs, utilisation: f64) -> Groups {
    let u = utilisation;
    let write_ns = costs.segment_write_ns();
    let erase_term = costs.erase_ns / write_ns / (1.0 - u);
    let copy_term = (costs.segment_read_ns() / write_ns + 1.0) * u / (1.0 - u);
    let equation = erase_term + copy_term + 1.0;
    Groups {
        utilisation,
        erase_term,
        copy_term,
        equation,
        without_erase: copy_term + 1.0,
        groups: (equation.ceil() as u64).max(2),
        collecting: erase_term + copy_term,
    }
}

/// An array for a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sizing {
    /// Rate in bytes per second at which the network delivers data.
    pub network_bytes_per_s: f64,
    /// Share of the drives' space that holds data, 0 … 1.
    pub fill: f64,
    /// The fill of the space that is not kept erased ahead of writes, *u_d*.
    pub fill_beside: f64,
    /// True if that leaves less than 0.1 % for data that is out of date, so that no number of groups is
    /// enough: `fill_beside` is then 99.9 %, and all that follows is of that.
    #[serde(default)]
    pub fill_is_cut: bool,
    /// Name of the RAID level of each R-group.
    pub raid: String,
    /// Times of a drive for the blocks and segments of its log.
    pub costs: Costs,
    /// Bytes per second that a drive of the front end takes.
    pub drive_bytes_per_s: f64,
    /// Drives of a group that take data: network ÷ drive, rounded up.
    pub data_drives: u64,
    /// Drives' worth of parity in a group.
    pub parity_drives: u64,
    /// How many R-groups keep up with the front end, by equation 1 of SWAN.
    pub groups: Groups,
    /// Equation 1 when the front end writes no faster than the network: a segment of each of its drives then
    /// takes data drives × segment ÷ network, and not *T_w*.
    pub equation_at_network: f64,
    /// Number of drives of all groups.
    pub drives: u64,
    /// Bytes that collection reads, and bytes that it writes, for each byte from the network:
    /// *u* ÷ (1 − *u*).
    pub copied_per_byte: f64,
    /// Bytes written to flash for each byte from the network: 1 ÷ (1 − *u*).
    pub write_amplification: f64,
}

impl Sizing {
    /// The smallest array for a network of `network` bytes per second.
    pub fn new(network: u64, raid: Raid, fill: f64, costs: Costs) -> Sizing {
        let network = network as f64;
        let data_drives = (network / costs.write_rate()).ceil().max(1.0) as u64;
        let free = f64::from(LogConfig::default().collect_below) / 1e6;
        let fill_beside = fill_beside(fill, free);
        let groups = groups(&costs, fill_beside);
        // What the front end takes for a segment of each of its drives when the network sets the pace.
        let paced_ns = data_drives as f64 * (costs.blocks * BLOCK) as f64 / network * 1e9;
        let invalid = 1.0 - groups.utilisation;
        Sizing {
            network_bytes_per_s: network,
            fill,
            fill_beside,
            fill_is_cut: fill >= FILL_MOST * (1.0 - free),
            raid: raid.name().to_string(),
            costs,
            drive_bytes_per_s: costs.write_rate(),
            data_drives,
            parity_drives: raid.parity(),
            groups,
            equation_at_network: 1.0 + (groups.equation - 1.0) * costs.segment_write_ns() / paced_ns,
            drives: (data_drives + raid.parity()) * groups.groups,
            copied_per_byte: groups.utilisation / invalid,
            write_amplification: 1.0 / invalid,
        }
    }

    /// Number of drives of each R-group, those with parity included.
    pub fn group_drives(&self) -> u64 {
        self.data_drives + self.parity_drives
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;
    use tailcut_ssd::Preset;

    #[test]
    fn the_example_of_the_paper_is_equation_1_without_its_erase_term() {
        // "60% utilized, which results in roughly u = 0.33, then we can calculate N to be roughly 1.89"
        let rough = groups_at(&Costs::PAPER, 0.33);
        assert!((rough.equation - 3.08).abs() < 0.005, "{rough:?}");
        assert!((rough.without_erase - 1.89).abs() < 0.005, "{rough:?}");
        let exact = groups(&Costs::PAPER, 0.6);
        assert!((exact.utilisation - 0.3242).abs() < 1e-3, "{exact:?}");
        assert_eq!(exact.groups, 4);
    }

    #[test]
    fn a_drive_writes_as_fast_as_its_parts() {
        // 28 dies x 2 x 4 KiB in 500 us + 2 x (175 ns + 24.675 us) and two shares of an erase, 4 ms / 128; a
        // link of 600 MB/s for reads. The drive itself comes to 394 MB/s (`docs/model.md`, "Drives").
        let costs = Costs::of(&Preset::SwanSata.config(), SEGMENT_BLOCKS);
        assert!((costs.write_rate() / 1e6 - 394.8).abs() < 0.1, "{costs:?}");
        assert!((costs.read_ns - 4096.0 / 0.6).abs() < 1.0, "{costs:?}");
        // Two blocks of 128 pages, of 56 that are erased at the same time.
        assert!((costs.erase_ns - 2.0 * 4_000_125.0 / 56.0).abs() < 1.0, "{costs:?}");
    }

    #[test]
    fn a_group_has_the_drives_that_the_network_needs() {
        let costs = Costs { write_ns: BLOCK as f64 / 2.5, sustained_ns: BLOCK as f64 / 2.5, ..Costs::PAPER };
        let size = |network, raid| Sizing::new(network, raid, 0.6, costs);
        let four = size(10_000_000_000, Raid::Four);
        assert_eq!((four.data_drives, four.parity_drives, four.group_drives()), (4, 1, 5));
        assert!((four.equation_at_network / four.groups.equation - 1.0).abs() < 1e-9);
        assert_eq!(size(10_000_000_001, Raid::Zero).group_drives(), 5);
        assert_eq!(size(1, Raid::Five).group_drives(), 2);
        assert!(size(5_100_000_000, Raid::Zero).equation_at_network < four.groups.equation);
    }

    #[test]
    fn a_disk_without_space_for_old_data_is_marked() {
        let at = |fill| Sizing::new(10_000_000_000, Raid::Zero, fill, Costs::PAPER);
        assert!(!at(0.949).fill_is_cut);
        for fill in [0.95, 0.99] {
            assert!(at(fill).fill_is_cut, "{fill}");
            assert_eq!(at(fill).fill_beside, 0.999, "{fill}");
        }
    }

    #[test]
    fn an_empty_disk_has_nothing_to_copy_and_a_full_one_everything() {
        assert!(utilisation(0.01) < 1e-40);
        assert!(utilisation(0.999_999) > 0.999_99 && utilisation(0.999_999) < 1.0);
        // Near 1 the solution is 1 - 2 (1 - u_d).
        assert!((utilisation(1.0 - 1e-9) - (1.0 - 2e-9)).abs() < 1e-12);
        assert_eq!(filled(0.0), 1.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: RngSeed::Fixed(1),
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn fill_and_utilisation_undo_each_other(share in 0.01..0.9999f64) {
            let u = utilisation(share);
            prop_assert!(u > 0.0 && u < 1.0);
            prop_assert!((fill(u) - share).abs() < 1e-9, "{} for {share}", fill(u));
            let back = utilisation(fill(share));
            prop_assert!((back - share).abs() < 1e-12, "{back} for {share}");
            prop_assert!(u < share, "collection finds emptier segments than the disk has");
        }

        #[test]
        fn a_fuller_disk_needs_no_fewer_groups(
            share in 0.02..0.97f64,
            more in 0.0001..0.02f64,
            erase_ns in 0.0..1e7f64,
            read_ns in 100.0..1e5f64,
        ) {
            let costs = Costs { erase_ns, read_ns, ..Costs::PAPER };
            let (less, more) = (groups(&costs, share), groups(&costs, share + more));
            prop_assert!(more.utilisation > less.utilisation);
            prop_assert!(more.equation > less.equation && more.groups >= less.groups);
            prop_assert!(less.equation >= 1.0 && less.groups >= 2);
            prop_assert!((less.equation - less.erase_term - less.without_erase).abs() < 1e-9);
        }
    }
}
