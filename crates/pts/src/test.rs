//! The tests of the specification.

use std::fmt;

/// A test of the specification; the section of PTS 2.0 is given with each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Test {
    /// Random I/Os per second by size and mix of reads and writes (section 7).
    Iops,
    /// Bytes per second of sequential I/Os (section 8).
    Throughput,
    /// Response times of single I/Os (section 9).
    Latency,
    /// Random writes on a fresh drive, until it is saturated (section 10).
    WriteSaturation,
    /// Effect of idle times on a saturated drive (section 11).
    HostIdleRecovery,
    /// Recovery of a drive from another write pattern (section 12).
    CrossStimulusRecovery,
    /// I/Os of many sizes at uneven places, by threads and queue depth (section 13; ECW in PTS-E 1.1).
    CompositeBlockSize,
    /// I/Os per second by threads and queue depth, and histograms of response times at three of these points
    /// (section 14).
    DemandIntensity,
}

impl Test {
    /// All tests in the order of the specification.
    pub const ALL: [Test; 8] = [
        Test::Iops,
        Test::Throughput,
        Test::Latency,
        Test::WriteSaturation,
        Test::HostIdleRecovery,
        Test::CrossStimulusRecovery,
        Test::CompositeBlockSize,
        Test::DemandIntensity,
    ];

    /// Abbreviation of the specification, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Test::Iops => "iops",
            Test::Throughput => "tp",
            Test::Latency => "lat",
            Test::WriteSaturation => "wsat",
            Test::HostIdleRecovery => "hir",
            Test::CrossStimulusRecovery => "xsr",
            Test::CompositeBlockSize => "cbw",
            Test::DemandIntensity => "dirth",
        }
    }

    /// Full name of the test.
    pub fn title(self) -> &'static str {
        match self {
            Test::Iops => "IOPS",
            Test::Throughput => "Throughput",
            Test::Latency => "Latency",
            Test::WriteSaturation => "Write saturation",
            Test::HostIdleRecovery => "Host idle recovery",
            Test::CrossStimulusRecovery => "Cross stimulus recovery",
            Test::CompositeBlockSize => "Composite block size workload",
            Test::DemandIntensity => "Demand intensity, response time histogram",
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.title())
    }
}
