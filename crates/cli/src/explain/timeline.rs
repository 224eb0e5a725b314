//! The whole timeline of one request.

use super::arguments::ExplainArguments;
use super::kept::SavedRun;
use super::recording::{Chips, Seen, Window};
use super::rerun::Rerun;
use crate::failure::Failure;
use crate::format::short_time;
use crate::show::waits;
use crate::terminal::{Align, Bars, ColorMode, Table, TextRole, window};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use tailcut_base::cause::HeldUp;
use tailcut_base::fdp::HandleId;
use tailcut_base::quantity::{show_bytes, show_number_of, show_time};
use tailcut_base::{Cause, Nanos, SECTOR_BYTES, Time};
use tailcut_sim::report::Wait;
use tailcut_ssd::probe::Outcome;
use tailcut_ssd::{ChipRecord, Handover};

/// Transactions that are kept at most.
const MOST: usize = 1 << 20;
/// Transactions of a chip that are shown at most.
const SHOWN: usize = 32;

/// A request with all that happened to it. Moments are in ns since the start of the run.
#[derive(Debug, Serialize)]
struct Timeline {
    /// Drives; chips of several are numbered through.
    drives: u32,
    number: u64,
    op: String,
    sector: u64,
    sectors: u32,
    due_ns: u64,
    submitted_ns: u64,
    completed_ns: u64,
    latency_ns: u64,
    spans: Vec<Span>,
    /// What kept it waiting longest, of programs and collection by reclaim unit handle.
    #[serde(skip_serializing_if = "Option::is_none")]
    held_up: Option<HeldUpLongest>,
    /// Its own memory requests.
    own: Vec<Occupation>,
    /// What its chips (or all chips, when it has none of its own) did meanwhile.
    meanwhile: Vec<Occupation>,
    /// When these chips were taken from programs and erases, so that reads could go first.
    handovers: Vec<Taking>,
    left_out: u64,
}

#[derive(Debug, Serialize)]
struct Span {
    cause: &'static str,
    ns: u64,
    meaning: &'static str,
}

/// Programs or collection of the data of a handle.
#[derive(Debug, Serialize)]
struct HeldUpLongest {
    by: String,
    ns: u64,
}

/// A transaction on a chip.
#[derive(Clone, Debug, Serialize)]
struct Occupation {
    unit: u32,
    channel: u32,
    kind: &'static str,
    logical_pages: Vec<u64>,
    start_ns: u64,
    command_end_ns: u64,
    cell_end_ns: u64,
    out_start_ns: u64,
    end_ns: u64,
    /// Done, or reset for a read: then it was done again later.
    outcome: &'static str,
    /// How often it was suspended, and how long it stood still for that, part of its cell time.
    suspensions: u32,
    suspended_ns: u64,
    /// The reclaim unit handle whose data is programmed, collected or erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    handle: Option<u32>,
}

/// A chip that was taken from a program or erase.
#[derive(Clone, Debug, Serialize)]
struct Taking {
    unit: u32,
    /// The kind of the chip's operation, and whether it was suspended or reset.
    kind: &'static str,
    handling: String,
    asked_ns: u64,
    stopped_ns: u64,
    free_ns: u64,
    /// The read that went first then was one of this request.
    for_this: bool,
}

/// Prints the timeline of request `number`.
pub(super) fn explain(arguments: &ExplainArguments, number: u64, out: &mut dyn Write) -> Result<(), Failure> {
    let kept = SavedRun::open(arguments.folder())?;
    let completed = kept.saved.report.completed;
    if number >= completed {
        return Err(Failure::Input(format!(
            "the run has no request {number}; its {} {} numbered from 0",
            show_number_of(completed, "request"),
            if completed == 1 { "is" } else { "are" }
        )));
    }
    let known = kept.slowest()?.into_iter().find(|slow| slow.number == number);
    let rerun = Rerun::new(kept, arguments.quiet)?;
    rerun.announce(if known.is_some() { 1 } else { 2 });
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
        show(&timeline, usize::from(window()), ColorMode::of_stdout())
    };
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

impl Timeline {
    fn new(request: &Seen, chips: &Chips) -> Timeline {
        let is_own = |record: &&ChipRecord| {
            let within = record.start >= request.submitted && record.end <= request.completed;
            // Command ids of an array's drives are unrelated to the host's request.
            within
                && chips.drives == 1
                && record.members.iter().any(|member| member.command == Some(request.id))
        };
        let mut own: Vec<Occupation> = chips.records.iter().filter(is_own).map(Occupation::new).collect();
        own.sort_by_key(|o| (o.start_ns, o.unit));
        let is_beside = |record: &&ChipRecord| {
            let meanwhile = record.end > request.submitted && record.start < request.completed;
            meanwhile && own.iter().any(|o| o.unit == record.lun.get())
        };
        let all = chips.records.iter().filter(|record| own.is_empty() || is_beside(record));
        let mut meanwhile: Vec<Occupation> = all.map(Occupation::new).collect();
        // The chip that the request waited for longest comes first.
        let last = own.iter().max_by_key(|o| o.end_ns).map(|o| o.unit);
        meanwhile.sort_by_key(|o| (Some(o.unit) != last, o.unit, o.start_ns));
        let is_here = |h: &&Handover| {
            let meanwhile = h.free > request.submitted && h.asked < request.completed;
            meanwhile && (own.is_empty() || own.iter().any(|o| o.unit == h.lun.get()))
        };
        let handovers = chips.handovers.iter().filter(is_here).map(|h| Taking::new(h, request)).collect();
        Timeline {
            drives: chips.drives,
            number: request.number,
            op: request.op.to_string(),
            sector: request.sector,
            sectors: request.sectors,
            due_ns: request.due.0,
            submitted_ns: request.submitted.0,
            completed_ns: request.completed.0,
            latency_ns: request.latency().0,
            spans: spans(request),
            held_up: held_up(request.spans.held_up()),
            own,
            meanwhile,
            handovers,
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

fn held_up(held_up: HeldUp) -> Option<HeldUpLongest> {
    Some(HeldUpLongest { by: held_up.by()?.to_string(), ns: held_up.time().0 })
}

impl Occupation {
    fn new(record: &ChipRecord) -> Occupation {
        Occupation {
            unit: record.lun.get(),
            channel: record.channel.get(),
            kind: record.kind.label(),
            logical_pages: record.members.iter().map(|member| member.logical.get()).collect(),
            start_ns: record.start.0,
            command_end_ns: record.command_end.0,
            cell_end_ns: record.cell_end.0,
            out_start_ns: record.out_start.0,
            end_ns: record.end.0,
            outcome: if record.outcome == Outcome::Reset { "reset" } else { "done" },
            suspensions: record.suspensions,
            suspended_ns: record.suspended.0,
            handle: record.handle.map(HandleId::get),
        }
    }

    /// Whose data it works on, if that is known, and what is unusual about it.
    fn note(&self) -> String {
        let of = self.handle.map(|handle| format!("of handle {handle}"));
        let parts = [of.unwrap_or_default(), self.interruptions()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }

    fn interruptions(&self) -> String {
        let stood = short_time(self.suspended_ns as f64);
        match (self.outcome, self.suspensions) {
            ("reset", 0) => String::from("reset for a read"),
            ("reset", _) => format!("suspended for {stood}, then reset for a read"),
            (_, 0) => String::new(),
            (_, 1) => format!("suspended for {stood}"),
            (_, times) => format!("suspended {times} times, {stood} in all"),
        }
    }

    /// How long its cells were at work.
    fn cells_ns(&self) -> u64 {
        (self.cell_end_ns - self.command_end_ns).saturating_sub(self.suspended_ns)
    }

    /// How long its data waited for the bus, and how long it took, if it had any to bring out.
    fn out_ns(&self) -> [u64; 2] {
        if self.kind.ends_with("read") {
            [self.out_start_ns - self.cell_end_ns, self.end_ns - self.out_start_ns]
        } else {
            [0, 0]
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

impl Taking {
    fn new(handover: &Handover, request: &Seen) -> Taking {
        Taking {
            unit: handover.lun.get(),
            kind: handover.kind.label(),
            handling: handover.handling.to_string(),
            asked_ns: handover.asked.0,
            stopped_ns: handover.stopped.0,
            free_ns: handover.free.0,
            for_this: handover.command == Some(request.id) && handover.free >= request.submitted,
        }
    }

    fn note(&self) -> String {
        format!(
            "{} of {}, took {}",
            self.handling,
            self.kind,
            short_time((self.free_ns - self.asked_ns) as f64)
        )
    }
}

fn show(t: &Timeline, width: usize, tone: ColorMode) -> String {
    let heading = |text: &str| format!("\n{}\n", tone.paint(TextRole::Heading, text));
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
    text += &heading("what it waited for");
    let mut bars = Bars::new();
    for span in &t.spans {
        bars.add(span.cause, span.ns as f64 / t.latency_ns.max(1) as f64, show_time(span.ns as f64));
    }
    text += &bars.render(width, tone);
    if let Some(HeldUpLongest { by, ns }) = &t.held_up {
        text += &format!("held up longest by {by}: {}\n", show_time(*ns as f64));
    }
    text += &heading("what that means");
    text += &meanings(t, width);
    if t.own.is_empty() {
        text += &heading(match t.drives {
            1 => "what all chips did meanwhile (it had no work on a chip)",
            _ => "what all chips of all drives did meanwhile",
        });
        text += &totals(t, tone);
    } else {
        text += &heading("its own work on chips (moments since it was due)");
        text += &table(&own_rows(t), tone);
        text += &heading("what these chips did meanwhile");
        let rows = rows_meanwhile(t);
        text += &table(&rows[..rows.len().min(SHOWN)], tone);
        if rows.len() > SHOWN {
            text += &format!("and {} more; --json shows all\n", rows.len() - SHOWN);
        }
    }
    if t.left_out > 0 {
        text +=
            &format!("{} left out, the latest of the window\n", show_number_of(t.left_out, "transaction"));
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

/// A row of a table of what chips did.
type Row = [String; 10];

/// What the request had done, and what it took chips from.
fn own_rows(t: &Timeline) -> Vec<Row> {
    let taken = |o: &Occupation| {
        let is_before = |h: &&Taking| h.for_this && h.unit == o.unit && h.free_ns <= o.start_ns;
        t.handovers.iter().rfind(is_before).filter(|_| o.kind == "user read")
    };
    let note = |o: &Occupation| {
        taken(o).map_or_else(|| o.note(), |h| format!("after the {} {}", h.handling, h.note()))
    };
    t.own.iter().map(|o| row(o, t.due_ns, note(o))).collect()
}

/// What the chips did, with what it took to take them, in the order of `meanwhile`.
fn rows_meanwhile(t: &Timeline) -> Vec<Row> {
    let mut rows: Vec<(usize, u64, Row)> = Vec::new();
    let mut units: Vec<u32> = t.meanwhile.iter().map(|o| o.unit).collect();
    units.dedup();
    let rank = |unit| units.iter().position(|&other| other == unit).unwrap_or(units.len());
    rows.extend(t.meanwhile.iter().map(|o| (rank(o.unit), o.start_ns, row(o, t.due_ns, o.note()))));
    rows.extend(t.handovers.iter().map(|h| (rank(h.unit), h.asked_ns, row_of_taking(h, t.due_ns))));
    rows.sort_by_key(|&(rank, start, _)| (rank, start));
    rows.into_iter().map(|(_, _, row)| row).collect()
}

fn row(o: &Occupation, due: u64, note: String) -> Row {
    let [waits, out] = o.out_ns();
    [
        o.unit.to_string(),
        o.kind.to_string(),
        after(due, o.start_ns),
        length(o.command_end_ns - o.start_ns),
        length(o.cells_ns()),
        length(waits),
        length(out),
        after(due, o.end_ns),
        o.pages(),
        note,
    ]
}

fn row_of_taking(h: &Taking, due: u64) -> Row {
    let (work, none) = (format!("  {}", h.handling), || String::from("-"));
    let (asked, free) = (after(due, h.asked_ns), after(due, h.free_ns));
    [h.unit.to_string(), work, asked, none(), none(), none(), none(), free, none(), h.note()]
}

fn length(nanos: u64) -> String {
    if nanos > 0 { short_time(nanos as f64) } else { String::from("-") }
}

/// The last column is there only if any row has something in it.
fn table(rows: &[Row], tone: ColorMode) -> String {
    let right = |title| (title, Align::Right);
    let mut head = vec![
        right("chip"),
        ("work", Align::Left),
        right("begins"),
        right("command"),
        right("cells"),
        right("waits"),
        right("data out"),
        right("ends"),
        right("page"),
        ("", Align::Left),
    ];
    if rows.iter().all(|row| row[row.len() - 1].is_empty()) {
        head.pop();
    }
    let mut table = Table::new(&head, tone);
    for row in rows {
        table.row(&row[..head.len()]);
    }
    format!("{table}\n")
}

/// How much of each kind of work there was.
fn totals(t: &Timeline, tone: ColorMode) -> String {
    let mut kinds: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let work = t.meanwhile.iter().map(|o| {
        let of = o.handle.map_or_else(String::new, |handle| format!(" of handle {handle}"));
        let again = if o.outcome == "reset" { ", reset for a read" } else { "" };
        (format!("{}{of}{again}", o.kind), o.end_ns - o.start_ns)
    });
    let handovers =
        t.handovers.iter().map(|h| (format!("{} of {}", h.handling, h.kind), h.free_ns - h.asked_ns));
    for (kind, time) in work.chain(handovers) {
        let sum = kinds.entry(kind).or_default();
        *sum = (sum.0 + 1, sum.1 + time);
    }
    let head = [("work", Align::Left), ("transactions", Align::Right), ("mean", Align::Right)];
    let mut table = Table::new(&head, tone);
    for (kind, (count, time)) in kinds {
        table.row(&[kind, count.to_string(), short_time(time as f64 / count as f64)]);
    }
    if table.is_empty() { String::from("nothing\n") } else { format!("{table}\n") }
}
