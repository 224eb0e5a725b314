//! The command around a comparison: options, progress, files.

use super::arguments::CompareArguments;
use super::cells::counted;
use super::csv::Runs;
use super::factor::invalid_setting;
use super::request::Request;
use super::results::Results;
use super::{Plan, grid, html, page};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::Folder;
use crate::output::is_stdout;
#[cfg(feature = "parquet")]
use crate::output::write_file;
use crate::output::write_json;
use crate::sweep::Bar;
use crate::terminal::{ColorMode, Waiting, window};
use std::io::Write;
use std::path::Path;
use tailcut_base::quantity::show_number_of;

/// The results, in the folder of a comparison.
pub const RESULTS: &str = "compare.json";
/// The runs as a table.
pub const TABLE: &str = "compare.csv";

/// Does what the arguments ask and prints to `out`.
///
/// # Errors
/// Invalid options or scenarios, no point with a result, results that cannot be written, or
/// [`Failure::Interrupted`].
pub fn command(arguments: &CompareArguments, out: &mut dyn Write) -> Result<(), Failure> {
    refuse_parquet(arguments)?;
    let request = request(arguments)?;
    let plan = {
        let _waiting = Waiting::new("reading the scenarios", arguments.quiet);
        Plan::new(&request)?
    };
    if arguments.dry_run {
        return list(&plan, &request, out);
    }
    let interrupt = Interrupt::listen()
        .map_err(|error| Failure::Operation(format!("cannot listen for Ctrl-C: {error}")))?;
    let is_over = || interrupt.asked();
    let mut bar = Bar::new("compare", arguments.quiet);
    let results = plan.run(&request, &is_over, &mut |progress| bar.show(progress))?;
    drop(bar);
    let printed = print(&results, arguments, out);
    let kept = keep(&results, arguments);
    printed.and(kept)?;
    match results.points.iter().find_map(|point| point.error.as_ref()) {
        _ if interrupt.asked() => {
            let missing = results.design.missing;
            let are = if missing == 1 { "is" } else { "are" };
            crate::tell!("{} {are} missing; the same command goes on", counted(missing));
            Err(Failure::Interrupted)
        }
        Some(why) if results.points.iter().all(|point| point.error.is_some()) => {
            Err(Failure::Operation(format!("no point has a result; the first one: {why}")))
        }
        _ => Ok(()),
    }
}

fn request(arguments: &CompareArguments) -> Result<Request, Failure> {
    for (option, factors) in [("--vary", &arguments.vary), ("--on-off", &arguments.on_off)] {
        if let Some(wrong) = factors.iter().find_map(invalid_setting) {
            return Err(Failure::Input(format!("{option}: {wrong}")));
        }
    }
    let mut factors = arguments.vary.clone();
    factors.extend(arguments.on_off.iter().cloned());
    if let Some(file) = &arguments.grid {
        factors.extend(grid::load(file)?);
    }
    let base = arguments.common.run_of(arguments.scenario.clone());
    let standard = Request::new(base, factors);
    let columns = if arguments.show.is_empty() { standard.columns.clone() } else { arguments.show.clone() };
    Ok(Request {
        share: arguments.share(),
        seeds: arguments.seeds,
        by: arguments.by.clone(),
        columns,
        pareto: arguments.pareto.clone(),
        tolerance: arguments.tolerance,
        skip_impossible: arguments.skip_impossible,
        out: Some(arguments.out.clone()),
        jobs: arguments.jobs.map(usize::from),
        ..standard
    })
}

/// The points, one a line, and how many runs they are.
fn list(plan: &Plan, request: &Request, out: &mut dyn Write) -> Result<(), Failure> {
    let mut count = 0;
    for levels in plan.points() {
        let named = request.factors.iter().zip(levels);
        let named: Vec<String> =
            named.map(|(f, &level)| format!("{}={}", f.name, f.levels[level].name)).collect();
        writeln!(out, "{}", named.join("  "))?;
        count += 1;
    }
    writeln!(out, "{}, {}", counted(count), show_number_of(count * request.seeds, "run"))?;
    Ok(out.flush()?)
}

fn print(results: &Results, arguments: &CompareArguments, out: &mut dyn Write) -> Result<(), Failure> {
    if arguments.json.as_deref().is_some_and(is_stdout) {
        out.write_all(to_json(results).as_bytes())?;
    } else {
        let text = page::page(results, arguments.top, usize::from(window()), ColorMode::of_stdout());
        out.write_all(text.as_bytes())?;
        writeln!(out, "\nall of it: {}", arguments.out.join(RESULTS).display())?;
    }
    Ok(out.flush()?)
}

/// The results as `compare.json` has them.
#[expect(clippy::missing_panics_doc, reason = "plain data becomes JSON")]
pub fn to_json(results: &Results) -> String {
    let value = serde_json::to_value(results).expect("results are plain data");
    format!("{value:#}\n")
}

/// Writes the results and the table of runs into a folder.
///
/// # Errors
/// A folder or file that cannot be written.
pub fn save(results: &Results, folder: &Path) -> Result<(), Failure> {
    let folder = Folder::create(folder)?;
    folder.write(RESULTS, to_json(results).as_bytes())?;
    Ok(folder.write(TABLE, Runs::of(results).to_csv().as_bytes())?)
}

fn keep(results: &Results, arguments: &CompareArguments) -> Result<(), Failure> {
    save(results, &arguments.out)?;
    if let Some(file) = &arguments.html {
        crate::html::write(file, &html::page(results), None)?;
    }
    #[cfg(feature = "parquet")]
    if let Some(file) = &arguments.parquet {
        let table = super::parquet::to_parquet(results)
            .map_err(|error| Failure::Operation(format!("cannot write Parquet: {error}")))?;
        write_file(file, &table)?;
    }
    match &arguments.json {
        Some(file) if !is_stdout(file) => {
            let value = serde_json::to_value(results).expect("results are plain data");
            write_json(&value, file, &mut std::io::sink())
        }
        _ => Ok(()),
    }
}

fn refuse_parquet(arguments: &CompareArguments) -> Result<(), Failure> {
    if arguments.parquet.is_some() && cfg!(not(feature = "parquet")) {
        return Err(Failure::Input(
            "--parquet: this tailcut was built without Parquet; build it with --features parquet, or use \
                compare.csv"
                .into(),
        ));
    }
    Ok(())
}
