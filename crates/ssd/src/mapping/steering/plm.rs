//! NVMe Predictable Latency Mode: the same control as `run_gc` and `is_ready_for_read`, by the
//! names of the standard (see [`tailcut_base::plm`]).
//!
//! The non-deterministic window is a run of collection without an end; the deterministic one is a quiet
//! period in which the host may write. Writes let programs begin; collection stays held until a plane falls
//! below the low threshold: then the drive enters the non-deterministic window by itself.
//!
//! Reads and time in the deterministic window are not bounded: the model knows no read disturb and no loss of
//! charge that would make a drive move data.

use tailcut_base::plm::{Config, Events, Log, State};

/// The mode of a set.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PredictableLatency {
    pub(super) is_enabled: bool,
    pub(super) config: Config,
    /// Events since the log was last read.
    events: Events,
    /// Warnings that the present window has given already.
    warned: Events,
}

impl PredictableLatency {
    /// Switches the mode on or off; what is being listened to is set in any case. True if the mode has
    /// changed.
    pub(super) fn enable(&mut self, is_enabled: bool, config: Config) -> bool {
        let was_enabled = std::mem::replace(&mut self.is_enabled, is_enabled);
        self.config = config;
        if is_enabled != was_enabled {
            (self.events, self.warned) = (Events::NONE, Events::NONE);
        }
        is_enabled != was_enabled
    }

    /// A deterministic window begins, which has given no warning.
    pub(super) fn begin_window(&mut self) {
        self.warned = Events::NONE;
    }

    /// The deterministic window has taken more writes than it could.
    pub(super) fn exceed(&mut self) {
        let warning = Events::WRITES.when(!self.warned.contain(Events::WRITES));
        self.events = self.events.and(warning).and(Events::EXCEEDED);
    }

    pub(super) fn take_events(&mut self, log: &Log) -> Events {
        let warnings = Events::READS
            .when(log.reads_left <= self.config.reads)
            .and(Events::WRITES.when(log.writes_left <= self.config.writes))
            .and(Events::TIME.when(log.time_left_ms <= self.config.time_ms));
        let mut events = std::mem::take(&mut self.events);
        if log.state == State::Deterministic {
            events = events.and(warnings.without(self.warned));
            self.warned = self.warned.and(warnings);
        }
        events.among(self.config.events)
    }
}
