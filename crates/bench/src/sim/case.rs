//! The cases of the benchmark.

use tailcut_sim::Scenario;
use tailcut_sim::world::Limits;
use tailcut_ssd::flash::Geometry;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset, SsdConfig};
use tailcut_study::drives::RequestRate;
use tailcut_workload::SyntheticConfig;
use tailcut_workload::config::PaceKind;

tailcut_base::choice! {
    /// A measurement. The drives are those that other simulators were measured with: see the
    /// presets.
    pub enum Case {
        /// Reads of 4 KiB, 64 at a time.
        ReadM = "read-m-qd64",
        /// 70 % reads of 4 KiB, 16 at a time.
        MixedM = "mixed-m-qd16",
        /// Writes of 4 KiB under steady garbage collection, 16 at a time.
        WriteG = "write-gc-g-qd16",
        /// Preparing the 32 GiB drive to 75 %.
        PreconditionM = "precondition-m-75",
        /// Creating a drive of 512 GiB.
        Start512 = "start-512g",
        /// A drive of today near the most writes that it sustains: reads beside 70,000 writes a second.
        Pm9a3 = "pm9a3-70k",
        /// The drive `pe8110` at 40,000 writes a second.
        Pe8110 = "pe8110-40k",
        /// The drive `p5520` at 40,000 writes a second.
        P5520 = "p5520-40k",
        /// The drive `7450pro` at 40,000 writes a second.
        Pro7450 = "7450pro-40k",
        /// The drive `7450max` at 40,000 writes a second.
        Max7450 = "7450max-40k",
        /// The drive `cm7r` at 40,000 writes a second.
        Cm7r = "cm7r-40k",
    }
}

tailcut_base::choice! {
    /// What of a load is measured.
    pub enum Part {
        /// All of it.
        Whole = "whole",
        /// Without fingerprints and their checks.
        WithoutContent = "without-content",
        /// The world with a device that answers at once.
        World = "world",
        /// Drawing the requests.
        Draw = "draw",
    }
}

impl Case {
    /// True for loads whose parts are measured, too.
    pub(super) fn is_load(self) -> bool {
        matches!(self, Case::ReadM | Case::MixedM | Case::WriteG)
    }

    /// The drive that can be bought, under the published test of it, and the requests per second that it is
    /// offered.
    pub(super) fn drive_of_today(self) -> Option<(Preset, RequestRate)> {
        let (preset, offered) = match self {
            Case::Pm9a3 => (Preset::Pm9a3, 70_000),
            Case::Pe8110 => (Preset::Pe8110, 40_000),
            Case::P5520 => (Preset::P5520, 40_000),
            Case::Pro7450 => (Preset::Micron7450Pro, 40_000),
            Case::Max7450 => (Preset::Micron7450Max, 40_000),
            Case::Cm7r => (Preset::Cm7R, 40_000),
            _ => return None,
        };
        Some((preset, RequestRate(offered)))
    }

    /// The target, where there is one: requests per second, flash commands per second, seconds, bytes of
    /// peak memory.
    pub(super) fn target(self, quantity: &str) -> Option<f64> {
        match (self, quantity) {
            (Case::ReadM, "requests per second") => Some(4e6),
            (Case::ReadM, "peak memory") => Some(200e6),
            (Case::MixedM, "requests per second") => Some(2e6),
            (Case::WriteG, "requests per second") => Some(1.5e6),
            (Case::WriteG, "flash commands per second") => Some(4.5e6),
            (Case::PreconditionM, "seconds") => Some(0.5),
            (Case::Start512, "seconds") => Some(0.1),
            (Case::Start512, "peak memory") => Some(200e6),
            (Case::Pm9a3, "requests per second") => Some(1e6),
            (_, "peak memory") if self.drive_of_today().is_some() => Some(500e6),
            _ => None,
        }
    }

    /// The scenario, content and all.
    pub(super) fn scenario(self) -> Scenario {
        let (preset, read, depth, fill, requests) = match self {
            Case::ReadM => (Preset::M, 1_000_000, 64, 750_000, 4_000_000),
            Case::WriteG => (Preset::G, 0, 16, 1_000_000, 2_000_000),
            _ => (Preset::M, 700_000, 16, 750_000, 2_000_000),
        };
        Scenario {
            device: if self == Case::Start512 { large() } else { preset.config() },
            precondition: Precondition { state: PreparedState::Steady, fill },
            run: Limits { requests, ..Limits::NONE },
            workload: SyntheticConfig {
                read,
                depth,
                region_share: fill,
                pace: PaceKind::Closed,
                ..SyntheticConfig::default()
            },
            ..Scenario::default()
        }
    }
}

/// 16 channels × 8 chips × 2 dies × 2 planes × 512 blocks × 256 pages × 8 KiB.
fn large() -> SsdConfig {
    let m = Preset::M.config();
    let geometry = Geometry {
        channels: 16,
        chips: 8,
        dies: 2,
        planes: 2,
        blocks: 512,
        pages: 256,
        page_bytes: 8192,
        ..m.geometry
    };
    SsdConfig { geometry, ..m }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_large_drive_has_512_gib() {
        assert_eq!(large().geometry.raw_bytes(), 512 << 30);
        assert!(large().check_space().is_ok());
    }
}
