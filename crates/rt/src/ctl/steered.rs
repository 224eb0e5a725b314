//! Administrative operations on a drive in service beyond its control interface.

use super::{Health, figures};
use crate::array::CannotCall;
use crate::drive::Drive;
use crate::probe::{DeviceUse, OpenPurpose};
use crate::{AnyDrive, EmulatedSsd, FailStop, MemoryDrive, system};
use std::path::Path;
use tailcut_base::Time;
use tailcut_base::control::Control;
use tailcut_host::array::MemberId;
use tailcut_host::wire::metrics::Metrics;

/// A drive that reports its status and accepts administrative commands.
pub trait Steered: Drive + Sized {
    /// Identity and status, one item per line.
    fn describe(&self) -> String {
        figures::name_and_size(self)
    }

    /// Adds its counters.
    fn count(&self, metrics: &mut Metrics) {
        figures::count_size(self.bytes(), metrics);
    }

    /// Health of the drive, where there is anything to report.
    fn health(&self) -> Health {
        Health::of_single(self)
    }

    /// True if it has member drives, which take the calls of the control interface.
    fn is_array(&self) -> bool {
        false
    }

    /// Makes a call of the control interface on a member, or on the drive itself if it is not an array; the
    /// reply comes with [`Drive::poll`].
    ///
    /// # Errors
    /// See [`CannotCall`].
    fn call(&mut self, now: Time, member: usize, call: Control) -> Result<(), CannotCall> {
        if member > 0 {
            return Err(CannotCall::NoDrive);
        }
        self.control(now, call);
        Ok(())
    }

    /// Starts a scrub: reads and compares all stored data.
    ///
    /// # Errors
    /// If it stores no redundant data.
    fn scrub(&mut self, _now: Time) -> Result<(), String> {
        Err(NO_ARRAY.into())
    }

    /// Removes a member; the array continues without it.
    ///
    /// # Errors
    /// If data would be lost, or there is no such member.
    fn remove(&mut self, _now: Time, _member: usize) -> Result<(), String> {
        Err(NO_ARRAY.into())
    }

    /// Replaces a missing drive by a file or block device, which is erased, or by another emulated drive.
    ///
    /// # Errors
    /// If the slot is not free, or the drive does not fit or belongs to another array.
    fn replace(&mut self, _now: Time, _member: usize, _path: Option<&Path>) -> Result<(), String> {
        Err(NO_ARRAY.into())
    }
}

const NO_ARRAY: &str = "it is a single drive: only an array has drives to compare, remove or replace";

impl Steered for MemoryDrive {}

impl Steered for EmulatedSsd {}

impl<D: Drive> Steered for FailStop<D> {
    fn describe(&self) -> String {
        let mut text = figures::name_and_size(self);
        figures::tell_failure(self, &mut text);
        text
    }

    fn count(&self, metrics: &mut Metrics) {
        figures::count_size(self.bytes(), metrics);
        figures::count_failure("0", self, metrics);
    }
}

impl Steered for AnyDrive {
    fn describe(&self) -> String {
        figures::status(self)
    }

    fn count(&self, metrics: &mut Metrics) {
        figures::count(self, metrics);
    }

    fn health(&self) -> Health {
        Health::of(self)
    }

    fn is_array(&self) -> bool {
        matches!(self, AnyDrive::Array(..))
    }

    fn call(&mut self, now: Time, member: usize, call: Control) -> Result<(), CannotCall> {
        match self {
            AnyDrive::Array(array, _) => array.call(now, member, call),
            _ if member > 0 => Err(CannotCall::NoDrive),
            single => {
                single.control(now, call);
                Ok(())
            }
        }
    }

    fn scrub(&mut self, now: Time) -> Result<(), String> {
        let AnyDrive::Array(array, _) = self else { return Err(NO_ARRAY.into()) };
        array.scrub(now);
        Ok(())
    }

    fn remove(&mut self, now: Time, member: usize) -> Result<(), String> {
        let AnyDrive::Array(array, _) = self else { return Err(NO_ARRAY.into()) };
        array.remove(now, member)
    }

    fn replace(&mut self, now: Time, member: usize, path: Option<&Path>) -> Result<(), String> {
        let AnyDrive::Array(array, source) = self else { return Err(NO_ARRAY.into()) };
        if !array.is_free(member)? {
            return Err(match array.is_joining(member) {
                true => format!("the drive for place {member} is being erased"),
                false => format!("drive {member} serves: say 'remove {member}' first"),
            });
        }
        // The array itself decides about its own members.
        let device_use = path.and_then(|path| Some((path, DeviceUse::of(path).ok()?)));
        if let Some((path, objection)) = device_use
            .and_then(|(path, device_use)| Some((path, device_use.objection(OpenPurpose::NewArray)?)))
        {
            return Err(format!(
                "{} is not taken: {}; take it out of use, or if that may be lost, erase it first (wipefs \
                 --all, or zeros over its first MiB)",
                path.display(),
                objection.why
            ));
        }
        let id = system::random().map_err(|why| why.to_string())?;
        let id = MemberId::new(id);
        let Some(path) = path else {
            if !source.is_emulated() {
                return Err(format!("say which file or device: replace {member} PATH"));
            }
            let drive = source.emulate().map_err(|why| why.to_string())?;
            return array.replace(now, member, drive, id).map_err(|(why, _)| why.to_string());
        };
        let mut drive = source.open(path).map_err(|why| why.to_string())?;
        let of = source.member_of(&mut drive);
        if of.is_some() && of != array.array().core().identity() {
            let path = path.display();
            return Err(format!("{path} belongs to another array: erase it first, or give another drive"));
        }
        array.erase_and_replace(now, member, drive, id).map_err(|(why, _)| why.to_string())
    }
}
