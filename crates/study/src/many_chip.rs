//! Shared parts of the studies of Sprinkler (Jung and Kandemir, HPCA 2014): its drives, its schedulers by
//! the paper's names, and its closed loops of reads.

use super::Options;
use tailcut_base::config::Choice;
use tailcut_base::quantity::exact_bytes;
use tailcut_sim::Scenario;
use tailcut_sim::measured::Run;
use tailcut_sim::world::Limits;
use tailcut_ssd::config::CommitPolicy;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset, SsdConfig};
use tailcut_workload::SyntheticConfig;
use tailcut_workload::address::WHOLE;
use tailcut_workload::config::PaceKind;

/// The numbers of chips of the evaluation (section 5.1).
pub const CHIPS: [u32; 3] = [64, 256, 1024];

/// A scheduler of the evaluation (section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduler {
    /// Name of the scheduler in the paper.
    pub paper_name: &'static str,
    /// The commit policy by which the scheduler is simulated.
    pub policy: CommitPolicy,
}

/// The five schedulers in the order of the paper, as far as they exist here.
pub fn schedulers() -> Vec<Scheduler> {
    let names = [("VAS", "vas"), ("PAS", "pas"), ("SPK1", "faro"), ("SPK2", "rios"), ("SPK3", "sprinkler")];
    let known =
        |(paper_name, name)| CommitPolicy::by_name(name).map(|policy| Scheduler { paper_name, policy });
    names.into_iter().filter_map(known).collect()
}

/// The transfer sizes of figures 1 and 15: 4 KiB to 4 MiB, each twice the last.
pub fn transfer_sizes() -> Vec<u64> {
    (12..=22).map(|log| 1 << log).collect()
}

/// The paper's drive with `chips` chips, a power of four: as many channels as chips on each of
/// them. The paper gives both ends of this rule: 64 chips on 8 channels, 1024 on 32.
///
/// # Panics
/// If `chips` is no power of four.
pub fn drive(chips: u32) -> SsdConfig {
    let side = chips.isqrt();
    assert!(side * side == chips && side.is_power_of_two(), "{chips} chips is no power of four");
    let mut device = Preset::Sprinkler64.config();
    device.geometry.channels = side;
    device.geometry.chips = side;
    device
}

/// Reads of one size at random places of a drive that is full, as many at a time as the device
/// queue takes.
///
/// The drive has fewer blocks than the paper's: reads do not notice. What is read must cover every
/// place of every chip at every page offset (two reads share a transaction across planes only if
/// their offsets agree) and hold many requests of the largest size: one block of each plane, and
/// 64 MiB at least.
///
/// The run ends after 64 times the queue's depth (quick form: 8 times), and not before 512 MiB
/// (64 MiB) are read: the queue fills once and drains once, a small part of the whole.
pub fn random_reads(options: &Options, label: String, device: SsdConfig, size: u64) -> Run {
    let device = with_small_blocks(device);
    let depth = device.queue.depth;
    let requests = (u64::from(depth) * queue_fulls(options)).max(least_bytes(options).div_ceil(size));
    let workload = SyntheticConfig {
        read: WHOLE,
        read_size: exact_bytes(size),
        pace: PaceKind::Closed,
        depth,
        ..SyntheticConfig::default()
    };
    let scenario = Scenario {
        seed: options.seed,
        device,
        precondition: Precondition { state: PreparedState::Sequential, fill: WHOLE },
        run: Limits { requests, ..Limits::NONE },
        workload,
        ..Scenario::default()
    };
    Run { label, scenario }
}

/// The largest share of `chips` chips that `requests` requests of `size` bytes can keep busy at a
/// time: each chip needs a page of its own.
pub fn most_chips(chips: u32, requests: u32, size: u64) -> f64 {
    let pages = u64::from(requests) * size.div_ceil(Preset::Sprinkler64.config().geometry.page_bytes);
    (pages as f64 / f64::from(chips)).min(1.0)
}

/// How often the queue is filled, at least.
fn queue_fulls(options: &Options) -> u64 {
    if options.quick { 8 } else { 64 }
}

/// Bytes that a run reads, at least.
fn least_bytes(options: &Options) -> u64 {
    if options.quick { 64 << 20 } else { 512 << 20 }
}

/// The drive with as few blocks as leave room for the data of [`random_reads`], which fill its
/// user capacity. All shares are powers of two, so nothing is rounded.
fn with_small_blocks(mut device: SsdConfig) -> SsdConfig {
    let g = &device.geometry;
    let row = u64::from(g.plane_count()) * u64::from(g.pages) * g.page_bytes;
    let used = LEAST_REGION.div_ceil(row).next_power_of_two() as u32;
    let blocks = (used + device.blocks_kept()).next_power_of_two();
    device.ftl.spare = WHOLE - (u64::from(WHOLE) * u64::from(used) / u64::from(blocks)) as u32;
    device.geometry.blocks = blocks;
    device
}

/// Sixteen requests of the largest size.
const LEAST_REGION: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_grow_by_the_papers_rule() {
        for (chips, side) in [(1, 1), (64, 8), (256, 16), (1024, 32), (16_384, 128)] {
            let device = with_small_blocks(drive(chips));
            let g = &device.geometry;
            assert_eq!((g.channels, g.chips), (side, side));
            assert_eq!(device.check_space(), Ok(()), "{chips} chips");
            let per_plane = device.ftl.logical_pages(g) / u64::from(g.plane_count());
            assert!(per_plane >= u64::from(g.pages) && per_plane.is_multiple_of(u64::from(g.pages)));
            assert!(per_plane * u64::from(g.plane_count()) * g.page_bytes >= LEAST_REGION);
        }
    }

    #[test]
    fn the_papers_schedulers_are_found_by_name() {
        let known = schedulers();
        assert_eq!((known[0].paper_name, known[0].policy), ("VAS", CommitPolicy::Vas));
        assert_eq!((known[1].paper_name, known[1].policy), ("PAS", CommitPolicy::Pas));
    }

    #[test]
    fn a_short_queue_cannot_keep_many_chips_busy() {
        assert_eq!(most_chips(64, 32, 4 << 10), 1.0);
        assert_eq!(most_chips(1024, 32, 4 << 10), 0.0625, "32 requests of two pages");
    }
}
