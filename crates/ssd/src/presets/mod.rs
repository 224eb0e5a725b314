//! Drives by name. Every figure has its source in this folder, and nowhere else.

pub mod calibrated;
mod papers;
mod personality;
mod products;
mod stalls;

pub use personality::Personality;
pub use stalls::Stalls;

use crate::config::{
    Allocation, Arbitration, BufferConfig, BusConfig, CacheConfig, ChipPolicy, Classes, CommitPolicy,
    DramConfig, FailFast, FdpConfig, FtlConfig, GcConfig, Handling, LinkConfig, MappingLevel, Order,
    PacingConfig, PreemptConfig, Preset, Protocol, QueueArbitration, QueueConfig, ScheduleConfig, SetsConfig,
    SsdConfig, SuperblockConfig, VictimPolicy, WearConfig,
};
use crate::flash::geometry::ReadyBusy;
use crate::flash::nand::Faults;
use crate::flash::timing::CellKind;
use crate::flash::{Geometry, Timing};
use tailcut_base::Nanos;

impl Preset {
    /// The configuration of the drive that the preset describes.
    pub fn config(self) -> SsdConfig {
        match self {
            Preset::M => m(),
            Preset::G => g(),
            Preset::Sprinkler64 => papers::sprinkler_64(),
            Preset::PaReset => papers::pareset(),
            Preset::Femu => papers::femu(),
            Preset::SwanSata => papers::swan_sata(),
            Preset::ShinSata => papers::shin_sata(),
            Preset::Cosmos => papers::cosmos(),
            Preset::ShinEmulated => papers::shin_emulated(),
            Preset::Zssd => products::z_ssd(),
            Preset::XlFlash => products::xl_flash(),
            Preset::TlcNvme => products::tlc_nvme(),
            Preset::TlcSata => products::tlc_sata(),
            Preset::QlcNvme => products::qlc_nvme(),
            Preset::Pm9a3 => calibrated::pm9a3(),
            Preset::Pe8110 => calibrated::pe8110(),
            Preset::P5520 => calibrated::p5520(),
            Preset::Micron7450Pro => calibrated::micron_7450_pro(),
            Preset::Micron7450Max => calibrated::micron_7450_max(),
            Preset::Cm7R => calibrated::cm7_r(),
            Preset::Doekemeijer => calibrated::doekemeijer(),
        }
    }
}

/// Nothing is preempted; where it is, an operation is reset once at the most, which bounds what that costs:
/// wear at most doubles. Times of suspend and reset are those of PAReset (section 1.2), the only ones
/// published together; 10,000 cycles of endurance are MQSim's `Block_PE_Cycles_Limit`.
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
        bus: BusConfig { arbitration: Arbitration::CommandsFirst },
        faults: Faults { factory_bad: 0.0, program_fail: 0.0, erase_fail: 0.0 },
        link: LinkConfig { rate: 3_938_000_000, command: Nanos(0), half_duplex: false, unwritten: Nanos(0) },
        queue: QueueConfig {
            protocol: Protocol::Nvme,
            depth: 1024,
            commands: 0,
            arbitration: QueueArbitration::Fifo,
            firmware: Nanos(0),
            trim: Nanos(0),
        },
        schedule: ScheduleConfig {
            commit: CommitPolicy::Pas,
            chip: ChipPolicy::Fifo,
            classes: Classes::Told,
            write_patience: Nanos::millis(10),
            whole_requests: false,
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
            safe_point: Nanos(0),
            progress: Nanos(0),
            under_backlog: true,
            resets: 1,
            wear_budget: 0,
            when_quicker: true,
            place_programs: false,
            time_programs: false,
            time_erases: false,
        },
        buffer: BufferConfig { size: 32 << 20, flush_above: 0, capacitor: true, dram: DramConfig::AT_ONCE },
        pacing: PacingConfig::NONE,
        cache: CacheConfig::OFF,
        ftl: FtlConfig {
            spare: 70_000,
            mapping: MappingLevel::Page,
            stripe: 1,
            allocation: Allocation::Dynamic,
            order: Order::Cwdp,
            streams: 1,
        },
        superblock: SuperblockConfig::NONE,
        fdp: FdpConfig::OFF,
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
        assert_eq!(config.ftl.logical_pages(&config.geometry) * 4096, 12 << 30);
        config.geometry.blocks = 32;
        assert_eq!(config.check_space(), Ok(()));
    }

    /// The number of blocks is scaled down; everything else is real, including the share of flash visible to
    /// the host.
    #[test]
    fn drives_of_the_market_have_their_dies_and_their_spare_space() {
        for (preset, dies, die_gib, sold) in [
            (Preset::XlFlash, 64, 16, 800_000_000_000_u64),
            (Preset::TlcNvme, 64, 64, 3_840_000_000_000),
            (Preset::TlcSata, 16, 64, 960_000_000_000),
            (Preset::QlcNvme, 128, 128, 15_360_000_000_000),
        ] {
            let config = preset.config();
            assert_eq!(config.geometry.luns(), dies, "{preset}");
            let spare = 1_000_000 - sold * 1_000_000 / ((u64::from(dies) * die_gib) << 30);
            assert!(config.ftl.spare.abs_diff(spare as u32) <= 100, "{preset}: {spare}");
            assert!((24 << 30..=96 << 30).contains(&config.geometry.raw_bytes()), "{preset}");
        }
    }

    /// The title's 82 MB/s are 32 KiB, one page of both planes, per 400 µs.
    #[test]
    fn a_die_programs_as_fast_as_its_paper_says() {
        let config = Preset::TlcNvme.config();
        let at_once = u64::from(config.geometry.planes) * config.geometry.page_bytes;
        assert_eq!(at_once * 1_000_000_000 / config.timing.program[0].0, 81_920_000);
    }
}
