//! Shared parts of the studies of the key-value server over Shin's multi-SSD engine: the server, its
//! clients, its network.
//!
//! The drives, the modes and the machine are those of the other studies of this dissertation. The
//! dissertation's server is linked to its clients by four times 1 Gbit/s (section 5.4.3). It leaves open
//! how large items are, how many there are, how much memory the server has, how many clients send commands
//! and which mix of YCSB. Here items are records of YCSB (1000 bytes; Cooper et al., SoCC 2010), and memory
//! for items is a sixteenth of what they take on flash ("a relatively small DRAM cache", section 5.3.3).

use super::Options;
use super::shin::Mode;
use tailcut_sim::Scenario;
use tailcut_sim::kv::KvConfig;
use tailcut_sim::measured::Measured;
use tailcut_sim::storage::KvFigures;
use tailcut_workload::address_config::Distribution;
use tailcut_workload::{AddressConfig, SyntheticConfig};

/// A share of gets, of all commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gets(pub u32);

impl Gets {
    /// In parts per million.
    pub(crate) fn ppm(self) -> u32 {
        self.0 * 10_000
    }
}

/// Space for items: enough segments for the log to have a choice, little enough for its content to be kept in
/// the memory of the machine that simulates.
const SPACE: u64 = 1 << 30;
const QUICK_SPACE: u64 = 256 << 20;

/// Items for each million bytes of that space. A record takes 1365, so half of the log is valid: a fuller one
/// copies more than is written to it.
const ITEMS: u64 = 366;

/// Bytes of a segment. One comes free after two flushes, each of which takes two rounds of the token, and
/// eight do at a time.
const SEGMENT: u64 = 8 << 20;

/// The server with `connections` connections.
pub(crate) fn server(options: &Options, connections: u32) -> KvConfig {
    let space = if options.quick { QUICK_SPACE } else { SPACE };
    KvConfig {
        enabled: true,
        items: space / 1_000_000 * ITEMS,
        space,
        memory: space / 16,
        segment: SEGMENT,
        connections,
        links: 4,
        link: 125_000_000,
        ..KvConfig::default()
    }
}

/// Clients that each do one command after another: gets and sets of items that are as popular as YCSB has
/// them.
pub(crate) fn closed(options: &Options, mode: Mode, gets: Gets, clients: u32, seconds: u64) -> Scenario {
    let mut scenario = mode.readers(options, clients, seconds);
    scenario.content = true;
    scenario.kv = server(options, clients);
    scenario.workload.read = gets.ppm();
    popular(&mut scenario.workload);
    scenario
}

/// Draws items as YCSB does.
pub(crate) fn popular(workload: &mut SyntheticConfig) {
    workload.region_share = 1_000_000;
    workload.addresses =
        AddressConfig { distribution: Distribution::ZipfianYcsb, ..AddressConfig::default() };
}

/// The statistics of a run's server.
pub(crate) fn figures(measured: &Measured) -> &KvFigures {
    measured.kv.as_ref().expect("it is the run of a server")
}
