//! A scenario: everything that a run needs, as one configuration.

use crate::array::{Fill, Members, SimulatedArray};
use crate::kv::{Backing, ByteDisk, KvConfig, SimulatedServer, load};
use crate::path::{ControllerKind, HostConfig, SimulatedHost};
use crate::trace::{self, Replay, ReplayOptions, TraceError};
use crate::workload::config::PaceKind;
use crate::workload::datacenter::{DatacenterConfig, Workload};
use crate::workload::fio::{FioErrors, FioJobs};
use crate::workload::{BesideConfig, LsmConfig, Source, Synthetic, SyntheticConfig};
use crate::world::{Checker, Limits, Witness, World};
use std::path::Path;
use tailcut_base::config::{Configure, Visit, choose, count_u32};
use tailcut_base::timers::Timers;
use tailcut_base::{Class, Device, Nanos, Time};
use tailcut_host::array::epoch::EpochMode;
use tailcut_host::array::{self, ArrayConfig};
use tailcut_host::path::{Strategy, ahci};
use tailcut_host::{BLOCK_SECTORS, Disk};
use tailcut_ssd::config::SsdConfig;
use tailcut_ssd::controller::tags::Protocol;
use tailcut_ssd::precondition::{PreparedState, prepared_content};
use tailcut_ssd::{Precondition, Preset, Probe, Ssd};

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
    /// When requests are issued.
    pub timing: ReplayTiming,
    /// Parts per million of the recorded times.
    pub stretch_ppm: u64,
    /// The most requests in flight.
    pub depth: u32,
    /// Ends after so many requests; 0 for all.
    pub requests: u64,
    /// How often it is replayed.
    pub times: u32,
    /// The disk to replay, by name or number; empty for all.
    pub disk: String,
    /// Latency class of reads.
    pub read_class: u32,
    /// Latency class of everything else.
    pub write_class: u32,
}

impl Configure for TraceConfig {
    fn configure(&mut self, visit: &mut dyn Visit) {
        visit.text("file", "The trace to replay; empty for none.", &mut self.file);
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
        count_u32(visit, "read_class", "Latency class of reads.", &mut self.read_class, 1..=5);
        count_u32(visit, "write_class", "Latency class of everything else.", &mut self.write_class, 1..=5);
    }
}

/// A fio job file as the workload of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FioConfig {
    /// The job file; empty for none.
    pub file: String,
}

impl Configure for FioConfig {
    fn configure(&mut self, visit: &mut dyn Visit) {
        visit.text("file", "The fio job file to run; empty for none.", &mut self.file);
    }
}

impl Configure for Limits {
    fn configure(&mut self, visit: &mut dyn Visit) {
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
        if self.until_steady && self.round == Nanos::ZERO {
            visit.problem("until_steady", "steady state is judged in rounds; set round = \"1s\", say".into());
        }
    }
}

/// Everything that a run needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Seed of all random streams.
    pub seed: u64,
    /// Pages keep fingerprints, and every read is checked.
    pub content: bool,
    /// The drive.
    pub device: SsdConfig,
    /// How the drive is prepared.
    pub precondition: Precondition,
    /// When the run measures and ends.
    pub run: Limits,
    /// The workload, unless one of the following is chosen.
    pub workload: SyntheticConfig,
    /// A second synthetic source beside it.
    pub beside: BesideConfig,
    /// A trace as workload.
    pub trace: TraceConfig,
    /// A fio job file as workload.
    pub fio: FioConfig,
    /// A published data-centre workload, generated.
    pub datacenter: DatacenterConfig,
    /// A log-structured merge store as workload.
    pub lsm: LsmConfig,
    /// The array that drives like `device` form, if they do.
    pub array: ArrayConfig,
    /// The host between workload and drives, if it is modelled.
    pub host: HostConfig,
    /// The key-value server between workload and drives or array, if there is one.
    pub kv: KvConfig,
}

impl Default for Scenario {
    /// The built-in scenario: 70 % reads of 4 KiB over an MLC drive near steady state, 80 % full.
    /// 65,000 requests per second are about three fifths of what the drive sustains (it saturates
    /// at some 105,000), so that the tail comes from programs, erases and garbage collection and
    /// not from overload; 160 s give ten million requests, the least that resolve 99.9999 %.
    fn default() -> Scenario {
        Scenario {
            seed: 1,
            content: true,
            device: Preset::M.config(),
            precondition: Precondition { state: PreparedState::Steady, fill: BUILT_IN_FILL },
            run: Limits {
                ramp: Nanos::secs(2),
                duration: Nanos::secs(162),
                requests: 0,
                round: Nanos::secs(10),
                until_steady: false,
            },
            workload: SyntheticConfig {
                region_share: BUILT_IN_FILL,
                pace: PaceKind::Open,
                rate: 65_000,
                depth: 4096,
                ..SyntheticConfig::default()
            },
            beside: BesideConfig {
                enabled: false,
                source: SyntheticConfig { region_share: BUILT_IN_FILL, ..SyntheticConfig::default() },
            },
            trace: TraceConfig {
                file: String::new(),
                timing: ReplayTiming::Recorded,
                stretch_ppm: 1_000_000,
                depth: 4096,
                requests: 0,
                times: 1,
                disk: String::new(),
                read_class: 3,
                write_class: 3,
            },
            fio: FioConfig::default(),
            datacenter: DatacenterConfig { region_share: BUILT_IN_FILL, ..DatacenterConfig::default() },
            lsm: LsmConfig { region_share: BUILT_IN_FILL, ..LsmConfig::default() },
            array: ArrayConfig::default(),
            host: HostConfig::default(),
            kv: KvConfig::default(),
        }
    }
}

impl Configure for Scenario {
    fn configure(&mut self, visit: &mut dyn Visit) {
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
            "The workload, unless there is a trace, a job file, a data-centre workload or a store.",
            &mut self.workload,
        );
        visit.section("beside", "A second synthetic source, beside that workload.", &mut self.beside);
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
        visit.section("array", "The array that such drives form.", &mut self.array);
        visit.section("host", "The host between workload and drives.", &mut self.host);
        visit.section("kv", "The key-value server between workload and drives.", &mut self.kv);
        if self.kv.enabled && self.host.is_on() {
            visit.problem(
                "kv.enabled",
                "a server has cores of its own: set host.strategy = \"\", or kv.enabled = false".into(),
            );
        }
        let together = [self.check_host_of_array(), self.check_control()];
        for (key, message) in together.into_iter().flatten() {
            visit.problem(key, message);
        }
        if !self.trace.file.is_empty() && !self.fio.file.is_empty() {
            visit.problem("trace.file", "a run has one workload: leave trace.file or fio.file empty".into());
        }
        if self.datacenter.workload != Workload::None && self.has_file() {
            visit.problem(
                "datacenter.workload",
                "a run has one workload: set datacenter.workload = \"none\", or leave trace.file and fio.file empty"
                    .into(),
            );
        }
        if self.kv.enabled && !self.is_synthetic() {
            visit.problem(
                "kv.enabled",
                "clients of a server do what [workload] says: run no trace, job file, data-centre workload or store, or set kv.enabled = false"
                    .into(),
            );
        }
        if self.kv.enabled
            && [&self.workload.read_size, &self.workload.write_size].iter().any(|size| *size != ITEM)
        {
            visit.problem(
                "kv.enabled",
                format!("each request is for one item, of {ITEM}: set workload.read_size and workload.write_size so; kv.value is the size of items"),
            );
        }
        if self.beside.enabled && !self.is_synthetic() {
            visit.problem(
                "beside.enabled",
                "it is a source beside [workload]: set beside.enabled = false, or run no trace, job file, \
                 data-centre workload or store"
                    .into(),
            );
        }
        if let Some((key, message)) = self.check_sets() {
            visit.problem(key, message);
        }
        if self.lsm.enabled && (self.has_file() || self.datacenter.workload != Workload::None) {
            visit.problem(
                "lsm.enabled",
                "a run has one workload: set lsm.enabled = false, or leave trace.file and fio.file empty and datacenter.workload at \"none\""
                    .into(),
            );
        }
    }
}

/// What the clients of a key-value server ask for at a time, to the workload.
const ITEM: &str = "4KiB";

/// What the built-in scenario fills and uses of the drive: pages that nobody has written would be
/// read in no time.
const BUILT_IN_FILL: u32 = 800_000;

/// Why a scenario cannot run.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The fio job file cannot be read.
    #[error("{file}: {error}")]
    FioFile {
        /// The file.
        file: String,
        /// Why.
        error: std::io::Error,
    },
    /// The fio job file has errors.
    #[error(transparent)]
    Fio(#[from] FioErrors),
    /// The synthetic workload does not fit the device: key and message of each problem.
    #[error("the workload does not fit the device")]
    Workload(Vec<crate::workload::Problem>),
    /// The source beside it does not fit the device: key and message of each problem.
    #[error("the source beside the workload does not fit the device")]
    Beside(Vec<crate::workload::Problem>),
    /// The data-centre workload does not fit the device: key and message of each problem.
    #[error("the data-centre workload does not fit the device")]
    Datacenter(Vec<crate::workload::Problem>),
    /// The store does not fit the device: key and message of each problem.
    #[error("the store does not fit the device")]
    Lsm(Vec<crate::workload::Problem>),
    /// The array does not fit its drives: key and message of each problem.
    #[error("the array does not fit its drives")]
    Array(Vec<crate::workload::Problem>),
    /// The key-value server does not fit its storage: key and message of each problem.
    #[error("the key-value server does not fit its storage")]
    Kv(Vec<crate::workload::Problem>),
    /// The drive cannot be prepared as asked: too many blocks were bad from the factory.
    #[error("{0}")]
    Drive(String),
    /// Requests are due later than the clock of a run goes.
    #[error(
        "{name}: its last request is due after {due}, beyond the {horizon} that a run of this drive can last; \
         lower trace.stretch_ppm, replay with trace.timing = \"closed\", or set run.duration"
    )]
    BeyondHorizon {
        /// The source.
        name: String,
        /// When its last request is due.
        due: Time,
        /// The latest moment that a run can hold.
        horizon: Time,
    },
}

impl InputError {
    /// The whole message: with every problem, where there are several.
    pub fn in_full(&self) -> String {
        let problems = match self {
            InputError::Workload(problems)
            | InputError::Beside(problems)
            | InputError::Datacenter(problems)
            | InputError::Lsm(problems)
            | InputError::Array(problems)
            | InputError::Kv(problems) => problems,
            _ => return self.to_string(),
        };
        let each: Vec<String> = problems.iter().map(|p| format!("{}: {}", p.key, p.message)).collect();
        format!("{self}: {}", each.join("; "))
    }
}

impl Scenario {
    /// What does not fit together of a drive's sets and its array: the key to blame, what is wrong and what
    /// would be right.
    pub fn check_sets(&self) -> Option<(&'static str, String)> {
        let (sets, drives) = (self.device.sets.count, self.array.drives);
        match self.array.members {
            array::Members::Sets if drives == 0 => Some((
                "array.members",
                format!(
                    "sets without an array: set array.drives = {sets}, the number of sets, or members = \"drives\""
                ),
            )),
            array::Members::Sets if drives != sets => Some((
                "array.drives",
                format!(
                    "the members are the sets of one drive, of which there are {sets} (device.sets.count): set \
                     array.drives = {sets}, or array.members = \"drives\""
                ),
            )),
            array::Members::Drives if sets > 1 => Some((
                "device.sets.count",
                format!(
                    "the sets of a drive are used as the members of an array: set array.members = \"sets\" and \
                     array.drives = {sets}, or device.sets.count = 1"
                ),
            )),
            _ => None,
        }
    }

    /// What does not fit together of a host and its array: the key to blame, what is wrong and what would be right.
    pub fn check_host_of_array(&self) -> Option<(&'static str, String)> {
        let strategy = self.host.is_on().then(|| Strategy::parse(&self.host.strategy).ok()).flatten()?;
        if self.array.drives == 0 {
            return None;
        }
        if self.host.drives > 1 {
            let message =
                "array.drives says how many drives there are: set host.drives = 1, or array.drives = 0";
            return Some(("host.drives", message.into()));
        }
        if !strategy.interrupts && !strategy.has_poll_thread {
            let message = format!(
                "an array has requests of its own, for which no thread of \"{}\" looks: add \"poll\" or use a strategy \
                 with interrupts, or set array.drives = 0",
                self.host.strategy
            );
            return Some(("host.strategy", message));
        }
        let drives = Members::drives(&self.array);
        if self.host.controller == ControllerKind::Ahci && drives > ahci::PORTS {
            let message = format!(
                "an AHCI controller has {} ports, and array.drives = {drives}: use fewer drives, or \
                 host.controller = \"nvme\"",
                ahci::PORTS
            );
            return Some(("host.controller", message));
        }
        None
    }

    /// What does not fit together of epochs that control collection and drives that cannot be told.
    fn check_control(&self) -> Option<(&'static str, String)> {
        let has_tokens = self.array.layout.is_mirrored() || self.array.log.tokens;
        let is_controlled =
            self.array.drives > 0 && has_tokens && self.array.epoch.mode == EpochMode::GcControl;
        (is_controlled && !self.device.control_api).then(|| {
            let message = "drives without the control interface (device.control_api = false) cannot be told when to collect: set \
                           array.epoch.mode = \"epoch\", or device.control_api = true";
            ("array.epoch.mode", message.into())
        })
    }

    /// True when the workload comes from a file.
    fn has_file(&self) -> bool {
        !self.trace.file.is_empty() || !self.fio.file.is_empty()
    }

    /// True when the synthetic workload is the one that runs.
    pub fn is_synthetic(&self) -> bool {
        !self.has_file() && self.datacenter.workload == Workload::None && !self.lsm.enabled
    }

    /// The sources of the workload for a device of `sectors` sectors.
    ///
    /// # Errors
    /// All problems of the trace, the job file, the data-centre workload, the store or the synthetic
    /// workload.
    pub fn sources(&self, sectors: u64, skip_bad_lines: bool) -> Result<Vec<Box<dyn Source>>, InputError> {
        if !self.trace.file.is_empty() {
            return Ok(vec![Box::new(self.replay(sectors, skip_bad_lines)?)]);
        }
        if !self.fio.file.is_empty() {
            let file = &self.fio.file;
            let text = std::fs::read_to_string(file)
                .map_err(|error| InputError::FioFile { file: file.clone(), error })?;
            let jobs = FioJobs::parse(file, &text)?;
            let mut notes: Vec<String> = jobs.notes.iter().map(|note| format!("{file}: {note}")).collect();
            // What is said of the file is said once, by its first job.
            let noted = |source: Synthetic| source.with_notes(std::mem::take(&mut notes));
            let sources = jobs.sources(sectors, self.seed)?.into_iter().map(noted);
            return Ok(sources.map(|source| Box::new(source) as Box<dyn Source>).collect());
        }
        if self.datacenter.workload != Workload::None {
            let source = self.datacenter.source(sectors, self.seed).map_err(InputError::Datacenter)?;
            return Ok(vec![Box::new(source)]);
        }
        if self.lsm.enabled {
            let source = self.lsm.source(sectors, self.seed, self.run.ramp).map_err(InputError::Lsm)?;
            return Ok(vec![Box::new(source)]);
        }
        self.synthetic_sources(sectors)
    }

    fn synthetic_sources(&self, sectors: u64) -> Result<Vec<Box<dyn Source>>, InputError> {
        let source = self.workload.source("synthetic", sectors, self.seed).map_err(InputError::Workload)?;
        let mut sources: Vec<Box<dyn Source>> = vec![Box::new(source)];
        if self.beside.enabled {
            let beside = self.beside.source.source("beside", sectors, self.seed);
            sources.push(Box::new(beside.map_err(InputError::Beside)?));
        }
        Ok(sources)
    }

    fn replay(&self, sectors: u64, skip_bad_lines: bool) -> Result<Replay, TraceError> {
        let t = &self.trace;
        let class = |number: u32| Class::new(number as u8).expect("the range of the key is 1 to 5");
        let timing = match t.timing {
            ReplayTiming::Recorded => trace::Timing::Recorded { stretch_ppm: t.stretch_ppm, depth: t.depth },
            ReplayTiming::Closed => trace::Timing::Closed { depth: t.depth, think: Nanos::ZERO },
        };
        let options = ReplayOptions {
            timing,
            limit: (t.requests > 0).then_some(t.requests),
            times: t.times,
            disks: if t.disk.is_empty() { Vec::new() } else { vec![t.disk.clone()] },
            read_class: class(t.read_class),
            write_class: class(t.write_class),
            ..ReplayOptions::new(sectors)
        };
        Replay::open(Path::new(&t.file), &trace::Options { format: None, skip_bad_lines }, options)
    }

    /// The drive, prepared, and a checker that knows what is on it.
    ///
    /// # Errors
    /// [`InputError::Drive`].
    pub fn prepare<P: Probe>(&self, probe: P) -> Result<(Ssd<P>, Checker), InputError> {
        let mut ssd = Ssd::watched(&self.device, self.seed, self.content, probe);
        ssd.has_room_for(&self.precondition).map_err(InputError::Drive)?;
        let mapped = ssd.precondition(&self.precondition, self.seed);
        let identity = ssd.identify();
        if !self.content {
            return Ok((ssd, Checker::off()));
        }
        let mut checker = Checker::new(identity.sectors, identity.page_sectors);
        checker.prepare(mapped, prepared_content);
        Ok((ssd, checker))
    }

    /// The array over its drives, empty, each watched by a probe of its own.
    fn new_array<P: Probe>(&self, probe: impl Fn() -> P) -> Result<SimulatedArray<P>, InputError> {
        let drive = |number| Ssd::watched(&self.device, self.drive_seed(number), false, probe());
        let drives: Vec<Ssd<P>> = (0..Members::drives(&self.array)).map(drive).collect();
        let disks = Members::of(&self.array, &drives).disks(&drives);
        if let Some((key, mut message)) = self.array.misfit(&disks) {
            if self.array.members == array::Members::Sets {
                message += "; the drives are here the sets of one, which are larger where there are fewer (device.sets.count)";
            }
            return Err(InputError::Array(vec![crate::workload::Problem { key, message }]));
        }
        Ok(SimulatedArray::new(&self.array, drives))
    }

    /// Prepares an array; a checker that knows what is on it, and what is still to be written, if it is prepared by writing.
    fn prepare_array<P: Probe>(
        &self,
        array: &mut SimulatedArray<P>,
    ) -> Result<(Checker, Option<Fill>), InputError> {
        let identity = array.identify();
        let mut checker = match self.content {
            true => Checker::new(identity.sectors, identity.page_sectors),
            false => Checker::off(),
        };
        let how = &self.precondition;
        if !self.array.layout.is_in_place() {
            let fill = (how.state != PreparedState::Empty).then(|| array.fill(how, self.seed));
            return Ok((checker, fill));
        }
        for drive in array.drives() {
            drive.has_room_for(how).map_err(InputError::Drive)?;
        }
        let blocks = array.prepare(how, |number| self.drive_seed(number));
        if self.content {
            checker.prepare(blocks, prepared_content);
        }
        Ok((checker, None))
    }

    /// The world of this scenario's array, ready to run; every drive is watched by a probe of its own.
    ///
    /// # Errors
    /// As [`Scenario::world`].
    pub fn array_world<P: Probe, W: Witness>(
        &self,
        probe: impl Fn() -> P,
        witness: W,
        skip_bad_lines: bool,
    ) -> Result<World<SimulatedArray<P>, W>, InputError> {
        let mut array = self.new_array(probe)?;
        let mut sources = self.sources(array.identify().sectors, skip_bad_lines)?;
        self.check_horizon(&sources)?;
        let (checker, fill) = self.prepare_array(&mut array)?;
        sources.extend(fill.map(|fill| Box::new(fill) as Box<dyn Source>));
        array.start();
        Ok(World::witnessed(array, checker, sources, self.run.clone(), witness))
    }

    /// The world of this scenario's key-value server, ready to run; every drive is watched by a probe of its own.
    ///
    /// # Errors
    /// As [`Scenario::world`]; [`InputError::Kv`].
    pub fn kv_world<P: Probe, W: Witness>(
        &self,
        probe: impl Fn() -> P,
        witness: W,
        skip_bad_lines: bool,
    ) -> Result<World<SimulatedServer<Backing<P>>, W>, InputError> {
        let sectors = self.kv.items * BLOCK_SECTORS;
        let mut sources = self.sources(sectors, skip_bad_lines)?;
        self.check_horizon(&sources)?;
        let (backing, checker, fill) = if self.array.drives > 0 {
            let mut array = self.new_array(probe)?;
            let (checker, fill) = self.prepare_array(&mut array)?;
            array.start();
            (Backing::Array(array), checker, fill)
        } else {
            let (drive, checker) = self.prepare(probe())?;
            (Backing::Drive(drive), checker, None)
        };
        let is_prepared = fill.is_none();
        sources.extend(fill.map(|fill| Box::new(fill) as Box<dyn Source>));
        let disk = Disk::of(&backing.identify());
        let prepared = match self.precondition.state {
            PreparedState::Empty => 0,
            _ => disk.blocks * u64::from(self.precondition.fill) / 1_000_000,
        };
        let blocks = self.kv.blocks(prepared, &disk).map_err(|problem| InputError::Kv(vec![problem]))?;
        let mut loaded = load(&self.kv, &Disk { blocks, ..disk }, self.seed);
        let disk = ByteDisk::new(backing, checker, std::mem::take(&mut loaded.blocks));
        let is_ahci = self.device.queue.protocol == Protocol::Ahci;
        let server = SimulatedServer::new(&self.kv, loaded, disk, is_ahci, is_prepared, self.run.ramp);
        // The server checks every value: only it knows what was acknowledged when.
        Ok(World::witnessed(server, Checker::off(), sources, self.run.clone(), witness))
    }

    /// The world of this scenario's host and its drives, or its array of drives, ready to run; every drive is watched by a probe of
    /// its own.
    ///
    /// # Errors
    /// As [`Scenario::world`].
    pub fn host_world<P: Probe, W: Witness>(
        &self,
        probe: impl Fn() -> P,
        witness: W,
        skip_bad_lines: bool,
    ) -> Result<World<SimulatedHost<P>, W>, InputError> {
        if self.array.drives > 0 {
            return self.host_array_world(probe, witness, skip_bad_lines);
        }
        let (mut drives, mut checkers) = (Vec::new(), Vec::new());
        for number in 0..self.host.drives {
            let seed = self.drive_seed(number);
            let mut drive = Ssd::watched(&self.device, seed, self.content, probe());
            drive.has_room_for(&self.precondition).map_err(InputError::Drive)?;
            let mapped = drive.precondition(&self.precondition, seed);
            let identity = drive.identify();
            let mut checker = Checker::off();
            if self.content {
                checker = Checker::new(identity.sectors, identity.page_sectors);
                checker.prepare(mapped, prepared_content);
            }
            drives.push(drive);
            checkers.push(checker);
        }
        let host = SimulatedHost::new(&self.host, drives, checkers, self.run.ramp, self.seed);
        let sources = self.sources(host.identify().sectors, skip_bad_lines)?;
        self.check_horizon(&sources)?;
        // The host checks each of its drives: only it knows the order in which requests reach them.
        Ok(World::witnessed(host, Checker::off(), sources, self.run.clone(), witness))
    }

    fn host_array_world<P: Probe, W: Witness>(
        &self,
        probe: impl Fn() -> P,
        witness: W,
        skip_bad_lines: bool,
    ) -> Result<World<SimulatedHost<P>, W>, InputError> {
        let mut array = self.new_array(probe)?;
        let mut sources = self.sources(array.identify().sectors, skip_bad_lines)?;
        self.check_horizon(&sources)?;
        let (checker, fill) = self.prepare_array(&mut array)?;
        sources.extend(fill.map(|fill| Box::new(fill) as Box<dyn Source>));
        let host =
            SimulatedHost::with_array(&self.host, array.into_parts(), checker, self.run.ramp, self.seed);
        // The host checks the array: only it knows the order in which requests reach it.
        Ok(World::witnessed(host, Checker::off(), sources, self.run.clone(), witness))
    }

    /// Equal drives have random streams of their own.
    fn drive_seed(&self, number: u32) -> u64 {
        self.seed.wrapping_add(u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// The latest moment that a run can reach, with an hour left for the requests in flight.
    pub fn horizon(&self) -> Time {
        Time(Ssd::horizon_of(&self.device.geometry).0.saturating_sub(Nanos::secs(3600).0))
    }

    /// Refuses sources whose requests are due later than the timers of a run can hold.
    fn check_horizon(&self, sources: &[Box<dyn Source>]) -> Result<(), InputError> {
        let horizon = self.horizon();
        let limited = self.run.duration > Nanos::ZERO && self.run.duration.0 < horizon.0;
        // The issue queue holds what lies behind the end of the run, too, so it has a horizon of
        // its own.
        let most = if limited { Timers::new(sources.len()).horizon() } else { horizon };
        for source in sources {
            let due = source.last_due().map_or(0, |due| due.0).saturating_add(source.schedule().start.0);
            if due >= most.0 {
                let name = source.name().to_string();
                return Err(InputError::BeyondHorizon { name, due: Time(due), horizon: most });
            }
        }
        Ok(())
    }

    /// Sectors that the workload sees: of the drive, the drives of a host, the array, or all items of a server.
    ///
    /// # Errors
    /// [`InputError::Array`].
    pub fn sectors(&self) -> Result<u64, InputError> {
        let drive = u64::from(self.device.ftl.logical_pages(&self.device.geometry))
            * u64::from(self.device.geometry.page_sectors());
        Ok(match (self.kv.enabled, self.array.drives) {
            (true, _) => self.kv.items * BLOCK_SECTORS,
            (false, 0) => drive * u64::from(self.host.drives.max(1)),
            (false, _) => self.new_array(|| ())?.identify().sectors,
        })
    }

    /// What keeps this scenario from running, as far as that shows without preparing a drive or looking through a
    /// file.
    ///
    /// # Errors
    /// As [`Scenario::world`].
    pub fn check(&self) -> Result<(), InputError> {
        let sectors = self.sectors()?;
        if self.is_synthetic() {
            let sources = self.synthetic_sources(sectors)?;
            self.check_horizon(&sources)?;
        }
        Ok(())
    }

    /// The world of this scenario, ready to run.
    ///
    /// # Errors
    /// As [`Scenario::sources`] and [`Scenario::prepare`]; [`InputError::BeyondHorizon`].
    pub fn world<P: Probe, W: Witness>(
        &self,
        probe: P,
        witness: W,
        skip_bad_lines: bool,
    ) -> Result<World<Ssd<P>, W>, InputError> {
        let sectors = u64::from(self.device.ftl.logical_pages(&self.device.geometry))
            * u64::from(self.device.geometry.page_sectors());
        // Bad input is found before seconds are spent on preparing the drive.
        let sources = self.sources(sectors, skip_bad_lines)?;
        self.check_horizon(&sources)?;
        let (ssd, checker) = self.prepare(probe)?;
        Ok(World::witnessed(ssd, checker, sources, self.run.clone(), witness))
    }
}
