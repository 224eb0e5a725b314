//! A run repeated with observers: runs are deterministic, so the rerun shows what happened in the original.

use super::kept::SavedRun;
use super::recording::{Chips, RequestFinder, Requests, Seen, Window};
use crate::failure::Failure;
use crate::format::counted;
use crate::interrupt::Interrupt;
use crate::run::{self, Scenario};
use std::time::Duration;
use tailcut_base::quantity::show_time;
use tailcut_sim::Storage;
use tailcut_sim::scenario::{AnyWorld, WorldKind};
use tailcut_sim::with_world;
use tailcut_sim::world::{Observer, World};
use tailcut_ssd::Probe;

/// The message about the coming reruns, with the duration of the original run.
fn announcement(times: u32, requests: u64, elapsed: Option<Duration>) -> String {
    let repeated = if times == 1 { String::from("once") } else { format!("{times} times") };
    let expected = elapsed.map_or(String::new(), |elapsed| {
        format!("; expect {}", show_time(elapsed.as_nanos() as f64 * f64::from(times)))
    });
    format!("repeating the run of {} {repeated}{expected}", counted(requests, "request"))
}

/// A run that can be repeated.
pub(super) struct Rerun {
    kept: SavedRun,
    scenario: Scenario,
    interrupt: Interrupt,
    quiet: bool,
}

impl Rerun {
    /// Of the run that was kept.
    pub(super) fn new(kept: SavedRun, quiet: bool) -> Result<Rerun, Failure> {
        let interrupt = Interrupt::listen()
            .map_err(|error| Failure::Operation(format!("cannot listen for Ctrl-C: {error}")))?;
        Ok(Rerun { scenario: kept.scenario()?, kept, interrupt, quiet })
    }

    /// Prints on standard error how long repeating the run `times` times will take, unless it is quiet.
    pub(super) fn announce(&self, times: u32) {
        if self.quiet {
            return;
        }
        crate::tell!("{}", announcement(times, self.kept.saved.report.completed, self.kept.elapsed()));
    }

    /// Looks for one request; `None` when the run had no such number.
    pub(super) fn find(&self, number: u64) -> Result<Option<Seen>, Failure> {
        let mut finder = RequestFinder { number, seen: None };
        with_world!(&mut self.prepare(|| ())?, world => self.run(world, &mut finder))?;
        Ok(finder.seen)
    }

    /// What chips and requests did in a window.
    pub(super) fn record(&self, window: Window) -> Result<(Chips, Requests), Failure> {
        let (mut world, mut requests) = (self.prepare(|| Chips::new(window))?, Requests::new(window));
        with_world!(&mut world, world => self.run(world, &mut requests))?;
        let mut chips: Vec<Chips> = world.into_drives().into_iter().map(|drive| drive.probe).collect();
        if self.scenario.world_kind() == WorldKind::Drive
            && let Some(chips) = chips.pop()
        {
            return Ok((chips, requests));
        }
        let geometry = &self.scenario.device.geometry;
        Ok((Chips::of_drives(window, chips, geometry.luns(), geometry.channels), requests))
    }

    fn prepare<P: Probe>(&self, probe: impl Fn() -> P) -> Result<AnyWorld<P>, Failure> {
        let skip = self.kept.saved.skip_bad_lines;
        run::prepare(&self.scenario, probe, skip, self.quiet)
            .map_err(|error| Failure::Input(error.to_string()))
    }

    /// Runs to the end and compares the digests.
    fn run<S: Storage>(&self, world: &mut World<S>, observer: &mut impl Observer<S>) -> Result<(), Failure> {
        let ends = run::drive(world, &self.scenario, self.quiet, &self.interrupt, observer)?;
        if ends.cut_short && self.interrupt.asked() {
            return Err(Failure::Interrupted);
        }
        self.compare(world.stats.digest)
    }

    fn compare(&self, digest: u64) -> Result<(), Failure> {
        let (then, now) = (&self.kept.saved.report, format!("{digest:016x}"));
        if then.digest == now {
            return Ok(());
        }
        let version = env!("CARGO_PKG_VERSION");
        let why = if then.version == version {
            "the scenario, the trace or the program changed"
        } else {
            "it is of another version"
        };
        Err(Failure::Operation(format!(
            "the run cannot be repeated: its digest was {} (version {}) and is now {now} (version \
             {version}); {why}: run the scenario again",
            then.digest, then.version
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announcement_has_the_expected_time_where_that_is_known() {
        let known = announcement(2, 4_000, Some(Duration::from_millis(1500)));
        assert_eq!(known, "repeating the run of 4000 requests 2 times; expect 3.00 s");
        assert_eq!(announcement(1, 4_000, None), "repeating the run of 4000 requests once");
    }
}
