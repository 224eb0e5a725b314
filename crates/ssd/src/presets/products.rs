//! Drives that are or were on the market, from data sheets and from papers on their flash.

use super::m;
use crate::config::{
    ChipPolicy, CommitPolicy, FtlConfig, GcConfig, LinkConfig, Order, Preset, Protocol, QueueConfig,
    ScheduleConfig, SsdConfig,
};
use crate::flash::geometry::ReadyBusy;
use crate::flash::timing::CellKind;
use crate::flash::{Geometry, Timing};
use tailcut_base::Nanos;

/// Bytes of data per second on four lanes of PCIe 4.0: 4 × 16 GT/s after 128b/130b coding are 7.877 GB/s, and
/// each packet of 256 B of data (the usual largest payload) has six words of 4 B around it, with addresses of
/// 64 bits (Intel, Understanding PCI Express Throughput: five to seven).
pub(super) const PCIE_4: u64 = 4 * 16_000_000_000 / 8 * 128 / 130 * 256 / (256 + 24);

/// Samsung's Z-SSD SZ985, flash of the 10 µs class. Published: reads of 4 KiB take 12 µs to 20 µs, 750,000 of
/// them a second, 3.2 GB/s in each direction, PCIe 3.0 × 4 (announcement of January 2018 and the brief of
/// November 2017); cells are read in 3 µs and programmed in 100 µs (Cheong et al., "A flash memory controller
/// for 15µs ultra-low-latency SSD using high-speed 3D NAND flash with 3µs read time", ISSCC 2018, 20.2; its
/// abstract has both, and up to 160 MB/s written by a chip, which would be 16 KiB at a time: here two planes
/// are 8 KiB).
///
/// A read of 4 KiB here: 3 µs cell, 5.3 µs bus, 1.28 µs link, and as firmware what remains of the published
/// 12 µs; the link carries 781,000 of them a second. Assumed: 8 channels of 800 MT/s (the fastest mode of
/// ONFI 4.0), 8 chips on each, pages of 4 KiB, erase 1 ms. The rest is taken from the MQSim values (`m-32g`);
/// nothing is claimed of its writes but the times of cells.
pub(super) fn z_ssd() -> SsdConfig {
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

/// What the drives below have in common. None of it is published of any of them.
///
/// Assumed: a controller that serves commands out of order and reads first, as today's do (SOS); planes
/// first in the order of allocation, with their frontiers at one offset, since a page and a multi-plane
/// program can then hold what came together; a write buffer of the size of the MQSim drive's. Known:
/// data-centre drives have capacitors. No firmware time: data sheets give latencies of whole drives without
/// the controller's share, so simulated reads are too short by that. Collection keeps few blocks free,
/// since planes are scaled down to few blocks, of which the spare share is a part.
fn data_centre() -> SsdConfig {
    let m = m();
    SsdConfig {
        schedule: ScheduleConfig {
            commit: CommitPolicy::Sos,
            chip: ChipPolicy::ReadsFirst,
            level_frontiers: true,
            ..m.schedule
        },
        ftl: FtlConfig { order: Order::Pcwd, ..m.ftl },
        gc: GcConfig { low: 2, high: 4, ..m.gc },
        ..m
    }
}

/// Kioxia FL6, 800 GB: SLC flash with short reads (XL-FLASH) behind PCIe 4.0 × 4. Its flash is that of "A
/// 128Gb 1b/Cell 96-Word-Line-Layer 3D Flash Memory to Improve Random Read Latency with tPROG=75µs and
/// tR=4µs" (ISSCC 2020, 13.5; the title has the times). A die has 16 planes (ComputerBase, September 2021, on
/// the FL6) and pages of 4 KiB (Toshiba's announcement of August 2019). The bus is 533 MT/s, that of the
/// 96-layer TLC flash of the same maker (ISSCC 2018, as tabulated by AnandTech, February 2021).
///
/// 64 dies of 16 GiB are the least power of two that holds 800 GB, which leaves 27.24 % spare. Endurance: 60
/// drive writes a day for five years (ComputerBase) are 109,500 × 800 GB, which is 79,600 cycles of that
/// flash without any amplification. Assumed: 16 channels, as 8 of 533 MT/s could not carry the 6.2 GB/s of
/// the data sheet; erase 1 ms, as for `z-ssd`; 256 pages per block. Scaled: 64 blocks per plane.
///
/// The model has 8 planes of a die at the most: here a die is two of 8 behind one ready/busy line.
pub(super) fn xl_flash() -> SsdConfig {
    let base = data_centre();
    SsdConfig {
        preset: Preset::XlFlash,
        geometry: Geometry {
            channels: 16,
            chips: 4,
            dies: 2,
            planes: 8,
            blocks: 64,
            pages: 256,
            ready_busy: ReadyBusy::Chip,
            ..base.geometry
        },
        timing: Timing {
            cell: CellKind::Slc,
            read: vec![Nanos::micros(4)],
            program: vec![Nanos::micros(75)],
            erase: Nanos::millis(1),
            bus: 533_000_000,
            endurance: 79_600,
            ..base.timing
        },
        link: LinkConfig { rate: PCIE_4, ..base.link },
        ftl: FtlConfig { spare: 272_400, ..base.ftl },
        ..base
    }
}

/// Samsung PM9A3, U.2, 3.84 TB: TLC flash behind PCIe 4.0 × 4. It has the sixth generation of V-NAND
/// (ComputerBase, May 2020), of which is "A 512Gb 3b/Cell 3D 6th-Generation V-NAND Flash Memory with 82MB/s
/// Write Throughput and 1.2Gb/s Interface" (ISSCC 2019; the title has rate and bus): read 45 µs, two planes
/// (AnandTech's table, February 2021). 32 KiB at 82 MB/s are 400 µs for a page of each plane; Samsung has
/// "below 450 µs" (August 2019). All three pages of a word line have the same times, as no source
/// distinguishes them.
///
/// Pages of 16 KiB, as these chips have, are mapped in units of 4 KiB. The model maps whole pages: a plane of
/// 16 KiB is four of 4 KiB here, which are programmed together and read alone, and a read moves 4 KiB. They
/// are also erased one by one, unlike those of the drive. A word line is programmed at once, so collection
/// has three pages under way.
///
/// 64 dies of 64 GiB leave 12.69 % spare. Assumed: 8 channels; that the dies are those of 512 Gb, though
/// there are some of 256 Gb; erase 3.8 ms (MQSim); 3000 cycles, the client rating of an early V-NAND (ISSCC
/// 2014, 19.5). Scaled: 128 blocks of 384 pages per plane.
pub(super) fn tlc_nvme() -> SsdConfig {
    let base = data_centre();
    SsdConfig {
        preset: Preset::TlcNvme,
        geometry: Geometry {
            channels: 8,
            chips: 8,
            dies: 1,
            planes: 2 * 4,
            blocks: 128,
            pages: 384,
            ..base.geometry
        },
        timing: Timing {
            cell: CellKind::Tlc,
            read: vec![Nanos::micros(45)],
            program: vec![Nanos::micros(400)],
            bus: 1_200_000_000,
            endurance: 3000,
            ..base.timing
        },
        link: LinkConfig { rate: PCIE_4, ..base.link },
        ftl: FtlConfig { spare: 126_900, ..base.ftl },
        gc: GcConfig { copies: 3, ..base.gc },
        ..base
    }
}

/// A SATA drive of 960 GB for data centres with the flash of `tlc-nvme`, as in Samsung's PM893
/// (router-switch.com's comparison with the PM883: sixth generation, 128 layers): 16 dies. SATA 3, 600 MB/s
/// after 8b/10b coding, one direction at a time, 32 tags.
///
/// Assumed: 8 channels; what `tlc-nvme` assumes.
pub(super) fn tlc_sata() -> SsdConfig {
    let base = tlc_nvme();
    SsdConfig {
        preset: Preset::TlcSata,
        geometry: Geometry { chips: 2, ..base.geometry },
        link: LinkConfig { rate: 600_000_000, half_duplex: true, ..base.link },
        queue: QueueConfig { protocol: Protocol::Ahci, depth: 32, ..base.queue },
        ..base
    }
}

/// A drive of 15.36 TB for data centres of QLC flash behind PCIe 4.0 × 4: the flash of "A 1Tb 4b/Cell NAND
/// Flash Memory with tPROG=2ms, tR=110µs and 1.2Gb/s High-Speed IO Rate" (ISSCC 2020; the title has times and
/// bus). All four pages of a word line have the same times. We read the two milliseconds as those of one
/// page: 32 KiB of two planes in them are 16 MB/s, between the 12 MB/s and the 30 MB/s that are the titles of
/// other chips of that kind (ISSCC 2018 and 2020). 128 dies of 128 GiB leave 12.69 % spare. Endurance is the
/// 1,600 cycles that Intel names for its first QLC drive (ComputerBase, August 2018).
///
/// Drives of this class map units of 16 KiB or 64 KiB; here it is the page of 16 KiB: smaller writes read the
/// rest of it first. A read of 4 KiB moves 16 KiB over the bus, as the model knows no part of a page; that is
/// 10 µs too long. A word line is programmed at once, so collection has four pages under way. There is no
/// part that is written as SLC, as drives for clients have: the model cannot express that.
///
/// Assumed: 16 channels of 8 dies; two planes of 16 KiB; erase 3.8 ms (MQSim). Scaled: 128 blocks of 192
/// pages per plane.
pub(super) fn qlc_nvme() -> SsdConfig {
    let base = data_centre();
    SsdConfig {
        preset: Preset::QlcNvme,
        geometry: Geometry {
            channels: 16,
            chips: 8,
            dies: 1,
            planes: 2,
            blocks: 128,
            pages: 192,
            page_bytes: 16 << 10,
            ..base.geometry
        },
        timing: Timing {
            cell: CellKind::Qlc,
            read: vec![Nanos::micros(110)],
            program: vec![Nanos::millis(2)],
            bus: 1_200_000_000,
            endurance: 1600,
            ..base.timing
        },
        link: LinkConfig { rate: PCIE_4, ..base.link },
        ftl: FtlConfig { spare: 126_900, ..base.ftl },
        gc: GcConfig { copies: 4, ..base.gc },
        ..base
    }
}
