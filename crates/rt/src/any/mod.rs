//! One type for all kinds of drives, and building one from a scenario.

use crate::array::{self, ArrayError, ServedArray};
use crate::drive::{Answers, Drive, Extent};
use crate::emulated::{CoreOptions, EmulatedSsd, Lateness, Schedule, Waiting};
use crate::file::{FileError, FileOptions};
use crate::system;
use crate::{Clock, FileDrive, MemoryDrive};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use tailcut_base::control::Control;
use tailcut_base::device::Identify;
use tailcut_base::{BadValue, Nanos, Time};
use tailcut_host::array::{ArrayConfig, Consent, Members, Stale};
use tailcut_host::{Bytes, Disk, Request};
use tailcut_ssd::{Precondition, Ssd, SsdConfig};

/// A drive of any kind.
#[derive(Debug)]
pub enum AnyDrive {
    /// A drive in memory, without delay.
    Memory(MemoryDrive),
    /// An SSD that is emulated in real time.
    Emulated(Box<EmulatedSsd>),
    /// A file or a block device.
    File(Box<FileDrive>),
    /// An array of drives, and the source of further drives.
    Array(Box<ServedArray<AnyDrive>>, Box<Source>),
}

/// Calls a method of the drive, of whichever kind it is.
macro_rules! with {
    ($any:expr, $drive:ident => $call:expr) => {
        match $any {
            AnyDrive::Memory($drive) => $call,
            AnyDrive::Emulated($drive) => $call,
            AnyDrive::File($drive) => $call,
            AnyDrive::Array($drive, _) => $call,
        }
    };
}

impl Drive for AnyDrive {
    fn identify(&self) -> Identify {
        with!(self, drive => drive.identify())
    }

    fn disk(&self) -> Disk {
        with!(self, drive => drive.disk())
    }

    fn has_protection_information(&self) -> bool {
        with!(self, drive => drive.has_protection_information())
    }

    fn trims_to_zeros(&self) -> bool {
        with!(self, drive => drive.trims_to_zeros())
    }

    fn submit(&mut self, now: Time, request: Request<Bytes>) {
        with!(self, drive => drive.submit(now, request));
    }

    fn control(&mut self, now: Time, call: Control) {
        with!(self, drive => drive.control(now, call));
    }

    fn poll(&mut self, now: Time, answers: &mut Answers) {
        with!(self, drive => drive.poll(now, answers));
    }

    fn next_event(&self) -> Time {
        with!(self, drive => drive.next_event())
    }

    fn wakes(&self) -> Option<BorrowedFd<'_>> {
        with!(self, drive => drive.wakes())
    }

    fn arm(&mut self) -> bool {
        with!(self, drive => drive.arm())
    }

    fn extent(&self, block: u64, blocks: u64) -> Extent {
        with!(self, drive => drive.extent(block, blocks))
    }

    fn come_to_rest(&mut self, now: Time) -> bool {
        with!(self, drive => drive.come_to_rest(now))
    }

    fn bytes(&self) -> u64 {
        with!(self, drive => drive.bytes())
    }

    fn abandon_trims(&mut self) {
        match self {
            // Its trims are its own; a member that stalls is not waited for either.
            AnyDrive::Array(array, _) => {
                let emulated = array.members_mut().filter(|member| matches!(member, AnyDrive::Emulated(_)));
                emulated.for_each(AnyDrive::abandon_trims);
            }
            single => with!(single, drive => drive.abandon_trims()),
        }
    }

    fn failure(&self) -> Option<&str> {
        with!(self, drive => drive.failure())
    }

    fn full(&self) -> Option<String> {
        with!(self, drive => drive.full())
    }
}

impl AnyDrive {
    fn forget_lateness(&mut self) {
        if let AnyDrive::Emulated(drive) = self {
            drive.take_lateness();
        }
    }

    /// Lets incidents happen to the emulated drives in it, whose times count from `now`. `incidents` is
    /// called with the member number in an array, 0 for a drive by itself. Other kinds of drives have none.
    pub fn schedule(&mut self, now: Time, incidents: &dyn Fn(usize) -> Schedule) {
        match self {
            AnyDrive::Memory(_) | AnyDrive::File(_) => {}
            AnyDrive::Emulated(drive) => drive.schedule(now, incidents(0)),
            AnyDrive::Array(array, _) => {
                for (member, drive) in array.members_mut().enumerate() {
                    drive.schedule(now, &|_| incidents(member));
                }
            }
        }
    }

    /// Warnings for the operator about drives that were given for an array and left out of it, one sentence
    /// each.
    pub fn left_out(&self) -> Vec<String> {
        let AnyDrive::Array(array, source) = self else { return Vec::new() };
        let sentence = |stale: &Stale| {
            let Stale { drive, member, cause } = *stale;
            let name =
                source.given.get(drive).map_or(format!("drive {drive}"), |path| path.display().to_string());
            let left_out = format!("{name} is left out: it was member {member}, and {cause}");
            match array.successor(stale) {
                Some(id) => format!(
                    "{left_out}. The drive that took its place has identity {} and was not given, so the \
                     array runs without member {member} from now on: 'tailcut ctl replace {member} DRIVE' \
                     rebuilds it on that drive, or on {name}, and erases the drive first",
                    id.short()
                ),
                None => {
                    format!("{left_out}; 'tailcut ctl replace {member} {name}' erases it and takes it back")
                }
            }
        };
        array.stale().iter().map(sentence).collect()
    }

    /// Lateness of the emulated drives in it, each with its member number in an array.
    pub fn latenesses(&self) -> Vec<(usize, Lateness)> {
        match self {
            AnyDrive::Memory(_) | AnyDrive::File(_) => Vec::new(),
            AnyDrive::Emulated(drive) => vec![(0, drive.lateness())],
            AnyDrive::Array(array, _) => {
                let members = array.array().core().config.drives as usize;
                let of = |member| array.member(member).map(|drive| (member, drive));
                let late = |(member, drive): (usize, &AnyDrive)| {
                    drive.latenesses().into_iter().map(move |(_, lateness)| (member, lateness))
                };
                (0..members).filter_map(of).flat_map(late).collect()
            }
        }
    }
}

/// Where an emulated drive runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The drive runs in the loop that uses it.
    Inline,
    /// On its own core.
    OwnCore(CoreOptions),
}

impl Placement {
    /// The placement that suits this machine and number of drives: a core per drive if one is left for their
    /// user. The drive's thread sleeps as long as it can, and spins from `spin` before an event on.
    pub fn fitting(drives: usize, spin: Nanos) -> Placement {
        if drives >= system::cores() {
            return Placement::Inline;
        }
        let waiting = Waiting::Sleep { spin };
        Placement::OwnCore(CoreOptions { core: None, waiting, is_idle_priority: false })
    }
}

/// How an array is made available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayMode {
    /// Create one, on drives that belong to none.
    Create,
    /// Assemble the array that the drives belong to.
    Open,
    /// Assemble the array that the drives belong to, or create one if none of them belongs to any.
    OpenOrCreate,
}

/// What to serve, as specified by a scenario and the command line.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// Configuration of emulated drives, if there are no paths.
    pub device: &'a SsdConfig,
    /// Preconditioning of emulated drives; preconditioned blocks hold zeros.
    pub precondition: &'a Precondition,
    /// The array; 0 members for none.
    pub array: &'a ArrayConfig,
    /// Seed of all randomness in emulated drives; each has its own stream, as in a simulation.
    pub seed: u64,
    /// Files and block devices; empty for emulated drives.
    pub paths: &'a [PathBuf],
    /// Options for opening files and block devices.
    pub files: FileOptions,
    /// How an array of files or devices is made available. An array of emulated drives is always new.
    pub making: ArrayMode,
    /// Whether to assemble an array although drives are missing that could be in use elsewhere.
    pub consent: Consent,
    /// Whether emulated drives run in the loop that uses them, or on cores of their own.
    pub placement: Placement,
}

/// Why no drive can be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A path cannot be used as a drive.
    #[error(transparent)]
    File(#[from] FileError),
    /// The drives cannot form an array.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// The files and block devices cannot form an array.
    #[error("{why} ({})", numbered(paths))]
    Members {
        /// The reason, with numbers for the drives.
        why: ArrayError,
        /// The paths of the drives, by number.
        paths: Vec<PathBuf>,
    },
    /// The plan is inconsistent, or the system refuses a request.
    #[error("{0}")]
    Plan(String),
}

impl Plan<'_> {
    /// Creates or opens the drive to serve. Waits until an array is ready. The calling thread is its user
    /// from then on: an array has used its files by now (see [`FileDrive`]).
    ///
    /// `check` is called before an existing array is assembled. It gets the configuration of the plan with
    /// the settings that were fixed when the array was created, and returns those of the plan that contradict
    /// it.
    ///
    /// # Errors
    /// See [`BuildError`]. An array that is not assembled has not been written.
    pub fn build(
        &self,
        mut clock: Clock,
        check: impl FnOnce(&ArrayConfig) -> Result<(), BadValue>,
    ) -> Result<AnyDrive, BuildError> {
        self.check()?;
        let (device, precondition, seed) = (self.device.clone(), self.precondition.clone(), self.seed);
        let (placement, files) = (self.placement, self.files);
        let given = self.paths.to_vec();
        let mut source = Source { device, precondition, seed, placement, files, clock, made: 0, given };
        let mut drives = self.drives(&mut source)?;
        if self.array.drives == 0 {
            return Ok(drives.remove(0));
        }
        let is_new = match self.making {
            _ if self.paths.is_empty() => true,
            ArrayMode::Create => true,
            ArrayMode::Open => false,
            ArrayMode::OpenOrCreate => array::belong_to_none(&mut drives, &mut clock),
        };
        let array = match is_new {
            true => array::create(self.array, drives, system::random().map_err(system)?, &mut clock),
            false => array::open(self.array, drives, self.consent, check, &mut clock),
        };
        let mut array = array.map_err(|why| match self.paths {
            [] => BuildError::Array(why),
            // The error is about a key, not about numbered drives.
            _ if matches!(why, ArrayError::Contradiction(_)) => BuildError::Array(why),
            paths => BuildError::Members { why, paths: paths.to_vec() },
        })?;
        // Lateness from before the array was in service is not representative.
        array.members_mut().for_each(AnyDrive::forget_lateness);
        Ok(AnyDrive::Array(Box::new(array), Box::new(source)))
    }

    /// Checks the plan for inconsistencies.
    fn check(&self) -> Result<(), BuildError> {
        let (members, paths) = (self.array.drives as usize, self.paths.len());
        if self.array.members == Members::Sets || self.device.sets.count > 1 {
            return refused(
                "device.sets: a drive that is divided is not served; take a drive for each set".into(),
            );
        }
        if self.device.fdp.groups > 1 {
            return refused(
                "device.fdp.groups: clients name no reclaim group, so only the first would be written to; \
                 set groups = 1"
                    .into(),
            );
        }
        if members == 0 && paths > 1 {
            return refused(format!(
                "{paths} files are given and array.drives is 0: set it to {paths}, or give one file"
            ));
        }
        let is_new = self.making == ArrayMode::Create;
        if members > 0 && paths > 0 && (paths > members || is_new && paths != members) {
            return refused(format!(
                "{paths} files are given for an array of {members} drives (array.drives)"
            ));
        }
        Ok(())
    }

    fn drives(&self, source: &mut Source) -> Result<Vec<AnyDrive>, BuildError> {
        if self.paths.is_empty() {
            return (0..self.array.drives.max(1)).map(|_| source.emulate()).collect();
        }
        self.paths.iter().map(|path| source.open(path)).collect()
    }
}

fn refused<T>(why: String) -> Result<T, BuildError> {
    Err(BuildError::Plan(why))
}

/// Source of drives: the initial ones, and replacements.
#[derive(Clone, Debug)]
pub struct Source {
    device: SsdConfig,
    precondition: Precondition,
    seed: u64,
    placement: Placement,
    files: FileOptions,
    clock: Clock,
    /// Number of drives emulated so far.
    made: u64,
    /// The initial files and block devices.
    given: Vec<PathBuf>,
}

impl Source {
    /// Makes another emulated drive.
    ///
    /// # Errors
    /// If it lacks the capacity that its preconditioning needs, or the system is out of threads.
    pub fn emulate(&mut self) -> Result<AnyDrive, BuildError> {
        let seed = self.seed.wrapping_add(self.made.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        self.made += 1;
        let mut ssd = Ssd::new(&self.device, seed, false);
        ssd.has_room_for(&self.precondition).map_err(|bad| BuildError::Plan(bad.message))?;
        ssd.precondition(&self.precondition, seed);
        let drive = match self.placement {
            Placement::Inline => EmulatedSsd::inline(ssd),
            Placement::OwnCore(options) => {
                EmulatedSsd::on_own_core(ssd, self.clock, options).map_err(system)?
            }
        };
        Ok(AnyDrive::Emulated(Box::new(drive)))
    }

    /// The array that a drive is or was a member of, if its superblock is readable. Waits for the drive.
    pub fn member_of(&mut self, drive: &mut AnyDrive) -> Option<u128> {
        array::member_of(drive, &mut self.clock)
    }

    /// True if the drives so far are emulated.
    pub fn is_emulated(&self) -> bool {
        self.made > 0
    }

    /// Opens a file or block device.
    ///
    /// # Errors
    /// See [`FileError`].
    pub fn open(&self, path: &Path) -> Result<AnyDrive, BuildError> {
        Ok(AnyDrive::File(Box::new(FileDrive::open(path, self.files)?)))
    }
}

/// Lists the paths with their numbers.
fn numbered(paths: &[PathBuf]) -> String {
    let name = |(number, path): (usize, &PathBuf)| format!("drive {number} is {}", path.display());
    paths.iter().enumerate().map(name).collect::<Vec<_>>().join(", ")
}

fn system(why: io::Error) -> BuildError {
    BuildError::Plan(why.to_string())
}

#[cfg(test)]
mod tests;
