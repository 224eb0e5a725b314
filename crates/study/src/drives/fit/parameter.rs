//! What a fit may change.

use crate::drives::rows::DataSheet;
use crate::drives::{Load, MEDIAN, MeasuredRow, PERCENTILES};
use tailcut_ssd::config::SsdConfig;

/// A number of a drive's configuration that a fit may change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// The key of the number in a scenario.
    pub key: &'static str,
    /// What `low` and `high` are in: the base unit of the key (`ns`, `bytes`, `ppm`, `1`).
    pub unit: &'static str,
    /// The least value that the fit may choose, in `unit`.
    pub low: f64,
    /// The greatest value that the fit may choose, in `unit`; above `low`.
    pub high: f64,
    /// How far from its first value the number may go within these bounds: by this factor or difference, as
    /// `scale` determines.
    pub reach: f64,
    /// Whether values are compared by their factors or by their differences.
    pub scale: Scale,
    /// What the number means, and the reason for its bounds.
    pub source: &'static str,
    /// Where the first value of the number comes from.
    pub from: Start,
}

/// How values lie between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Steps of the parameter are factors; bounds are above 0.
    Log,
    /// Steps of the parameter are differences.
    Linear,
}

/// Where the first value of a parameter comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// The drive that the fit starts from.
    Drive,
    /// A percentile of reads at the lowest rate, less what is not the flash's.
    IdleRead {
        /// A name of [`PERCENTILES`].
        percentile: &'static str,
        /// Microseconds of client, link and bus.
        less_us: f64,
    },
    /// A percentile of writes at the lowest rate, less the client's part.
    IdleWrite {
        /// A name of [`PERCENTILES`].
        percentile: &'static str,
        /// Microseconds of client and link.
        less_us: f64,
    },
    /// Commands outstanding in the saturated row by Little's law: writes per second × median latency of
    /// writes.
    Outstanding,
    /// Writes per second of the saturated row.
    SustainedWrites,
    /// How long a hundredth of the writes waits beside the others (p99 less p50) in the row of random writes
    /// that is nearest to half of what the drive sustains, divided by [`TIMES_WORK`]: between 5 and 100 µs it
    /// is no collision with a program and no limit on writes, but work of the controller.
    ShortWaits,
    /// A share of the program time with which all dies together write as fast in order as the data sheet has
    /// it. That is the most it can be: the six drives that were fitted by hand have 0.51 to 0.88 of it.
    SequentialWrite,
}

/// The parameters of a fit, in the order of reports.
pub const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "device.timing.read[0]",
        unit: "ns",
        low: 20_000.0,
        high: 80_000.0,
        reach: 1.6,
        scale: Scale::Log,
        source: "cell time of a read of the fast page type; TLC dies at ISSCC 2018 to 2024 have 40 µs to 80 \
            µs on average",
        from: Start::IdleRead { percentile: "10p", less_us: 18.0 },
    },
    Parameter {
        key: "device.timing.read[1]",
        unit: "ns",
        low: 25_000.0,
        high: 100_000.0,
        reach: 1.6,
        scale: Scale::Log,
        source: "cell time of a read of the middle page type",
        from: Start::IdleRead { percentile: "50p", less_us: 16.0 },
    },
    Parameter {
        key: "device.timing.read[2]",
        unit: "ns",
        low: 30_000.0,
        high: 160_000.0,
        reach: 2.0,
        scale: Scale::Log,
        source: "cell time of a read of the slow page type, which senses most often",
        from: Start::IdleRead { percentile: "90p", less_us: 18.0 },
    },
    Parameter {
        key: "device.timing.program",
        unit: "ns",
        low: 250_000.0,
        high: 3_000_000.0,
        reach: 2.5,
        scale: Scale::Log,
        source: "time of a program of a whole word line; decides with the spare share what the drive \
            sustains",
        from: Start::SequentialWrite,
    },
    Parameter {
        key: "device.timing.erase",
        unit: "ns",
        low: 1_000_000.0,
        high: 15_000_000.0,
        reach: 3.0,
        scale: Scale::Log,
        source: "cell time of a block erase; 3 ms to 10 ms by ONFI parts",
        from: Start::Drive,
    },
    Parameter {
        key: "device.timing.program_suspend",
        unit: "ns",
        low: 2_000.0,
        high: 150_000.0,
        reach: 8.0,
        scale: Scale::Log,
        source: "from the safe point of a program until the die can read; carries p90 to p99.9 of reads",
        from: Start::Drive,
    },
    Parameter {
        key: "device.timing.erase_suspend",
        unit: "ns",
        low: 2_000.0,
        high: 1_000_000.0,
        reach: 8.0,
        scale: Scale::Log,
        source: "from the safe point of an erase until the die can read; carries p99.99 of reads",
        from: Start::Drive,
    },
    Parameter {
        key: "device.preempt.safe_point",
        unit: "ns",
        low: 1_000.0,
        high: 300_000.0,
        reach: 8.0,
        scale: Scale::Log,
        source: "mean time until an operation can stop: a program pulse and its verify",
        from: Start::Drive,
    },
    Parameter {
        key: "device.preempt.progress",
        unit: "ns",
        low: 1_000.0,
        high: 400_000.0,
        reach: 8.0,
        scale: Scale::Log,
        source: "minimum time that an operation runs between two suspensions",
        from: Start::Drive,
    },
    Parameter {
        key: "device.preempt.suspensions",
        unit: "1",
        low: 1.0,
        high: 64.0,
        reach: 8.0,
        scale: Scale::Log,
        source: "suspensions after which an operation must finish",
        from: Start::Drive,
    },
    Parameter {
        key: "device.schedule.write_patience",
        unit: "ns",
        low: 300_000.0,
        high: 50_000_000.0,
        reach: 8.0,
        scale: Scale::Log,
        source: "how long reads may go before programs and erases that wait; carries p99.99 of reads",
        from: Start::Drive,
    },
    Parameter {
        key: "device.queue.firmware",
        unit: "ns",
        low: 200.0,
        high: 10_000.0,
        reach: 4.0,
        scale: Scale::Log,
        source: "the controller's own time per command",
        from: Start::IdleWrite { percentile: "50p", less_us: 9.0 },
    },
    Parameter {
        key: "device.queue.commands",
        unit: "1",
        low: 16.0,
        high: 2_048.0,
        reach: 2.5,
        scale: Scale::Log,
        source: "commands that the controller works on; Little's law on the saturated row",
        from: Start::Outstanding,
    },
    Parameter {
        key: "device.ftl.spare",
        unit: "ppm",
        low: 70_000.0,
        high: 450_000.0,
        reach: 2.0,
        scale: Scale::Log,
        source: "flash that holds no data of the host; decides write amplification",
        from: Start::Drive,
    },
    Parameter {
        key: "device.buffer.size",
        unit: "bytes",
        low: 262_144.0,
        high: 67_108_864.0,
        reach: 16.0,
        scale: Scale::Log,
        source: "writes that the drive takes before flash must follow",
        from: Start::Drive,
    },
    Parameter {
        key: "device.superblock.erases",
        unit: "1",
        low: 1.0,
        high: 64.0,
        reach: 64.0,
        scale: Scale::Log,
        source: "blocks of a superblock that are erased at a time; carries p99.9 of writes near what the \
            drive sustains",
        from: Start::Drive,
    },
    Parameter {
        key: "device.superblock.firmware",
        unit: "ns",
        low: 500.0,
        high: 60_000.0,
        reach: 64.0,
        scale: Scale::Log,
        source: "the controller's own time per program; carries p90 to p99.9 of writes below what the drive \
            sustains",
        from: Start::ShortWaits,
    },
    Parameter {
        key: "device.pacing.most",
        unit: "1",
        low: 5_000.0,
        high: 3_000_000.0,
        reach: 1.15,
        scale: Scale::Log,
        source: "writes of 4 KiB per second that the controller admits at the most",
        from: Start::SustainedWrites,
    },
    Parameter {
        key: "device.pacing.growth",
        unit: "ppm",
        low: 1_000.0,
        high: 1_000_000.0,
        reach: 16.0,
        scale: Scale::Log,
        source: "how far the limit of writes exceeds the rate before; decides waits of writes at half of \
            what the drive sustains",
        from: Start::Drive,
    },
    Parameter {
        key: "device.pacing.window",
        unit: "ns",
        low: 500_000.0,
        high: 1_000_000_000.0,
        reach: 16.0,
        scale: Scale::Log,
        source: "the time over which that rate is taken",
        from: Start::Drive,
    },
    Parameter {
        key: "device.pacing.burst",
        unit: "1",
        low: 1.0,
        high: 256.0,
        reach: 16.0,
        scale: Scale::Log,
        source: "writes that it admits at once",
        from: Start::Drive,
    },
];

impl Parameter {
    /// The value at a share of the way from `low` to `high`, 0 to 1.
    pub fn value(&self, share: f64) -> f64 {
        let share = share.clamp(0.0, 1.0);
        match self.scale {
            Scale::Log => self.low * libm::pow(self.high / self.low, share),
            Scale::Linear => self.low + (self.high - self.low) * share,
        }
    }

    /// The share of the way at which a value lies; 0 or 1 for one beyond the bounds.
    pub fn share(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Log => libm::log(value.max(self.low) / self.low) / libm::log(self.high / self.low),
            Scale::Linear => (value - self.low) / (self.high - self.low),
        };
        share.clamp(0.0, 1.0)
    }

    /// The parameter with bounds no farther from `value` than its reach.
    pub fn around(&self, value: f64) -> Parameter {
        let value = value.clamp(self.low, self.high);
        let [low, high] = match self.scale {
            Scale::Log => [value / self.reach, value * self.reach],
            Scale::Linear => [value - self.reach, value + self.reach],
        };
        Parameter { low: low.max(self.low), high: high.min(self.high), ..*self }
    }

    /// Its first value as the rows and the data sheet have it; `None` where it is the drive's, or they do not
    /// have it.
    pub fn read_off(
        &self,
        rows: &[MeasuredRow],
        sheet: Option<&DataSheet>,
        device: &SsdConfig,
    ) -> Option<f64> {
        let pressed = rows.iter().filter_map(|row| Some((pressure(row)?, row)));
        let idle = pressed.min_by_key(|&(pressure, _)| pressure);
        let at = |of: fn(&MeasuredRow) -> &[Option<f64>; PERCENTILES.len()], name: &str, less_us: f64| {
            let index = PERCENTILES.iter().position(|percentile| percentile.name == name)?;
            of(idle?.1)[index].map(|micros| (micros - less_us) * 1e3)
        };
        match self.from {
            Start::Drive => None,
            Start::IdleRead { percentile, less_us } => at(|row| &row.reads, percentile, less_us),
            Start::IdleWrite { percentile, less_us } => at(|row| &row.writes, percentile, less_us),
            Start::Outstanding => {
                let row = saturated(rows)?;
                Some(row.writes_per_s? * row.writes[MEDIAN]? / 1e6)
            }
            Start::SustainedWrites => saturated(rows)?.writes_per_s,
            Start::ShortWaits => {
                let half = saturated(rows)?.writes_per_s? / 2.0;
                let written = rows.iter().filter(|row| rate(row).is_some() && !row.is_saturated());
                let written = written.filter_map(|row| Some((row, (row.writes_per_s? / half).ln().abs())));
                let (row, _) = written.min_by(|a, b| a.1.total_cmp(&b.1))?;
                let highest = PERCENTILES.iter().position(|percentile| percentile.name == "99p")?;
                let wait = row.writes[highest]? - row.writes[MEDIAN]?;
                SHORT_WAITS_US.contains(&wait).then_some(wait / TIMES_WORK * 1e3)
            }
            Start::SequentialWrite => {
                let pages = device.geometry.plane_count() * device.pages_per_program();
                let bytes = f64::from(pages) * device.geometry.page_bytes as f64;
                Some(bytes / (sheet?.sequential_write_mb_s? * 1e6) * 1e9 * OF_SEQUENTIAL)
            }
        }
    }
}

/// p99 of the wait for a server that is busy for a fifth of the time, in its constant service times (M/D/1).
const TIMES_WORK: f64 = 1.5;

/// Waits of a hundredth of the writes, in microseconds, that the controller's work explains.
const SHORT_WAITS_US: std::ops::RangeInclusive<f64> = 5.0..=100.0;

/// The middle of the six drives that were fitted by hand.
const OF_SEQUENTIAL: f64 = 0.79;

/// The saturated row of the highest rate.
pub(super) fn saturated(rows: &[MeasuredRow]) -> Option<&MeasuredRow> {
    let is_saturated = |row: &&MeasuredRow| rate(row).is_some() && row.is_saturated();
    rows.iter().filter(is_saturated).max_by_key(|row| rate(row))
}

/// The offered rate of a row of random writes.
fn rate(row: &MeasuredRow) -> Option<u64> {
    match row.load {
        Load::RandomWrites(load) => Some(load.offered.0),
        Load::Mix(_) | Load::Amplification(_) => None,
    }
}

/// Orders rows of one kind of load by how busy they keep a drive; `None` for loads without latencies.
fn pressure(row: &MeasuredRow) -> Option<u64> {
    match row.load {
        Load::RandomWrites(load) => Some(load.offered.0),
        // Each write delays reads.
        Load::Mix(load) => Some(u64::from(load.depth) * u64::from(101 - load.reads_percent.min(100))),
        Load::Amplification(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_sim::keys;
    use tailcut_ssd::Preset;

    #[test]
    fn every_parameter_is_a_key_and_its_bounds_are_in_order() {
        let mut scenario =
            tailcut_sim::Scenario { device: Preset::Pm9a3.config(), ..tailcut_sim::Scenario::default() };
        for parameter in PARAMETERS {
            assert!(keys::get(&mut scenario, parameter.key).is_ok(), "{}", parameter.key);
            assert!(parameter.low < parameter.high, "{}", parameter.key);
            assert!(parameter.scale == Scale::Linear || parameter.low > 0.0, "{}", parameter.key);
            for share in [0.0, 0.3, 1.0] {
                assert!((parameter.share(parameter.value(share)) - share).abs() < 1e-9, "{}", parameter.key);
            }
            assert_eq!(parameter.share(parameter.high * 10.0), 1.0);
        }
    }

    #[test]
    fn a_parameter_reaches_around_its_first_value_within_its_bounds() {
        let parameter = |scale, reach| Parameter { low: 1e3, high: 1e6, reach, scale, ..PARAMETERS[0] };
        let near = parameter(Scale::Log, 4.0).around(20e3);
        assert_eq!((near.low, near.high), (5e3, 80e3));
        let near = parameter(Scale::Linear, 5e3).around(20e3);
        assert_eq!((near.low, near.high), (15e3, 25e3));
        let at_bound = parameter(Scale::Log, 4.0).around(5e6);
        assert_eq!((at_bound.low, at_bound.high), (250e3, 1e6), "a value beyond a bound counts as the bound");
    }

    #[test]
    fn starts_are_read_off_rows_and_data_sheet() {
        let text = "drive,offered,reads_per_s,writes_per_s,measured_reads,r_50p,r_90p,r_95p,r_99p,r_99p5,r_99p9,r_99p99,\
                    w_50p,w_90p,w_95p,w_99p,w_99p5,w_99p9,w_99p99\n\
                    x,200000,5700,80000,1000000,900,900,900,900,900,900,900,4000,4000,4000,4000,4000,4000,4000\n\
                    x,10000,5050,9950,1000000,60,70,80,90,100,110,120,10,11,12,13,14,15,16\n";
        let rows = crate::drives::rows::measured(text).expect("good rows");
        let device = Preset::Pm9a3.config();
        let first = |key: &str| PARAMETERS.iter().find(|parameter| parameter.key == key).expect("a key");
        assert_eq!(first("device.timing.read[1]").read_off(&rows, None, &device), Some(44_000.0));
        assert_eq!(first("device.queue.firmware").read_off(&rows, None, &device), Some(1_000.0));
        assert_eq!(first("device.timing.program").read_off(&rows, None, &device), None);
        let sheet = DataSheet {
            drive: "x".into(),
            capacity_gb: 960.0,
            sequential_read_mb_s: None,
            sequential_write_mb_s: Some(2_097.152),
            random_read_iops: None,
            random_write_iops: None,
        };
        // 16 dies of 24 pages of 4 KiB.
        let program = first("device.timing.program").read_off(&rows, Some(&sheet), &device);
        assert!(program.is_some_and(|program| (program - 0.79 * 0.75e6).abs() < 1.0), "{program:?}");
        assert_eq!(first("device.queue.commands").read_off(&rows, None, &device), Some(320.0));
        assert_eq!(first("device.pacing.most").read_off(&rows, None, &device), Some(80_000.0));
        // p99 of writes is 3 µs more than p50 in the row of 10,000, and 30 µs in the other.
        assert_eq!(first("device.superblock.firmware").read_off(&rows, None, &device), None);
        let longer = text.replace("10,11,12,13,14,15,16", "10,15,20,40,45,60,90");
        let rows = crate::drives::rows::measured(&longer).expect("good rows");
        assert_eq!(first("device.superblock.firmware").read_off(&rows, None, &device), Some(20_000.0));
    }
}
