//! The results of a probe as JSON.

use super::ProbeOutcome;
use crate::scenario::keys;
use serde_json::{Value, json};
use tailcut_base::config::Choice;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_rt::probe::check::Unit;
use tailcut_rt::probe::profile::Profile;
use tailcut_rt::probe::{Comparison, End, Estimate, Provenance, Tally, Writes};

/// All of it. Times in ns, rates per second.
pub(super) fn to_json(found: &ProbeOutcome) -> Value {
    let measured = &found.measured;
    let identity = &measured.identity;
    json!({
        "device": found.name,
        "identity": {
            "model": identity.model, "bytes": identity.bytes(), "queue_depth": identity.depth,
            "request_bytes": u64::from(identity.most_blocks) * 4096, "volatile_cache": identity.volatile_cache,
            "holes": identity.holes,
        },
        "end": end(measured.end),
        "notes": found.notes,
        "random_reads": tallies(&measured.reads),
        "large_reads": tallies(&measured.large_reads),
        "sequential_read": measured.sequential_read.as_ref().map(tally),
        "stream_read": measured.stream.as_ref().map(tally),
        "read_again": measured.again.as_ref().map(tally),
        "writes": measured.has_writes().then(|| writes(&measured.writes)),
        "gc_signature": measured.signature().map(|signature| json!({
            "slow_from_ns": signature.slow_from.0, "slow_share": signature.slow, "bursts": signature.bursts,
            "burst_ns": signature.burst.0, "period_ns": signature.period.0,
            "irregularity": signature.irregularity,
        })),
        "estimate": found.estimate.as_ref().map(estimate),
        "comparison": found.comparison.iter().map(comparison).collect::<Vec<_>>(),
    })
}

fn end(end: End) -> Value {
    match end {
        End::Complete => json!("complete"),
        End::Stopped => json!("stopped"),
        End::Failed(why) => json!({ "failed": why.to_string() }),
    }
}

fn tallies(all: &[Tally]) -> Vec<Value> {
    all.iter().map(tally).collect()
}

fn tally(tally: &Tally) -> Value {
    json!({
        "depth": tally.load.depth, "bytes": tally.blocks() * 4096, "per_second": tally.rate,
        "bytes_per_second": tally.bandwidth(), "latency": latency(&tally.latency),
    })
}

fn latency(latency: &LatencyHistogram) -> Value {
    let at = |percent: f64| latency.percentile(percent).0;
    json!({
        "count": latency.count(), "mean_ns": latency.mean(), "min_ns": latency.min().0, "p50_ns": at(50.0),
        "p90_ns": at(90.0), "p99_ns": at(99.0), "p99.9_ns": at(99.9), "p99.99_ns": at(99.99),
        "max_ns": latency.max().0,
    })
}

fn writes(writes: &Writes) -> Value {
    json!({
        "trimmed": writes.trimmed,
        "burst": writes.burst.as_ref().map(profile),
        "fill": writes.fill.as_ref().map(profile),
        "random_writes": tallies(&writes.latency),
        "overwrite": writes.overwrite.as_ref().map(profile),
        "is_settled": writes.is_settled,
        "reads_beside_few_writes_fresh": writes.beside_few.as_ref().map(tally),
        "reads_beside_few_writes_steady": writes.beside_worn.as_ref().map(tally),
        "reads_beside_all_writes_steady": writes.beside_all.as_ref().map(tally),
        "idle_flush": writes.idle_flush.as_ref().map(latency),
        "flush": writes.flush.as_ref().map(latency),
        "trim": writes.trim.as_ref().map(latency),
    })
}

fn profile(profile: &Profile) -> Value {
    let cliff = profile.cliff().map(|cliff| {
        json!({ "at_bytes": cliff.at, "before_bytes_per_second": cliff.before, "after_bytes_per_second": cliff.after })
    });
    json!({ "stretch_bytes": profile.size(), "bytes_per_second": profile.rates(), "cliff": cliff })
}

fn estimate(estimate: &Estimate) -> Value {
    let values = keys::list(&mut estimate.config.clone());
    let origin = |key: &keys::Key| {
        let origin = estimate.origins.iter().find(|origin| origin.key == key.path)?;
        let how = how(origin.how);
        Some(
            json!({ "key": format!("device.{}", key.path), "value": key.default, "how": how, "why": origin.why }),
        )
    };
    json!({ "preset": estimate.preset.name(), "keys": values.iter().filter_map(origin).collect::<Vec<_>>() })
}

/// In one word.
pub(super) fn how(how: Provenance) -> &'static str {
    match how {
        Provenance::Measured => "measured",
        Provenance::Derived => "derived",
        Provenance::Assumed => "assumed",
    }
}

fn comparison(row: &Comparison) -> Value {
    let unit = match row.unit {
        Unit::Time => "ns",
        Unit::Rate => "bytes/s",
        Unit::Ios => "1/s",
    };
    json!({ "figure": row.what, "unit": unit, "measured": row.measured, "simulated": row.simulated })
}
