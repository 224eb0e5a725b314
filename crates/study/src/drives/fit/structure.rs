//! What a drive's rows show before anything is fitted: which of a few structures it has.

use super::parameter::saturated;
use crate::drives::rows::DataSheet;
use crate::drives::{Load, MeasuredRow, PERCENTILES};
use tailcut_base::Nanos;
use tailcut_ssd::config::{PacingConfig, PacingMode, QueueArbitration, SsdConfig};
use tailcut_ssd::presets::calibrated::{self, Pcie};

/// The drive that a fit starts from: the structure as `rows` show it, dies, spare space and link as the data
/// sheet has them.
pub fn structure(rows: &[MeasuredRow], sheet: Option<&DataSheet>) -> Structure {
    let mut device = match sheet {
        Some(sheet) => {
            // More than eight GB/s do not fit through four lanes of PCIe 4.0.
            let is_fast = sheet.sequential_read_mb_s.is_some_and(|rate| rate > 8000.0);
            let link = if is_fast { Pcie::Five } else { Pcie::Four };
            calibrated::of_capacity((sheet.capacity_gb * 1e9) as u64, link)
        }
        None => calibrated::pm9a3(),
    };
    device = device.at_scale((device.geometry.blocks / SUPERBLOCKS).max(1));
    device.superblock.erases = 2;
    let mut findings = Vec::new();
    if sheet.is_none() {
        findings.push(
            "no data sheet: capacity, dies, link, and first values that no row shows are those of pm9a3-960"
                .to_string(),
        );
    }
    let Some(row) = saturated(rows) else {
        findings.push(
            "no saturated row: one queue per thread in turn and an even pace are assumed, and nothing shows \
             what the drive sustains"
                .to_string(),
        );
        return Structure { device, findings };
    };
    let middles = at(&row.reads, "50p").zip(at(&row.writes, "50p"));
    if let Some((read, write)) = middles.filter(|(read, write)| *read > READS_AS_SLOW * write) {
        device.queue.arbitration = QueueArbitration::Fifo;
        if let Some(rate) = row.writes_per_s {
            // What writes wait for beside what reads wait for, they wait for in the controller.
            device.queue.commands = ((write - read).max(50.0) * rate / 1e6) as u32;
        }
        findings.push(format!(
            "saturated, reads wait nearly as long as writes ({read:.0} and {write:.0} µs at p50): one queue"
        ));
    } else if middles.is_some() {
        findings.push("saturated, reads overtake writes: a queue per thread, fetched in turn".to_string());
    } else {
        findings.push(
            "the saturated row lacks p50 of reads or writes: a queue per thread, fetched in turn, is assumed"
                .to_string(),
        );
    }
    let waits = ["50p", "90p", "99p"].map(|name| at(&row.writes, name));
    if let [Some(middle), Some(high), Some(highest)] = waits
        && high > SPREAD * middle
        && highest < CUT * high
    {
        let most = row.writes_per_s.unwrap_or(1e6) as u32;
        device.pacing = PacingConfig {
            mode: PacingMode::Window,
            most,
            window: Nanos((high * 1000.0 / 0.9) as u64),
            ..PacingConfig::NONE
        };
        findings.push(format!(
            "saturated, writes wait anything up to {high:.0} µs (p90): admitted until the share of a window \
                is used up"
        ));
    } else if waits.iter().all(Option::is_some) {
        findings.push("saturated, writes wait about equally long: admitted evenly".to_string());
    } else {
        let lacking = "the saturated row lacks p50, p90 or p99 of writes: an even pace is assumed";
        findings.push(lacking.to_string());
    }
    if let Some((load, wait)) = wait_below(rows, row) {
        device.pacing.growth = FOLLOWING.growth;
        if device.pacing.mode == PacingMode::Even {
            (device.pacing.window, device.pacing.burst) = (FOLLOWING.window, FOLLOWING.burst);
        }
        findings.push(format!(
            "at {load}, well below saturation, writes wait up to {wait:.0} µs (p99): the limit follows the \
                recent rate"
        ));
    }
    Structure { device, findings }
}

/// A load at which the drive sustains the writes by far and some still wait long: its name, and their p99 in
/// microseconds.
fn wait_below(rows: &[MeasuredRow], saturated: &MeasuredRow) -> Option<(Load, f64)> {
    let sustained = saturated.writes_per_s?;
    rows.iter().filter(|row| row.writes_per_s.is_some_and(|rate| rate < FAR_BELOW * sustained)).find_map(
        |row| {
            let (middle, high) = (at(&row.writes, "50p")?, at(&row.writes, "99p")?);
            (high > LONG_US && high > LONG * middle).then_some((row.load, high))
        },
    )
}

fn at(of: &[Option<f64>; PERCENTILES.len()], name: &str) -> Option<f64> {
    of[PERCENTILES.iter().position(|percentile| percentile.name == name)?]
}

/// Superblocks of the drive whose candidates are tried, at least: a whole drive has some two thousand, whose
/// steady state takes seconds to construct.
const SUPERBLOCKS: u32 = 45;

/// Below this share of what a drive sustains, writes fit into any buffer and wait for nothing, unless the
/// drive lets in no more than it did before.
const FAR_BELOW: f64 = 0.75;
/// A wait that is no collision with a program or two.
const LONG_US: f64 = 1000.0;
/// Such waits are of few writes: p99 is that many times p50.
const LONG: f64 = 50.0;
/// Shorter windows than those of both drives of this kind that have a preset, 250 and 300 ms, since trials
/// take as long as many of them; the limit grows as much faster.
const FOLLOWING: PacingConfig =
    PacingConfig { growth: 7500, window: Nanos::millis(190), burst: 34, ..PacingConfig::NONE };

/// Reads that wait for this share of what writes wait for are behind them in one queue.
const READS_AS_SLOW: f64 = 0.7;

/// Writes that are spread evenly over a window have a p90 of 1.8 times their p50; twice 0.8 tells that from
/// noise.
const SPREAD: f64 = 1.6;

/// Writes that wait for the end of a window wait for no longer than it is: their p99 is 1.1 times their p90.
const CUT: f64 = 1.15;

/// A drive to start from.
#[derive(Clone, Debug)]
pub struct Structure {
    /// The drive, with everything that is not to be fitted decided.
    pub device: SsdConfig,
    /// What decided its structure, in sentences without a period.
    pub findings: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drives::rows::measured;

    fn of(reads: [u32; 2], writes: [u32; 2]) -> SsdConfig {
        let seven = |[p50, p90]: [u32; 2]| format!("{p50},{p90},{p90},{p90},{p90},{p90},{p90}");
        let idle = seven([50, 60]);
        let text = format!(
            "drive,offered,reads_per_s,writes_per_s,measured_reads,r_50p,r_90p,r_95p,r_99p,r_99p5,r_99p9,r_99p99,w_50p,w_90p,w_95p,w_99p,w_99p5,w_99p9,w_99p99\n\
             x,200000,5700,80000,1000000,{},{}\n\
             x,10000,5050,9950,1000000,{idle},{idle}\n",
            seven(reads),
            seven(writes)
        );
        structure(&measured(&text).expect("good rows"), None).device
    }

    #[test]
    fn the_saturated_row_shows_queues_and_pace() {
        let device = of([900, 1800], [3400, 3700]);
        assert_eq!(device.queue.arbitration, QueueArbitration::RoundRobin);
        assert_eq!(device.pacing.mode, PacingMode::Even);
        let device = of([4800, 5800], [5280, 6670]);
        assert_eq!((device.queue.arbitration, device.queue.commands), (QueueArbitration::Fifo, 38));
        let device = of([250, 550], [2826, 5862]);
        assert_eq!(device.pacing.mode, PacingMode::Window);
        assert!(device.pacing.window > Nanos::millis(6));
        assert_eq!(device.pacing.growth, PacingConfig::NONE.growth);
    }

    #[test]
    fn writes_that_wait_well_below_saturation_follow_the_recent_rate() {
        let row = |offered: u32, rate: u32, [p50, p99]: [u32; 2]| {
            let reads = "60,70,80,90,100,110,120";
            format!("x,{offered},5300,{rate},1000000,{reads},{p50},{p50},{p50},{p99},{p99},{p99},{p99}\n")
        };
        let head = "drive,offered,reads_per_s,writes_per_s,measured_reads,r_50p,r_90p,r_95p,r_99p,r_99p5,r_99p9,r_99p99,\
                    w_50p,w_90p,w_95p,w_99p,w_99p5,w_99p9,w_99p99\n";
        let growth = |waits| {
            let text = format!("{head}{}{}", row(200_000, 80_000, [4000, 4100]), row(40_000, 39_600, waits));
            let device = structure(&measured(&text).expect("good rows"), None).device;
            (device.pacing.growth, device.geometry.blocks)
        };
        assert_eq!(growth([10, 11_000]), (7500, 45));
        assert_eq!(growth([10, 300]), (PacingConfig::NONE.growth, 45));
    }
}
