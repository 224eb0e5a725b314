//! The whole timeline of one request.

use super::kept::Kept;
use super::recording::{Chips, Seen, Window};
use super::rerun::Rerun;
use crate::arguments::ExplainArguments;
use crate::failure::Failure;
use crate::show::{short_time, waits};
use crate::terminal::{Align, Bars, Ink, Table, Tone, window};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use tailcut_base::quantity::{show_bytes, show_time};
use tailcut_base::{Cause, Nanos, SECTOR_BYTES, Time};
use tailcut_sim::report::Wait;
use tailcut_ssd::ChipRecord;

/// Transactions that are kept at most.
const MOST: usize = 1 << 20;
/// Transactions of a chip that are shown at most.
const SHOWN: usize = 32;

/// A request with all that happened to it. Moments are in ns since the start of the run.
#[derive(Debug, Serialize)]
struct Timeline {
    number: u64,
    op: String,
    sector: u64,
    sectors: u32,
    due_ns: u64,
    submitted_ns: u64,
    completed_ns: u64,
    latency_ns: u64,
    spans: Vec<Span>,
    /// Its own memory requests.
    own: Vec<Occupation>,
    /// What its chips (or all chips, when it has none of its own) did meanwhile.
    meanwhile: Vec<Occupation>,
    left_out: u64,
}

#[derive(Debug, Serialize)]
struct Span {
    cause: &'static str,
    ns: u64,
    meaning: &'static str,
}

/// A transaction on a chip.
#[derive(Clone, Debug, Serialize)]
struct Occupation {
    unit: u32,
    channel: u32,
    kind: &'static str,
    logical_pages: Vec<u32>,
    start_ns: u64,
    command_end_ns: u64,
    cell_end_ns: u64,
    out_start_ns: u64,
    end_ns: u64,
}

/// Prints the timeline of request `number`.
pub fn explain(arguments: &ExplainArguments, number: u64, out: &mut dyn Write) -> Result<(), Failure> {
    let kept = Kept::open(&arguments.folder)?;
    let completed = kept.saved.report.completed;
    if number >= completed {
        return Err(Failure::Input(format!(
            "the run has no request {number}; its {completed} requests are numbered from 0"
        )));
    }
    let known = kept.slowest()?.into_iter().find(|slow| slow.number == number);
    let rerun = Rerun::new(kept, arguments.quiet)?;
    let (due, end) = match known {
        Some(slow) => (slow.due, slow.completed),
        None => {
            let seen = rerun.find(number)?.expect("a run of the same digest has the same requests");
            (seen.due, seen.completed)
        }
    };
    let (chips, requests) = rerun.record(Window { from: due, until: end, most: MOST })?;
    let Some(request) = requests.seen.iter().find(|seen| seen.number == number) else {
        let gone = "too many requests overlap it; choose a request with a shorter latency";
        return Err(Failure::Operation(format!("request {number}: {gone}")));
    };
    let timeline = Timeline::new(request, &chips);
    let text = if arguments.json {
        serde_json::to_string_pretty(&timeline).expect("plain data") + "\n"
    } else {
        show(&timeline, usize::from(window()), Tone::of_stdout())
    };
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

impl Timeline {
    fn new(request: &Seen, chips: &Chips) -> Timeline {
        let is_own = |record: &&ChipRecord| {
            let within = record.start >= request.submitted && record.end <= request.completed;
            within && record.members.iter().any(|member| member.command == Some(request.id))
        };
        let mut own: Vec<Occupation> = chips.records.iter().filter(is_own).map(Occupation::new).collect();
        own.sort_by_key(|o| (o.start_ns, o.unit));
        let is_beside = |record: &&ChipRecord| {
            let meanwhile = record.end > request.submitted && record.start < request.completed;
            meanwhile && own.iter().any(|o| o.unit == record.unit)
        };
        let all = chips.records.iter().filter(|record| own.is_empty() || is_beside(record));
        let mut meanwhile: Vec<Occupation> = all.map(Occupation::new).collect();
        // The chip that the request waited for longest comes first.
        let last = own.iter().max_by_key(|o| o.end_ns).map(|o| o.unit);
        meanwhile.sort_by_key(|o| (Some(o.unit) != last, o.unit, o.start_ns));
        Timeline {
            number: request.number,
            op: request.op.to_string(),
            sector: request.sector,
            sectors: request.sectors,
            due_ns: request.due.0,
            submitted_ns: request.submitted.0,
            completed_ns: request.completed.0,
            latency_ns: request.latency().0,
            spans: spans(request),
            own,
            meanwhile,
            left_out: chips.left_out,
        }
    }
}

/// The spans in the order in which a request meets them: those of the host come first.
fn spans(request: &Seen) -> Vec<Span> {
    let is_host = |cause: Cause| matches!(cause, Cause::HostQueue | Cause::Tag);
    let mut spans: Vec<(Cause, Nanos)> = request.spans.iter().collect();
    spans.sort_by_key(|&(cause, _)| if is_host(cause) { cause as usize } else { usize::MAX });
    let span =
        |(cause, time): (Cause, Nanos)| Span { cause: cause.label(), ns: time.0, meaning: cause.meaning() };
    spans.into_iter().map(span).collect()
}

impl Occupation {
    fn new(record: &ChipRecord) -> Occupation {
        Occupation {
            unit: record.unit,
            channel: record.channel,
            kind: record.kind.label(),
            logical_pages: record.members.iter().map(|member| member.logical).collect(),
            start_ns: record.start.0,
            command_end_ns: record.command_end.0,
            cell_end_ns: record.cell_end.0,
            out_start_ns: record.out_start.0,
            end_ns: record.end.0,
        }
    }

    /// The pages, as far as they fit a column.
    fn pages(&self) -> String {
        match self.logical_pages.as_slice() {
            _ if self.kind == "erase" => String::from("-"),
            [] => String::from("-"),
            [one] => one.to_string(),
            [first, rest @ ..] => format!("{first} +{}", rest.len()),
        }
    }
}

fn show(t: &Timeline, width: usize, tone: Tone) -> String {
    let heading = |text: &str| format!("\n{}\n", tone.paint(Ink::Heading, text));
    let mut text = format!(
        "request {}: {} of {} at sector {}, {}\ndue {:.9} s, submitted {}, completed {}\n",
        t.number,
        t.op,
        show_bytes(f64::from(t.sectors) * SECTOR_BYTES as f64),
        t.sector,
        show_time(t.latency_ns as f64),
        Time(t.due_ns).as_secs_f64(),
        after(t.due_ns, t.submitted_ns),
        after(t.due_ns, t.completed_ns)
    );
    text += &heading("what it waited for, in order");
    let mut bars = Bars::new();
    for span in &t.spans {
        bars.add(span.cause, span.ns as f64 / t.latency_ns.max(1) as f64, show_time(span.ns as f64));
    }
    text += &bars.render(width, tone);
    text += &heading("what that means");
    text += &meanings(t, width);
    if t.own.is_empty() {
        text += &heading("what all chips did meanwhile (it had no work on a chip)");
        text += &totals(t, tone);
    } else {
        text += &heading("its own work on chips (moments since it was due)");
        text += &table(&t.own, t.due_ns, tone);
        text += &heading("what these chips did meanwhile");
        text += &table(&t.meanwhile[..t.meanwhile.len().min(SHOWN)], t.due_ns, tone);
        if t.meanwhile.len() > SHOWN {
            text += &format!("and {} more; --json shows all\n", t.meanwhile.len() - SHOWN);
        }
    }
    if t.left_out > 0 {
        text += &format!("{} transactions were left out, the latest of the window\n", t.left_out);
    }
    text
}

fn meanings(t: &Timeline, width: usize) -> String {
    let mut waits: Vec<Wait> = Vec::new();
    for span in &t.spans {
        if !waits.iter().any(|wait| wait.cause == span.cause) {
            waits.push(Wait { cause: span.cause.into(), mean_ns: span.ns as f64, share: 0.0 });
        }
    }
    waits.sort_by(|a, b| b.mean_ns.total_cmp(&a.mean_ns));
    waits::meanings(&waits, width)
}

/// A moment relative to when the request was due.
fn after(due: u64, at: u64) -> String {
    if at >= due {
        format!("+{}", short_time((at - due) as f64))
    } else {
        format!("-{}", short_time((due - at) as f64))
    }
}

fn table(occupations: &[Occupation], due: u64, tone: Tone) -> String {
    let right = |title| (title, Align::Right);
    let head = [
        right("chip"),
        ("work", Align::Left),
        right("begins"),
        right("command"),
        right("cells"),
        right("waits"),
        right("data out"),
        right("ends"),
        right("page"),
    ];
    let mut table = Table::new(&head, tone);
    for o in occupations {
        let time = |from: u64, to: u64| if to > from { short_time((to - from) as f64) } else { "-".into() };
        table.row(&[
            o.unit.to_string(),
            o.kind.to_string(),
            after(due, o.start_ns),
            time(o.start_ns, o.command_end_ns),
            time(o.command_end_ns, o.cell_end_ns),
            time(o.cell_end_ns, o.out_start_ns),
            time(o.out_start_ns, o.end_ns),
            after(due, o.end_ns),
            o.pages(),
        ]);
    }
    format!("{table}\n")
}

/// How much of each kind of work there was.
fn totals(t: &Timeline, tone: Tone) -> String {
    let mut kinds: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for o in &t.meanwhile {
        let sum = kinds.entry(o.kind).or_default();
        *sum = (sum.0 + 1, sum.1 + (o.end_ns - o.start_ns));
    }
    let head = [("work", Align::Left), ("transactions", Align::Right), ("mean", Align::Right)];
    let mut table = Table::new(&head, tone);
    for (kind, (count, time)) in kinds {
        table.row(&[kind.to_string(), count.to_string(), short_time(time as f64 / count as f64)]);
    }
    if table.is_empty() { String::from("nothing\n") } else { format!("{table}\n") }
}
