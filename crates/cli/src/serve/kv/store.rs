//! Where items are kept.

use super::arguments::KvArguments;
use crate::failure::Failure;
use crate::run::Scenario;
use crate::serve::arrangement::Devices;
use crate::serve::drive::{Protocol, Served, consent, load, refuse_duplicates};
use std::fmt;
use tailcut_host::BLOCK_BYTES;
use tailcut_host::array::LayoutKind;
use tailcut_host::kv::{AdmissionSettings, Append, Engine, Keep, Settings};
use tailcut_rt::any::BuildError;
use tailcut_rt::kv::StoreMode;
use tailcut_rt::kv::finding::{self, CannotFind};
use tailcut_rt::probe::OpenPurpose;
use tailcut_rt::{AnyDrive, Clock};
use tailcut_ssd::precondition::PreparedState;

/// Where items are kept, and how.
#[derive(Clone, Debug)]
pub struct Store {
    settings: Settings,
    /// None if in memory only.
    drive: Option<Served>,
    making: StoreMode,
    /// Of a store that is made.
    parts: u32,
}

impl Store {
    /// The store that the arguments describe.
    ///
    /// # Errors
    /// What is wrong with the scenario, or a conflict between settings.
    pub fn read(arguments: &KvArguments) -> Result<Store, Failure> {
        let settings = settings(arguments)?;
        let parts = parts(arguments, &settings);
        if arguments.memory_only {
            return Ok(Store { settings, drive: None, making: StoreMode::Create, parts });
        }
        refuse_duplicates(&arguments.devices)?;
        let mut scenario = Box::<Scenario>::default();
        if arguments.scenario.is_none() && arguments.devices.is_empty() {
            four_small_drives(&mut scenario);
        }
        let is_emulated = arguments.devices.is_empty();
        let of_array = Devices::new(&arguments.devices, "serve kv")
            .create(arguments.create)
            .degraded(arguments.degraded);
        let (file, sets) = (arguments.scenario.as_deref(), &arguments.sets);
        let (written, is_new) =
            load(&mut scenario, file, sets, Some(of_array), (Protocol::Memcached, is_emulated))?;
        let making =
            if is_emulated || arguments.create { StoreMode::Create } else { StoreMode::OpenOrCreate };
        let drive = Served::alone(
            scenario,
            written,
            arguments.devices.clone(),
            arguments.create || is_new,
            consent(arguments.degraded),
        );
        let purpose = if arguments.create { OpenPurpose::NewStore } else { OpenPurpose::OpenStore };
        drive.check_devices(purpose, arguments.force)?;
        Ok(Store { settings, drive: Some(drive), making, parts })
    }

    /// Makes or opens it. `progress` is called from time to time with the number of segments examined and
    /// their total.
    ///
    /// # Errors
    /// See [`CannotMake`].
    pub fn make(
        &self,
        mut clock: Clock,
        progress: impl FnMut(u32, u32),
    ) -> Result<(Vec<Engine>, Option<AnyDrive>), CannotMake> {
        let Some(what) = &self.drive else {
            let engines = finding::in_memory(self.each_of(self.parts), self.parts);
            return Ok((engines.map_err(CannotMake::InMemory)?, None));
        };
        let mut drive = what.make(clock).map_err(CannotMake::Drive)?;
        let (settings, making) = (|parts| self.each_of(parts), (self.making, self.parts));
        let found = finding::find(&mut drive, settings, making, &mut clock, progress);
        Ok((found.map_err(|error| CannotMake::Store { drive: what.to_string(), error })?, Some(drive)))
    }

    /// The settings of each of `parts` parts.
    fn each_of(&self, parts: u32) -> Settings {
        let Settings { memory, admission, .. } = self.settings;
        let daily_bytes = admission.daily_bytes.div_ceil(parts.into());
        let admission = AdmissionSettings { daily_bytes, ..admission };
        Settings { memory: memory / u64::from(parts), admission, ..self.settings }
    }

    /// A note if items of the largest size need more memory than `-m`.
    pub fn memory_note(&self, arguments: &KvArguments) -> Option<String> {
        let Settings { memory, most_item, .. } = self.settings;
        (memory > arguments.memory_limit << 20).then(|| {
            format!(
                "-m {}: {} MiB are used, {} times the largest item (-I)",
                arguments.memory_limit,
                memory.div_ceil(1 << 20),
                memory / most_item
            )
        })
    }

    /// The description of the store, in words.
    pub fn description(&self) -> String {
        let memory = format!("{} MiB of memory", self.settings.memory >> 20);
        let kind = match self.settings.keep {
            Keep::Everything => "a store",
            Keep::WhatIsUsed => "a cache",
        };
        match &self.drive {
            None => format!("{kind} in {memory}"),
            Some(drive) => format!("{kind} on {drive}, behind {memory}"),
        }
    }
}

/// Why a store cannot be made or opened.
#[derive(Debug)]
pub enum CannotMake {
    /// A store in memory.
    InMemory(CannotFind),
    /// Its drive.
    Drive(BuildError),
    /// The store on the drive.
    Store {
        /// The drive, in words.
        drive: String,
        /// Why.
        error: CannotFind,
    },
}

impl std::error::Error for CannotMake {}

impl fmt::Display for CannotMake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CannotMake::InMemory(error) => error.fmt(f),
            CannotMake::Drive(error) => error.fmt(f),
            CannotMake::Store { drive, error } => write!(f, "{drive}: {error}"),
        }
    }
}

/// Four emulated drives of 256 MiB, so that copies and quiet reads can be seen.
fn four_small_drives(scenario: &mut Scenario) {
    (scenario.device.geometry.channels, scenario.device.geometry.chips) = (2, 1);
    scenario.array.drives = 4;
    scenario.array.layout = LayoutKind::Epochs;
    scenario.array.groups = 2;
    scenario.precondition.state = PreparedState::Empty;
    scenario.precondition.fill = 0;
}

fn settings(arguments: &KvArguments) -> Result<Settings, Failure> {
    let limit = arguments.memory_limit.saturating_mul(1 << 20);
    // A record takes no more than an item as clients count it.
    let most_item = arguments.max_item_size;
    if most_item > limit / 2 {
        return Err(Failure::Input(format!(
            "-I {most_item}: an item takes at most half of the memory, so items of this size need -m {} at \
                least",
            (most_item * 2).div_ceil(1 << 20)
        )));
    }
    let keep = if arguments.disable_evictions { Keep::Everything } else { Keep::WhatIsUsed };
    let defaults = Settings { most_item, keep, ..Settings::default() };
    let memory = limit.max(defaults.least_memory());
    if let Some(machine) = machine_memory().filter(|&machine| memory > machine) {
        return Err(Failure::Input(format!(
            "-m {}: {} MiB are needed, and this machine has {} MiB of memory; items without room there are \
                on flash",
            arguments.memory_limit,
            memory >> 20,
            machine >> 20
        )));
    }
    // An item fits half a segment.
    let for_items = (2 * most_item).div_ceil(BLOCK_BYTES).next_power_of_two() as u32;
    // Writing items as they leave memory is soon enough for a cache, unless clients wait until they are
    // durable.
    let append = if arguments.durable { Append::AtOnce } else { Append::OnLeaving };
    let (admission, option) = arguments.admission();
    let writes_all = arguments.disable_evictions || arguments.durable;
    if let Some(option) = option.filter(|_| writes_all || arguments.memory_only) {
        let why = if writes_all { "-M and --durable write every item" } else { "--memory-only has no flash" };
        return Err(Failure::Input(format!(
            "{option}: {why}; leave it out, or serve a cache in front of flash"
        )));
    }
    let segment_blocks = defaults.segment_blocks.max(for_items);
    let may_evict_store = arguments.force;
    Ok(Settings { memory, may_evict_store, append, admission, segment_blocks, ..defaults })
}

/// Memory of this machine in bytes (proc_meminfo(5)).
fn machine_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

/// As many parts as threads, as far as there is memory enough for the largest items in each.
fn parts(arguments: &KvArguments, settings: &Settings) -> u32 {
    let most = settings.memory / settings.least_memory();
    u64::from(arguments.threads).clamp(1, most.max(1)) as u32
}
