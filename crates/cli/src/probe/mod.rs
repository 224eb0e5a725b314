//! `tailcut probe`: what a drive is like, and a simulated one that resembles it.

pub mod arguments;
pub mod destructive_check;
mod file;
mod fio_jobs;
mod form;
mod page;

use crate::bench::path::others::LoadBaseline;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output;
use crate::output::is_stdout;
use crate::output::write_json;
use crate::terminal::{ColorMode, Waiting};
use arguments::ProbeArguments;
use destructive_check::DestructiveCheck;
pub(crate) use fio_jobs::PREPARES;
use std::io::Write;
use std::path::Path;
use tailcut_base::config::Choice;
use tailcut_rt::file::FileOptions;
use tailcut_rt::placement::cores;
use tailcut_rt::probe::{
    Comparison, End, Estimate, Measured, MeasurementLimits, Pace, Part, Prober, RealTime, Unwatched,
    VirtualTime, Watch, compare, simulate,
};
use tailcut_rt::{Clock, Drive, EmulatedSsd, FileDrive};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset, Ssd};

/// The results of a probe and the estimate derived from them.
pub struct ProbeOutcome {
    /// Name of the drive as the user gave it: a path or a preset.
    pub name: String,
    /// Notes about how it was measured, each as a sentence.
    pub notes: Vec<String>,
    /// The measurements of the drive.
    pub measured: Measured,
    /// The simulated drive that was built from the measurements; `None` if not one read was answered.
    pub estimate: Option<Estimate>,
    /// The metrics of the measured and of the simulated drive beside each other.
    pub comparison: Vec<Comparison>,
}

/// Measures a drive and prints to `out` what it is like.
///
/// # Errors
/// The device cannot be opened or is in use, a measurement fails, results that cannot be written, or
/// [`Failure::Interrupted`]. What was measured before is printed.
pub fn probe(arguments: &ProbeArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if let (Some(device), Some(file)) = (&arguments.device, &arguments.fio_jobs) {
        return fio_jobs::write(device, file, arguments, out);
    }
    let interrupt = Interrupt::listen()
        .map_err(|error| Failure::Operation(format!("cannot listen for Ctrl-C: {error}")))?;
    let watcher = Watcher { waiting: Waiting::new("opening", arguments.quiet), interrupt };
    let (name, notes, measured) = match (&arguments.device, arguments.simulated) {
        (Some(device), _) => of_device(device, arguments, &watcher)?,
        (None, Some(preset)) => of_preset(preset, arguments, &watcher),
        (None, None) => unreachable!("one of them is required"),
    };
    watcher.begins("probing the simulated drive");
    let estimate = Estimate::of(&measured);
    // A stopped measurement still yields results.
    let simulated = estimate.as_ref().map(|estimate| simulate(estimate, &measured, &Unwatched));
    let comparison = simulated.map_or(Vec::new(), |simulated| compare(&measured, &simulated));
    drop(watcher);
    let found = ProbeOutcome { name, notes, measured, estimate, comparison };
    print_report(&found, arguments, out)?;
    match found.measured.end {
        End::Complete => Ok(()),
        End::Stopped => Err(Failure::Interrupted),
        End::Failed(why) => {
            Err(Failure::Operation(format!("{}: {why}; what was measured before is shown", found.name)))
        }
    }
}

fn print_report(
    found: &ProbeOutcome,
    arguments: &ProbeArguments,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if !arguments.json.as_deref().is_some_and(is_stdout) {
        out.write_all(page::page(found, arguments, ColorMode::of_stdout()).as_bytes())?;
        out.flush()?;
    }
    if let (Some(file), Some(estimate)) = (&arguments.preset, &found.estimate) {
        output::write_file(file, file::scenario(found, estimate).as_bytes())?;
    }
    match &arguments.json {
        Some(file) => write_json(&form::to_json(found), file, out),
        None => Ok(()),
    }
}

/// The most requests that a device is given at a time.
pub const DEPTH: u16 = 256;

/// More than this share of the cores taken by others disturbs.
pub const DISTURBED: f64 = 0.05;

type Told = (String, Vec<String>, Measured);

fn of_device(device: &Path, arguments: &ProbeArguments, watch: &Watcher) -> Result<Told, Failure> {
    let name = device.display().to_string();
    let destructive_check = DestructiveCheck::of(device, "probe", ", or probe it without --destroy-data")?;
    let claim = if arguments.destroy_data { destructive_check.claim()? } else { None };
    if arguments.destroy_data {
        crate::tell!("{}", destructive_check.sentence());
    }
    // Another opener will not close it soon, so do not wait.
    let options = FileOptions {
        is_read_only: !arguments.destroy_data,
        is_hasty: true,
        depth: Some(DEPTH),
        ..FileOptions::default()
    };
    let drive = FileDrive::open(device, options).map_err(|why| Failure::Input(format!("probe: {why}")))?;
    let mut notes = destructive_check.notes(arguments.destroy_data);
    if !drive.is_direct() {
        notes.push(String::from(
            "direct I/O is refused: what is measured is the page cache, and not what lies under it; take a \
             file elsewhere, or the device itself",
        ));
    }
    let others = LoadBaseline::now(&cores());
    let pace = RealTime::new(Clock::start());
    let mut prober = Prober::new(drive, pace, arguments.effort(), arguments.seed, watch);
    let measured = measure(&mut prober, arguments.destroy_data);
    drop((prober, claim));
    notes.extend(others.and_then(|others| others.share()).filter(|&share| share > DISTURBED).map(|share| {
        format!(
            "other programs took {:.0} % of the cores meanwhile: rates are too low, and the upper \
             percentiles are theirs; probe again when they rest",
            100.0 * share
        )
    }));
    Ok((name, notes, measured))
}

fn of_preset(preset: Preset, arguments: &ProbeArguments, watch: &Watcher) -> Told {
    let mut ssd = Ssd::new(&preset.config(), arguments.seed, false);
    let state = if arguments.destroy_data { PreparedState::Empty } else { PreparedState::Sequential };
    ssd.precondition(&Precondition { state, fill: 1_000_000 }, arguments.seed);
    let drive = EmulatedSsd::inline(ssd);
    // Virtual time costs as much as there are requests in it.
    let effort = arguments.effort();
    let effort = MeasurementLimits { ios: if arguments.quick { 4_000 } else { 20_000 }, ..effort };
    let mut prober = Prober::new(drive, VirtualTime::default(), effort, arguments.seed, watch);
    let mut measured = measure(&mut prober, arguments.destroy_data);
    // The prepared drive holds data that its model of content does not show.
    measured.identity.holes = 0.0;
    let notes =
        vec![format!("a simulated drive in virtual time; preset {} has its parameters", preset.name())];
    (preset.name().to_owned(), notes, measured)
}

fn measure<D: Drive, P: Pace>(prober: &mut Prober<D, P>, is_destroying: bool) -> Measured {
    let mut measured = prober.nothing();
    let parts = if is_destroying { &Part::ALL[..] } else { &[Part::Reads] };
    prober.measure(parts, &mut measured);
    measured
}

/// Shows what is being measured, and handles Ctrl-C.
struct Watcher {
    waiting: Waiting,
    interrupt: Interrupt,
}

impl Watch for Watcher {
    fn begins(&self, what: &str) {
        self.waiting.show(what.to_owned());
    }

    fn is_stopped(&self) -> bool {
        self.interrupt.asked()
    }
}
