//! What can be asked of a drive in service beyond its control interface.

use super::{Health, figures};
use crate::array::CannotCall;
use crate::drive::Drive;
use crate::probe::{Holdings, Purpose};
use crate::{AnyDrive, EmulatedSsd, FailStop, MemoryDrive, system};
use std::path::Path;
use tailcut_base::Time;
use tailcut_base::control::Control;
use tailcut_host::array::MemberId;
use tailcut_host::wire::metrics::Metrics;

/// A drive that can be asked how it is, and steered.
pub trait Steered: Drive + Sized {
    /// What it is and how it is, one thing a line.
    fn tell(&self) -> String {
        figures::name_and_size(self)
    }

    /// Adds its counters.
    fn count(&self, metrics: &mut Metrics) {
        figures::count_size(self.bytes(), metrics);
    }

    /// How it is, as far as there is anything to be told.
    fn health(&self) -> Health {
        Health::of_single(self)
    }

    /// Makes a call of the control interface of one of its drives, which is itself unless it is an array; the
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

    /// Begins to read and compare all that it stores.
    ///
    /// # Errors
    /// When it stores nothing more than once.
    fn scrub(&mut self, _now: Time) -> Result<(), String> {
        Err(NO_ARRAY.into())
    }

    /// Goes on without one of its drives.
    ///
    /// # Errors
    /// When something would be lost, or it has no such drive.
    fn remove(&mut self, _now: Time, _member: usize) -> Result<(), String> {
        Err(NO_ARRAY.into())
    }

    /// Gives the place of a drive that is missing to a file or block device, which is erased, or to another
    /// emulated drive.
    ///
    /// # Errors
    /// When the place is not free, the drive does not fit, or belongs to another array.
    fn replace(&mut self, _now: Time, _member: usize, _path: Option<&Path>) -> Result<(), String> {
        Err(NO_ARRAY.into())
    }
}

const NO_ARRAY: &str = "it is a single drive: only an array has drives to compare, remove or replace";

impl Steered for MemoryDrive {}

impl Steered for EmulatedSsd {}

impl<D: Drive> Steered for FailStop<D> {
    fn tell(&self) -> String {
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
    fn tell(&self) -> String {
        figures::status(self)
    }

    fn count(&self, metrics: &mut Metrics) {
        figures::count(self, metrics);
    }

    fn health(&self) -> Health {
        Health::of(self)
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
        // Of an array's own members the array itself decides.
        let holdings = path.and_then(|path| Some((path, Holdings::of(path).ok()?)));
        if let Some((path, objection)) =
            holdings.and_then(|(path, holdings)| Some((path, holdings.objection(Purpose::NewArray)?)))
        {
            return Err(format!(
                "{} is not taken: {}; take it out of use, or if that may be lost, erase it first (wipefs --all, or zeros over \
                 its first MiB)",
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
