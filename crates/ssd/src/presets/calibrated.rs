//! Drives that can be bought, fitted to what was measured on them.
//!
//! Haas et al. ("SSD-iq: Uncovering the Hidden Side of SSD Performance", PVLDB 18, 2025) measured random writes
//! of 4 KiB at given rates on six drives for data centres, with the latencies of one reading and writing thread
//! beside them. Each preset here was fitted to four rows of one drive: idle, at about half of what it
//! sustains, near that, and saturated. `docs/results/real-drives.md` has the error of each row, and of rows
//! that were not fitted.
//!
//! *Known*, from data sheets: capacity, generation of PCIe. *Assumed*, as no source states it: dies of 64 GiB
//! (512 Gb) as the least number that holds the capacity, two planes of 16 KiB pages of three bits per cell
//! under a map of 4 KiB (24 pages a program), 384 word lines per block, so 36 MiB of each die per superblock.
//! What is programmed at once and how long it takes cannot be told apart by rates: a program time that is
//! fitted stands for the die's bandwidth. *Read off the rows*: the commands that the controller works on, from
//! writes per second × their median latency when saturated (Little's law), and from which queue it takes the
//! next. *Fitted*: everything in [`Fitted`].
//!
//! A preset has an eighth of the drive's superblocks, each of them whole, and of its capacity; see
//! [`SsdConfig::at_scale`].

use super::{Preset, products};
use crate::config::{Classes, GcConfig, SsdConfig};
use crate::controller::buffer::BufferConfig;
use crate::controller::ftl::allocation::Allocation;
use crate::controller::ftl::{FtlConfig, MappingLevel};
use crate::controller::link::LinkConfig;
use crate::controller::pacing::{PacingConfig, PacingMode};
use crate::controller::submission::QueueArbitration;
use crate::controller::tags::QueueConfig;
use crate::flash::{Geometry, Timing};
use crate::preemption::{Handling, PreemptConfig};
use crate::superblock::{CollectionPace, SuperblockConfig};
use tailcut_base::Nanos;

/// Of how many superblocks of the whole drive a preset has one.
const SCALE: u32 = 8;

/// Superblocks of a whole drive: 64 GiB of each die by 36 MiB.
const SUPERBLOCKS: u32 = 1820;

/// What was fitted, times in nanoseconds.
struct Fitted {
    /// Reads of the three page types.
    read: [u64; 3],
    firmware: u64,
    program: u64,
    erase: u64,
    /// Until a chip whose program, or erase, is suspended can read.
    suspend: [u64; 2],
    safe_point: u64,
    progress: u64,
    suspensions: u32,
    /// Share of the raw capacity that holds no data of the host, in parts per million. What is not spare by
    /// the data sheet the drive needs for itself.
    spare: u32,
    buffer_kib: u64,
    pacing: PacingConfig,
}

/// The parts that were assumed or read off.
struct Parts {
    channels: u32,
    chips: u32,
    commands: u32,
    arbitration: QueueArbitration,
    /// Bytes of data per second on the link.
    link: u64,
}

fn drive(preset: Preset, parts: &Parts, fitted: &Fitted) -> SsdConfig {
    let base = products::tlc_nvme();
    let [program_suspend, erase_suspend] = fitted.suspend.map(Nanos);
    let whole = SsdConfig {
        preset,
        control_api: false,
        geometry: Geometry {
            channels: parts.channels,
            chips: parts.chips,
            dies: 1,
            planes: 1,
            blocks: SUPERBLOCKS,
            pages: 384 * 24,
            ..base.geometry
        },
        timing: Timing {
            read: fitted.read.map(Nanos).to_vec(),
            program: vec![Nanos(fitted.program)],
            erase: Nanos(fitted.erase),
            program_suspend,
            program_resume: Nanos::micros(5),
            erase_suspend,
            erase_resume: Nanos::micros(5),
            ..base.timing
        },
        link: LinkConfig { rate: parts.link, ..base.link },
        queue: QueueConfig {
            depth: 65_536,
            commands: parts.commands,
            arbitration: parts.arbitration,
            firmware: Nanos(fitted.firmware),
            ..base.queue
        },
        preempt: PreemptConfig {
            program: Handling::Suspend,
            erase: Handling::Suspend,
            suspensions: fitted.suspensions,
            safe_point: Nanos(fitted.safe_point),
            progress: Nanos(fitted.progress),
            under_backlog: false,
            ..base.preempt
        },
        buffer: BufferConfig { size: fitted.buffer_kib << 10, capacitor: true, ..base.buffer },
        pacing: fitted.pacing.clone(),
        ftl: FtlConfig {
            mapping: MappingLevel::Superblock,
            spare: fitted.spare,
            allocation: Allocation::Dynamic,
            ..base.ftl
        },
        superblock: SuperblockConfig {
            program: 24,
            sense: 8,
            pace: CollectionPace::Proportional,
            erases: 1,
        },
        gc: GcConfig { low: 6, high: 7, copies: 64, ..base.gc },
        ..base
    };
    let mut whole = whole;
    whole.schedule.classes = Classes::Equal;
    whole.schedule.readdressing = false;
    whole.schedule.level_frontiers = false;
    whole.schedule.write_patience = Nanos::millis(20);
    whole.wear.levelling = false;
    whole.at_scale(SCALE)
}

/// Pages come in evenly at a constant rate.
fn constant(most: u32, burst: u32) -> PacingConfig {
    PacingConfig { mode: PacingMode::Even, most, least: most, burst, ..PacingConfig::NONE }
}
