//! The device queue.

use tailcut_base::Nanos;
use tailcut_base::config::{Configure, KeyVisitor, choose};

tailcut_base::choice! {
    /// The protocol of the device queue, which limits its depth.
    pub enum Protocol {
        /// 32 tags (Serial ATA AHCI 1.3.1, section 1.4), and trim and flush have none: DATA SET MANAGEMENT
        /// and FLUSH CACHE EXT are non-queued commands of ATA (ACS-3, section 4.16.1), which wait until
        /// the drive has nothing else to do and have it to themselves.
        Ahci = "ahci",
        /// Up to 65,535 queues of up to 65,536 entries (NVMe base specification 2.0, 3.3).
        Nvme = "nvme",
    }
}

/// Configuration of the device queue and of the controller behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// The protocol of the device queue: AHCI with up to 32 commands, or NVMe.
    pub protocol: Protocol,
    /// Commands that the device takes at a time, over all queues.
    pub depth: u32,
    /// Of these, how many the controller works on at a time; the others wait in submission queues. 0 for as
    /// many as there are.
    pub commands: u32,
    /// From which submission queue the next command is fetched.
    pub arbitration: QueueArbitration,
    /// The controller's own time for each command: parsing, translation, DRAM.
    pub firmware: Nanos,
    /// How long a trim takes beside that, over AHCI.
    pub trim: Nanos,
}

/// Tags of an AHCI port.
pub const AHCI_DEPTH: u32 = 32;

/// The most sectors of one command: 65,536 with both protocols (ATA READ FPDMA QUEUED, NVMe NLB).
pub const SECTORS_MAX: u32 = 65_536;

impl Configure for QueueConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        choose(visit, "protocol", "Protocol of the device queue: ahci or nvme.", &mut self.protocol);
        tailcut_base::config::count_u32(
            visit,
            "depth",
            "Commands that the device takes at a time.",
            &mut self.depth,
            1..=1 << 20,
        );
        tailcut_base::config::count_u32(
            visit,
            "commands",
            "Commands that the controller works on at a time; others wait in their submission queues. 0: \
                all.",
            &mut self.commands,
            0..=1 << 20,
        );
        choose(
            visit,
            "arbitration",
            "From which submission queue the next command is fetched: fifo or round-robin.",
            &mut self.arbitration,
        );
        visit.time(
            "firmware",
            "The controller's own time for each command.",
            &mut self.firmware,
            Nanos(0)..=Nanos::millis(1),
        );
        visit.time(
            "trim",
            "How long a trim has a drive with AHCI to itself.",
            &mut self.trim,
            Nanos(0)..=Nanos::secs(1),
        );
        if self.protocol == Protocol::Ahci && self.commands > 0 {
            visit.problem(
                "commands",
                "AHCI has one queue, from which the drive takes all; set commands = 0 or protocol = \"nvme\""
                    .to_string(),
            );
        }
        if self.protocol == Protocol::Nvme && self.trim > Nanos::ZERO {
            visit.problem(
                "trim",
                "trims over NVMe are queued and take no time of their own; set trim = \"0s\" or protocol = \
                    \"ahci\""
                    .to_string(),
            );
        }
        if self.protocol == Protocol::Ahci && self.depth > AHCI_DEPTH {
            visit.problem(
                "depth",
                format!(
                    "AHCI has {AHCI_DEPTH} tags, not {}; lower depth or set protocol = \"nvme\"",
                    self.depth
                ),
            );
        }
    }
}

tailcut_base::choice! {
    /// From which submission queue the controller fetches the next command (NVMe base specification 2.0,
    /// 3.4.4).
    pub enum QueueArbitration {
        /// The oldest command of all queues.
        Fifo = "fifo",
        /// One command of each queue in turn.
        RoundRobin = "round-robin",
    }
}
