//! `tailcut study run real-drives`: drives that can be bought, at points of a file or of the study.

use crate::failure::Failure;
use crate::pool::{IsOver, ThreadPool};
use crate::scenario::nearest::{enumerate, nearest};
use crate::scenario::{self, Source};
use clap::Args;
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use tailcut_base::config::Choice;
use tailcut_base::quantity::parse_time;
use tailcut_base::{BadValue, Nanos};
use tailcut_sim::Scenario;
use tailcut_ssd::Preset;
use tailcut_ssd::config::SsdConfig;
use tailcut_study::drives::catalogue::{DRIVES, RealDrive, preset_of};
use tailcut_study::drives::rows::{self, RowErrors};
use tailcut_study::drives::{MeasuredRow, Measurement, Point, TestError, TestRun};
use tailcut_study::real_drives::{self, Fitted, ID};
use tailcut_study::{Options, Table};

/// Options of `tailcut study run` that only the study real-drives takes.
#[derive(Clone, Debug, Default, Args)]
pub struct RealDriveOptions {
    /// For real-drives: run only these points, a CSV file with the columns drive,offered, or
    /// reads_percent,depth, or drive,pattern,fill_percent
    #[arg(long, value_name = "FILE")]
    pub points: Option<PathBuf>,
    /// For real-drives: compare with the rows of this CSV file, and run its points if --points names no
    /// others
    #[arg(long, value_name = "FILE")]
    pub measured: Option<PathBuf>,
    /// For real-drives: virtual time that each run measures; default: 60s, or 2s with --quick
    #[arg(long, value_name = "TIME", value_parser = parse_length)]
    pub virtual_time: Option<Nanos>,
    /// For real-drives: seeds of each point, whose median is given; default: 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub seeds: Option<u16>,
    /// For real-drives: run only the points of this drive
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    drive: Option<String>,
    /// For real-drives: run the drive of this scenario (TOML), such as one that 'tailcut calibrate' has
    /// fitted, instead of presets
    #[arg(long, value_name = "SCENARIO.toml", hide_short_help = true)]
    scenario: Option<PathBuf>,
    /// For real-drives: override a key of each drive, such as device.preempt.program=none
    #[arg(long = "set", value_name = "KEY=VALUE", hide_short_help = true)]
    sets: Vec<String>,
    /// For real-drives: simulate drives of this many times as many superblocks; presets of measured drives
    /// have an eighth of theirs
    #[arg(
        long,
        value_name = "N",
        hide_short_help = true,
        value_parser = clap::value_parser!(u32).range(1..=64)
    )]
    scale: Option<u32>,
}

fn parse_length(text: &str) -> Result<Nanos, BadValue> {
    let length = parse_time(text)?;
    let range = Nanos::millis(100)..=Nanos::secs(86_400);
    if range.contains(&length) { Ok(length) } else { Err(BadValue::new("it can be 100ms to 24h")) }
}

impl RealDriveOptions {
    /// The first of the options that is given.
    pub fn given(&self) -> Option<&'static str> {
        let Self { points, measured, virtual_time, seeds, drive, scenario, sets, scale } = self;
        let all = [
            ("--points", points.is_some()),
            ("--measured", measured.is_some()),
            ("--virtual-time", virtual_time.is_some()),
            ("--seeds", seeds.is_some()),
            ("--drive", drive.is_some()),
            ("--scenario", scenario.is_some()),
            ("--set", !sets.is_empty()),
            ("--scale", scale.is_some()),
        ];
        all.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
    }

    /// True when drives are those that were fitted, but for their size.
    fn are_presets(&self) -> bool {
        self.scenario.is_none() && self.sets.is_empty()
    }

    /// The drive of each point.
    ///
    /// # Errors
    /// A scenario or keys that cannot be read, points of several drives beside a scenario, and names that no
    /// preset has.
    fn devices(&self, points: &[Point]) -> Result<Vec<SsdConfig>, Failure> {
        if let Some(of_other) = self.sets.iter().find(|set| !set.starts_with("device.")) {
            return Err(Failure::Input(format!(
                "--set {of_other}: only keys of the drive have an effect here, such as device.gc.low=4"
            )));
        }
        let devices = match &self.scenario {
            Some(file) => {
                let names = names_of(points);
                if names.len() > 1 {
                    return Err(Failure::Input(format!(
                        "--scenario {} is one drive, and the points are of {}; choose one with --drive",
                        file.display(),
                        enumerate(&names)
                    )));
                }
                vec![self.read(Scenario::default(), Some(Source::open(file)?))?; points.len()]
            }
            None => presets(points)?
                .into_iter()
                .map(|preset| self.read(Scenario { device: preset.config(), ..Scenario::default() }, None))
                .collect::<Result<_, _>>()?,
        };
        let scale = self.scale.unwrap_or(1);
        Ok(devices
            .into_iter()
            .map(|device| device.with_blocks(device.geometry.blocks.saturating_mul(scale)))
            .collect())
    }

    fn read(&self, mut scenario: Scenario, file: Option<Source>) -> Result<SsdConfig, Failure> {
        scenario::read(&mut scenario, file, &self.sets)?;
        Ok(scenario.device)
    }

    fn test(&self, options: &Options) -> TestRun {
        let base = TestRun { seed: options.seed, ..TestRun::default() };
        let quick = TestRun { warm_up: Nanos::millis(500), measured: Nanos::secs(2), ..base };
        let test = if options.quick { quick } else { base };
        TestRun { measured: self.virtual_time.unwrap_or(test.measured), ..test }
    }
}

/// Runs the points on `jobs` threads, one for each core where that is left open. `report` is called a few
/// times a second with the number of runs done and of all runs.
///
/// # Errors
/// Files that cannot be read, drives that are not known, and whatever ends a run; [`Failure::Interrupted`].
pub fn measure(
    given: &RealDriveOptions,
    options: &Options,
    jobs: Option<usize>,
    is_over: &(dyn Fn() -> bool + Sync),
    report: &mut dyn FnMut(u64, u64),
) -> Result<Table, Failure> {
    let measured = given.measured.as_deref().map(measured_rows).transpose()?.unwrap_or_default();
    let points = points(given, options, &measured)?;
    let devices = given.devices(&points)?;
    let test = given.test(options);
    let seeds = u64::from(given.seeds.unwrap_or(1));
    let of_point = |index: usize| (0..seeds).map(move |seed| (index, seed));
    let runs: Vec<(usize, u64)> = (0..points.len()).flat_map(of_point).collect();
    let work = |&(point, seed): &(usize, u64), is_over: &IsOver<'_>| {
        let Point { drive, load } = &points[point];
        let of_preset = RealDrive::by_name(drive).filter(|_| given.scenario.is_none());
        let of_row = measured.iter().find(|row| row.load == *load).and_then(|row| row.filled_ppm);
        let filled = of_preset.map(|drive| drive.filled_ppm(load)).or(of_row);
        let fill_ppm = filled.unwrap_or(test.fill_ppm);
        let test = TestRun { seed: test.seed.wrapping_add(seed), fill_ppm, ..test };
        load.run(&devices[point], &test, &|| is_over())
    };
    let all = runs.len() as u64;
    let found = ThreadPool::new(jobs, is_over).run(&runs, work, &mut |done| report(done as u64, all));
    let mut of_points: Vec<Vec<Measurement>> = points.iter().map(|_| Vec::new()).collect();
    for (&(point, _), result) in runs.iter().zip(found) {
        match result {
            Some(Ok(measurement)) => of_points[point].push(measurement),
            None | Some(Err(TestError::Interrupted)) => return Err(Failure::Interrupted),
            Some(Err(error)) => {
                let case = real_drives::case(&points[point]);
                let of_input = matches!(error, TestError::Input(_));
                let failure = if of_input { Failure::Input } else { Failure::Operation };
                return Err(failure(format!("{case}: {error}")));
            }
        }
    }
    let fitted = if given.are_presets() { Fitted::Marked } else { Fitted::Unknown };
    let rows = real_drives::rows(&points, &of_points, &measured, fitted);
    Ok(Table::new(ID, options.seed, options.quick, rows).notes(notes(given, &test, seeds)))
}

/// The cases that would run, one a line.
///
/// # Errors
/// A file of points that cannot be read, and everything that is wrong with its rows.
pub fn cases(given: &RealDriveOptions, options: &Options) -> Result<Vec<String>, Failure> {
    Ok(points(given, options, &[])?.iter().map(real_drives::case).collect())
}

fn points(
    given: &RealDriveOptions,
    options: &Options,
    measured: &[MeasuredRow],
) -> Result<Vec<Point>, Failure> {
    let of_row = |row: &MeasuredRow| Point { drive: row.drive.clone(), load: row.load };
    let all = match (&given.points, measured) {
        (Some(file), _) => rows::points(&read(file)?).map_err(|errors| in_file(file, &errors))?,
        (None, []) => real_drives::default_points(options.quick),
        (None, rows) => rows.iter().map(of_row).collect(),
    };
    // A file of repeated measurements names a point several times; the runs would be the same.
    let mut points: Vec<Point> = Vec::new();
    for point in all {
        if !points.contains(&point) {
            points.push(point);
        }
    }
    let Some(drive) = &given.drive else { return Ok(points) };
    let names: Vec<String> = names_of(&points).into_iter().map(String::from).collect();
    points.retain(|point| real_drives::is_same_drive(&point.drive, drive));
    if points.is_empty() {
        return Err(Failure::Input(format!(
            "--drive {drive}: no point is of this drive; they are of {}",
            enumerate(&names.iter().map(String::as_str).collect::<Vec<_>>())
        )));
    }
    Ok(points)
}

/// The drives of points, each once, in ascending order.
fn names_of(points: &[Point]) -> Vec<&str> {
    let names: BTreeSet<&str> = points.iter().map(|point| point.drive.as_str()).collect();
    names.into_iter().collect()
}

/// The rows of a file of measurements.
///
/// # Errors
/// A file that cannot be read, and everything that is wrong with its rows.
pub fn measured_rows(file: &Path) -> Result<Vec<MeasuredRow>, Failure> {
    rows::measured(&read(file)?).map_err(|errors| in_file(file, &errors))
}

/// The text of a file.
///
/// # Errors
/// [`Failure::Input`] if the file cannot be read or is not UTF-8.
pub fn read(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file)
        .map_err(|error| Failure::Input(format!("cannot read {}: {error}", file.display())))
}

/// The first errors of a file, each with its name, and the number of the others.
pub fn in_file(file: &Path, errors: &RowErrors) -> Failure {
    first_errors(file, &errors.0)
}

/// As [`in_file`], of errors in any form.
pub fn first_errors(file: &Path, errors: &[impl fmt::Display]) -> Failure {
    let shown = errors.iter().take(SHOWN).map(|error| format!("{}: {error}", file.display()));
    let mut lines: Vec<String> = shown.collect();
    let more = errors.len().saturating_sub(SHOWN);
    if more > 0 {
        lines.push(format!(
            "and {more} more in this file; correct these, and run it again to see what is left"
        ));
    }
    Failure::Input(lines.join("\n"))
}

/// Errors of a file that are shown: the others are mostly the same slip in further lines.
const SHOWN: usize = 5;

/// The preset of each point.
fn presets(points: &[Point]) -> Result<Vec<Preset>, Failure> {
    let unknown: Vec<&str> =
        points.iter().map(|point| point.drive.as_str()).filter(|drive| preset_of(drive).is_none()).collect();
    let Some(first) = unknown.first() else {
        return Ok(points.iter().filter_map(|point| preset_of(&point.drive)).collect());
    };
    let ids: Vec<&str> = DRIVES.iter().map(|drive| drive.id).filter(|id| !id.is_empty()).collect();
    let known = ids.iter().copied().chain(Preset::NAMES.iter().copied());
    let guess = nearest(first, known).map_or(String::new(), |name| format!("; did you mean '{name}'?"));
    Err(Failure::Input(format!(
        "there is no drive '{first}'{guess}\n  the drives are {}, and the presets {}\n  \
         'tailcut calibrate' makes a drive of measurements",
        enumerate(&ids),
        enumerate(Preset::NAMES)
    )))
}

/// Notes on all rows.
fn notes(given: &RealDriveOptions, test: &TestRun, seeds: u64) -> Vec<String> {
    let mut notes = vec![
        format!(
            "Each run of random writes or a mix measures {} of virtual time after {}; {seeds} of them per \
                point.",
            test.measured, test.warm_up
        ),
        format!(
            "Latencies include {} of the client. Percentiles with fewer than 10 requests beyond are left \
                out.",
            test.client_cost
        ),
    ];
    if let Some(scale) = given.scale.filter(|&scale| scale > 1) {
        notes.push(format!("Drives have {scale} times as many superblocks as their presets."));
    }
    if !given.are_presets() {
        let file = given.scenario.iter().map(|file| file.display().to_string());
        let changes: Vec<String> = file.chain(given.sets.iter().cloned()).collect();
        notes.push(format!(
            "The drive is that of {}; points that it was fitted to are not marked.",
            changes.join(", ")
        ));
    }
    notes
}
