//! A scenario: everything that a run needs, as one configuration.

mod any_world;
mod checks;
mod effect;
mod error;
mod memory;
mod placement;
mod sources;
mod worlds;

pub use any_world::{AnyWorld, WorldKind};
pub use effect::Ineffective;
pub use error::InputError;
pub use placement::PlacementConfig;

use crate::array::incidents;
use crate::kv::KvConfig;
use crate::path::HostConfig;
use crate::world::Limits;
use tailcut_base::config::{Choice, Configure, KeyVisitor, Names, choose, count_u32};
use tailcut_base::{BadValue, Nanos, Problem};
use tailcut_host::array::ArrayConfig;
use tailcut_ssd::config::SsdConfig;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset};
use tailcut_workload::config::PaceKind;
use tailcut_workload::datacenter::{DatacenterConfig, Workload};
use tailcut_workload::trace;
use tailcut_workload::{BesideConfig, FurtherSources, LsmConfig, SyntheticConfig};

tailcut_base::choice! {
    /// When the requests of a trace are issued.
    pub enum ReplayTiming {
        /// At their recorded moments, stretched.
        Recorded = "recorded",
        /// A fixed number in flight.
        Closed = "closed",
    }
}

/// A trace as the workload of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceConfig {
    /// The trace's file; empty for none.
    pub file: String,
    /// Format of the trace; `None` to detect it from the content.
    pub format: Option<trace::Format>,
    /// Whether requests are issued at their recorded times, stretched, or in a closed loop.
    pub timing: ReplayTiming,
    /// Factor of the recorded times, in parts per million: a million keeps them.
    pub stretch_ppm: u64,
    /// Maximum number of requests in flight.
    pub depth: u32,
    /// Number of requests after which the replay ends; 0 for all.
    pub requests: u64,
    /// Number of times that the trace is replayed, one after the other.
    pub times: u32,
    /// The disk to replay, by name or number; empty for all.
    pub disk: String,
    /// Write streams that the disks take in turn, 1 to 255.
    pub streams: u32,
}

/// `auto`, and every trace format.
const FORMATS: Names = {
    const COUNT: usize = trace::Format::NAMES.len() + 1;
    const SHOWN: [&str; COUNT] = {
        let mut shown = ["auto"; COUNT];
        let mut at = 1;
        while at < COUNT {
            shown[at] = trace::Format::NAMES[at - 1];
            at += 1;
        }
        shown
    };
    Names::without_aliases(&SHOWN)
};

impl Configure for TraceConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        visit.text("file", "The trace to replay; empty for none.", &mut self.file);
        let mut format = self.format.map_or(0, |format| format.index() + 1);
        visit.choice("format", "Its format; auto detects it from the content.", &mut format, FORMATS);
        self.format = format.checked_sub(1).map(|index| trace::Format::all()[index]);
        choose(
            visit,
            "timing",
            "At the recorded moments, or with a fixed number in flight.",
            &mut self.timing,
        );
        visit.count(
            "stretch_ppm",
            "Parts per million of the recorded times: 500000 is twice as fast, 0 all at once.",
            &mut self.stretch_ppm,
            0..=1_000_000_000_000,
        );
        count_u32(visit, "depth", "The most requests in flight.", &mut self.depth, 1..=1 << 20);
        visit.count("requests", "Ends after so many requests; 0 for all.", &mut self.requests, 0..=u64::MAX);
        count_u32(
            visit,
            "times",
            "How often the trace is replayed, one time after another.",
            &mut self.times,
            1..=1_000_000,
        );
        visit.text(
            "disk",
            "The disk to replay, by name or number; empty for all, each in a part of the device of its own.",
            &mut self.disk,
        );
        count_u32(
            visit,
            "streams",
            "Write streams (reclaim unit handles under device.fdp) that the disks of the trace take in turn.",
            &mut self.streams,
            1..=255,
        );
        visit.replaced("read_class", "workload.read_class");
        visit.replaced("write_class", "workload.write_class");
    }
}

/// A fio job file as the workload of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FioConfig {
    /// The job file; empty for none.
    pub file: String,
}

impl Configure for FioConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        visit.text("file", "The fio job file to run; empty for none.", &mut self.file);
    }
}

impl Configure for Limits {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        let day = Nanos::secs(86_400);
        visit.time("ramp", "Time at the start that does not count.", &mut self.ramp, Nanos(0)..=day);
        visit.time(
            "duration",
            "Nothing is issued after this long; 0 for no limit.",
            &mut self.duration,
            Nanos(0)..=day * 30,
        );
        visit.count("requests", "The most requests; 0 for no limit.", &mut self.requests, 0..=u64::MAX);
        visit.time(
            "round",
            "Length of a round, in which steady state is judged (SNIA PTS); 0 for none.",
            &mut self.round,
            Nanos(0)..=day,
        );
        visit.flag("until_steady", "End as soon as five rounds show steady state.", &mut self.until_steady);
        if self.duration > Nanos::ZERO && self.ramp >= self.duration {
            let Limits { ramp, duration, .. } = self;
            visit.problem(
                "ramp",
                format!(
                    "the ramp of {ramp} is no shorter than the run of {duration}: nothing would be measured; \
                     lower run.ramp, or raise run.duration"
                ),
            );
        }
        if self.round > Nanos::ZERO && self.duration.0 / self.round.0 > MOST_ROUNDS {
            let Limits { round, duration, .. } = self;
            visit.problem(
                "round",
                format!(
                    "rounds of {round} make more than {MOST_ROUNDS} in a run of {duration} (run.duration): a \
                     report lists them all; lengthen run.round"
                ),
            );
        }
        if self.until_steady && self.round == Nanos::ZERO {
            visit.problem("until_steady", "steady state is judged in rounds; set round = \"1s\", say".into());
        }
    }
}

/// The most rounds of a run.
const MOST_ROUNDS: u64 = 1_000_000;

/// Everything that a run needs.
///
/// # Examples
/// ```
/// use tailcut_sim::Scenario;
/// use tailcut_sim::measured::{Run, measure};
/// use tailcut_sim::world::Limits;
/// use tailcut_ssd::Preset;
///
/// let mut scenario = Scenario { device: Preset::G.config(), run: Limits::NONE, ..Scenario::default() };
/// scenario.workload.requests = 1000;
/// let run = Run { label: "example".into(), scenario };
/// let measured = measure(&run, &|| false).expect("a valid scenario");
/// assert_eq!(measured.all.count(), 1000);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Seed of all random streams.
    pub seed: u64,
    /// Pages keep fingerprints, and every read is checked.
    pub content: bool,
    /// The drive, of which a scenario with an array or a host may have several.
    pub device: SsdConfig,
    /// The state that the drive is prepared in, and the share of it that holds data.
    pub precondition: Precondition,
    /// When the run measures and ends.
    pub run: Limits,
    /// The workload, unless one of the following is chosen.
    pub workload: SyntheticConfig,
    /// A second synthetic source, beside `workload`.
    pub beside: BesideConfig,
    /// The third to the eighth synthetic source, beside those two.
    pub further: FurtherSources,
    /// A trace as the workload; none while its file is empty.
    pub trace: TraceConfig,
    /// A fio job file as workload.
    pub fio: FioConfig,
    /// A data-centre workload of Sprinkler's table 1, generated, as the workload.
    pub datacenter: DatacenterConfig,
    /// A log-structured merge store as workload.
    pub lsm: LsmConfig,
    /// The array that drives like `device` form, if they do.
    pub array: ArrayConfig,
    /// Incidents of the array's drives during the run, as text for [`incidents::parse`]; empty for none.
    pub incidents: String,
    /// The host between workload and drives, if it is modelled.
    pub host: HostConfig,
    /// The key-value server between workload and drives or array, if there is one.
    pub kv: KvConfig,
    /// How writes are placed on a drive with several reclaim unit handles.
    pub placement: PlacementConfig,
}

impl Default for Scenario {
    /// The built-in scenario: 70 % reads of 4 KiB over an MLC drive near steady state, 80 % full.
    /// 65,000 requests per second are about three fifths of what the drive sustains (it saturates
    /// at some 105,000), so that the tail comes from programs, erases and garbage collection and
    /// not from overload; 20 s give 1.3 million requests, of which 130 are slower than the
    /// percentile 99.99.
    fn default() -> Scenario {
        let beside = BesideConfig {
            enabled: false,
            source: SyntheticConfig { region_share: BUILT_IN_FILL, ..SyntheticConfig::default() },
        };
        Scenario {
            seed: 1,
            content: true,
            device: Preset::M.config(),
            precondition: Precondition { state: PreparedState::Steady, fill: BUILT_IN_FILL },
            run: Limits {
                ramp: Nanos::secs(2),
                duration: Nanos::secs(22),
                requests: 0,
                round: Nanos::secs(4),
                until_steady: false,
            },
            workload: SyntheticConfig {
                region_share: BUILT_IN_FILL,
                pace: PaceKind::Open,
                rate: 65_000,
                depth: 4096,
                ..SyntheticConfig::default()
            },
            further: FurtherSources::like(&beside),
            beside,
            trace: TraceConfig {
                file: String::new(),
                format: None,
                timing: ReplayTiming::Recorded,
                stretch_ppm: 1_000_000,
                depth: 4096,
                requests: 0,
                times: 1,
                disk: String::new(),
                streams: 1,
            },
            fio: FioConfig::default(),
            datacenter: DatacenterConfig { region_share: BUILT_IN_FILL, ..DatacenterConfig::default() },
            lsm: LsmConfig { region_share: BUILT_IN_FILL, ..LsmConfig::default() },
            array: ArrayConfig::default(),
            incidents: String::new(),
            host: HostConfig::default(),
            kv: KvConfig::default(),
            placement: PlacementConfig::default(),
        }
    }
}

impl Configure for Scenario {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        visit.count(
            "seed",
            "Seed of all random streams: one seed, one result.",
            &mut self.seed,
            0..=u64::MAX,
        );
        visit.flag(
            "content",
            "Pages keep fingerprints, and every read is checked against what was written.",
            &mut self.content,
        );
        visit.section("run", "When the run measures and ends.", &mut self.run);
        visit.section(
            "workload",
            "The workload, unless there is a trace, a job file, a data-centre workload or a store; its \
             classes are also those of a trace, a job file and a data-centre workload.",
            &mut self.workload,
        );
        visit.section(
            "beside",
            "A second synthetic source, beside that workload; [beside_3] to [beside_8] are further ones with \
             the same keys.",
            &mut self.beside,
        );
        self.further.configure(visit);
        visit.section("trace", "A trace as workload.", &mut self.trace);
        visit.section("fio", "A fio job file as workload.", &mut self.fio);
        visit.section(
            "datacenter",
            "A published data-centre workload, generated from what is published of it.",
            &mut self.datacenter,
        );
        visit.section("lsm", "A log-structured merge store as workload.", &mut self.lsm);
        visit.section("precondition", "How the drive is prepared.", &mut self.precondition);
        visit.section("device", "The drive.", &mut self.device);
        let mut array = ArraySection { config: &mut self.array, incidents: &mut self.incidents };
        visit.section("array", "The array that such drives form.", &mut array);
        visit.section("host", "The host between workload and drives.", &mut self.host);
        visit.section("kv", "The key-value server between workload and drives.", &mut self.kv);
        visit.section(
            "placement",
            "How the host places writes on a drive with several reclaim unit handles.",
            &mut self.placement,
        );
        let together =
            [self.check_server(), self.check_host_of_array(), self.check_control(), self.check_incidents()];
        for Problem { key, message } in together.into_iter().flatten() {
            visit.problem(key, message);
        }
        if !self.trace.file.is_empty() && !self.fio.file.is_empty() {
            visit.problem("trace.file", "a run has one workload: leave trace.file or fio.file empty".into());
        }
        if self.datacenter.workload != Workload::None && self.has_file() {
            visit.problem(
                "datacenter.workload",
                "a run has one workload: set datacenter.workload = \"none\", or leave trace.file and \
                    fio.file empty"
                    .into(),
            );
        }
        if let Some((name, _)) = self.synthetic().nth(1).filter(|_| !self.is_synthetic()) {
            visit.problem(
                if name == "beside" { "beside.enabled" } else { name },
                format!(
                    "it is a source beside [workload]: set {name}.enabled = false, or run no trace, job \
                     file, data-centre workload or store"
                ),
            );
        }
        for Problem { key, message } in self.check_sets().into_iter().chain(self.check_groups()) {
            visit.problem(key, message);
        }
        if self.lsm.enabled && (self.has_file() || self.datacenter.workload != Workload::None) {
            visit.problem(
                "lsm.enabled",
                "a run has one workload: set lsm.enabled = false, or leave trace.file and fio.file empty and \
                    datacenter.workload at \"none\""
                    .into(),
            );
        }
    }
}

/// The keys of an array: its own, and what happens to it in a run.
struct ArraySection<'s> {
    config: &'s mut ArrayConfig,
    incidents: &'s mut String,
}

impl Configure for ArraySection<'_> {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        self.config.configure(visit);
        visit.text(
            "incidents",
            "What happens to the drives of a simulated array, at times since its measured sources began, such \
             as \"2s remove 1; 5s return 1; 20s scrub\". remove DRIVE: it is gone, and the array goes on \
             without it. return DRIVE: it comes back, and is rebuilt. stall DRIVE TIME: it fetches no commands \
             for so long. delay DRIVE TIME: from now on it fetches each command so much later. scrub: all data \
             is read and compared. Rebuilding and scrubbing keep to array.background_rate.",
            self.incidents,
        );
        if let Err(BadValue { message }) = incidents::parse(self.incidents, self.config.drives) {
            visit.problem("incidents", message);
        }
    }
}

/// The share of the drive, in parts per million, that the built-in scenario fills and uses: pages that were
/// never written would be read in no time.
const BUILT_IN_FILL: u32 = 800_000;

impl Scenario {
    /// True when the workload comes from a file.
    fn has_file(&self) -> bool {
        !self.trace.file.is_empty() || !self.fio.file.is_empty()
    }

    /// True when neither the run nor its workload has an end. Workloads other than the synthetic ones end
    /// by themselves, or check their own end.
    fn has_no_end(&self) -> bool {
        let goes_on = |source: &SyntheticConfig| source.requests == 0 && source.runtime == Nanos::ZERO;
        let has_limit = self.run.duration > Nanos::ZERO || self.run.requests > 0 || self.run.until_steady;
        self.is_synthetic() && !has_limit && self.synthetic().any(|(_, source)| goes_on(source))
    }

    /// `[workload]` and the synthetic sources beside it, with the names of their sections.
    pub fn synthetic(&self) -> impl Iterator<Item = (&'static str, &SyntheticConfig)> {
        let beside = self.beside.enabled.then_some(("beside", &self.beside.source));
        [("workload", &self.workload)].into_iter().chain(beside).chain(self.further.enabled())
    }

    /// True when the synthetic workload is the one that runs.
    pub fn is_synthetic(&self) -> bool {
        !self.has_file() && self.datacenter.workload == Workload::None && !self.lsm.enabled
    }
}
