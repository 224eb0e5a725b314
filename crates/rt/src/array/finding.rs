//! Creates or assembles an array, before the first request.

use super::{ServedArray, flush};
use crate::Clock;
use crate::drive::{Answers, Drive};
use std::io;
use tailcut_base::ids::Id;
use tailcut_base::{BadValue, Nanos, Status, Time};
use tailcut_host::array::drives::RETRY_AFTER;
use tailcut_host::array::log::BlockChecksums;
use tailcut_host::array::{ArrayConfig, Consent, DriveId, FoundArray, MEMBERS_MAX, OpenError, Opening};
use tailcut_host::{Bytes, Disk};

/// A source of time that can wait.
pub trait Pace {
    /// Waits, and returns the time at which to poll again: `next` at the latest, and no later than the
    /// drives' next event.
    fn advance(&mut self, next: Time) -> Time;
}

/// Interval of polls while drives have work: these waits are as long as those for a whole array.
const GLANCE: Nanos = Nanos(50_000);

impl Pace for Clock {
    fn advance(&mut self, next: Time) -> Time {
        let now = self.now();
        let rest = self.on_machine(Nanos(next.0.saturating_sub(now.0))).min(GLANCE);
        if rest > Nanos::ZERO {
            std::thread::sleep(std::time::Duration::from_nanos(rest.0));
        }
        self.now()
    }
}

/// Why no array is in service.
#[derive(Debug, thiserror::Error)]
pub enum ArrayError {
    /// The system has refused a request.
    #[error("{0}")]
    System(#[from] io::Error),
    /// The drives do not match the expected array.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The drives are too small or too few.
    #[error("{key}: {why}")]
    Invalid {
        /// The key of the configuration at fault.
        key: &'static str,
        /// What is wrong, and what would be valid.
        why: String,
    },
    /// A drive for a new array belongs to an array already.
    #[error("drive {drive} belongs to an array already: open that, or erase the drive first")]
    Taken {
        /// Number of the drive, from 0.
        drive: usize,
    },
    /// The configuration contradicts what was fixed when the array was created.
    #[error("{0}")]
    Contradiction(String),
    /// Drives have no room for what must be written before the array can be used.
    #[error("the array cannot be opened: no room to write on {0}: make some on its file system")]
    Full(String),
    /// The array has failed before it was ready.
    #[error("the array cannot be used: {0}")]
    Failed(String),
}

/// Creates an array on drives that belong to none, and waits until it is ready and durable.
///
/// # Errors
/// See [`ArrayError`]; nothing has been written if drives do not fit or belong to an array.
pub fn create<D: Drive>(
    config: &ArrayConfig,
    mut drives: Vec<D>,
    identity: u128,
    pace: &mut impl Pace,
) -> Result<ServedArray<D>, ArrayError> {
    let disks: Vec<Disk> = drives.iter().map(Drive::disk).collect();
    let mut config = config.clone();
    if config.log.checksums == BlockChecksums::Auto && !drives.iter().all(Drive::has_protection_information) {
        config.log.checksums = BlockChecksums::On;
    }
    if let Some((key, why)) = config.validation_error(&disks) {
        return Err(ArrayError::Invalid { key, why });
    }
    if drives.len() > MEMBERS_MAX {
        let why = format!("an array on drives that it can be opened from again has at most {MEMBERS_MAX}");
        return Err(ArrayError::Invalid { key: "drives", why });
    }
    for (number, drive) in drives.iter_mut().enumerate() {
        let opening = examine(std::slice::from_mut(drive), Consent::Refuse, pace);
        let is_of_other_format = matches!(opening.found(), Some(Err(OpenError::Format { .. })));
        if is_of_other_format || opening.arrays()[0].is_some() {
            return Err(ArrayError::Taken { drive: number });
        }
    }
    let now = pace.advance(Time::ZERO);
    let mut array = ServedArray::create(now, &config, drives, identity)?;
    settle(&mut array, pace)?;
    Ok(array)
}

/// Assembles the array that the drives belong to, given in any order, and waits until it has recovered.
/// `consent` specifies whether drives may be missing that could be in use elsewhere. `check` gets `config`
/// with the settings that were fixed when the array was created, and returns those that contradict it.
///
/// # Errors
/// See [`ArrayError`]; nothing has been written if the array is not assembled.
pub fn open<D: Drive>(
    config: &ArrayConfig,
    mut drives: Vec<D>,
    consent: Consent,
    check: impl FnOnce(&ArrayConfig) -> Result<(), BadValue>,
    pace: &mut impl Pace,
) -> Result<ServedArray<D>, ArrayError> {
    let found = find(&mut drives, consent, pace)?;
    check(&found.as_created(config)).map_err(|bad| ArrayError::Contradiction(bad.message))?;
    let now = pace.advance(Time::ZERO);
    let mut array = ServedArray::open(now, config, drives, &found)?;
    settle(&mut array, pace)?;
    Ok(array)
}

/// True if no drive is a member of an array, as far as superblocks are readable.
pub fn belong_to_none<D: Drive>(drives: &mut [D], pace: &mut impl Pace) -> bool {
    let is_free = |drive| {
        matches!(find(std::slice::from_mut(drive), Consent::Refuse, pace), Err(OpenError::NoArray(_)))
    };
    drives.iter_mut().all(is_free)
}

/// The array that a drive is or was a member of, if its superblock is readable.
pub fn member_of<D: Drive>(drive: &mut D, pace: &mut impl Pace) -> Option<u128> {
    examine(std::slice::from_mut(drive), Consent::Refuse, pace).arrays()[0]
}

/// Finds the array of these drives.
fn find<D: Drive>(drives: &mut [D], consent: Consent, pace: &mut impl Pace) -> Result<FoundArray, OpenError> {
    examine(drives, consent, pace).found().expect("all drives have answered")
}

/// Reads the superblocks of the drives.
fn examine<D: Drive>(drives: &mut [D], consent: Consent, pace: &mut impl Pace) -> Opening<Bytes> {
    let disks: Vec<Disk> = drives.iter().map(|drive| drive.disk()).collect();
    let mut now = pace.advance(Time::ZERO);
    let mut opening: Opening<Bytes> = Opening::new(now, &disks, consent);
    let mut answers = Answers::default();
    loop {
        for (drive, request) in std::mem::take(opening.sent()) {
            drives[drive.index()].submit(now, request);
        }
        for (number, drive) in drives.iter_mut().enumerate() {
            drive.poll(now, &mut answers);
            for response in answers.responses.drain(..) {
                opening.answered(now, DriveId::at(number), response);
            }
        }
        if opening.is_done() {
            return opening;
        }
        let next = drives.iter().map(|drive| drive.next_event()).fold(Time::NEVER, Time::min);
        now = pace.advance(next);
    }
}

/// Waits for the completion of a flush, which is when the array is ready.
fn settle<D: Drive>(array: &mut ServedArray<D>, pace: &mut impl Pace) -> Result<(), ArrayError> {
    let mut now = pace.advance(Time::ZERO);
    array.submit(now, flush(0));
    let mut full_since = None;
    let mut answers = Answers::default();
    loop {
        array.poll(now, &mut answers);
        if let Some(response) = answers.responses.pop() {
            return match response.status {
                // What the flush has to write waits for room, as later writes do.
                Status::NoSpace if array.array().is_ready() => Ok(()),
                Status::Success => Ok(()),
                status => Err(ArrayError::Failed(format!(
                    "the first flush was answered with {status}; the array is {}",
                    array.array().condition()
                ))),
            };
        }
        if let tailcut_host::array::Condition::Failed { why } = array.array().condition() {
            return Err(ArrayError::Failed(why));
        }
        if let Some(full) = array.full().filter(|_| !array.array().is_ready())
            && *full_since.get_or_insert(now) + RETRY_AFTER * 2 <= now
        {
            return Err(ArrayError::Full(full));
        }
        now = pace.advance(array.next_event());
    }
}
