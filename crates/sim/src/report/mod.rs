//! The report of a finished run: plain data for tables, JSON and later reading.
//!
//! Every figure stands beside the limit that physics sets for it; `docs/model.md`, section
//! "Limits", defines each limit. The report depends on the scenario only: two runs of one
//! scenario give the same report to the byte.

mod array;
mod curve;
mod detail;
mod drive;
mod host;
mod kv;
mod lifetime;
mod limits;
mod notes;
mod requests;
mod steady;
mod store;
mod waits;

pub use array::{
    ArrayReport, EpochReport, GroupReport, IncidentReport, LogReport, MemberReport, StageReport,
};
pub use curve::{Curve, PERCENTILES, Point};
pub use detail::{BANDS, Band, Detail, KindDetail};
pub use drive::{
    DriveReport, HandleReport, Preemptions, Programs, ReadHits, TimeBreakdown, Transactions, Wear,
};
pub use host::{CpuShare, HostReport};
pub use kv::KvReport;
pub use lifetime::Lifetime;
pub use limits::{Bare, Demand, Resource};
pub use requests::{KindReport, class_kind};
pub use steady::SteadyReport;
pub use store::{OperationReport, StoreReport};
pub use waits::{HeldUpShare, TAILS, Tail, Wait};

use crate::scenario::Scenario;
use crate::storage::Storage;
use crate::world::{OpStats, Overload, World};
use drive::Measurement;
use requests::Measured;
use serde::{Deserialize, Serialize};
use tailcut_base::config::Choice;
use tailcut_base::quantity::{show_number_of, show_time};
use tailcut_base::{Device, Nanos, Op};
use tailcut_ssd::Figures;
use tailcut_workload::{Pace, Source};

/// The results of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Why all figures are zero, if no request was answered within the measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unmeasured: Option<String>,
    /// Version of tailcut that ran the scenario.
    pub version: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// Digest of the history of all requests, 16 hexadecimal digits: two runs of one scenario
    /// agree on it.
    pub digest: String,
    /// Name of the preset that the drive's configuration started from.
    pub drive_name: String,
    /// The array, where the drives form one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayReport>,
    /// The host, where one is modelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostReport>,
    /// What the key-value server did; `None` unless there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kv: Option<KvReport>,
    /// Size in bytes of the device that the workload ran on.
    pub capacity_bytes: u64,
    /// Writes complete in a volatile cache: a power cut loses them until they are flushed. False if all had
    /// force unit access.
    #[serde(default)]
    pub volatile_cache: bool,
    /// The sources of the workload, one line each.
    pub sources: Vec<String>,
    /// True when the run was ended before its time, by its user.
    pub interrupted: bool,
    /// True when every read was checked against what was last written.
    pub content_checked: bool,
    /// Requests answered, with those of the ramp.
    pub completed: u64,
    /// Start of the measurement, in ns since the start of the run.
    pub from_ns: u64,
    /// End of the measurement, in ns since the start of the run.
    pub until_ns: u64,
    /// Steady state, as SNIA judges it.
    pub steady: Option<SteadyReport>,
    /// Present where an open loop asked for more than the drive could do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overload: Option<Overload>,
    /// Mean requests in flight over throughput × mean time in the drive (Little's law): 1 in steady state.
    littles_ratio: f64,
    /// Mean requests in flight: in the drive.
    pub in_flight: f64,
    /// Mean requests outstanding: in the drive, or due and waiting for it.
    #[serde(default)]
    pub outstanding: f64,
    /// Time in ns during which a request waited because every tag of the drive's queue was taken.
    /// Limit: 0.
    pub queue_stall_ns: u64,
    /// All requests, then each kind that occurred; behind reads of several classes each class.
    pub kinds: Vec<KindReport>,
    /// The least work of each resource for these requests, the busiest first.
    pub resources: Vec<Resource>,
    /// What the drive did; of an array, its first drive.
    pub drive: DriveReport,
    /// The store, where the workload is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<StoreReport>,
    /// Notes on how the workload was made to fit, and on failures.
    pub notes: Vec<String>,
}

impl Report {
    /// The report of a finished run, in which each drive did what `figures` say.
    pub fn new<S: Storage>(
        scenario: &Scenario,
        world: &World<S>,
        figures: &[Figures],
        interrupted: bool,
    ) -> Report {
        let stats = &world.stats;
        let seconds = stats.elapsed().as_secs_f64();
        let measured = Measured::new(seconds, world.overload().is_some());
        let bare = Bare::of(scenario);
        let all = stats.all();
        let slowest = stats.slowest();
        let mut kinds = vec![KindReport::all(stats, &bare, measured, &slowest)];
        for &op in Op::all() {
            let of_kind = stats.op(op);
            if of_kind.latency.count() + of_kind.errors > 0 {
                kinds.push(KindReport::of(op, &of_kind, &bare, measured, &slowest));
            }
            if op == Op::Read {
                let classes = stats.read_classes().into_iter();
                kinds.extend(
                    classes
                        .map(|(class, reads)| KindReport::of_class(class, reads, &bare, measured, &slowest)),
                );
            }
        }
        let requests_per_s = kinds[0].requests_per_s;
        // Failed requests were work, too.
        let ended = (stats.ended() + stats.errors()) as f64;
        let ended_per_s = if seconds > 0.0 { ended / seconds } else { 0.0 };
        let mut resources = limits::of_drives(&scenario.device, figures, ended_per_s);
        let kv = world.device.kv_figures();
        if kv.is_none() {
            resources.extend(closed_loop(world, &bare, requests_per_s));
        }
        resources.sort_by(|a, b| b.busy.total_cmp(&a.busy).then(a.name.cmp(&b.name)));
        let busiest = resources.first().map_or(0.0, |resource| resource.busy);
        Report {
            unmeasured: unmeasured(scenario, world, interrupted),
            version: env!("CARGO_PKG_VERSION").to_string(),
            seed: scenario.seed,
            digest: format!("{:016x}", stats.digest),
            drive_name: scenario.device.preset.name().to_string(),
            array: world.device.array().map(|array| ArrayReport::new(scenario, world, array, figures)),
            host: world
                .device
                .host_figures()
                .map(|host| HostReport::new(&scenario.host, &host, stats.ended() + stats.errors())),
            kv: kv.as_ref().map(KvReport::new),
            capacity_bytes: world.device.identify().sectors * tailcut_base::SECTOR_BYTES,
            volatile_cache: has_volatile_cache(world) && !stats.op(Op::Write).is_all_fua(),
            sources: world.sources().map(describe).collect(),
            interrupted,
            content_checked: world.is_checking() || world.device.checks_content(),
            completed: world.completed(),
            from_ns: stats.from.0,
            until_ns: stats.until.0,
            steady: SteadyReport::of(&world.rounds),
            overload: world.overload(),
            littles_ratio: stats.littles_ratio(),
            outstanding: stats.outstanding(),
            in_flight: stats.in_flight(),
            queue_stall_ns: stats.queue_stall.0,
            kinds,
            drive: DriveReport::new(
                &world.device.drives()[0],
                &figures[0],
                &Measurement { seconds, busiest, requests_per_s: ended_per_s },
            ),
            resources,
            store: world.sources().find_map(Source::store).map(|store| StoreReport::new(store, &bare)),
            notes: notes::list(scenario, world, figures, &all, &bare, interrupted),
        }
    }

    /// The statistics of all requests.
    pub fn all(&self) -> &KindReport {
        &self.kinds[0]
    }

    /// True if latencies of a kind of request are those of a volatile cache.
    pub fn is_volatile(&self, kind: &str) -> bool {
        self.volatile_cache && kind == Op::Write.name()
    }

    /// Why the report has no figures, if no request was answered within the measurement.
    pub fn unmeasured(&self) -> Option<&str> {
        self.unmeasured.as_deref()
    }

    /// Length of the measurement in seconds.
    pub fn seconds(&self) -> f64 {
        (self.until_ns - self.from_ns) as f64 / 1e9
    }

    /// The share of the measurement during which the queue stalled.
    pub fn queue_stall(&self) -> f64 {
        let elapsed = self.until_ns - self.from_ns;
        if elapsed == 0 { 0.0 } else { self.queue_stall_ns as f64 / elapsed as f64 }
    }

    /// The busiest resource of the run, which limits its throughput; `None` if there is none.
    pub fn bottleneck(&self) -> Option<&Resource> {
        self.resources.first()
    }
}

/// Whether writes complete before they are durable. RAID in place completes a write when its drives have.
fn has_volatile_cache<S: Storage>(world: &World<S>) -> bool {
    match world.device.array() {
        Some(array) if array.raid().is_some() => {
            world.device.drives().iter().any(|drive| drive.identify().volatile_cache)
        }
        _ => world.device.identify().volatile_cache,
    }
}

fn describe(source: &dyn Source) -> String {
    let pace = match source.pace() {
        Pace::Closed { depth, .. } => format!("closed loop of {depth}"),
        Pace::Open { depth } => format!("open loop, at most {depth} in flight"),
        Pace::Driven { depth } => format!("an application, at most {depth} requests in flight"),
    };
    format!("{}: {pace}", source.name())
}

/// The places of closed loops: each request takes one for the shortest possible latency at least, or for its
/// own where that was shorter because it had no need of the flash, or of one drive alone: the buffer or a
/// cache answered it, its page was never written.
fn closed_loop<D: Device>(world: &World<D>, bare: &Bare, requests_per_s: f64) -> Option<Resource> {
    let mut places = 0u64;
    for source in world.sources().filter(|source| !source.prepares()) {
        let Pace::Closed { depth, .. } = source.pace() else { return None };
        places += u64::from(depth);
    }
    let whole_ns = places as f64 * world.stats.elapsed().0 as f64;
    let least_ns: f64 = Op::all().iter().map(|&op| least_ns(op, &world.stats.op(op), bare)).sum();
    if least_ns <= 0.0 || whole_ns <= 0.0 {
        return None;
    }
    let busy = least_ns / whole_ns;
    Some(Resource { name: "queue".into(), busy, requests_per_s: requests_per_s / busy })
}

/// The time that requests of one kind take at the very least, in ns, but none more than it took.
fn least_ns(op: Op, stats: &OpStats, bare: &Bare) -> f64 {
    let bare_ns = requests::bare_of(op, stats, bare);
    // A bucket is known by the longest latency that it holds.
    let buckets = stats.latency.buckets();
    let least: f64 = buckets.map(|(latency, count)| bare_ns.min(latency.0 as f64) * count as f64).sum();
    least.min(stats.latency.sum() as f64)
}

/// Why no request was answered within the measurement, if none was.
fn unmeasured<D: Device>(scenario: &Scenario, world: &World<D>, interrupted: bool) -> Option<String> {
    if world.stats.requests() > 0 {
        return None;
    }
    let failed = world.stats.errors();
    if failed > 0 {
        return Some(format!("all {failed} requests that fell into the measurement failed"));
    }
    if interrupted {
        return Some(interrupted_early(world, scenario.run.ramp));
    }
    let (runtime, ramp) = (scenario.workload.runtime, scenario.run.ramp);
    if scenario.is_synthetic() && runtime > Nanos::ZERO && scenario.workload.start + runtime <= ramp {
        return Some(format!(
            "no request fell into the measurement: the workload ended after {runtime} (workload.runtime), \
             within the ramp of {ramp} (run.ramp); raise the one or lower the other"
        ));
    }
    let limits = [("run.requests", scenario.run.requests), ("workload.requests", scenario.workload.requests)];
    let limit = limits.into_iter().find(|&(_, requests)| requests > 0 && requests <= world.completed());
    if let Some((key, requests)) = limit.filter(|_| scenario.is_synthetic()) {
        return Some(format!(
            "no request fell into the measurement: the run ended after {requests} requests ({key}), within \
             the ramp of {ramp} (run.ramp); raise the one or lower the other"
        ));
    }
    let measured = world.sources().filter(|source| !source.prepares());
    let last =
        measured.map(Source::last_due).collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().max());
    if let Some(last) = last.filter(|last| last.0 <= scenario.run.ramp.0) {
        return Some(format!(
            "no request fell into the measurement: the last was due at {last}, within the ramp of {} \
             (run.ramp); lower the ramp",
            scenario.run.ramp
        ));
    }
    if world.overload().is_some() {
        let elapsed = world.now().0 as f64 / 1e9;
        let rate = if elapsed > 0.0 { world.completed() as f64 / elapsed } else { 0.0 };
        return Some(format!(
            "no request that fell due in the measurement was answered: the load exceeds what the drive \
             sustains ({rate:.0} requests/s over the whole run, with its ramp); lower the rate, or set \
             run.ramp = \"0s\" to see what it does"
        ));
    }
    // Only fio jobs have ramps of their own.
    let jobs = world.sources().filter(|source| !source.prepares());
    let longest = jobs.map(|job| (job.schedule().ramp, job.name())).max_by_key(|&(ramp, _)| ramp);
    Some(match longest {
        Some((ramp, job)) if ramp > scenario.run.ramp => format!(
            "no request fell into the measurement: the fio job '{job}' ended within its ramp_time of {ramp}; \
             shorten ramp_time, or raise size, number_ios or runtime"
        ),
        _ => "no request fell into the measurement: lower run.ramp or run longer".into(),
    })
}

/// Why nothing was measured in a run that its user has stopped.
fn interrupted_early<D: Device>(world: &World<D>, ramp: Nanos) -> String {
    let (now, done) = (show_time(world.now().0 as f64), show_number_of(world.completed(), "request"));
    let before = match world.sources().any(|source| source.prepares()) {
        true => String::from("before the preparation of the array and the ramp (run.ramp) were over"),
        false => format!("within the ramp of {ramp} (run.ramp)"),
    };
    format!("the run was interrupted after {done} and {now} of simulated time, {before}")
}
