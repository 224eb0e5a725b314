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
use tailcut_sim::array::SimulatedArray;
use tailcut_sim::kv::{Backing, SimulatedServer};
use tailcut_sim::path::SimulatedHost;
use tailcut_sim::scenario::InputError;
use tailcut_sim::world::{RequestObserver, World};
use tailcut_ssd::{Probe, Ssd};

/// The message about the coming reruns, with the duration of the original run.
fn announcement(times: u32, requests: u64, elapsed: Option<Duration>) -> String {
    let repeated = if times == 1 { String::from("once") } else { format!("{times} times") };
    let expected = elapsed.map_or(String::new(), |elapsed| {
        format!("; expect {}", show_time(elapsed.as_nanos() as f64 * f64::from(times)))
    });
    format!("repeating the run of {} {repeated}{expected}", counted(requests, "request"))
}

/// A run that can be repeated.
pub struct Rerun {
    kept: SavedRun,
    scenario: Scenario,
    interrupt: Interrupt,
    quiet: bool,
}

impl Rerun {
    /// Of the run that was kept.
    pub fn new(kept: SavedRun, quiet: bool) -> Result<Rerun, Failure> {
        let interrupt = Interrupt::listen()
            .map_err(|error| Failure::Operation(format!("cannot listen for Ctrl-C: {error}")))?;
        Ok(Rerun { scenario: kept.scenario()?, kept, interrupt, quiet })
    }

    /// Prints on standard error how long repeating the run `times` times will take, unless it is quiet.
    pub fn announce(&self, times: u32) {
        if self.quiet {
            return;
        }
        eprintln!("{}", announcement(times, self.kept.saved.report.completed, self.kept.elapsed()));
    }

    /// Looks for one request; `None` when the run had no such number.
    pub fn find(&self, number: u64) -> Result<Option<Seen>, Failure> {
        let poll_result = RequestFinder { number, seen: None };
        if self.scenario.kv.enabled {
            return Ok(self.repeat_server(|| (), poll_result)?.request_observer.seen);
        }
        if self.scenario.host.is_on() {
            return Ok(self.repeat_host(|| (), poll_result)?.request_observer.seen);
        }
        if self.scenario.array.drives > 0 {
            return Ok(self.repeat_array(|| (), poll_result)?.request_observer.seen);
        }
        Ok(self.repeat((), poll_result)?.request_observer.seen)
    }

    /// What chips and requests did in a window.
    pub fn record(&self, window: Window) -> Result<(Chips, Requests), Failure> {
        if self.scenario.kv.enabled {
            let world = self.repeat_server(|| Chips::new(window), Requests::new(window))?;
            let drives = world.device.into_storage().into_drives();
            return Ok(self.chips_and_requests(window, drives, world.request_observer));
        }
        if self.scenario.host.is_on() {
            let world = self.repeat_host(|| Chips::new(window), Requests::new(window))?;
            return Ok(self.chips_and_requests(window, world.device.into_drives(), world.request_observer));
        }
        if self.scenario.array.drives > 0 {
            return self.record_array(window);
        }
        let world = self.repeat(Chips::new(window), Requests::new(window))?;
        Ok((world.device.probe, world.request_observer))
    }

    fn record_array(&self, window: Window) -> Result<(Chips, Requests), Failure> {
        let world = self.repeat_array(|| Chips::new(window), Requests::new(window))?;
        Ok(self.chips_and_requests(window, world.device.into_drives(), world.request_observer))
    }

    fn chips_and_requests(
        &self,
        window: Window,
        drives: Vec<Ssd<Chips>>,
        requests: Requests,
    ) -> (Chips, Requests) {
        let chips = drives.into_iter().map(|drive| drive.probe).collect();
        let geometry = &self.scenario.device.geometry;
        (Chips::of_drives(window, chips, geometry.luns(), geometry.channels), requests)
    }

    /// Repeats the run of a key-value server.
    fn repeat_server<P: Probe, W: RequestObserver>(
        &self,
        probe: impl Fn() -> P,
        request_observer: W,
    ) -> Result<World<SimulatedServer<Backing<P>>, W>, Failure> {
        let skip = self.kept.saved.skip_bad_lines;
        self.run(run::prepare_server(&self.scenario, probe, request_observer, skip, self.quiet))
    }

    /// Repeats the run of drives behind a host.
    fn repeat_host<P: Probe, W: RequestObserver>(
        &self,
        probe: impl Fn() -> P,
        request_observer: W,
    ) -> Result<World<SimulatedHost<P>, W>, Failure> {
        let skip = self.kept.saved.skip_bad_lines;
        self.run(run::prepare_host(&self.scenario, probe, request_observer, skip, self.quiet))
    }

    /// Repeats the run of a drive.
    fn repeat<P: Probe, W: RequestObserver>(
        &self,
        probe: P,
        request_observer: W,
    ) -> Result<World<Ssd<P>, W>, Failure> {
        let skip = self.kept.saved.skip_bad_lines;
        self.run(run::prepare(&self.scenario, probe, request_observer, skip, self.quiet))
    }

    /// Repeats the run of an array.
    fn repeat_array<P: Probe, W: RequestObserver>(
        &self,
        probe: impl Fn() -> P,
        request_observer: W,
    ) -> Result<World<SimulatedArray<P>, W>, Failure> {
        let skip = self.kept.saved.skip_bad_lines;
        self.run(run::prepare_array(&self.scenario, probe, request_observer, skip, self.quiet))
    }

    /// Runs to the end and compares the digests.
    fn run<S: Storage, W: RequestObserver>(
        &self,
        world: Result<World<S, W>, InputError>,
    ) -> Result<World<S, W>, Failure> {
        let mut world = world.map_err(|error| Failure::Input(error.to_string()))?;
        let ends = run::drive(&mut world, &self.scenario, self.quiet, &self.interrupt)?;
        if ends.cut_short && self.interrupt.asked() {
            return Err(Failure::Interrupted);
        }
        self.compare(world.stats.digest)?;
        Ok(world)
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
            "the run cannot be repeated: its digest was {} (version {}) and is now {now} (version {version}); {why}: \
             run the scenario again",
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
