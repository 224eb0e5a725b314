//! Arbitration of the channels.

use tailcut_base::config::{Configure, KeyVisitor, choose};

tailcut_base::choice! {
    /// Who gets the bus next; first come, first served among equals.
    pub enum Arbitration {
        /// First come, first served; a transaction holds the bus for all of its pages.
        Fifo = "fifo",
        /// Commands of reads and erases, then data: a command is short, and puts a chip to work that would be
        /// idle while it waits for the data of others.
        CommandsFirst = "commands-first",
        /// Data of reads, then everything else (MQSim, which asks its transaction scheduler only when no chip
        /// has data).
        DataFirst = "data-first",
        /// Commands of reads, data of reads, then programs and erases.
        ReadsFirst = "reads-first",
    }
}

/// Configuration of the buses of all channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusConfig {
    /// Which of the transfers that wait for a channel's bus goes next.
    pub arbitration: Arbitration,
}

impl Configure for BusConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        choose(visit, "arbitration", "Who gets a channel's bus next.", &mut self.arbitration);
    }
}
