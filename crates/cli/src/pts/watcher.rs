//! Progress of a running test, and its cancellation.

use crate::interrupt::Interrupt;
use crate::terminal::Waiting;
use std::cell::Cell;
use std::time::{Duration, Instant};
use tailcut_pts::Procedure;
use tailcut_rt::probe::Watch;

/// Shows how far tests are, and knows of Ctrl-C.
pub struct Watcher {
    waiting: Waiting,
    interrupt: Interrupt,
    since: Cell<Instant>,
}

impl Watcher {
    /// A watcher of tests that have not begun; `quiet` hides the progress.
    pub fn new(interrupt: Interrupt, quiet: bool) -> Watcher {
        Watcher { waiting: Waiting::new("opening", quiet), interrupt, since: Cell::new(Instant::now()) }
    }

    /// Notes that a test begins now, and shows its progress.
    pub fn begins_test(&self, procedure: &Procedure) {
        self.since.set(Instant::now());
        self.show(procedure);
    }

    /// Shows the progress of a test.
    pub fn show(&self, procedure: &Procedure) {
        self.waiting.show(line(procedure, self.since.get().elapsed()));
    }
}

/// `IOPS: rounds, round 3; 12 min left at the most`.
fn line(procedure: &Procedure, elapsed: Duration) -> String {
    let (at, round) = procedure.position();
    let Some(stage) = procedure.stages().get(at) else { return format!("{}: done", procedure.test) };
    let text = format!("{}: {}, {}", procedure.test, stage.name, round + 1);
    // A second of the drive takes more or less than a second here.
    let spent = procedure.spent().as_secs_f64();
    if spent == 0.0 {
        return text;
    }
    let left = procedure.left().as_secs_f64() / spent * elapsed.as_secs_f64();
    format!("{text}; {} left at the most", patience(left))
}

/// In the coarseness of a person's patience.
fn patience(seconds: f64) -> String {
    match seconds.ceil() as u64 {
        s if s < 100 => format!("{s} s"),
        s if s < 6000 => format!("{} min", s.div_ceil(60)),
        s => format!("{} h", s.div_ceil(3600)),
    }
}

impl Watch for Watcher {
    fn begins(&self, what: &str) {
        self.waiting.show(what.to_owned());
    }

    fn is_stopped(&self) -> bool {
        self.interrupt.asked()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::Nanos;
    use tailcut_pts::{Figures, Form, Outcome, Settings, Test};

    #[test]
    fn the_rest_is_told_in_the_time_that_goes_by() {
        let mut test =
            Procedure::new(Test::CrossStimulusRecovery, Settings::conforming(Form::Client, 1 << 30));
        assert_eq!(line(&test, Duration::ZERO), "Cross stimulus recovery: purge, 1");
        test.told(Outcome::Done);
        let figures = Figures { took: Nanos::secs(60), ..Figures::default() };
        test.told(Outcome::Measured { figures, latency: None });
        // A minute took a second, and 22 hours less one minute are left.
        let want = "Cross stimulus recovery: group 1 SEQ 1024KiB, 2; 22 min left at the most";
        assert_eq!(line(&test, Duration::from_secs(1)), want);
    }
}
