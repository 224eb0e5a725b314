//! The link to the host.

use tailcut_base::Nanos;
use tailcut_base::config::{Configure, KeyVisitor};

/// Configuration of the link between host and drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkConfig {
    /// Bandwidth of the link in each direction, in bytes per second.
    pub rate: u64,
    /// Time that each command occupies the link beside its data: with the data of a write, or with the
    /// completion of anything else. A completion without data takes the time of 16 bytes at least.
    pub command: Nanos,
    /// True when only one direction can be used at a time (SATA).
    pub half_duplex: bool,
    /// Time that each page without data, one that was never written or is trimmed, occupies the link to the
    /// host beside the bytes of its zeros: firmware that fills pages in does it one after another.
    pub unwritten: Nanos,
}

impl Configure for LinkConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        visit.rate(
            "rate",
            "Bandwidth of the host link, in each direction.",
            &mut self.rate,
            1_000_000..=1_000_000_000_000,
        );
        visit.time(
            "command",
            "What each command occupies the link for, beside its data.",
            &mut self.command,
            Nanos(0)..=Nanos::millis(1),
        );
        visit.flag("half_duplex", "Only one direction at a time, as with SATA.", &mut self.half_duplex);
        visit.time(
            "unwritten",
            "What each page that is read and holds no data occupies the link for, beside its zeros.",
            &mut self.unwritten,
            Nanos(0)..=Nanos::millis(1),
        );
    }
}
