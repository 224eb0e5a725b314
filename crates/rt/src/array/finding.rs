//! Making an array, and finding one: what happens before the first request.

use super::{ServedArray, flush};
use crate::Clock;
use crate::drive::{Answers, Drive};
use std::io;
use tailcut_base::{Nanos, Status, Time};
use tailcut_host::array::{ArrayConfig, Found, OpenError, Opening};
use tailcut_host::{Bytes, Disk};

/// How time goes on.
pub trait Pace {
    /// The moment at which to look again: at the latest when `next` has come, and no later than that a drive may have
    /// something to say.
    fn go_on(&mut self, next: Time) -> Time;
}

/// How long it is looked away while drives have work: what waits here waits for a whole array.
const GLANCE: Nanos = Nanos(50_000);

impl Pace for Clock {
    fn go_on(&mut self, next: Time) -> Time {
        let now = self.now();
        let rest = Nanos(next.0.saturating_sub(now.0)).min(GLANCE);
        if rest > Nanos::ZERO {
            std::thread::sleep(std::time::Duration::from_nanos(rest.0));
        }
        self.now()
    }
}

/// Why there is no array in service.
#[derive(Debug, thiserror::Error)]
pub enum ArrayError {
    /// The system has refused something.
    #[error("{0}")]
    System(#[from] io::Error),
    /// The drives are not what was expected.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The drives are too small, or too few.
    #[error("{key}: {why}")]
    Misfit {
        /// The key of the configuration to blame.
        key: &'static str,
        /// What is wrong and what would be right.
        why: String,
    },
    /// A drive that would become part of a new array belongs to one already.
    #[error("drive {drive} belongs to an array already: open that, or erase the drive first")]
    Taken {
        /// Which, from 0.
        drive: usize,
    },
    /// It has failed before it was ready.
    #[error("the array cannot be used: {0}")]
    Failed(String),
}

/// Makes an array on drives that belong to none, and waits until it is ready and durable.
///
/// # Errors
/// See [`ArrayError`]; nothing has been written when drives do not fit or belong to an array.
pub fn create<D: Drive>(
    config: &ArrayConfig,
    mut drives: Vec<D>,
    identity: u128,
    pace: &mut impl Pace,
) -> Result<ServedArray<D>, ArrayError> {
    let disks: Vec<Disk> = drives.iter().map(Drive::disk).collect();
    if let Some((key, why)) = config.misfit(&disks) {
        return Err(ArrayError::Misfit { key, why });
    }
    for drive in 0..drives.len() {
        match find(&mut drives[drive..=drive], pace) {
            // Of one drive of an array the others are missing.
            Ok(_) | Err(OpenError::TooFew { .. } | OpenError::Newer { .. }) => {
                return Err(ArrayError::Taken { drive });
            }
            Err(_) => {}
        }
    }
    let now = pace.go_on(Time::ZERO);
    let mut array = ServedArray::create(now, config, drives, identity)?;
    settle(&mut array, pace)?;
    Ok(array)
}

/// Opens the array that the drives belong to, in whatever order they are given, and waits until it has recovered.
///
/// # Errors
/// See [`ArrayError`]; nothing has been written when the drives are not opened.
pub fn open<D: Drive>(
    config: &ArrayConfig,
    mut drives: Vec<D>,
    pace: &mut impl Pace,
) -> Result<ServedArray<D>, ArrayError> {
    let found = find(&mut drives, pace)?;
    let now = pace.go_on(Time::ZERO);
    let mut array = ServedArray::open(now, config, drives, &found)?;
    settle(&mut array, pace)?;
    Ok(array)
}

/// True when no drive is part of an array, as far as can be read.
pub fn belong_to_none<D: Drive>(drives: &mut [D], pace: &mut impl Pace) -> bool {
    (0..drives.len())
        .all(|drive| matches!(find(&mut drives[drive..=drive], pace), Err(OpenError::NoArray(_))))
}

/// Reads the records of the drives.
fn find<D: Drive>(drives: &mut [D], pace: &mut impl Pace) -> Result<Found, OpenError> {
    let disks: Vec<Disk> = drives.iter().map(|drive| drive.disk()).collect();
    let mut now = pace.go_on(Time::ZERO);
    let mut opening: Opening<Bytes> = Opening::new(now, &disks);
    let mut answers = Answers::default();
    loop {
        for (drive, request) in std::mem::take(opening.sent()) {
            drives[drive].submit(now, request);
        }
        for (number, drive) in drives.iter_mut().enumerate() {
            drive.poll(now, &mut answers);
            for response in answers.responses.drain(..) {
                opening.answered(now, number, response);
            }
        }
        if let Some(found) = opening.found() {
            return found;
        }
        let next = drives.iter().map(|drive| drive.next_event()).fold(Time::NEVER, Time::min);
        now = pace.go_on(next);
    }
}

/// Waits until a request has been answered, which is when the array is ready.
fn settle<D: Drive>(array: &mut ServedArray<D>, pace: &mut impl Pace) -> Result<(), ArrayError> {
    let mut now = pace.go_on(Time::ZERO);
    array.submit(now, flush(0));
    let mut answers = Answers::default();
    loop {
        array.poll(now, &mut answers);
        if let Some(response) = answers.responses.pop() {
            return match response.status {
                Status::Success => Ok(()),
                status => Err(ArrayError::Failed(format!("{status:?}; {:?}", array.array().condition()))),
            };
        }
        if let tailcut_host::array::Condition::Failed { why } = array.array().condition() {
            return Err(ArrayError::Failed(why));
        }
        now = pace.go_on(array.next_event());
    }
}
