//! Notes of a report: how the workload was made to fit, what its figures leave out, and failures.

use super::{Bare, requests};
use crate::array::incidents;
use crate::scenario::Scenario;
use crate::storage::Storage;
use crate::world::{OpStats, Stats, World};
use tailcut_base::quantity::{exact_time, show_bytes, show_number_of};
use tailcut_base::{Nanos, Op, SECTOR_BYTES};
use tailcut_host::array::{Array, LayoutKind};
use tailcut_ssd::Figures;
use tailcut_ssd::request::Kind;
use tailcut_workload::Source;

/// All that a reader has to know about the figures of a run.
pub(super) fn list<S: Storage>(
    scenario: &Scenario,
    world: &World<S>,
    drives: &[Figures],
    all: &OpStats,
    bare: &Bare,
    interrupted: bool,
) -> Vec<String> {
    let mut notes: Vec<String> = world.sources().flat_map(Source::notes).collect();
    if interrupted {
        notes.push("interrupted: the figures cover what was run until then".into());
    }
    if !interrupted {
        notes.extend(requests_cut_off(scenario, world));
    }
    if world.device.kv_figures().is_some() {
        notes.push(
            "reads are gets and writes are sets; each counts as 4 KiB, whatever the size of its item, and \
                bare is that of the drive alone"
                .into(),
        );
    }
    if world.widened() > 0 {
        let widened = world.widened();
        let were = if widened == 1 { "was" } else { "were" };
        let requests = show_number_of(widened, "request");
        notes.push(format!(
            "{requests} {were} widened to whole logical blocks of the array (4 KiB), and so \
             count their sizes and bytes per second"
        ));
    }
    notes.extend(journal_left_out(scenario, &world.stats));
    notes.extend(reads_of_nothing(scenario, world, drives));
    notes.extend(pages_in_part(world));
    if let Some((lateness, age, left_out)) = world.behind_at_end() {
        notes.push(format!(
            "the drive was behind when the run ended: the next request was {lateness} late, and the last on \
             time had been issued {age} before; about {left_out} requests were due and not issued, and the \
             latencies leave them out; a longer run (run.duration) shows whether the drive catches up"
        ));
    }
    notes.extend(incidents_left_out(scenario, world));
    notes.extend(reads_without_flash(&world.stats, bare));
    notes.extend(writes_without_reads(&world.stats, bare));
    if let Some(reason) = world.device.read_only() {
        notes.push(format!("the drive became read-only: {reason}"));
    }
    let timed_out = world.device.timed_out();
    if !timed_out.is_empty() {
        let drives: Vec<String> = timed_out.iter().map(usize::to_string).collect();
        notes.push(format!(
            "commands to drive {} exceeded {} (host.timeout): it was taken to be gone, and all that was \
             asked of it from then on failed; figures of drives average the time before and after",
            drives.join(", "),
            scenario.host.timeout
        ));
    }
    if all.errors > 0 {
        let requests = all.errors + all.latency.count();
        let share = all.errors as f64 / requests as f64 * 100.0;
        // A drive of several groups has no other reason to refuse a request.
        let why = match scenario.device.fdp.groups {
            1 => "",
            _ => " because the reclaim group of a write was full, as a group can be while the drive is not",
        };
        notes.push(format!(
            "{} of {requests} requests ({share:.2} %) failed{why}; rates and latencies leave them out",
            all.errors
        ));
    }
    notes
}

/// A run whose duration was too short for its requests.
fn requests_cut_off<S: Storage>(scenario: &Scenario, world: &World<S>) -> Option<String> {
    let (run, completed) = (&scenario.run, world.completed());
    let is_cut = run.duration > Nanos::ZERO && !run.until_steady && completed < run.requests;
    (is_cut && scenario.is_synthetic()).then(|| {
        format!(
            "the run ended after {} (run.duration), when {completed} of {} requests (run.requests) had been \
             answered; run.duration=0s runs them all",
            exact_time(run.duration),
            run.requests
        )
    })
}

/// Incidents that were scheduled for a time after the end of the run.
fn incidents_left_out<S: Storage>(scenario: &Scenario, world: &World<S>) -> Option<String> {
    let schedule = incidents::parse(&scenario.incidents, scenario.array.drives).ok()?;
    let left_out = schedule.get(world.device.incidents().len()..)?;
    let (at, first) = left_out.first()?;
    let (number, at) = (show_number_of(left_out.len() as u64, "incident"), exact_time(*at));
    Some(format!(
        "{number} of array.incidents did not happen before the run ended, from '{at} {first}' on; a longer run \
         (run.duration) includes them"
    ))
}

/// Where writes lack what protects parity in a served array.
fn journal_left_out(scenario: &Scenario, stats: &Stats) -> Option<String> {
    let array = &scenario.array;
    let has_parity = matches!(array.layout, LayoutKind::Raid4 | LayoutKind::Raid5);
    let left_out = array.drives > 0 && has_parity && !array.raid.journal_always;
    (left_out && stats.op(Op::Write).latency.count() > 0).then(|| {
        "writes leave out the journal or bitmap that protects parity over a power cut \
         (array.raid.write_hole): set array.raid.journal_always = true to include its time"
            .into()
    })
}

/// Where a part of the reads found no data.
fn reads_of_nothing<S: Storage>(scenario: &Scenario, world: &World<S>, drives: &[Figures]) -> Option<String> {
    let sum = |of: &dyn Fn(&Figures) -> u64| drives.iter().map(of).sum::<u64>();
    let unmapped = sum(&|drive| drive.counts.unmapped_reads);
    let found =
        sum(&|drive| drive.served[Kind::UserRead as usize] + drive.buffer_read_hits + drive.cache.hits);
    // A log has a map of its own, and asks no drive for a block without data.
    let share = match world.device.array().and_then(Array::log_figures) {
        Some(log) => log.unmapped_share(),
        None => unmapped as f64 / (unmapped + found).max(1) as f64,
    };
    let has_reads = world.stats.op(Op::Read).latency.count() > 0 || world.device.kv_figures().is_some();
    (has_reads && share >= FEW_READS_OF_NOTHING).then(|| {
        let within = match scenario.is_synthetic() {
            true => ", or keep the workload within that share (workload.region_share)",
            false => "",
        };
        let remedy = match world.stats.op(Op::Trim).latency.count() {
            0 => format!("for a drive in use, raise precondition.fill{within}"),
            _ => format!(
                "the trims of this workload leave such pages; of others, raise \
                precondition.fill{within}"
            ),
        };
        format!(
            "{:.1} % of the pages that reads asked for hold no data (never written, or trimmed) and take no \
             time in flash: {remedy}",
            share * 100.0
        )
    })
}

/// Share of pages without data below which reads of them change no figure that is printed.
const FEW_READS_OF_NOTHING: f64 = 0.005;

/// What a drive does with requests that begin or end within a page. An array and a key-value server make
/// requests of their own.
fn pages_in_part<S: Storage>(world: &World<S>) -> Option<String> {
    let alignment = world.alignment();
    let (reads, writes) = (alignment.reads_in_part(), alignment.writes_in_part());
    if reads + writes == 0.0 || world.device.array().is_some() || world.device.kv_figures().is_some() {
        return None;
    }
    let per_cent = |share: f64| match share * 100.0 {
        share if share < 1.0 => format!("{share:.2} %"),
        share => format!("{share:.0} %"),
    };
    let page = show_bytes((u64::from(alignment.page_sectors()) * SECTOR_BYTES) as f64);
    let mut parts = Vec::new();
    if writes > 0.0 {
        let share = per_cent(writes);
        parts.push(format!(
            "{share} of the writes: the drive reads the rest of such a page before it programs it \
             (read-modify-write), if it was ever written and later writes do not fill it in the buffer"
        ));
    }
    if reads > 0.0 {
        parts.push(format!("{} of the reads: the drive reads the whole page", per_cent(reads)));
    }
    Some(format!(
        "requests that begin or end within a page of the drive ({page}) are {}",
        parts.join("; and ")
    ))
}

/// Where writes to parity were faster than the read that most of them need.
fn writes_without_reads(stats: &Stats, bare: &Bare) -> Option<String> {
    let writes = stats.op(Op::Write);
    let least = requests::bare_of(Op::Write, &writes, bare);
    (bare.has_parity() && writes.latency.count() > 0 && writes.latency.mean() < least * 0.99).then(|| {
        "bare of these writes includes a read from flash for their parity; they took less on average, \
         because what they needed was never written, or was in a buffer"
            .into()
    })
}

/// Where reads were faster than the limit of reads from flash.
fn reads_without_flash(stats: &Stats, bare: &Bare) -> Option<String> {
    let reads = stats.op(Op::Read);
    let (mean, least) = (reads.latency.mean(), requests::bare_of(Op::Read, &reads, bare));
    // Times of cells vary about their mean by less than this in all but the shortest runs.
    (reads.latency.count() > 0 && mean < least * 0.99).then(|| {
        "bare is a read from flash; these reads took less on average, because pages were never written \
         (precondition.state, precondition.fill), or were in a buffer or cache"
            .into()
    })
}
