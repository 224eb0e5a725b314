//! The drives of the papers.

use super::{g, m};
use crate::config::{
    Allocation, BufferConfig, ChipPolicy, CommitPolicy, FtlConfig, GcConfig, LinkConfig, Preset, Protocol,
    QueueConfig, ScheduleConfig, SsdConfig,
};
use crate::flash::geometry::ReadyBusy;
use crate::flash::timing::CellKind;
use crate::flash::{Geometry, Timing};
use tailcut_base::Nanos;

/// Sprinkler, section 5.1: 8 channels, 64 chips, each of 2 dies and 4 planes (2 per die), 8192
/// blocks per die (4096 per plane), 128 pages of 2 KiB; read 20 µs, program 200 µs to 2200 µs;
/// ONFI 2.x, 200 MT/s in its fastest mode (NV-DDR mode 5). The link is the 16 GB/s that the paper's
/// introduction names for PCI Express. Spare area: 64 bytes (MT29F8G08MAA data sheet). There is no
/// write buffer in the paper: writes complete on flash. The logical page decides on chip, die and
/// plane, channels first: the controller knows where a write goes before its data has moved
/// (algorithm 1), and VAS "strips an I/O request across multiple resources in a round-robin
/// fashion" (section 5.7).
pub(super) fn sprinkler_64() -> SsdConfig {
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
        schedule: ScheduleConfig { whole_requests: true, ..m.schedule },
        ..m
    }
}

/// PAReset: 16 GB behind 2 buses of 4 chips (section 3.1), page read 100 µs, the times of suspend and reset
/// (section 1.2), under SOS with all of its parts (section 2.2). What the thesis leaves open, among it the
/// times of programs, erases and the bus and the kind of cell beyond "if it is MLC, if it is TLC", is taken
/// from the MQSim values (`m-32g`). Nothing is preempted unless `preempt` is set.
pub(super) fn pareset() -> SsdConfig {
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
/// MQSim values (`m-32g`). Smaller drives of the same make have fewer blocks (`geometry.blocks`).
pub(super) fn femu() -> SsdConfig {
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
/// before programs, as MQSim schedules them. Collection keeps 8 of the 256 blocks of a plane free, which
/// takes 3 of the 7 % spare; of the paper's 120 GB it would be next to nothing.
pub(super) fn swan_sata() -> SsdConfig {
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

/// Shin (2017), section 3: one of six SATA drives. The dissertation gives one figure of them, reads of 512 B
/// per second of one drive: 671k are "up to five devices" (section 3.1), 134,200 each. Here each command
/// occupies the link for as long as makes these: SATA 3, 600 MB/s after 8b/10b coding, one direction at a
/// time, 32 tags. The dies are those of the MQSim values (`m-32g`), with few blocks, since the drives are
/// only read.
pub(super) fn shin_sata() -> SsdConfig {
    const READS_PER_SECOND: u64 = 134_200;
    const RATE: u64 = 600_000_000;
    let m = m();
    SsdConfig {
        preset: Preset::ShinSata,
        geometry: Geometry { blocks: 32, pages: 64, ..m.geometry },
        link: LinkConfig {
            rate: RATE,
            command: Nanos(1_000_000_000 / READS_PER_SECOND) - Nanos::for_bytes(512, RATE),
            half_duplex: true,
            ..m.link
        },
        queue: QueueConfig { protocol: Protocol::Ahci, depth: 32, ..m.queue },
        ftl: FtlConfig { spare: 400_000, ..m.ftl },
        ..m
    }
}

/// The drive on the Cosmos board (Shin 2017, sections 4.4.1 and 4.4.2): one chip that serves one request at a
/// time, 352 µs for a page, of which the bus takes a part here, and 9 µs for 4 KiB over the link. The spread
/// of the flash is the 0.66 µs that the dissertation measured, evenly distributed: ± 0.66 µs × √3. A queue
/// entry for each of the eight cores' queues. What is left open is taken from `g-1g`.
pub(super) fn cosmos() -> SsdConfig {
    let g = g();
    let page = Nanos::for_bytes(4096, g.timing.bus) + g.timing.cycle * 7;
    SsdConfig {
        preset: Preset::Cosmos,
        geometry: Geometry { channels: 1, chips: 1, planes: 1, ..g.geometry },
        timing: Timing { read: vec![Nanos::micros(352) - page], read_jitter: Nanos(1143), ..g.timing },
        link: LinkConfig { rate: 4096 * 1_000_000 / 9, ..g.link },
        queue: QueueConfig { depth: 8, ..g.queue },
        ..g
    }
}

/// The emulated drive of Shin (2017), section 4.4.1: 8 channels of 4 chips, 80 µs a read, PCIe 3.0 with four
/// lanes. The emulator has no buses: ours carry a page in 1 µs, which is part of the 80. What is left open is
/// taken from the MQSim values (`m-32g`), with few blocks, since the drive is only read.
pub(super) fn shin_emulated() -> SsdConfig {
    let m = m();
    SsdConfig {
        preset: Preset::ShinEmulated,
        geometry: Geometry { dies: 1, planes: 1, blocks: 64, pages: 64, ..m.geometry },
        timing: Timing { bus: 4_096_000_000, cycle: Nanos(0), read: vec![Nanos::micros(79)], ..m.timing },
        ftl: FtlConfig { spare: 280_000, ..m.ftl },
        ..m
    }
}
