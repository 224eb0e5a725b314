//! The report as JSON: all that a page with its plots needs. The shape is described in
//! `docs/decisions/drive-tests.md`.

use super::{Report, Tested};
use serde_json::{Value, json};
use tailcut_base::steady::Window;
use tailcut_pts::{Cell, Convergence, Ending, Procedure, Record, Track, Work};
use tailcut_rt::pts::End;

/// The whole report.
pub(super) fn to_json(report: &Report) -> Value {
    let (platform, settings) = (&report.platform, &report.settings);
    json!({
        "specification": "SNIA SSS PTS 2.0.2",
        "version": env!("CARGO_PKG_VERSION"),
        "form": settings.form.name(),
        "full_length": report.is_full_length(),
        "departure": report.departure(),
        "device": {
            "model": platform.model, "kind": platform.kind, "name": platform.name,
            "bytes": platform.capacity, "queue_depth": platform.depth,
        },
        "setup": {
            "purge": platform.purge, "write_cache": platform.write_cache, "data_pattern": "random",
            "active_range_bytes": platform.active, "capacity_bytes": settings.capacity,
            "minute_ns": settings.minute.0, "shrink": settings.shrink, "most_rounds": settings.rounds,
            "seed": report.seed,
        },
        "notes": platform.notes,
        "against": report.other.as_ref().map(|other| &other.name),
        "tests": report.tests.iter().map(|tested| test(report, tested)).collect::<Vec<Value>>(),
    })
}

fn test(report: &Report, tested: &Tested) -> Value {
    let procedure = &tested.procedure;
    json!({
        "test": procedure.test.name(),
        "title": procedure.test.title(),
        "end": match tested.end {
            None => json!("under way"),
            Some(End::Complete) => json!("complete"),
            Some(End::Stopped) => json!("stopped"),
            Some(End::Failed(why)) => json!({ "failed": why.to_string() }),
        },
        "purged_share": tested.purged,
        "notes": tested.notes(),
        "stages": procedure.stages().iter().map(|stage| json!({
            "name": stage.name, "kind": kind(&stage.work),
        })).collect::<Vec<Value>>(),
        "convergence": procedure.convergences().iter().map(convergence).collect::<Vec<Value>>(),
        "records": procedure.records().iter().map(record).collect::<Vec<Value>>(),
        "histograms": histograms(procedure),
        "rows": report.rows(tested),
    })
}

fn kind(work: &Work) -> &'static str {
    match work {
        Work::Purge => "purge",
        Work::Write { .. } => "write",
        Work::Rounds(_) => "rounds",
        Work::Series { .. } => "series",
        Work::Histogram { .. } => "histogram",
        Work::Points { .. } => "points",
    }
}

fn cell(cell: &Cell) -> Value {
    json!({
        "name": cell.to_string(), "read_percent": cell.reads, "size": cell.size(), "threads": cell.threads,
        "queue": cell.queue,
    })
}

fn convergence(convergence: &Convergence) -> Value {
    let window = convergence.window();
    json!({
        "stage": convergence.stage,
        "ending": convergence.ending.map(ending),
        "window": [window.start, window.end],
        "tracks": convergence.tracks.iter().map(track).collect::<Vec<Value>>(),
    })
}

fn ending(ending: Ending) -> &'static str {
    match ending {
        Ending::Steady => "steady",
        Ending::Rounds => "rounds",
        Ending::Bytes => "bytes",
        Ending::Time => "time",
    }
}

fn track(track: &Track) -> Value {
    let (name, unit) = track.metric.name();
    let shown = |value: f64| track.metric.shown(value);
    let judged = |window: Window| {
        let (first, last) = window.line();
        json!({
            "mean": shown(window.mean()), "excursion": window.excursion(), "slope": window.drift(),
            "line": [shown(first), shown(last)], "steady": window.is_steady(),
        })
    };
    json!({
        "cell": cell(&track.cell), "quantity": name, "unit": unit,
        "values": track.values.iter().map(|&value| shown(value as f64)).collect::<Vec<f64>>(),
        "window": track.window().map(judged),
    })
}

fn record(record: &Record) -> Value {
    let figures = &record.figures;
    json!({
        "stage": record.stage, "round": record.round, "place": record.place, "cell": cell(&record.cell),
        "ios": figures.ios, "bytes": figures.bytes, "took_ns": figures.took.0, "iops": figures.iops(),
        "bytes_per_second": figures.throughput(), "mean_ns": figures.mean(),
        "five_nines_ns": figures.five_nines.0, "max_ns": figures.longest.0,
    })
}

/// The buckets of response times that were kept: the highest of each, in ns, and how many there are.
fn histograms(procedure: &Procedure) -> Vec<Value> {
    let kept = |record: &Record| {
        let buckets: Vec<(u64, u64)> =
            record.latency.as_ref()?.buckets().map(|(latency, count)| (latency.0, count)).collect();
        Some(json!({ "stage": record.stage, "cell": cell(&record.cell), "buckets": buckets }))
    };
    procedure.records().iter().filter_map(kept).collect()
}
