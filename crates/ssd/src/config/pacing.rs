//! Write pacing.

use tailcut_base::Nanos;
use tailcut_base::config::{Configure, KeyVisitor, choose, count_u32};

tailcut_base::choice! {
    /// How the pages of writes come in.
    pub enum PacingMode {
        /// As they come, while the buffer has room.
        None = "none",
        /// Evenly, at the limit.
        Even = "even",
        /// As they come until as many as the limit allows have come in a window; then not until it ends.
        Window = "window",
    }
}

/// Configuration of write pacing: the rate at which pages of writes enter the drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacingConfig {
    /// How the pages of writes are admitted: at once, evenly at a limit, or up to a limit in each window.
    pub mode: PacingMode,
    /// Pages per second that come in at the most.
    pub most: u32,
    /// Share of what is missing to `most` by which the limit exceeds what came in in the window before, in
    /// parts per million; with a million the limit is always `most`.
    pub growth: u32,
    /// Length of the window over which the rate of incoming pages is taken.
    pub window: Nanos,
    /// Pages that may come in at once where they come in evenly.
    pub burst: u32,
}

impl PacingConfig {
    /// Pages of writes enter the drive as they come.
    pub const NONE: PacingConfig = PacingConfig {
        mode: PacingMode::None,
        most: 100_000_000,
        growth: 1_000_000,
        window: Nanos(10_000_000),
        burst: 1,
    };
}

impl Configure for PacingConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        choose(visit, "mode", "How pages of writes come in: none, even or window.", &mut self.mode);
        count_u32(
            visit,
            "most",
            "Pages per second that come in at the most.",
            &mut self.most,
            1..=1_000_000_000,
        );
        visit.share(
            "growth",
            "Share of what is missing to `most` by which the limit exceeds what came in in the window \
                before.",
            &mut self.growth,
            1..=1_000_000,
        );
        visit.time(
            "window",
            "Length of the window over which the rate is taken.",
            &mut self.window,
            Nanos::micros(10)..=Nanos::secs(10),
        );
        count_u32(
            visit,
            "burst",
            "Pages that may come in at once (mode = \"even\").",
            &mut self.burst,
            1..=1 << 20,
        );
    }
}
