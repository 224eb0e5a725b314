//! Test runs.

use std::ops::ControlFlow;
use tailcut_base::{Device, Nanos};
use tailcut_sim::world::{Checker, Limits, RunError, World};
use tailcut_ssd::precondition::{PreparedState, prepared_content};
use tailcut_ssd::{Precondition, Ssd, SsdConfig};
use tailcut_workload::{Recipe, Source, Synthetic};

/// No limit except the end of the sources.
pub(super) const TO_THE_END: Limits =
    Limits { ramp: Nanos::ZERO, duration: Nanos::ZERO, requests: 0, round: Nanos::ZERO, until_steady: false };

/// A drive in this prepared state, and a checker that knows its content.
pub(super) fn drive(config: &SsdConfig, state: PreparedState, seed: u64) -> (Ssd, Checker) {
    config.check_space().expect("a drive with room to work");
    let mut ssd = Ssd::new(config, seed, true);
    let mapped = ssd.precondition(&Precondition { state, fill: 1_000_000 }, seed);
    let identity = ssd.identify();
    let mut checker = Checker::new(identity.sectors, identity.page_sectors);
    checker.prepare(mapped, prepared_content);
    (ssd, checker)
}

/// A synthetic source.
pub(super) fn source(name: &str, recipe: &Recipe, seed: u64) -> Box<dyn Source> {
    Box::new(Synthetic::new(name, recipe, seed).expect("a good recipe"))
}

/// Runs a world to its end.
pub(super) fn run<D: Device>(world: &mut World<D>) -> Result<(), RunError> {
    world.run(&mut |_| ControlFlow::Continue(()), &mut |_, _| {}).map(|interrupted| assert!(!interrupted))
}
