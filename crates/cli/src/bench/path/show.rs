//! The figures as tables and as rows of a study.

use super::form::{GOALS, Goal, Quantity, REAPED};
use super::interval::Interval;
use super::rounds::{Cell, RoundSetup, Sample};
use crate::format::{figure, short_time};
use crate::terminal::{Align, ColorMode, Table, TextRole};
use serde_json::Value;
use std::fmt::Write;
use tailcut_study::Row;

/// Percentiles of the latency curve.
const CURVE: [f64; 4] = [50.0, 99.0, 99.9, 100.0];

/// Everything for a person.
pub(super) fn text(ground: &RoundSetup, cells: &[Cell], tone: ColorMode) -> String {
    let mut text = String::new();
    for &threads in &ground.threads {
        let plural = if threads == 1 { "thread" } else { "threads" };
        let title = format!("{threads} {plural}, a device of {}", short_time(ground.latency.0 as f64));
        let these = || cells.iter().filter(move |cell| cell.threads == threads);
        _ = writeln!(text, "{}\n{}", tone.paint(TextRole::Heading, &title), table(ground, these(), tone));
    }
    _ = writeln!(
        text,
        "{}\n{}",
        tone.paint(TextRole::Heading, "what is to be reached"),
        goals(ground, cells, tone)
    );
    _ = writeln!(text, "{}", what_counts(cells));
    if ground.waiting.contains(&ground.device) {
        _ = writeln!(
            text,
            "{} the device shares its core with those who wait: give this program two",
            tone.paint(TextRole::Warning, "one core:")
        );
    }
    text + READING
}

fn table<'a>(ground: &RoundSetup, cells: impl Iterator<Item = &'a Cell>, tone: ColorMode) -> Table {
    let right = |title| (title, Align::Right);
    let head = [
        ("form", Align::Left),
        right("mean"),
        right("95 %"),
        right("50"),
        right("99"),
        right("99.9"),
        right("max"),
        right("requests/s"),
        right("CPU"),
        right("idle CPU"),
        right("switches"),
        right("counted"),
    ];
    let mut table = Table::new(&head, tone);
    for cell in cells {
        let latency = cell.latency();
        let mean = cell.interval(|sample| sample.figure(Quantity::Latency));
        let show =
            |interval: Option<Interval>, unit| interval.map_or("-".into(), |it| figure(it.median, unit));
        let curve = CURVE.map(|p| {
            if latency.count() == 0 { "-".into() } else { short_time(latency.percentile(p).0 as f64) }
        });
        let [p50, p99, p999, max] = curve;
        table.row(&[
            ground.forms[cell.form].to_string(),
            mean.map_or("-".into(), |it| short_time(it.median)),
            mean.map_or("-".into(), |it| format!("{}–{}", short_time(it.low), short_time(it.high))),
            p50,
            p99,
            p999,
            max,
            show(cell.interval(|sample| sample.figure(Quantity::Rate)), "1/s"),
            cell.interval(cpu).map_or("-".into(), |it| short_time(it.median)),
            cell.interval(idle).map_or("-".into(), |it| short_time(it.median)),
            cell.interval(switches).map_or("-".into(), |it| format!("{:.2}", it.median)),
            format!("{} of {}", cell.kept().count(), cell.samples.len()),
        ]);
    }
    table
}

fn cpu(sample: &Sample) -> f64 {
    sample.figure(Quantity::Cpu)
}

fn idle(sample: &Sample) -> f64 {
    sample.per_request(sample.outcome.idle.0)
}

fn switches(sample: &Sample) -> f64 {
    sample.per_request(sample.outcome.usage.voluntary + sample.outcome.usage.involuntary)
}

fn goals(ground: &RoundSetup, cells: &[Cell], tone: ColorMode) -> Table {
    let right = |title| (title, Align::Right);
    let head = [
        ("comparison", Align::Left),
        right("ratio"),
        right("95 %"),
        right("goal"),
        right("pairs"),
        ("", Align::Left),
    ];
    let mut table = Table::new(&head, tone);
    for goal in GOALS {
        for (threads, ratio) in goal.ratios(ground, cells) {
            table.row(&[
                goal.case(threads),
                ratio.map_or("-".into(), |it| format!("{:.2}", it.median)),
                ratio.map_or("-".into(), |it| format!("{:.2}–{:.2}", it.low, it.high)),
                goal.bound(),
                ratio.map_or(0, |it| it.count).to_string(),
                goal.verdict(ratio).to_string(),
            ]);
        }
    }
    table
}

impl Goal {
    fn case(&self, threads: u32) -> String {
        let Goal { quantity, form, against, .. } = self;
        {
            let plural = if threads == 1 { "thread" } else { "threads" };
            format!("{}, {threads} {plural}: {form} over {against}", quantity.name())
        }
    }

    fn bound(&self) -> String {
        let least_or_most = if self.ratio < 1.0 { "≤" } else { "≥" };
        format!("{least_or_most} {:.2}", self.ratio)
    }

    fn verdict(&self, ratio: Option<Interval>) -> &'static str {
        match ratio {
            None => "not measured",
            Some(it) if !it.is_certain => "too few pairs to say",
            Some(it) if self.is_reached(it.low) && self.is_reached(it.high) => "reached",
            Some(it) if self.is_reached(it.median) => "reached in the median",
            Some(_) => "missed",
        }
    }
}

/// How many measurements were disturbed, and by how much.
pub(super) fn what_counts(cells: &[Cell]) -> String {
    let measured: usize = cells.iter().map(|cell| cell.samples.len()).sum();
    let kept: usize = cells.iter().map(|cell| cell.kept().count()).sum();
    let loads = Interval::of(cells.iter().flat_map(|cell| cell.loads.iter().copied()).collect());
    let others = loads.map_or("the system does not tell what others did".into(), |it| {
        format!("others took {:.0} % of the cores in the median", it.median * 100.0)
    });
    format!("{} of {measured} measurements were disturbed and do not count; {others}.", measured - kept)
}

/// The results as JSON.
pub(super) fn json(ground: &RoundSetup, cells: &[Cell], is_quick: bool) -> Value {
    let mut rows = Vec::new();
    for cell in cells {
        let form = &ground.forms[cell.form];
        let threads = if form.is_reaper() { 1 } else { cell.threads };
        let case = if form.is_reaper() {
            format!("{form} of {REAPED}")
        } else {
            format!("{form}, {threads} threads")
        };
        rows.extend(rows_of(cell, &case));
    }
    for goal in GOALS {
        for (threads, ratio) in goal.ratios(ground, cells) {
            let note =
                ratio.map_or("not measured".into(), |it| format!("{}; {}", goal.verdict(ratio), words(it)));
            let median = ratio.map(|it| it.median);
            rows.push(Row::new(goal.case(threads), "ratio", "ratio", median).limit(goal.ratio).note(note));
        }
    }
    serde_json::to_value(tailcut_study::Table::new("bench-path", 0, is_quick, rows)).expect("plain data")
}

fn rows_of(cell: &Cell, case: &str) -> Vec<Row> {
    let row = |quantity: &str, unit, scale: f64, interval: Option<Interval>| {
        let row = Row::new(case, quantity, unit, interval.map(|it| it.median * scale));
        let (kept, all) = (cell.kept().count(), cell.samples.len());
        row.note(format!(
            "{kept} of {all} count; {}",
            interval.map_or(String::new(), |it| words(it.scaled(scale)))
        ))
    };
    let nanos = 1e-9;
    let mut rows = vec![
        row("mean latency", "s", nanos, cell.interval(|sample| sample.figure(Quantity::Latency))),
        row("requests per second", "1/s", 1.0, cell.interval(|sample| sample.figure(Quantity::Rate))),
        row("CPU per request", "s", nanos, cell.interval(cpu)),
        row("of that, at idle priority", "s", nanos, cell.interval(idle)),
        row("context switches per request", "", 1.0, cell.interval(switches)),
        row(
            "wake-ups by the device per request",
            "",
            1.0,
            cell.interval(|it| it.per_request(it.outcome.wakes)),
        ),
    ];
    let curves = [("latency", cell.latency(), &CURVE[..]), ("device late by", cell.late(), &CURVE[..])];
    for (name, histogram, percentiles) in curves {
        for &percentile in percentiles {
            let time = (histogram.count() > 0).then(|| histogram.percentile(percentile).as_secs_f64());
            rows.push(Row::new(case, format!("{name}, {percentile} %"), "s", time));
        }
    }
    rows
}

fn words(interval: Interval) -> String {
    let Interval { count, low, high, is_certain, .. } = interval;
    let ends = if is_certain { "95 %" } else { "minimum to maximum" };
    format!("median of {count}; {ends}: {low:.4e} to {high:.4e}")
}

const READING: &str = "\
Threads on the first core read blocks from a device whose thread spins on the last
core and answers each read after the same time. nvme: the device wakes a notifying
thread, which wakes the waiter (two hand-offs). lazy: the waiter post-processes. coop:
who enters or leaves serves another. coop-poll: nobody is woken by the device; a
thread looks on a timer, or at idle priority (its time is in CPU, and apart as idle
CPU). precomplete: threads are woken shortly before the end and spin. reaper: one
thread with 128 reads in flight. Mean and others are medians of measurements, with the
interval that holds the median with 95 %; percentiles are of all that count.
";
