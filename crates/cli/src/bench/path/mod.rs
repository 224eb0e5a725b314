//! `tailcut bench path`: what ways to wait for a device cost on this machine, carried out by real threads.
//!
//! Forms are measured in turn, every other round backwards, so that what changes slowly meets all of them.
//! Measurements in which others took more than a little of the cores are discarded, by that figure alone.

mod form;
mod interval;
pub(crate) mod others;
mod rounds;
mod show;

use super::arguments::PathBench;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::write_json;
use crate::terminal::{ColorMode, Waiting};
use form::Form;
use rounds::{Cell, RoundSetup};
use std::io::Write;
use std::time::Instant;
use tailcut_base::Nanos;
use tailcut_rt::placement;

/// Measurements of each form that are to count.
const ENOUGH: usize = 7;

/// Measures what the arguments name and prints to `out`, also what was measured before an interruption.
///
/// # Errors
/// Invalid arguments, no measurement that counts, results that cannot be written, or
/// [`Failure::Interrupted`].
pub(crate) fn path(arguments: &PathBench, out: &mut dyn Write) -> Result<(), Failure> {
    let ground = ground(arguments)?;
    let interrupt = Interrupt::listen()
        .map_err(|error| Failure::Operation(format!("cannot listen for Ctrl-C: {error}")))?;
    let patience = arguments.patience.unwrap_or(Nanos::secs(if arguments.quick { 60 } else { 600 }));
    let cells = measure(&ground, patience, &interrupt);
    if cells.iter().all(|cell| cell.kept().count() == 0) {
        return Err(if interrupt.asked() { Failure::Interrupted } else { nothing_counts(&cells) });
    }
    if !arguments.json.as_deref().is_some_and(crate::output::is_stdout) {
        write!(out, "{}", show::text(&ground, &cells, ColorMode::of_stdout()))?;
        out.flush()?;
    }
    if let Some(file) = &arguments.json {
        write_json(&show::json(&ground, &cells, arguments.quick), file, out)?;
    }
    if interrupt.asked() { Err(Failure::Interrupted) } else { Ok(()) }
}

fn nothing_counts(cells: &[Cell]) -> Failure {
    let remedy = "Stop other programs, wait longer (--patience), or go before them (--real-time, as root).";
    Failure::Operation(format!("nothing was measured: {} {remedy}", show::what_counts(cells)))
}

fn ground(arguments: &PathBench) -> Result<RoundSetup, Failure> {
    if arguments.real_time {
        let may = std::thread::spawn(|| placement::go_before_others(1)).join().expect("it only asks");
        may.map_err(|why| Failure::Input(format!("--real-time: {why}; run as root, or leave it away")))?;
    }
    let cores = placement::cores();
    let waiting = arguments.cores.unwrap_or(1) as usize;
    let room = (cores.len() - 1).max(1);
    if waiting == 0 || waiting > room {
        let why = format!("--cores {waiting}: {room} can wait here, because the device needs one for itself");
        return Err(Failure::Input(why));
    }
    let mut threads = match (&arguments.threads[..], arguments.quick) {
        ([], true) => vec![1, 8, 32],
        ([], false) => vec![1, 8, 32, 128],
        (named, _) => named.to_vec(),
    };
    threads.sort_unstable();
    threads.dedup();
    if let Some(wrong) = threads.iter().find(|threads| !(1..=4096).contains(*threads)) {
        return Err(Failure::Input(format!(
            "--threads {wrong}: write numbers from 1 to 4096, such as 1,8,32"
        )));
    }
    Ok(RoundSetup {
        forms: Form::chosen(&arguments.strategies, arguments.quick)?,
        threads,
        waiting: cores[..waiting].to_vec(),
        device: *cores.last().expect("this thread runs somewhere"),
        latency: arguments.latency,
        length: Nanos::millis(if arguments.quick { 100 } else { 200 }),
        is_real_time: arguments.real_time,
    })
}

/// Round after round, until enough counts, patience is at its end, or the user stops it.
fn measure(ground: &RoundSetup, patience: Nanos, interrupt: &Interrupt) -> Vec<Cell> {
    let mut cells = ground.cells();
    let begun = Instant::now();
    for round in 1.. {
        let lacking: Vec<u32> =
            cells.iter().filter(|cell| cell.kept().count() < ENOUGH).map(|cell| cell.threads).collect();
        if lacking.is_empty() || round > ENOUGH && begun.elapsed().as_nanos() > u128::from(patience.0) {
            break;
        }
        let mut order: Vec<&mut Cell> =
            cells.iter_mut().filter(|cell| lacking.contains(&cell.threads)).collect();
        if round % 2 == 0 {
            order.reverse();
        }
        for cell in order {
            if interrupt.asked() {
                return cells;
            }
            let form = &ground.forms[cell.form];
            let _waiting = Waiting::new(format!("round {round}: {form}, {} threads", cell.threads), false);
            ground.measure(cell);
        }
    }
    cells
}
