//! Measuring, in the process that does nothing else.

use super::case::{Case, Part};
use super::instant::Instant as InstantDevice;
use crate::process::peak_bytes;
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Instant;
use tailcut::failure::Failure;
use tailcut_base::{Device, Nanos, Time};
use tailcut_sim::Scenario;
use tailcut_sim::world::{Checker, World};
use tailcut_ssd::{Preset, Ssd};
use tailcut_study::drives::{Load, RandomWrites, RequestRate, TestRun};

/// The results of one process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Measured {
    /// Duration of the run by the wall clock, in seconds.
    pub seconds: f64,
    /// Number of requests that the run answered.
    pub requests: u64,
    /// Page reads, page programs and block erases.
    pub flash_commands: u64,
    /// Number of transactions on chips that the run simulated.
    pub transactions: u64,
    /// Peak memory in bytes; `None` where the system does not report it.
    pub peak_bytes: Option<u64>,
}

/// Measures once, in this process.
pub(super) fn measure(case: Case, part: Part) -> Result<Measured, Failure> {
    if let Some((preset, offered)) = case.drive_of_today() {
        return drive_of_today(preset, offered);
    }
    let mut scenario = case.scenario();
    match (case, part) {
        (Case::PreconditionM, _) => Ok(prepare(&scenario)),
        (Case::Start512, _) => Ok(start(&scenario)),
        (_, Part::Whole) => load(&scenario),
        (_, Part::WithoutContent) => {
            scenario.content = false;
            load(&scenario)
        }
        (_, Part::World) => world(&scenario),
        (_, Part::Draw) => draw(&scenario),
    }
}

fn load(scenario: &Scenario) -> Result<Measured, Failure> {
    let mut world = scenario.world((), false).map_err(|error| Failure::Input(error.to_string()))?;
    let begun = Instant::now();
    run(&mut world)?;
    let seconds = begun.elapsed().as_secs_f64();
    let figures = world.device.figures(world.now());
    Ok(Measured {
        flash_commands: figures.flash_commands(),
        transactions: figures.transactions.iter().sum(),
        ..Measured::new(seconds, world.completed())
    })
}

/// A drive under the published test of random writes beside reads, with its preparation.
fn drive_of_today(preset: Preset, offered: RequestRate) -> Result<Measured, Failure> {
    let test = TestRun { measured: Nanos::secs(20), ..TestRun::default() };
    let begun = Instant::now();
    let found = Load::RandomWrites(RandomWrites { offered }).run(&preset.config(), &test, &|| false);
    let found = found.map_err(|error| Failure::Operation(error.to_string()))?;
    Ok(Measured::new(begun.elapsed().as_secs_f64(), found.simulated))
}

fn run<D: Device>(world: &mut World<D>) -> Result<(), Failure> {
    let done = world.run(&mut |_| ControlFlow::Continue(()), &mut |_, _| {});
    done.map(|_| ()).map_err(|error| Failure::Operation(error.to_string()))
}

/// Everything but the drive and its content: issuing, attribution, histogram, digest.
fn world(scenario: &Scenario) -> Result<Measured, Failure> {
    let sectors = sectors(scenario);
    let sources = scenario.sources(sectors, false).map_err(|error| Failure::Input(error.to_string()))?;
    let mut world = World::new(InstantDevice::new(sectors), Checker::off(), sources, scenario.run.clone());
    let begun = Instant::now();
    run(&mut world)?;
    Ok(Measured::new(begun.elapsed().as_secs_f64(), world.completed()))
}

fn draw(scenario: &Scenario) -> Result<Measured, Failure> {
    let sources = scenario.sources(sectors(scenario), false);
    let mut sources = sources.map_err(|error| Failure::Input(error.to_string()))?;
    let (mut ahead, mut drawn) = (Vec::with_capacity(32), 0);
    let begun = Instant::now();
    while drawn < scenario.run.requests {
        ahead.clear();
        sources[0].draw(32, &mut ahead);
        drawn += black_box(&ahead).len() as u64;
    }
    Ok(Measured::new(begun.elapsed().as_secs_f64(), drawn))
}

fn prepare(scenario: &Scenario) -> Measured {
    let begun = Instant::now();
    assert!(black_box(scenario.prepare(())).is_ok(), "the preset has room for its data");
    Measured::new(begun.elapsed().as_secs_f64(), 0)
}

fn start(scenario: &Scenario) -> Measured {
    let begun = Instant::now();
    let ssd = Ssd::new(&scenario.device, scenario.seed, true);
    assert_eq!(black_box(&ssd).next_event(), Time::NEVER, "a new drive is at rest");
    Measured::new(begun.elapsed().as_secs_f64(), 0)
}

fn sectors(scenario: &Scenario) -> u64 {
    let device = &scenario.device;
    device.ftl.logical_pages(&device.geometry) * u64::from(device.geometry.page_sectors())
}

impl Measured {
    fn new(seconds: f64, requests: u64) -> Measured {
        Measured { seconds, requests, flash_commands: 0, transactions: 0, peak_bytes: peak_bytes() }
    }

    /// Wall clock per request in ns.
    pub(super) fn ns_per_request(&self) -> f64 {
        self.seconds * 1e9 / self.requests.max(1) as f64
    }
}
