//! Drives by name. Every figure has its source here, and nowhere else.

use crate::config::{ChipPolicy, Classes, FailFast, GcConfig, ScheduleConfig, SsdConfig, WearConfig};
use crate::controller::buffer::BufferConfig;
use crate::controller::cache::CacheConfig;
use crate::controller::commit::CommitPolicy;
use crate::controller::ftl::allocation::{Allocation, Order};
use crate::controller::ftl::closed::VictimPolicy;
use crate::controller::ftl::{FtlConfig, MappingLevel};
use crate::controller::link::LinkConfig;
use crate::controller::tags::{Protocol, QueueConfig};
use crate::flash::bus::{Arbitration, BusConfig};
use crate::flash::geometry::ReadyBusy;
use crate::flash::medium::Faults;
use crate::flash::timing::CellKind;
use crate::flash::{Geometry, Timing};
use crate::preemption::{Handling, PreemptConfig};
use crate::sets::SetsConfig;
use tailcut_base::Nanos;

tailcut_base::choice! {
    /// A drive by name.
    pub enum Preset {
        /// 32 GiB MLC: 8 channels × 4 chips × 2 dies × 2 planes × 256 blocks × 256 pages × 4 KiB.
        M = "m-32g",
        /// 1 GiB: 4 channels × 2 chips × 1 die × 2 planes × 256 blocks × 64 pages × 4 KiB, with 28 %
        /// spare: small enough to see garbage collection at once.
        G = "g-1g",
        /// The drive of Sprinkler's evaluation with 64 chips.
        Sprinkler64 = "sprinkler-64",
        /// The drive of the PAReset thesis.
        PaReset = "pareset-16g",
        /// The emulated drive of IODA's evaluation.
        Femu = "femu-16g",
        /// A SATA drive with the peaks of the one in SWAN's evaluation, scaled to 7 GiB of flash.
        SwanSata = "swan-sata",
        /// A drive with the latency and the peaks of Samsung's Z-SSD, scaled to 16 GiB of flash.
        Zssd = "z-ssd",
    }
}

impl Preset {
    /// The configuration of this drive.
    pub fn config(self) -> SsdConfig {
        match self {
            Preset::M => m(),
            Preset::G => g(),
            Preset::Sprinkler64 => sprinkler_64(),
            Preset::PaReset => pareset(),
            Preset::Femu => femu(),
            Preset::SwanSata => swan_sata(),
            Preset::Zssd => z_ssd(),
        }
    }
}

/// Nothing is preempted; where it is, an operation is reset once at the most, which bounds what that costs:
/// wear at most doubles. Times of suspend and reset are those of PAReset (section 1.2), the only ones published together; 10,000
/// cycles of endurance are MQSim's `Block_PE_Cycles_Limit`.
///
/// Times: 75 µs read, 750 µs program, 3.8 ms erase, 333 MT/s: the values of MQSim (Tavakkol et al.,
/// FAST 2018, table 1 and its default configuration). A cycle of 25 ns is t_WC of ONFI 2.x's
/// asynchronous timing mode 4/5 rounded to the slower. The link is PCIe 3.0 × 4 (3.938 GB/s after
/// 128b/130b coding). 7 % spare is 1 GiB offered as 1 GB, the custom of the trade.
fn m() -> SsdConfig {
    SsdConfig {
        preset: Preset::M,
        control_api: true,
        geometry: Geometry {
            channels: 8,
            chips: 4,
            dies: 2,
            planes: 2,
            blocks: 256,
            pages: 256,
            page_bytes: 4096,
            spare_bytes: 0,
            ready_busy: ReadyBusy::Die,
        },
        timing: Timing {
            cell: CellKind::Mlc,
            read: vec![Nanos::micros(75)],
            read_jitter: Nanos(0),
            program: vec![Nanos::micros(750)],
            erase: Nanos::micros(3800),
            bus: 333_000_000,
            cycle: Nanos(25),
            program_suspend: Nanos::micros(150),
            program_resume: Nanos(0),
            erase_suspend: Nanos::micros(2300),
            erase_resume: Nanos(0),
            program_reset: Nanos::micros(30),
            erase_reset: Nanos::micros(200),
            endurance: 10_000,
        },
        bus: BusConfig { arbitration: Arbitration::Fifo },
        faults: Faults { factory_bad: 0.0, program_fail: 0.0, erase_fail: 0.0 },
        link: LinkConfig { rate: 3_938_000_000, command: Nanos(0), half_duplex: false },
        queue: QueueConfig { protocol: Protocol::Nvme, depth: 1024, firmware: Nanos(0), trim: Nanos(0) },
        schedule: ScheduleConfig {
            commit: CommitPolicy::Pas,
            chip: ChipPolicy::Fifo,
            classes: Classes::Told,
            write_patience: Nanos::millis(10),
            passes: 16,
            readdressing: true,
            plane_sharing: true,
            die_interleaving: true,
            level_queues: false,
            hit_manager: true,
            level_frontiers: false,
            match_cell_times: false,
            fail_fast: FailFast::Collection,
        },
        preempt: PreemptConfig {
            program: Handling::None,
            erase: Handling::None,
            suspensions: 16,
            resets: 1,
            wear_budget: 0,
            when_quicker: true,
            place_programs: false,
            time_programs: false,
            time_erases: false,
        },
        buffer: BufferConfig { size: 32 << 20, flush_above: 0, capacitor: true },
        cache: CacheConfig::OFF,
        ftl: FtlConfig {
            spare: 70_000,
            mapping: MappingLevel::Page,
            stripe: 1,
            allocation: Allocation::Dynamic,
            order: Order::Cwdp,
            streams: 1,
        },
        gc: GcConfig {
            victim: VictimPolicy::Greedy,
            choices: 8,
            low: 4,
            high: 8,
            background: false,
            preemptible: true,
            merge: false,
            copies: 1,
            ideal: false,
        },
        wear: WearConfig { levelling: true, spread: 100 },
        sets: SetsConfig::ONE,
    }
}

fn g() -> SsdConfig {
    let m = m();
    SsdConfig {
        preset: Preset::G,
        geometry: Geometry {
            channels: 4,
            chips: 2,
            dies: 1,
            planes: 2,
            blocks: 256,
            pages: 64,
            ..m.geometry
        },
        buffer: BufferConfig { size: 1 << 20, ..m.buffer },
        ftl: FtlConfig { spare: 280_000, ..m.ftl },
        ..m
    }
}

/// Sprinkler, section 5.1: 8 channels, 64 chips, each of 2 dies and 4 planes (2 per die), 8192
/// blocks per die (4096 per plane), 128 pages of 2 KiB; read 20 µs, program 200 µs to 2200 µs;
/// ONFI 2.x, 200 MT/s in its fastest mode (NV-DDR mode 5). The link is the 16 GB/s that the paper's
/// introduction names for PCI Express. Spare area: 64 bytes (MT29F8G08MAA data sheet). There is no
/// write buffer in the paper: writes complete on flash. The logical page decides on chip, die and
/// plane, channels first: the controller knows where a write goes before its data has moved
/// (algorithm 1), and VAS "strips an I/O request across multiple resources in a round-robin
/// fashion" (section 5.7).
fn sprinkler_64() -> SsdConfig {
    let m = m();
    SsdConfig {
        preset: Preset::Sprinkler64,
        geometry: Geometry {
            channels: 8,
            chips: 8,
            dies: 2,
            planes: 2,
            blocks: 4096,
            pages: 128,
            page_bytes: 2048,
            spare_bytes: 64,
            ready_busy: ReadyBusy::Chip,
        },
        timing: Timing {
            cell: CellKind::Mlc,
            read: vec![Nanos::micros(20)],
            program: vec![Nanos::micros(200), Nanos::micros(2200)],
            erase: Nanos::micros(3800),
            bus: 200_000_000,
            cycle: Nanos(25),
            ..m.timing
        },
        link: LinkConfig { rate: 16_000_000_000, ..m.link },
        queue: QueueConfig { protocol: Protocol::Ahci, depth: 32, ..m.queue },
        buffer: BufferConfig { size: 0, ..m.buffer },
        ftl: FtlConfig { allocation: Allocation::Static, ..m.ftl },
        ..m
    }
}

/// PAReset: 16 GB behind 2 buses of 4 chips (section 3.1), page read 100 µs, the times of suspend and
/// reset (section 1.2), under SOS with all of its parts (section 2.2). What the thesis leaves open,
/// among it the times of programs, erases and the bus and the kind of cell beyond "if it is MLC, if
/// it is TLC", is taken from the MQSim values above. Nothing is preempted until `preempt` says so.
fn pareset() -> SsdConfig {
    let m = m();
    SsdConfig {
        preset: Preset::PaReset,
        geometry: Geometry {
            channels: 2,
            chips: 4,
            dies: 1,
            planes: 1,
            blocks: 4096,
            pages: 128,
            ready_busy: ReadyBusy::Chip,
            ..m.geometry
        },
        timing: Timing { read: vec![Nanos::micros(100)], ..m.timing },
        schedule: ScheduleConfig {
            commit: CommitPolicy::Sos,
            chip: ChipPolicy::ReadsFirst,
            level_queues: true,
            ..m.schedule
        },
        gc: GcConfig { merge: true, ..m.gc },
        ..m
    }
}

/// The drive that IODA is evaluated on, which the emulator FEMU plays (Li et al., IODA, SOSP 2021): 16 GiB
/// behind 8 channels of 8 chips, each of one die and plane, 256 blocks of 256 pages of 4 KiB; read 40 µs,
/// program 200 µs, erase 2 ms; a quarter of the flash is spare. What the source leaves open, among it
/// the bus, the link, the buffer, the thresholds of collection and the kind of cell, is taken from the
/// MQSim values above. Smaller drives of the same make have fewer blocks (`geometry.blocks`).
fn femu() -> SsdConfig {
    let m = m();
    SsdConfig {
        preset: Preset::Femu,
        geometry: Geometry {
            channels: 8,
            chips: 8,
            dies: 1,
            planes: 1,
            blocks: 256,
            pages: 256,
            page_bytes: 4096,
            ready_busy: ReadyBusy::Chip,
            ..m.geometry
        },
        timing: Timing {
            read: vec![Nanos::micros(40)],
            program: vec![Nanos::micros(200)],
            erase: Nanos::millis(2),
            ..m.timing
        },
        ftl: FtlConfig { spare: 250_000, ..m.ftl },
        ..m
    }
}

/// SWAN (Kim et al., ATC 2019): the measured peaks of the drive of section 5, 500 MB/s read and 400 MB/s
/// written, built of the cells of section 5.4's open-channel SSD, read 100 µs, program 500 µs; erase 4 ms
/// is the time of section 3.5 for a segment. The 140 MB/s under sustained random writes (section 1) are
/// measured beside it and nothing here is chosen for them; `docs/model.md`, section "Drives", has both.
///
/// The peaks decide on channels, bus and dies. Reads: 4 channels at 166 MT/s, a mode of ONFI 2.x, carry
/// 4 × 4096 B ÷ (7 × 25 ns + 24.7 µs) = 659 MB/s at the most; those of 133 and 200 MT/s come out too low and
/// too high. Writes: a die with two planes programs 2 × 4 KiB in 500 µs + 2 × 24.9 µs, so that 400 MB/s take
/// 26.8 dies: 7 on each channel (417 MB/s). The link is SATA 3, 600 MB/s after 8b/10b coding, one direction
/// at a time, 32 tags, whose commands chips serve out of order (SOS, without its queue size leveler).
///
/// A drive of this kind has no capacitor: its cache is volatile, and a flush waits for the flash. 7 % spare
/// are the least that SWAN names for drives on the market (section 6: 6.7 % to 28 %). Not in the paper, and
/// assumed: a write buffer of 2 MiB, a third of a DRAM of 1/1000 of the drive whose rest is the map; reads
/// before programs, as MQSim schedules them. Collection keeps 8 of the 256 blocks of a plane free, which takes
/// 3 of the 7 % spare; of the paper's 120 GB it would be next to nothing.
fn swan_sata() -> SsdConfig {
    let m = m();
    SsdConfig {
        preset: Preset::SwanSata,
        geometry: Geometry {
            channels: 4,
            chips: 7,
            dies: 1,
            planes: 2,
            blocks: 256,
            pages: 128,
            ..m.geometry
        },
        timing: Timing {
            read: vec![Nanos::micros(100)],
            program: vec![Nanos::micros(500)],
            erase: Nanos::millis(4),
            bus: 166_000_000,
            ..m.timing
        },
        link: LinkConfig { rate: 600_000_000, half_duplex: true, ..m.link },
        queue: QueueConfig { protocol: Protocol::Ahci, depth: 32, ..m.queue },
        schedule: ScheduleConfig { commit: CommitPolicy::Sos, chip: ChipPolicy::ReadsFirst, ..m.schedule },
        buffer: BufferConfig { size: 2 << 20, capacitor: false, ..m.buffer },
        ..m
    }
}

/// Samsung's Z-SSD SZ985, flash of the 10 µs class. Published: reads of 4 KiB take 12 µs to 20 µs, 750,000 of them a second,
/// 3.2 GB/s in each direction, PCIe 3.0 × 4 (announcement of January 2018 and the brief of November 2017); cells read in 3 µs
/// (Cheong et al., ISSCC 2018, 20.3) and are programmed in 100 µs (Zhang et al., FlashShare, OSDI 2018, table 1).
///
/// A read of 4 KiB here: 3 µs cell, 5.3 µs bus, 1.28 µs link, and as firmware what remains of the published 12 µs; the link carries
/// 781,000 of them a second. Assumed: 8 channels of 800 MT/s (the fastest mode of ONFI 4.0), 8 chips on each, pages of 4 KiB, erase 1 ms.
/// The rest is taken from the MQSim values above; nothing is claimed of its writes but the times of cells.
fn z_ssd() -> SsdConfig {
    let m = m();
    SsdConfig {
        preset: Preset::Zssd,
        geometry: Geometry {
            channels: 8,
            chips: 8,
            dies: 1,
            planes: 2,
            blocks: 256,
            pages: 128,
            ..m.geometry
        },
        timing: Timing {
            cell: CellKind::Slc,
            read: vec![Nanos::micros(3)],
            program: vec![Nanos::micros(100)],
            erase: Nanos::millis(1),
            bus: 800_000_000,
            ..m.timing
        },
        link: LinkConfig { rate: 3_200_000_000, ..m.link },
        queue: QueueConfig { firmware: Nanos(2425), ..m.queue },
        ..m
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::config::Choice;

    #[test]
    fn every_preset_is_a_drive_with_room_to_work() {
        for &preset in Preset::all() {
            let config = preset.config();
            assert_eq!(config.preset, preset);
            assert_eq!(config.check_space(), Ok(()), "{preset}");
            assert_eq!(config.check_preemption(), Ok(()), "{preset}");
        }
    }

    #[test]
    fn a_read_of_the_fast_drive_takes_what_is_published() {
        let config = Preset::Zssd.config();
        let bus = Nanos::for_bytes(4096, config.timing.bus) + config.timing.cycle * 7;
        let link = Nanos::for_bytes(4096, config.link.rate);
        assert_eq!(config.timing.read[0] + bus + link + config.queue.firmware, Nanos::micros(12));
    }

    #[test]
    fn the_drive_of_iodas_evaluation_comes_in_small() {
        let mut config = Preset::Femu.config();
        assert_eq!(config.geometry.raw_bytes(), 16 << 30);
        assert_eq!(u64::from(config.ftl.logical_pages(&config.geometry)) * 4096, 12 << 30);
        config.geometry.blocks = 32;
        assert_eq!(config.check_space(), Ok(()));
    }
}
