//! A small drive with every kind of key: the scenario of the command's own tests.

use std::ops::RangeInclusive;
use tailcut_base::Nanos;
use tailcut_base::config::{Configure, KeyVisitor, choose, count_u32};

tailcut_base::choice! {
    /// How a victim is chosen.
    pub enum Victim {
        /// The block with the fewest valid pages.
        Greedy = "greedy",
        /// The oldest block.
        Fifo = "fifo",
        /// The best of a few random blocks.
        DChoices = "d-choices",
    }
}

/// The whole scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct TestConfiguration {
    /// Seed of all random streams.
    pub seed: u64,
    /// A name for reports: the key whose value is a text.
    pub title: String,
    /// The device of the test configuration.
    pub device: Device,
    /// The load of the test configuration.
    pub load: Load,
}

/// The device.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Whether there is a write-back buffer.
    pub buffer: bool,
    /// Size of a page in bytes.
    pub page: u64,
    /// Size of the write-back buffer in bytes.
    pub buffer_size: u64,
    /// The flash of the device: a section within a section.
    pub flash: Flash,
    /// The victim policy: the key whose value is chosen by name.
    pub victim: Victim,
}

/// The medium.
#[derive(Clone, Debug, PartialEq)]
pub struct Flash {
    /// Sensing time of each page type.
    pub read: Vec<Nanos>,
    /// Time to program a page.
    pub program: Nanos,
    /// Bus rate in bytes per second.
    pub bus: u64,
    /// Number of planes of each die.
    pub planes: u32,
}

/// The load.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Share of reads, parts per million.
    pub reads: u32,
    /// Exponent of the Zipf distribution of addresses.
    pub skew: f64,
    /// Number of requests in flight.
    pub depth: u64,
}

impl Default for TestConfiguration {
    fn default() -> TestConfiguration {
        let flash =
            Flash { read: vec![Nanos::micros(75)], program: Nanos::micros(750), bus: 333_000_000, planes: 2 };
        TestConfiguration {
            seed: 1,
            title: String::from("built-in"),
            device: Device { buffer: true, page: 4096, buffer_size: 64 << 20, flash, victim: Victim::Greedy },
            load: Load { reads: 700_000, skew: 0.0, depth: 16 },
        }
    }
}

/// The range of a cell time.
const CELL: RangeInclusive<Nanos> = Nanos::micros(1)..=Nanos::millis(50);

impl Configure for TestConfiguration {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        visit.section("device", "The SSD.", &mut self.device);
        visit.count("seed", "Seed of every random stream.", &mut self.seed, 0..=u64::MAX);
        visit.text("title", "Name of this scenario in reports.", &mut self.title);
        visit.section("load", "What is asked of the device.", &mut self.load);
    }
}

impl Configure for Device {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        visit.bytes("page", "Bytes of a page, a power of two.", &mut self.page, 512..=64 << 10);
        visit.section("flash", "The medium.", &mut self.flash);
        visit.flag("buffer", "Whether writes are answered from a buffer.", &mut self.buffer);
        visit.bytes("buffer_size", "Bytes of the buffer.", &mut self.buffer_size, 0..=1 << 40);
        choose(visit, "victim", "Which block is cleaned next.", &mut self.victim);
        if !self.page.is_power_of_two() {
            visit.problem("page", format!("{} is not a power of two", self.page));
        }
        if self.buffer && self.buffer_size < self.page {
            visit.problem("buffer_size", String::from("the buffer holds no page; make it at least one page"));
        }
    }
}

impl Configure for Flash {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        visit.times("read", "Sensing time of each page type.", &mut self.read, CELL);
        visit.time("program", "Program time of a page.", &mut self.program, CELL);
        visit.rate("bus", "Rate of a channel; 0 is infinitely fast.", &mut self.bus, 0..=10_000_000_000);
        count_u32(visit, "planes", "Planes of a die.", &mut self.planes, 1..=8);
    }
}

impl Configure for Load {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        visit.share("reads", "Share of reads.", &mut self.reads, 0..=1_000_000);
        visit.number("skew", "Exponent of the Zipf distribution.", &mut self.skew, 0.0..=4.0);
        visit.count("depth", "Requests in flight.", &mut self.depth, 1..=u64::MAX);
    }
}
