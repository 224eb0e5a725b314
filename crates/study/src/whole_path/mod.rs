//! The whole path: application, array, host, controller and flash, with each paper's technique alone and with
//! all of them.
//!
//! Every arrangement gets an equal load: 70 % of what the combined one sustains. Reads are compared with
//! the *bare read*: one at a time, on the combined path, with no other load; those of a recorded trace,
//! which have sizes, with its own. Four `m-32g` drives. How many copies the combination has was chosen for
//! the goal; the results with fewer, and the cost of each, are listed beside it.

mod way;
mod work;

use super::{Options, Row, Study};
use tailcut_base::Class;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_sim::report::{KindReport, class_kind};
use way::{Arrangement, FEW, WAYS};
use work::{Work, works};

/// The techniques of all five papers, alone and together.
pub(crate) struct WholePath;

/// Percentiles that are held against the bare read, and the most that the combination should take there.
const PERCENTILES: [(f64, Option<f64>); 4] =
    [(99.0, None), (99.9, None), (99.99, Some(1.25)), (99.9999, Some(1.5))];

fn ways(options: &Options) -> impl Iterator<Item = Arrangement> + Clone + use<> {
    let ways: &[Arrangement] = if options.quick { &FEW } else { &WAYS };
    ways.iter().copied()
}

fn label(kind: &str, work: &Work, way: Arrangement) -> String {
    format!("{kind}/{}/{}", work.name(), way.id())
}

/// Arrangements of which it is measured how much they sustain.
const SATURATED: [Arrangement; 4] =
    [Arrangement::Plain, Arrangement::TwoCopies, Arrangement::ThreeCopies, Arrangement::Combined];

fn all_saturated(options: &Options) -> impl Iterator<Item = Arrangement> + Clone + use<> {
    let measured = ways(options);
    SATURATED.into_iter().filter(move |way| measured.clone().any(|other| other == *way))
}

fn saturated(options: &Options, work: &Work, way: Arrangement) -> Run {
    let mut scenario = way.scenario(options);
    work.saturate(options, &mut scenario, way);
    Run { label: label("saturated", work, way), scenario }
}

fn carried(options: &Options, work: &Work, way: Arrangement, sustained: f64) -> Run {
    let mut scenario = way.scenario(options);
    work.carry(options, &mut scenario, way, sustained);
    Run { label: label("carried", work, way), scenario }
}

/// The bare read of a workload: reads of 4 KiB have one in common.
fn bare_label(work: &Work) -> String {
    if work.has_sizes() { format!("bare/{}", work.name()) } else { "bare".into() }
}

fn bare(options: &Options, work: &Work) -> Run {
    let mut scenario = Arrangement::Combined.scenario(options);
    work.alone(options, &mut scenario, Arrangement::Combined);
    Run { label: bare_label(work), scenario }
}

/// The workloads that represent all bare reads.
fn bares(works: &[Work]) -> impl Iterator<Item = &Work> {
    works.iter().filter(|work| **work == Work::Mixed || work.has_sizes())
}

impl Study for WholePath {
    fn id(&self) -> &'static str {
        "whole-path"
    }

    fn title(&self) -> &'static str {
        "Reads on the whole path at 70 % of what it sustains: each technique alone, and all together"
    }

    fn source(&self) -> &'static str {
        "Beyond Sprinkler (2014), Shin (2016, 2017), PAReset (2018) and SWAN (2019): their techniques in one \
            path"
    }

    fn later_runs(&self) -> Option<&'static str> {
        Some("all arrangements carry 70 % of what the combined one sustains")
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        let works = works(options);
        let first = bares(&works).count() + works.len() * all_saturated(options).count();
        if done.is_empty() {
            let all = works
                .iter()
                .flat_map(|work| all_saturated(options).map(move |way| saturated(options, work, way)));
            return bares(&works).map(|work| bare(options, work)).chain(all).collect();
        }
        if done.len() > first {
            return Vec::new();
        }
        let of = |work: &Work| {
            let sustained = work.sustained(find(done, &label("saturated", work, Arrangement::Combined)));
            ways(options).map(|way| carried(options, work, way, sustained)).collect::<Vec<Run>>()
        };
        works.iter().flat_map(of).collect()
    }

    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row> {
        let works = works(options);
        let mut rows: Vec<Row> = bares(&works).flat_map(|work| bare_rows(done, work)).collect();
        for work in &works {
            for way in ways(options) {
                rows.extend(latencies(done, work, way));
                rows.extend(costs(done, work, way));
            }
            rows.extend(sustained(options, done, work));
        }
        rows
    }
}

/// The urgent reads.
fn reads(measured: &Measured) -> Option<&KindReport> {
    let kinds = &measured.report.kinds;
    let urgent = class_kind(Class::new(1).expect("it is one"));
    let of = |name: &str| kinds.iter().find(|kind| kind.kind == name);
    of(&urgent).or_else(|| of(&class_kind(Class::DEFAULT))).or_else(|| of("read"))
}

fn percentile_ns(measured: &Measured, percentile: f64) -> Option<f64> {
    let points = &reads(measured)?.latency.points;
    points.iter().find(|point| point.percentile == percentile).map(|point| point.ns as f64)
}

fn bare_rows(done: &[Measured], work: &Work) -> Vec<Row> {
    let alone = find(done, &bare_label(work));
    let case = if work.has_sizes() { format!("{}: bare read", work.name()) } else { "bare read".into() };
    let row = |percentile: f64| {
        let seconds = percentile_ns(alone, percentile).map(|ns| ns / 1e9);
        Row::new(case.clone(), format!("p{percentile}"), "s", seconds)
    };
    [50.0, 99.99].map(row).to_vec()
}

fn case(work: &Work, way: Arrangement) -> String {
    format!("{}: {}", work.name(), way.name())
}

fn latencies(done: &[Measured], work: &Work, way: Arrangement) -> Vec<Row> {
    let measured = find(done, &label("carried", work, way));
    let alone = find(done, &bare_label(work));
    let row = |(percentile, goal): (f64, Option<f64>)| {
        let ratio = percentile_ns(measured, percentile)
            .zip(percentile_ns(alone, percentile))
            .map(|(ns, bare)| ns / bare);
        let row = Row::new(case(work, way), format!("p{percentile} / bare"), "x", ratio);
        match goal.filter(|_| way == Arrangement::Combined) {
            Some(goal) => {
                let resolved = if is_resolved(measured, percentile) { "" } else { UNRESOLVED };
                row.limit(1.0).note(format!("goal {goal}; {resolved}{}", remains(measured)))
            }
            None => row.limit(1.0),
        }
    };
    PERCENTILES.map(row).to_vec()
}

fn is_resolved(measured: &Measured, percentile: f64) -> bool {
    let points = reads(measured).map(|reads| &reads.latency.points);
    let mut of = points.into_iter().flatten().filter(|point| point.percentile == percentile);
    of.next().is_some_and(|point| point.resolved)
}

/// The waits of the slowest hundredth of a per cent.
fn remains(measured: &Measured) -> String {
    let slowest = reads(measured).and_then(|reads| reads.slowest.last());
    let Some(tail) = slowest else { return "no reads".into() };
    let waits = tail.waits.iter().take(4).map(|wait| format!("{} {:.0} %", wait.cause, wait.share * 100.0));
    let waits: Vec<String> = waits.collect();
    format!("slowest {} %: {}", tail.share * 100.0, waits.join(", "))
}

/// The cost of an arrangement: of the host's cores, of space, and of the flash.
fn costs(done: &[Measured], work: &Work, way: Arrangement) -> Vec<Row> {
    let measured = find(done, &label("carried", work, way));
    let row = |quantity: &str, unit, value: Option<f64>| Row::new(case(work, way), quantity, unit, value);
    let cpu = measured.host.as_ref().map(|host| host.per_request_ns(measured.requests()) / 1e9);
    let written: u64 = measured.drives.iter().map(|drive| drive.counts.host_pages_written).sum();
    let worn: u64 = measured.drives.iter().map(tailcut_ssd::Figures::worn).sum();
    let erases = (written > 0).then(|| worn as f64 / written as f64 * 1e6);
    let writes = measured.report.kinds.iter().find(|kind| kind.kind == "write");
    let slowest_writes = writes.and_then(|kind| {
        kind.latency.points.iter().find(|point| point.percentile == 99.0).map(|point| point.ns as f64 / 1e9)
    });
    vec![
        row("write latency, 99 %", "s", slowest_writes),
        row("processor time of a request", "s", cpu),
        row("usable space", "share", Some(measured.usable)),
        row("block erases per million pages written to drives", "1", erases),
    ]
}

/// How much the combination takes, against the plain path.
fn sustained(options: &Options, done: &[Measured], work: &Work) -> Vec<Row> {
    let of = |way: Arrangement| work.sustained(find(done, &label("saturated", work, way)));
    let row = |way: Arrangement| Row::new(case(work, way), "sustained", "1/s", of(way));
    let ratio = |way: Arrangement| {
        Row::new(case(work, way), "sustained / none", "x", of(way) / of(Arrangement::Plain)).note(PRICE)
    };
    let reckoned = all_saturated(options).filter(|way| *way != Arrangement::Plain).map(ratio);
    all_saturated(options).map(row).chain(reckoned).collect()
}

const UNRESOLVED: &str = "too few reads to resolve it; ";

const PRICE: &str = "\
Every block is written as often as there are copies, by one group of drives at a time; what is read around \
costs a further command.";
