//! A window of a run as Chrome trace JSON, which Perfetto and chrome://tracing read.
//!
//! The format: "Trace Event Format", Google, 2016. Times are in microseconds with three decimals,
//! that is exact. Process 1 holds a track for each channel's bus, process 2 one for each chip,
//! process 3 the requests.

use super::arguments::ExplainArguments;
use super::kept::SavedRun;
use super::recording::{Chips, Requests, Seen, Window};
use super::rerun::Rerun;
use crate::failure::Failure;
use crate::output;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use tailcut_base::quantity::{show_number_of, show_time};
use tailcut_base::{Nanos, Time};
use tailcut_ssd::probe::Outcome;
use tailcut_ssd::{ChipRecord, Handover};

/// Around the slowest request.
const AROUND: Nanos = Nanos::millis(5);
/// Transactions and requests that are exported at most; some 100 MB.
const MOST: usize = 150_000;

const BUSES: u32 = 1;
const CHIPS: u32 = 2;
const REQUESTS: u32 = 3;

/// Writes the export and prints a summary of its content.
pub(super) fn explain(arguments: &ExplainArguments, file: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let kept = SavedRun::open(arguments.folder())?;
    let (window, end) = (choose(arguments, &kept)?, Time(kept.saved.report.until_ns));
    let rerun = Rerun::new(kept, arguments.quiet)?;
    rerun.announce(1);
    let (chips, requests) = rerun.record(window)?;
    if chips.records.is_empty() && requests.seen.is_empty() {
        let show = |time: Time| show_time(time.0 as f64);
        return Err(Failure::Input(format!(
            "nothing happened from {} to {}: move --from, or leave it out to see the slowest request",
            show(window.from),
            show(window.until)
        )));
    }
    output::write_file_with(file, |file| write(file, &chips, &requests))?;
    let mut text = format!(
        "{}: {} and {} from {:.6} s to {:.6} s ({})\n",
        file.display(),
        show_number_of(chips.records.len() as u64, "transaction"),
        show_number_of(requests.seen.len() as u64, "request"),
        window.from.as_secs_f64(),
        window.until.as_secs_f64(),
        show_time(window.until.since(window.from).0 as f64)
    );
    if chips.left_out + requests.left_out > 0 {
        text += &format!(
            "{} and {} at the end of the window were left out: choose a shorter one\n",
            show_number_of(chips.left_out, "transaction"),
            show_number_of(requests.left_out, "request")
        );
    }
    if arguments.until.is_some_and(|until| until > end) {
        text += &format!("the window ends with the run, at {:.6} s, before --until\n", end.as_secs_f64());
    }
    text += "open it at https://ui.perfetto.dev or chrome://tracing\n";
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

fn choose(arguments: &ExplainArguments, kept: &SavedRun) -> Result<Window, Failure> {
    let slowest = kept.slowest()?.into_iter().next();
    let (first, last) = match (arguments.from, &slowest) {
        (Some(from), _) => (from, from + AROUND * 2),
        (None, Some(slow)) => (Time(slow.due.0.saturating_sub(AROUND.0)), slow.completed + AROUND),
        (None, None) => (Time::ZERO, Time::ZERO + AROUND * 2),
    };
    let end = Time(kept.saved.report.until_ns);
    if first >= end {
        let (from, end) = (show_time(first.0 as f64), show_time(end.0 as f64));
        return Err(Failure::Input(format!(
            "the run ended at {end}, before the window begins at {from}; move --from"
        )));
    }
    let until = arguments.until.unwrap_or(last);
    if until <= first {
        let (from, until) = (show_time(first.0 as f64), show_time(until.0 as f64));
        return Err(Failure::Input(format!(
            "the window ends at {until}, before it begins at {from}; move --until"
        )));
    }
    Ok(Window { from: first, until: until.min(end), most: MOST })
}

fn write(file: &mut dyn Write, chips: &Chips, requests: &Requests) -> io::Result<()> {
    writeln!(file, "{{\"displayTimeUnit\": \"ns\", \"traceEvents\": [")?;
    let mut events = Events { file, first: true };
    names(&mut events, chips)?;
    for record in &chips.records {
        transaction(&mut events, record)?;
    }
    for handover in &chips.handovers {
        handed_over(&mut events, handover)?;
    }
    for request in &requests.seen {
        async_slice(&mut events, request)?;
    }
    writeln!(events.file, "\n]}}")
}

/// Events in a list.
struct Events<'a> {
    file: &'a mut dyn Write,
    first: bool,
}

impl Events<'_> {
    fn put(&mut self, event: &Value) -> io::Result<()> {
        let separator = if std::mem::replace(&mut self.first, false) { "" } else { ",\n" };
        write!(self.file, "{separator}{event}")
    }

    /// A slice on a track.
    fn slice(
        &mut self,
        (process, track): (u32, u32),
        name: &str,
        colour: &str,
        (from, until): (Time, Time),
        arguments: Value,
    ) -> io::Result<()> {
        self.put(&json!({
            "ph": "X", "pid": process, "tid": track, "name": name, "cat": "flash", "cname": colour,
            "ts": micros(from.0), "dur": micros(until.since(from).0), "args": arguments,
        }))
    }
}

/// The names of processes and tracks.
fn names(events: &mut Events<'_>, chips: &Chips) -> io::Result<()> {
    for (process, name) in [(BUSES, "buses"), (CHIPS, "chips"), (REQUESTS, "requests")] {
        events.put(&json!({"ph": "M", "pid": process, "name": "process_name", "args": {"name": name}}))?;
        events.put(&json!({"ph": "M", "pid": process, "name": "process_sort_index", "args": {"sort_index": process}}))?;
    }
    let channels: BTreeSet<u32> = chips.records.iter().map(|record| record.channel.get()).collect();
    let luns: BTreeSet<(u32, u32)> =
        chips.records.iter().map(|record| (record.lun.get(), record.channel.get())).collect();
    for channel in channels {
        name(events, BUSES, channel, &format!("channel {channel}"))?;
    }
    for (lun, channel) in luns {
        name(events, CHIPS, lun, &format!("chip {lun} (channel {channel})"))?;
    }
    Ok(())
}

fn name(events: &mut Events<'_>, process: u32, track: u32, name: &str) -> io::Result<()> {
    events
        .put(&json!({"ph": "M", "pid": process, "tid": track, "name": "thread_name", "args": {"name": name}}))
}

/// A transaction with its phases on its chip, and what it had of the bus.
fn transaction(events: &mut Events<'_>, r: &ChipRecord) -> io::Result<()> {
    let (kind, chip, bus) = (r.kind.label(), (CHIPS, r.lun.get()), (BUSES, r.channel.get()));
    let pages: Vec<Value> =
        r.members.iter().map(|m| json!({"logical": m.logical.get(), "physical": m.physical.get()})).collect();
    let colour = colour(kind);
    let mut arguments = json!({ "members": pages });
    if r.suspensions > 0 {
        arguments["suspensions"] = json!(r.suspensions);
        arguments["suspended_us"] = json!(micros(r.suspended.0));
    }
    if let Some(handle) = r.handle {
        arguments["handle"] = json!(handle.get());
    }
    let name = match r.outcome {
        Outcome::Done => kind.to_string(),
        Outcome::Reset => format!("{kind} (reset)"),
    };
    events.slice(chip, &name, colour, (r.start, r.end), arguments)?;
    let phases = [
        ("command", r.start, r.command_end),
        ("cells", r.command_end, r.cell_end),
        ("bus wait", r.cell_end, r.out_start),
    ];
    for (phase, from, until) in phases.into_iter().filter(|(_, from, until)| until > from) {
        events.slice(chip, phase, colour, (from, until), json!({}))?;
    }
    events.slice(bus, kind, colour, (r.start, r.command_end), json!({"chip": r.lun.get()}))?;
    if r.kind.is_read() && r.end > r.out_start {
        events.slice(chip, "data out", colour, (r.out_start, r.end), json!({}))?;
        events.slice(bus, kind, colour, (r.out_start, r.end), json!({"chip": r.lun.get()}))?;
    }
    Ok(())
}

/// The suspend or reset of a program or erase, within its slice.
fn handed_over(events: &mut Events<'_>, h: &Handover) -> io::Result<()> {
    let name = format!("{} of {}", h.handling, h.kind.label());
    let waited = json!({ "asked_us": micros(h.asked.0) });
    events.slice((CHIPS, h.lun.get()), &name, colour(h.kind.label()), (h.stopped, h.free), waited)
}

fn async_slice(events: &mut Events<'_>, request: &Seen) -> io::Result<()> {
    let waits: serde_json::Map<String, Value> = request
        .spans
        .iter()
        .map(|(cause, time)| (cause.label().to_string(), json!(micros(time.0))))
        .collect();
    let op = request.op.to_string();
    events.put(&json!({
        "ph": "b", "pid": REQUESTS, "tid": 0, "cat": op, "name": op, "id": request.number, "ts": micros(request.due.0),
        "args": {
            "request": request.number, "sector": request.sector, "sectors": request.sectors,
            "latency_us": micros(request.latency().0), "waited_us": waits,
        },
    }))?;
    events.put(&json!({
        "ph": "e", "pid": REQUESTS, "tid": 0, "cat": op, "name": op, "id": request.number,
        "ts": micros(request.completed.0),
    }))
}

/// Of the colours that the format has names for.
fn colour(kind: &str) -> &'static str {
    match kind {
        "user read" => "good",
        "user write" => "rail_animation",
        "gc read" => "thread_state_iowait",
        "gc program" => "bad",
        _ => "terrible",
    }
}

/// Nanoseconds as microseconds; exact, for a float holds 2^53.
fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}
