//! Every kind of drive under one name, and how one is made from what a scenario says.

use crate::array::{self, ArrayError, ServedArray};
use crate::drive::{Answers, Drive, Extent};
use crate::emulated::{CoreOptions, EmulatedSsd, Lateness, Waiting};
use crate::file::{FileError, FileOptions};
use crate::system;
use crate::{Clock, FileDrive, MemoryDrive};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use tailcut_base::control::Control;
use tailcut_base::device::Identify;
use tailcut_base::{Nanos, Time};
use tailcut_host::array::{ArrayConfig, Consent, Members, Stale};
use tailcut_host::{Bytes, Disk, Request};
use tailcut_ssd::{Precondition, Ssd, SsdConfig};

/// A drive of any kind.
#[derive(Debug)]
pub enum AnyDrive {
    /// In memory, without a delay.
    Memory(MemoryDrive),
    /// An emulated SSD.
    Emulated(Box<EmulatedSsd>),
    /// A file or a block device.
    File(Box<FileDrive>),
    /// An array of drives, and where further ones come from.
    Array(Box<ServedArray<AnyDrive>>, Box<Source>),
}

/// Calls whichever it is.
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

    fn failure(&self) -> Option<&str> {
        with!(self, drive => drive.failure())
    }
}

impl AnyDrive {
    fn forget_lateness(&mut self) {
        if let AnyDrive::Emulated(drive) = self {
            drive.take_lateness();
        }
    }

    /// What an operator should know of drives that were given for an array and left out of it, a sentence for
    /// each.
    pub fn left_out(&self) -> Vec<String> {
        let AnyDrive::Array(array, source) = self else { return Vec::new() };
        let sentence = |&Stale { drive, member, cause }: &Stale| {
            let name =
                source.given.get(drive).map_or(format!("drive {drive}"), |path| path.display().to_string());
            format!(
                "{name} is left out: it was member {member}, and {cause}; 'tailcut ctl replace {member} {name}' erases \
                 it and takes it back"
            )
        };
        array.stale().iter().map(sentence).collect()
    }

    /// How late the emulated drives in it were, each with its number among the members of an array.
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
    /// In the loop that uses it.
    Inline,
    /// On a core of its own.
    OwnCore(CoreOptions),
}

impl Placement {
    /// What suits this machine and so many drives: each a core of its own if one is left for whoever uses
    /// them. Its thread sleeps as long as it can and looks all the time from `spin` before an event on.
    pub fn fitting(drives: usize, spin: Nanos) -> Placement {
        if drives >= system::cores() {
            return Placement::Inline;
        }
        let waiting = Waiting::Sleep { spin };
        Placement::OwnCore(CoreOptions { core: None, waiting, is_idle_priority: false })
    }
}

/// How an array comes into being.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// A new one, on drives that belong to none.
    Create,
    /// The one that the drives belong to.
    Open,
    /// The one that the drives belong to, or a new one if none of them belongs to any.
    OpenOrCreate,
}

/// What is to be served, as a scenario and the command line say.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// The emulated drives, where no files are given.
    pub device: &'a SsdConfig,
    /// How they are prepared; prepared blocks hold zeros.
    pub precondition: &'a Precondition,
    /// The array; of 0 drives for none.
    pub array: &'a ArrayConfig,
    /// Of all that is random in emulated drives; each has a stream of its own, the same as in a simulation.
    pub seed: u64,
    /// Files and block devices; none for emulated drives.
    pub paths: &'a [PathBuf],
    /// How those are opened.
    pub files: FileOptions,
    /// How an array of those comes into being. One of emulated drives is always new.
    pub making: Making,
    /// Whether an array is opened although drives are missing that could be in use elsewhere.
    pub consent: Consent,
    /// Where emulated drives run.
    pub placement: Placement,
}

/// Why there is nothing to serve.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A file is no drive.
    #[error(transparent)]
    File(#[from] FileError),
    /// The drives are no array.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// Files and block devices are no array.
    #[error("{why} ({})", numbered(paths))]
    Members {
        /// Why, with numbers for the drives.
        why: ArrayError,
        /// The drives by their numbers.
        paths: Vec<PathBuf>,
    },
    /// Parts of the plan do not fit together, or the system refuses something.
    #[error("{0}")]
    Plan(String),
}

impl Plan<'_> {
    /// Makes or opens what is to be served. Waits until an array is ready. The thread that calls is the one
    /// that uses it from then on: an array has used its files by now (see [`FileDrive`]).
    ///
    /// `check` is asked before an array that exists is opened. It gets the configuration of the plan with what
    /// was fixed when the array was created, and returns what in the plan contradicts it.
    ///
    /// # Errors
    /// See [`BuildError`]. An array that is not opened has not been written.
    pub fn build(
        &self,
        mut clock: Clock,
        check: impl FnOnce(&ArrayConfig) -> Result<(), String>,
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
            Making::Create => true,
            Making::Open => false,
            Making::OpenOrCreate => array::belong_to_none(&mut drives, &mut clock),
        };
        let array = match is_new {
            true => array::create(self.array, drives, system::random().map_err(system)?, &mut clock),
            false => array::open(self.array, drives, self.consent, check, &mut clock),
        };
        let mut array = array.map_err(|why| match self.paths {
            [] => BuildError::Array(why),
            // It is about a key, not about drives by their numbers.
            _ if matches!(why, ArrayError::Contradiction(_)) => BuildError::Array(why),
            paths => BuildError::Members { why, paths: paths.to_vec() },
        })?;
        // How late they were before there was anybody to wait for them says nothing.
        array.members_mut().for_each(AnyDrive::forget_lateness);
        Ok(AnyDrive::Array(Box::new(array), Box::new(source)))
    }

    /// What does not fit together.
    fn check(&self) -> Result<(), BuildError> {
        let (members, paths) = (self.array.drives as usize, self.paths.len());
        if self.array.members == Members::Sets || self.device.sets.count > 1 {
            return refused(
                "device.sets: a drive that is divided is not served; take a drive for each set".into(),
            );
        }
        if members == 0 && paths > 1 {
            return refused(format!(
                "{paths} files are given and no array: set array.drives = {paths}, or give one file"
            ));
        }
        let is_new = self.making == Making::Create;
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

/// Where drives come from: the first ones, and those that take the places of others.
#[derive(Clone, Debug)]
pub struct Source {
    device: SsdConfig,
    precondition: Precondition,
    seed: u64,
    placement: Placement,
    files: FileOptions,
    clock: Clock,
    /// Drives that were emulated so far.
    made: u64,
    /// The files and block devices that there were at first.
    given: Vec<PathBuf>,
}

impl Source {
    /// One more emulated drive.
    ///
    /// # Errors
    /// When it does not have the room that its preparation needs, or the system has none for its thread.
    pub fn emulate(&mut self) -> Result<AnyDrive, BuildError> {
        let seed = self.seed.wrapping_add(self.made.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        self.made += 1;
        let mut ssd = Ssd::new(&self.device, seed, false);
        ssd.has_room_for(&self.precondition).map_err(BuildError::Plan)?;
        ssd.precondition(&self.precondition, seed);
        let drive = match self.placement {
            Placement::Inline => EmulatedSsd::inline(ssd),
            Placement::OwnCore(options) => {
                EmulatedSsd::on_own_core(ssd, self.clock, options).map_err(system)?
            }
        };
        Ok(AnyDrive::Emulated(Box::new(drive)))
    }

    /// The array that a drive is or was a member of, as far as can be read. Waits for the drive.
    pub fn member_of(&mut self, drive: &mut AnyDrive) -> Option<u128> {
        array::member_of(drive, &mut self.clock)
    }

    /// True when drives so far were emulated.
    pub fn is_emulated(&self) -> bool {
        self.made > 0
    }

    /// A file or block device.
    ///
    /// # Errors
    /// See [`FileError`].
    pub fn open(&self, path: &Path) -> Result<AnyDrive, BuildError> {
        Ok(AnyDrive::File(Box::new(FileDrive::open(path, self.files)?)))
    }
}

/// Which number stands for which drive.
fn numbered(paths: &[PathBuf]) -> String {
    let name = |(number, path): (usize, &PathBuf)| format!("drive {number} is {}", path.display());
    paths.iter().enumerate().map(name).collect::<Vec<_>>().join(", ")
}

fn system(why: io::Error) -> BuildError {
    BuildError::Plan(why.to_string())
}

#[cfg(test)]
mod tests;
