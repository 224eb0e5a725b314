//! Drives that can be bought, fitted to what was measured on them.
//!
//! Haas et al. ("SSD-iq: Uncovering the Hidden Side of SSD Performance", PVLDB 18, 2025) measured random
//! writes of 4 KiB at given rates on six drives for data centres, with the latencies of one reading and
//! writing thread beside them. Each preset here was fitted to four rows of one drive: idle, at about half of
//! what it sustains, near that, and saturated. `docs/results/real-drives.md` has the error of each row, and
//! of rows that were not fitted.
//!
//! *Known*, from data sheets: capacity, generation of PCIe. *Assumed*, as no source states it: dies of 64 GiB
//! (512 Gb) as the least number that holds the capacity, two planes of 16 KiB pages of three bits per cell
//! under a map of 4 KiB (24 pages a program), 384 word lines per block, so 36 MiB of each die per superblock.
//! What is programmed at once and how long it takes cannot be told apart by rates: a program time that is
//! fitted represents the die's bandwidth. *Read off the rows*: the commands that the controller works on,
//! from writes per second × their median latency when saturated (Little's law), and from which queue it takes
//! the next. *Fitted*: everything in [`Fitted`], with diagonal CMA-ES on logarithms (10 to 150 candidates of
//! a sixteenth of the drive) and then by hand towards the same rows: mostly the program time, to what the
//! drive sustains; for `pe8110-960`, `p5520-1920` and `cm7r-3840` safe point and pace, for `p5520-1920` also
//! the controller's time for a program; `pm9a3-960` nearly all; how long reads may go first; and the pace of
//! both Microns, in a model of queues, pool and pacing alone. No preset is a result of `tailcut calibrate`,
//! which fits all parameters to such rows at once.
//!
//! A preset has an eighth of the drive's superblocks, each of them whole, and of its capacity; see
//! [`SsdConfig::at_scale`].

use super::products;
use crate::config::{
    Allocation, BufferConfig, Classes, CollectionPace, FtlConfig, GcConfig, Handling, MappingLevel,
    PacingConfig, PacingMode, PreemptConfig, Preset, QueueArbitration, QueueConfig, SPARE_MOST,
    ScheduleConfig, SsdConfig, SuperblockConfig, WearConfig,
};
use crate::flash::{Geometry, Timing};
use tailcut_base::Nanos;
use tailcut_base::cast::{to_u32, to_u64};

/// Of how many superblocks of the whole drive a preset has one.
const SCALE: u32 = 8;

/// Superblocks of a whole drive: 64 GiB of each die by 36 MiB.
const SUPERBLOCKS: u32 = 1820;

/// Bytes of a die in these superblocks.
const DIE: u64 = SUPERBLOCKS as u64 * PAGES as u64 * 4096;

/// Pages of the map that one operation of a die programs.
const PROGRAM: u32 = 24;

/// Sensings and programs of collection under way for each die: enough to keep all of them at work.
const COPIES_PER_DIE: u32 = 4;

/// Pages of the map in a block of a die.
const PAGES: u32 = 384 * PROGRAM;

/// Four lanes of PCI Express.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pcie {
    /// Generation 4 of PCI Express.
    Four,
    /// Generation 5, which is twice as fast.
    Five,
}

impl Pcie {
    /// Bytes of data per second.
    fn rate(self) -> u64 {
        match self {
            Pcie::Four => products::PCIE_4,
            Pcie::Five => 2 * products::PCIE_4,
        }
    }
}

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
    /// How long reads may go first.
    patience: u64,
    /// Share of the raw capacity of the whole drive that holds no data of the host, in parts per million.
    /// What is less than the data sheet's the drive needs for itself.
    spare: u32,
    buffer_kib: u64,
    commands: u32,
    pacing: PacingConfig,
}

/// A drive for data centres of today before anything is fitted: TLC flash of 512 Gb dies that maps by
/// superblock, with the least number of dies, a power of two, that holds `capacity` bytes for the host, at an
/// eighth of its size. Everything that a data sheet does not have is that of
/// `pm9a3-960`, but that blocks are erased one at a time.
pub fn of_capacity(capacity: u64, link: Pcie) -> SsdConfig {
    let dies = capacity.div_ceil(DIE).next_power_of_two().clamp(8, 1024) as u32;
    let channels = if dies > 32 { 16 } else { 8 };
    let raw = DIE * u64::from(dies);
    let spare = 1_000_000 - to_u32(to_u64(u128::from(capacity.min(raw)) * 1_000_000 / u128::from(raw)));
    let mut whole = whole(&pm9a3_fit());
    (whole.geometry.channels, whole.geometry.chips) = (channels, dies / channels);
    whole.gc.copies = COPIES_PER_DIE * dies;
    whole.link.rate = link.rate();
    // A drive needs some spare space, whatever a data sheet says of its capacity.
    whole.ftl.spare = spare.clamp(60_000, SPARE_MOST);
    whole.at_scale(SCALE)
}

/// A whole drive of 16 dies on 8 channels behind PCIe 4.0 × 4.
fn whole(fitted: &Fitted) -> SsdConfig {
    let base = products::tlc_nvme();
    let [program_suspend, erase_suspend] = fitted.suspend.map(Nanos);
    SsdConfig {
        control_api: false,
        geometry: Geometry {
            channels: 8,
            chips: 2,
            dies: 1,
            planes: 1,
            blocks: SUPERBLOCKS,
            pages: PAGES,
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
        queue: QueueConfig {
            depth: 65_536,
            commands: fitted.commands,
            arbitration: QueueArbitration::RoundRobin,
            firmware: Nanos(fitted.firmware),
            ..base.queue
        },
        schedule: ScheduleConfig {
            classes: Classes::Equal,
            readdressing: false,
            level_frontiers: false,
            write_patience: Nanos(fitted.patience),
            ..base.schedule
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
            program: PROGRAM,
            sense: PROGRAM / 3,
            pace: CollectionPace::Proportional,
            erases: 1,
            firmware: Nanos::ZERO,
        },
        gc: GcConfig { low: 6, high: 7, copies: COPIES_PER_DIE * 16, ..base.gc },
        wear: WearConfig { levelling: false, ..base.wear },
        ..base
    }
}

/// Pages come in evenly at a limit of `most` a second.
const EVEN: PacingConfig = PacingConfig { mode: PacingMode::Even, ..PacingConfig::NONE };

/// The configuration of a Samsung PM9A3 with 960 GB, at reduced scale, fitted to measurements.
pub fn pm9a3() -> SsdConfig {
    let mut drive = SsdConfig { preset: Preset::Pm9a3, ..whole(&pm9a3_fit()) };
    // All blocks of a superblock at once: meanwhile writes have only the room of the buffer.
    drive.superblock.erases = drive.geometry.luns();
    drive.at_scale(SCALE)
}

fn pm9a3_fit() -> Fitted {
    Fitted {
        read: [40_000, 50_000, 72_000],
        firmware: 3000,
        program: 757_000,
        erase: 4_200_000,
        suspend: [14_000, 50_000],
        safe_point: 63_000,
        progress: 19_000,
        suspensions: 21,
        patience: 3_000_000,
        spare: 118_400,
        buffer_kib: 1536,
        commands: 258,
        pacing: PacingConfig { most: 79_500, burst: 4, ..EVEN },
    }
}

/// SK hynix PE8110, 960 GB. Reads wait behind writes in one queue.
pub fn pe8110() -> SsdConfig {
    let mut drive = whole(&Fitted {
        read: [36_000, 40_000, 118_000],
        firmware: 3005,
        program: 800_000,
        erase: 4_663_851,
        suspend: [19_981, 41_321],
        safe_point: 82_000,
        progress: 15_524,
        suspensions: 17,
        patience: 3_000_000,
        spare: 134_300,
        buffer_kib: 1173,
        commands: 40,
        pacing: PacingConfig { most: 92_000, growth: 600_000, window: Nanos(19_808_917), burst: 24, ..EVEN },
    });
    drive.preset = Preset::Pe8110;
    drive.queue.arbitration = QueueArbitration::Fifo;
    drive.at_scale(SCALE)
}

/// Solidigm D7-P5520, 1.92 TB. Its spare space is that with which its write amplification is the measured
/// one.
pub fn p5520() -> SsdConfig {
    let mut drive = whole(&Fitted {
        read: [31_000, 57_000, 80_000],
        firmware: 674,
        program: 1_315_000,
        erase: 5_661_818,
        suspend: [26_446, 46_386],
        safe_point: 84_000,
        progress: 12_596,
        suspensions: 20,
        patience: 4_546_775,
        spare: 146_296,
        buffer_kib: 2057,
        commands: 255,
        pacing: PacingConfig { most: 154_288, growth: 600_000, window: Nanos(17_340_832), burst: 12, ..EVEN },
    });
    drive.preset = Preset::P5520;
    drive.superblock.firmware = Nanos::micros(21);
    drive.geometry.chips = 4;
    drive.gc.copies = COPIES_PER_DIE * 32;
    drive.at_scale(SCALE)
}

/// Micron 7450 PRO, 960 GB. Near what it sustains, its writes are admitted more slowly than they are offered,
/// and reads wait behind them in their own queue.
pub fn micron_7450_pro() -> SsdConfig {
    let drive = whole(&Fitted {
        read: [40_733, 56_375, 82_482],
        firmware: 1703,
        program: 575_373,
        erase: 4_303_058,
        suspend: [22_217, 44_552],
        safe_point: 65_586,
        progress: 18_407,
        suspensions: 17,
        patience: 3_000_000,
        spare: 113_592,
        buffer_kib: 3962,
        commands: 387,
        pacing: PacingConfig { most: 68_050, growth: 5200, window: Nanos::millis(300), burst: 64, ..EVEN },
    });
    SsdConfig { preset: Preset::Micron7450Pro, ..drive }.at_scale(SCALE)
}

/// Micron 7450 MAX, 800 GB. Its spare space is that with which its write amplification is the measured one.
pub fn micron_7450_max() -> SsdConfig {
    let drive = whole(&Fitted {
        read: [48_350, 51_140, 75_561],
        firmware: 1786,
        program: 990_000,
        erase: 4_386_328,
        suspend: [20_110, 40_765],
        safe_point: 77_810,
        progress: 20_434,
        suspensions: 16,
        patience: 3_000_000,
        spare: 297_712,
        buffer_kib: 3974,
        commands: 387,
        pacing: PacingConfig { most: 117_300, growth: 4500, window: Nanos::millis(250), burst: 64, ..EVEN },
    });
    SsdConfig { preset: Preset::Micron7450Max, ..drive }.at_scale(SCALE)
}

/// Kioxia CM7-R, 3.84 TB, behind PCIe 5.0. Writes come in until the share of a window is used up, and erases
/// stop later than those of the other drives.
pub fn cm7_r() -> SsdConfig {
    let mut drive = whole(&Fitted {
        read: [29_102, 56_470, 68_702],
        firmware: 761,
        program: 735_000,
        erase: 4_188_805,
        suspend: [18_388, 600_000],
        safe_point: 165_000,
        progress: 24_195,
        suspensions: 16,
        patience: 3_000_000,
        spare: 138_300,
        buffer_kib: 8109,
        commands: 1024,
        pacing: PacingConfig {
            mode: PacingMode::Window,
            most: 328_000,
            growth: 6000,
            window: Nanos(6_900_000),
            ..PacingConfig::NONE
        },
    });
    drive.preset = Preset::Cm7R;
    (drive.geometry.channels, drive.geometry.chips) = (16, 4);
    drive.gc.copies = COPIES_PER_DIE * 64;
    drive.link.rate = Pcie::Five.rate();
    drive.at_scale(SCALE)
}

/// The conventional drive of Doekemeijer et al. ("Performance Characterization of NVMe Flash Devices with
/// Zoned Namespaces", CLUSTER 2023), fitted by hand to six rows of mixes by depth. The rows have no capacity:
/// 16 dies are assumed, and a thirty-second of the drive is simulated. Three quarters of its reads find no
/// data where nothing was written before. These go one after another: 26 µs each at depth 1, and at depth 16
/// they are the most of 73,000 a second. Reads in mixes wait for programs that cannot stop a fourth time.
pub fn doekemeijer() -> SsdConfig {
    let mut drive = whole(&Fitted {
        read: [56_000, 57_500, 68_500],
        firmware: 3300,
        program: 1_250_000,
        erase: 2_500_000,
        suspend: [14_000, 50_000],
        safe_point: 100_000,
        progress: 19_000,
        suspensions: 3,
        patience: 3_000_000,
        spare: 130_000,
        buffer_kib: 1024,
        commands: 1024,
        pacing: PacingConfig::NONE,
    });
    drive.preset = Preset::Doekemeijer;
    drive.link.unwritten = Nanos(17_500);
    drive.superblock.erases = drive.geometry.luns();
    drive.at_scale(4 * SCALE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_sheet_decides_dies_and_spare_space() {
        for (capacity, dies) in [(960_197_124_096, 16), (1_920_383_410_176, 32), (30_725_000_000_000, 512)] {
            let drive = of_capacity(capacity, Pcie::Four);
            assert_eq!(drive.geometry.luns(), dies, "{capacity}");
            assert_eq!(drive.check_superblocks(), Ok(()));
            assert_eq!(drive.check_space(), Ok(()));
        }
    }

    #[test]
    fn an_eighth_of_a_drive_has_an_eighth_of_its_capacity() {
        let user = |drive: &SsdConfig| (drive.ftl.logical_pages(&drive.geometry) as f64) * 4096.0;
        for (drive, sold) in [(micron_7450_max(), 800e9), (pm9a3(), 960e9), (cm7_r(), 3840e9)] {
            let share = user(&drive) / sold * f64::from(SCALE);
            assert!((0.93..1.05).contains(&share), "{}: {share}", drive.preset);
        }
    }
}
