//! The drives that are served: emulated drives of a scenario, files and block devices, or plain memory.

use super::arguments::BlockArguments;
use super::arrangement::{self, Devices};
use super::incidents::Incidents;
use crate::failure::Failure;
use crate::run::Scenario;
use crate::scenario::effect;
use crate::scenario::{self, Source, keys};
use std::fmt;
use std::path::{Path, PathBuf};
use tailcut_base::quantity::exact_bytes;
use tailcut_base::{BadValue, Nanos};
use tailcut_host::array::log::BlockChecksums;
use tailcut_host::array::{ArrayConfig, Consent, LayoutKind};
use tailcut_host::{BLOCK_BYTES, PlacementPolicy};
use tailcut_rt::any::{ArrayMode, BuildError, Placement, Plan};
use tailcut_rt::file::FileOptions;
use tailcut_rt::probe::{DeviceUse, Objection, OpenPurpose, Remedy};
use tailcut_rt::{AnyDrive, Clock, MemoryDrive};

/// The storage behind one export.
#[derive(Clone, Debug)]
pub enum Served {
    /// Memory of this size in bytes, without a delay.
    Memory(u64),
    /// The drive or array of a scenario, emulated or on devices.
    Drives {
        /// Its parts `device`, `precondition` and `array` count.
        scenario: Box<Scenario>,
        /// Files and block devices; none for emulated drives.
        devices: Vec<PathBuf>,
        /// An array on devices is a new one.
        is_new: bool,
        /// Whether an array is opened although drives are missing that could be in use elsewhere.
        consent: Consent,
        /// Nothing is written to devices.
        is_read_only: bool,
        /// Which of several drives that are served side by side.
        place: Place,
        /// What the user has written of the scenario.
        written: Written,
        /// What happens to emulated drives.
        incidents: Incidents,
    },
}

/// The texts of the user that a scenario was read from.
#[derive(Clone, Debug, Default)]
pub struct Written {
    file: Option<Source>,
    sets: Vec<String>,
}

impl Written {
    /// What was written of the array, if it contradicts what was fixed when the array was created: `asked` is
    /// the configuration as read, `made` the same with what was fixed.
    fn check(&self, asked: &ArrayConfig, made: &ArrayConfig) -> Result<(), BadValue> {
        let (mut asked, mut made) = (asked.clone(), made.clone());
        if asked.log.checksums == BlockChecksums::Auto {
            asked.log.checksums = made.log.checksums;
        }
        let differing = effect::differing("array", &mut asked, &mut made, self.file.clone(), &self.sets);
        if differing.is_empty() {
            return Ok(());
        }
        let sentence = |(path, asked, made): &(String, String, String)| {
            format!("{path} is {asked}, and the array on these drives was created with {made}: leave it out")
        };
        let sentences: Vec<String> = differing.iter().map(sentence).collect();
        Err(BadValue::new(format!("{}; nothing was written", sentences.join("; "))))
    }
}

/// One of several.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    number: u64,
    of: u64,
}

/// The protocol that a drive is served with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// NBD, or the block layer of the kernel: no write names a handle.
    Block,
    /// That of memcached: the store names the handles of its writes.
    Memcached,
}

/// Reads what a server takes of a scenario, and completes it for the devices. A key that is set beside the
/// file and has no effect on it is an error; in the file, which may be there for other commands, it is not.
/// Returns the texts of the user, and whether the devices become a new array without `--create`.
///
/// # Errors
/// What is wrong with the scenario, or with a key, or that the devices need a choice of the user.
pub fn load(
    scenario: &mut Scenario,
    file: Option<&Path>,
    sets: &[String],
    devices: Option<Devices<'_>>,
    (protocol, is_emulated): (Protocol, bool),
) -> Result<(Written, bool), Failure> {
    let defaults = keys::list(scenario);
    let source = file.map(Source::open).transpose()?;
    let infer = |devices| arrangement::infer(source.as_ref(), sets, devices);
    let arrangement = devices.map(infer).transpose()?.unwrap_or_default();
    scenario::read(scenario, source.clone(), &[sets, arrangement.sets()].concat())?;
    let placement_is_idle = scenario.placement_is_idle();
    let reason = |path: &str| {
        let part = path.split('.').next().unwrap_or_default();
        let because = match part {
            "array" if path == "array.incidents" => {
                "incidents happen in simulated runs; 'tailcut ctl' removes the drives of a server"
            }
            "array" => return None,
            "placement" if protocol == Protocol::Memcached => "the store names the handles of its writes",
            "placement" if is_emulated => placement_is_idle?,
            "device" | "precondition" | "seed" if is_emulated => return None,
            "placement" | "device" | "precondition" | "seed" => {
                "files and devices are served, and nothing is emulated"
            }
            _ => "a server takes nothing of a scenario but its drive or array",
        };
        Some(String::from(because))
    };
    let errors = effect::find(scenario, &defaults, None, sets, reason);
    if errors.list().is_empty() {
        Ok((Written { file: source, sets: sets.to_vec() }, arrangement.is_new()))
    } else {
        Err(errors.into())
    }
}

/// Refuses a file or device that is given twice, under whatever names.
///
/// # Errors
/// The two names.
pub fn refuse_duplicates(devices: &[PathBuf]) -> Result<(), Failure> {
    let mut seen: Vec<(PathBuf, &Path)> = Vec::new();
    for device in devices {
        // One that does not exist is reported when it is opened.
        let Ok(real) = device.canonicalize() else { continue };
        if let Some((_, other)) = seen.iter().find(|(path, _)| *path == real) {
            let (other, device) = (other.display(), device.display());
            return Err(Failure::Input(format!("{other} and {device} are the same: give each device once")));
        }
        seen.push((real, device));
    }
    Ok(())
}

impl Served {
    /// The exports that the arguments describe, each with its name.
    ///
    /// # Errors
    /// What is wrong with the scenario.
    pub fn read(arguments: &BlockArguments) -> Result<Vec<(String, Served)>, Failure> {
        let name = &arguments.export;
        if let (Some(bytes), None) = (arguments.size, arguments.personality) {
            return memory(bytes, arguments).map(|memory| vec![(name.clone(), memory)]);
        }
        refuse_duplicates(&arguments.devices)?;
        let mut scenario = Box::<Scenario>::default();
        if let Some(personality) = arguments.personality {
            scenario.device = personality.drive(arguments.size.unwrap_or(PERSONALITY_BYTES));
            scenario.precondition = personality.precondition();
        }
        let is_emulated = arguments.devices.is_empty();
        let of_array = Devices::new(&arguments.devices, "serve block")
            .create(arguments.create)
            .degraded(arguments.degraded);
        let of_array = (!arguments.is_separate()).then_some(of_array);
        let (file, sets) = (arguments.scenario.as_deref(), &arguments.sets);
        let (written, is_new) = load(&mut scenario, file, sets, of_array, (Protocol::Block, is_emulated))?;
        check_size(&scenario, arguments)?;
        let has_array = scenario.array.drives > 0;
        if has_array && arguments.drives.is_some() {
            let both = "--drives serves each drive for itself, and array.drives makes an array of them: \
                leave out one";
            return Err(Failure::Input(both.into()));
        }
        let of_incidents = arguments.drives.unwrap_or(scenario.array.drives.max(1));
        let script = arguments.incidents.as_deref().unwrap_or_default();
        let incidents = Incidents::parse(script, of_incidents, arguments.personality)
            .map_err(|bad| Failure::Input(format!("--incidents: {}", bad.message)))?;
        let devices = match arguments.devices.as_slice() {
            [] => vec![Vec::new(); arguments.drives.unwrap_or(1) as usize],
            all if has_array => vec![all.to_vec()],
            each => each.iter().map(|device| vec![device.clone()]).collect(),
        };
        let of = devices.len() as u64;
        let served = devices.into_iter().zip(0..).map(|(devices, number)| {
            let name = if of == 1 { name.clone() } else { format!("{name}{number}") };
            let (scenario, is_new) = (scenario.clone(), arguments.create || is_new);
            // An array that cannot write cannot be opened: it records who is a member.
            let is_read_only = arguments.read_only && !has_array;
            let (consent, place) = (consent(arguments.degraded), Place { number, of });
            let (written, incidents) = (written.clone(), incidents.clone());
            let served = Served::Drives {
                scenario,
                devices,
                is_new,
                consent,
                is_read_only,
                place,
                written,
                incidents,
            };
            (name, served)
        });
        Ok(served.collect())
    }

    /// The drive or array of a scenario, by itself; a new array on the devices if it `is_new`.
    pub fn alone(
        scenario: Box<Scenario>,
        written: Written,
        devices: Vec<PathBuf>,
        is_new: bool,
        consent: Consent,
    ) -> Served {
        let place = Place { number: 0, of: 1 };
        let incidents = Incidents::default();
        Served::Drives { scenario, devices, is_new, consent, is_read_only: false, place, written, incidents }
    }

    fn is_new(&self) -> bool {
        matches!(self, Served::Drives { is_new: true, .. })
    }

    /// True if an array over two drives is served, which keeps everything on both.
    fn is_mirror(&self) -> bool {
        matches!(self, Served::Drives { scenario, .. }
            if scenario.array.drives == 2 && scenario.array.layout.is_mirrored())
    }

    /// How the handles of writes are chosen.
    pub fn placement(&self) -> PlacementPolicy {
        match self {
            Served::Drives { scenario, devices, .. } if devices.is_empty() => scenario.placement.policy,
            _ => PlacementPolicy::Named,
        }
    }

    /// A warning if drives have handles that no write names, or writes are to name some of drives without.
    pub fn idle_handles(&self) -> Option<String> {
        let Served::Drives { scenario, devices, .. } = self else { return None };
        if !devices.is_empty() && scenario.placement.policy != PlacementPolicy::Named {
            let because = "files and devices are served without reclaim unit handles";
            return Some(format!("placement.policy has no effect: {because}"));
        }
        let handles = scenario.device.fdp.handles;
        // Arrays keep apart what they add to the data of their clients; raid0 adds nothing.
        let is_all_of_clients = scenario.array.drives == 0 || scenario.array.layout == LayoutKind::Raid0;
        let is_named = scenario.placement.policy == PlacementPolicy::Named;
        let is_idle = devices.is_empty() && handles > 1 && is_all_of_clients && is_named;
        is_idle.then(|| {
            format!(
                "clients of a block device name no reclaim unit handle, so all writes go to the first of \
                 {handles} (device.fdp.handles): set placement.policy to size, recency or sequence"
            )
        })
    }

    /// True if an array of drives is served.
    pub fn is_array(&self) -> bool {
        matches!(self, Served::Drives { scenario, .. } if scenario.array.drives > 0)
    }

    /// Makes or opens it.
    ///
    /// # Errors
    /// See [`BuildError`].
    pub fn make(&self, clock: Clock) -> Result<AnyDrive, BuildError> {
        let (scenario, devices, is_new, consent, is_read_only, place, written, incidents) = match self {
            Served::Memory(bytes) => {
                return Ok(AnyDrive::Memory(MemoryDrive::new(bytes / BLOCK_BYTES, DEPTH)));
            }
            Served::Drives {
                scenario,
                devices,
                is_new,
                consent,
                is_read_only,
                place,
                written,
                incidents,
            } => (scenario, devices, is_new, *consent, is_read_only, place, written, incidents),
        };
        let drives = u64::from(scenario.array.drives).max(place.of);
        let plan = Plan {
            device: &scenario.device,
            precondition: &scenario.precondition,
            array: &scenario.array,
            // Drives side by side are as unlike as those of an array.
            seed: scenario.seed.wrapping_add(place.number),
            paths: devices,
            files: FileOptions {
                is_read_only: *is_read_only,
                is_exclusive: !*is_read_only,
                ..FileOptions::default()
            },
            making: if *is_new { ArrayMode::Create } else { ArrayMode::Open },
            consent,
            placement: Placement::fitting(drives as usize, SPIN),
        };
        let mut drive = plan.build(clock, |made| written.check(&scenario.array, made))?;
        if !incidents.is_empty() {
            let first = place.number as usize;
            drive.schedule(clock.now(), &|member| incidents.of(first + member, scenario.seed));
        }
        Ok(drive)
    }
}

impl Served {
    /// Refuses devices that are in use, or hold what would be lost; what they hold not if it `is_forced`.
    /// `on_single` is what a device is opened for that belongs to no array.
    ///
    /// # Errors
    /// The objections to all of the devices, and how to resolve them.
    pub fn check_devices(&self, on_single: OpenPurpose, is_forced: bool) -> Result<(), Failure> {
        let Served::Drives { scenario, devices, is_new, is_read_only: false, .. } = self else {
            return Ok(());
        };
        let purpose = match (scenario.array.drives > 0, is_new) {
            (false, _) => on_single,
            (true, true) => OpenPurpose::NewArray,
            (true, false) => OpenPurpose::OpenArray,
        };
        let object = |device: &PathBuf| {
            // A device that cannot be examined cannot be opened either; opening it reports why.
            let Objection { why, remedy } = DeviceUse::of(device).ok()?.objection(purpose)?;
            let remedy = match remedy {
                Remedy::Force if is_forced => return None,
                Remedy::GiveAllMembers if is_forced && purpose == OpenPurpose::Serve => return None,
                Remedy::Force => "--force if that may be overwritten",
                Remedy::Release => "take it out of use first (umount, swapoff, mdadm --stop, dmsetup remove)",
                Remedy::Erase => "give another one, or erase its first two blocks if that may be lost",
                Remedy::GiveAllMembers if purpose == OpenPurpose::Serve => {
                    "to open the array, give all of its members, each with --device, or those that are left \
                     with --degraded; --force serves this one as a plain drive, and what it holds may be lost"
                }
                Remedy::GiveAllMembers => {
                    "give all members of the array, each with --device, or those that are left with --degraded"
                }
            };
            Some(format!("{} is not opened for writing: {why}; {remedy}", device.display()))
        };
        let objections: Vec<String> = devices.iter().filter_map(object).collect();
        match objections.is_empty() {
            true => Ok(()),
            false => Err(Failure::Input(format!("{}; nothing was written", objections.join("; ")))),
        }
    }
}

impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scenario, devices) = match self {
            Served::Memory(bytes) => return write!(f, "{} of memory", exact_bytes(*bytes)),
            Served::Drives { scenario, devices, .. } => (scenario, devices),
        };
        let layout = scenario.array.layout;
        // An array that is opened has the layout that it was made with; another one than the default is
        // compared with that.
        let is_known = devices.is_empty() || self.is_new() || layout != ArrayConfig::default().layout;
        match scenario.array.drives {
            0 => {}
            _ if is_known && self.is_mirror() => f.write_str("a mirror over ")?,
            _ if is_known => write!(f, "{layout} over ")?,
            _ => f.write_str("an array over ")?,
        }
        match (devices.as_slice(), scenario.array.drives) {
            ([], 0 | 1) => f.write_str("an emulated SSD"),
            ([], drives) => write!(f, "{drives} emulated SSDs"),
            ([device], _) => write!(f, "{}", device.display()),
            (devices, _) => write!(f, "{} devices", devices.len()),
        }
    }
}

/// The consent that `--degraded` gives.
pub fn consent(is_given: bool) -> Consent {
    if is_given { Consent::Degraded } else { Consent::Refuse }
}

/// Refuses settings that change the size of a personality's drive, if one was asked for.
///
/// # Errors
/// Both sizes, and what to leave out.
fn check_size(scenario: &Scenario, arguments: &BlockArguments) -> Result<(), Failure> {
    let (Some(personality), Some(asked)) = (arguments.personality, arguments.size) else { return Ok(()) };
    let (now, meant) = (scenario.device.user_bytes(), personality.drive(asked).user_bytes());
    if now == meant {
        return Ok(());
    }
    let (now, meant) = (exact_bytes(now), exact_bytes(meant));
    Err(Failure::Input(format!(
        "--set makes the drive of {meant} that --size asks for one of {now}: leave out --size, or the \
         settings that change the capacity"
    )))
}

/// Memory without latency, which has nothing to slow down or to let stall.
///
/// # Errors
/// The option that has no effect.
fn memory(bytes: u64, arguments: &BlockArguments) -> Result<Served, Failure> {
    let without_effect = [
        (!arguments.sets.is_empty(), "--set"),
        (arguments.drives.is_some(), "--drives"),
        (arguments.incidents.is_some(), "--incidents"),
        (arguments.time_scale.is_some(), "--time-scale"),
    ];
    match without_effect.into_iter().find(|&(is_set, _)| is_set) {
        None => Ok(Served::Memory(bytes)),
        Some((_, option)) => Err(Failure::Input(format!(
            "{option} has no effect on memory without latency (--size): name a drive with --personality, or \
             leave one of them out"
        ))),
    }
}

/// The size of a personality's drive in bytes by default: prepared within a second.
const PERSONALITY_BYTES: u64 = 1 << 30;

/// Requests that memory takes at a time.
const DEPTH: u32 = 1024;

/// How long before an event the thread of an emulated drive no longer sleeps: what it takes to sleep
/// precisely (`docs/decisions/real-time-drives.md`).
const SPIN: Nanos = Nanos::micros(64);
