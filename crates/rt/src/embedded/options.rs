//! Options for opening a store.

use super::error::CannotOpen;
use crate::any::{self, Placement, Plan};
use crate::file::FileOptions;
use crate::kv::{CannotFind, finding};
use crate::{AnyDrive, Clock, FileDrive, MemoryDrive};
use std::path::PathBuf;
use tailcut_base::{BadValue, Nanos};
use tailcut_host::BLOCK_BYTES;
use tailcut_host::array::{ArrayConfig, Consent, LayoutKind};
use tailcut_host::kv::{Engine, Keep, Settings};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset, SsdConfig};

/// Options for opening a store. The fields may be changed after one of the constructors.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where items are kept besides memory.
    pub place: Place,
    /// Bytes of memory for items, not including the index. At least four times `most_item` in a cache, and
    /// sixteen times in a store.
    pub memory: u64,
    /// Maximum size of an item in bytes, including its key and a header of 40, rounded up to 16; at least
    /// 304.
    pub most_item: u64,
    /// A cache evicts cold items; a store keeps all items, recovers them after a crash, and returns an error
    /// when it is full.
    pub keep: Keep,
    /// Changes are durable when their operation completes. Only for a store with a drive.
    pub is_durable: bool,
    /// Create a new store, and a new array, whatever the drives hold, unless that is a store or an array.
    /// Otherwise open what exists, and create only on drives with nothing but zeros.
    pub create: bool,
    /// Open an array although drives are missing that could be in use as the same array elsewhere.
    pub degraded: bool,
    /// How long closing waits for a drive without completions.
    pub patience: Nanos,
}

/// Where items are kept besides memory.
#[derive(Clone, Debug)]
pub enum Place {
    /// Memory only.
    Memory,
    /// This many bytes of blocks in memory instead of a drive, for tests of programs that use a store.
    MemoryDrive(u64),
    /// Emulated SSDs, with their data in memory and the timing of the model.
    Emulated {
        /// Configuration of each drive.
        device: Box<SsdConfig>,
        /// The array over them; a single drive if it has 0 members.
        array: Box<ArrayConfig>,
        /// Seed of all randomness in them.
        seed: u64,
    },
    /// Files and block devices.
    Devices {
        /// Paths of the files and devices.
        paths: Vec<PathBuf>,
        /// Size in bytes of files to create for paths that do not exist; 0 to create none.
        file_bytes: u64,
        /// The array over them; a single drive if it has 0 members.
        array: Box<ArrayConfig>,
    },
}

impl Options {
    /// A cache in memory only.
    pub fn in_memory() -> Options {
        let Settings { memory, most_item, keep, .. } = Settings::default();
        let patience = Nanos::secs(10);
        Options {
            place: Place::Memory,
            memory,
            most_item,
            keep,
            is_durable: false,
            create: false,
            degraded: false,
            patience,
        }
    }

    /// A store on one file or block device, or on several, which form an array of the given layout and number
    /// of groups.
    pub fn on_devices(paths: Vec<PathBuf>, layout: Option<(LayoutKind, u32)>) -> Options {
        let array = Box::new(array(paths.len() as u32, layout));
        let place = Place::Devices { paths, file_bytes: 0, array };
        Options { place, keep: Keep::Everything, ..Options::in_memory() }
    }

    /// A cache on `drives` small emulated SSDs, which form an array of the given layout and number of groups,
    /// or on a single one without a layout.
    pub fn emulated(drives: u32, layout: Option<(LayoutKind, u32)>) -> Options {
        let mut device = Box::new(Preset::G.config());
        (device.geometry.channels, device.geometry.chips) = (2, 1);
        let array = Box::new(array(drives, layout));
        Options { place: Place::Emulated { device, array, seed: 1 }, ..Options::in_memory() }
    }

    /// Inconsistent settings, each as a message that also gives valid values.
    pub fn problems(&self) -> Vec<String> {
        if self.memory > MOST_MEMORY || self.most_item > MOST_ITEM {
            return vec![format!("memory is at most {MOST_MEMORY} bytes, and an item {MOST_ITEM}")];
        }
        let mut problems = self.engine().problems();
        let (has_drive, is_store) = (!matches!(self.place, Place::Memory), self.keep == Keep::Everything);
        if self.is_durable && !(has_drive && is_store) {
            problems.push(
                "durable: what a cache or plain memory has taken can be gone any time; open a store that \
                    keeps everything, with a drive"
                    .into(),
            );
        }
        if let Place::Devices { paths, array, .. } = &self.place {
            match (paths.len(), array.drives) {
                (0, _) => problems.push("no file or device is given: give one, or keep all in memory".into()),
                (1, 0) => {}
                (count, 0) => problems.push(format!(
                    "{count} devices are given, and no array: name its layout, or give one device"
                )),
                _ => {}
            }
        }
        if let Place::MemoryDrive(bytes) = self.place
            && bytes > MOST_MEMORY
        {
            problems.push(format!("a drive in memory has at most {MOST_MEMORY} bytes"));
        }
        if let Place::Emulated { array, .. } | Place::Devices { array, .. } = &self.place
            && array.drives > 0
        {
            problems.extend(array.problems().iter().map(|(key, why)| format!("{key}: {why}")));
        }
        problems
    }

    /// Settings of the engine, except those that depend on the drive.
    fn engine(&self) -> Settings {
        let defaults = Settings::default();
        let for_items = (2 * self.most_item).div_ceil(BLOCK_BYTES).next_power_of_two();
        let segment_blocks = u64::from(defaults.segment_blocks).max(for_items) as u32;
        let (memory, most_item, keep) = (self.memory, self.most_item, self.keep);
        Settings { memory, most_item, keep, segment_blocks, ..defaults }
    }

    /// Creates or opens the engine and its drive, which belong to the calling thread.
    pub(super) fn build(&self, mut clock: Clock) -> Result<(Engine, Option<AnyDrive>), CannotOpen> {
        let problems = self.problems();
        if !problems.is_empty() {
            return Err(CannotOpen::Options(problems.join("; ")));
        }
        let Some(mut drive) = self.drive(clock)? else {
            let engine = finding::in_memory(self.engine(), 1).map_err(CannotOpen::Store)?.pop();
            return Ok((engine.expect("one part has one engine"), None));
        };
        let making = if self.create { finding::StoreMode::Create } else { finding::StoreMode::OpenOrCreate };
        match finding::find_whole(&mut drive, self.engine(), making, &mut clock, |_, _| {}) {
            Ok(engine) => Ok((engine, Some(drive))),
            Err(CannotFind::NotEmpty) => Err(CannotOpen::NotEmpty(self.place.name())),
            Err(why) => Err(CannotOpen::Store(why)),
        }
    }

    fn drive(&self, clock: Clock) -> Result<Option<AnyDrive>, CannotOpen> {
        let precondition = Precondition { state: PreparedState::Empty, fill: 0 };
        let files = FileOptions { is_exclusive: true, ..FileOptions::default() };
        let none = Preset::G.config();
        let making = if self.create { any::ArrayMode::Create } else { any::ArrayMode::OpenOrCreate };
        let consent = if self.degraded { Consent::Degraded } else { Consent::Refuse };
        let plan = |device, array: &ArrayConfig, seed, paths, drives| {
            let placement = Placement::fitting(drives, SPIN);
            let precondition = &precondition;
            // The default layout is not an explicit choice.
            let agrees = |made: &ArrayConfig| {
                let (asked, made) = (array.layout, made.layout);
                if asked == made || asked == ArrayConfig::default().layout {
                    return Ok(());
                }
                Err(BadValue::new(format!(
                    "array.layout is {asked}, and the drives hold an array of {made}: ask for that"
                )))
            };
            Plan { device, precondition, array, seed, paths, files, making, consent, placement }
                .build(clock, agrees)
        };
        let drive = match &self.place {
            Place::Memory => return Ok(None),
            Place::MemoryDrive(bytes) => {
                Ok(AnyDrive::Memory(MemoryDrive::new((bytes / BLOCK_BYTES).max(1), DEPTH)))
            }
            Place::Emulated { device, array, seed } => {
                plan(&**device, array, *seed, &[], array.drives.max(1) as usize)
            }
            Place::Devices { paths, file_bytes, array } => {
                make_files(paths, *file_bytes)?;
                plan(&none, array, 0, paths, 0)
            }
        };
        Ok(Some(drive?))
    }
}

impl Place {
    fn name(&self) -> String {
        match self {
            Place::Memory | Place::MemoryDrive(_) => "memory".into(),
            Place::Emulated { .. } => "the emulated drives".into(),
            Place::Devices { paths, .. } => {
                let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
                names.join(", ")
            }
        }
    }
}

/// The configuration of an array over `drives` drives; an empty one without a layout.
fn array(drives: u32, layout: Option<(LayoutKind, u32)>) -> ArrayConfig {
    let Some((layout, groups)) = layout else { return ArrayConfig::default() };
    ArrayConfig { drives, layout, groups, ..ArrayConfig::default() }
}

/// Creates files that do not exist, if a size is given.
fn make_files(paths: &[PathBuf], bytes: u64) -> Result<(), CannotOpen> {
    let missing = paths.iter().filter(|path| bytes >= BLOCK_BYTES && !path.exists());
    for path in missing {
        FileDrive::create(path, bytes / BLOCK_BYTES)?;
    }
    Ok(())
}

/// The engine can address 2^32 units of 16 bytes in memory.
const MOST_MEMORY: u64 = 64 << 30;
/// Limit of memcached (`-I`).
const MOST_ITEM: u64 = 1 << 30;
/// Maximum number of requests in flight in memory.
const DEPTH: u32 = 1024;
/// How long before an event the thread of an emulated drive stops sleeping: the accuracy of a precise sleep
/// (`docs/decisions/real-time-drives.md`).
const SPIN: Nanos = Nanos::micros(64);
