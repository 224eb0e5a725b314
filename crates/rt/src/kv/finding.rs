//! A store is found on a drive, or made there.

use crate::array::Pace;
use crate::drive::{Answers, Drive};
use crate::system;
use std::io;
use tailcut_base::{Class, Op, Status, Time};
use tailcut_host::kv::log::format::NotOurs;
use tailcut_host::kv::{self, CannotOpen, Engine, Opening, Settings};
use tailcut_host::{BLOCK_BYTES, Bytes, Disk, Request};

/// How a store comes into being.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Making {
    /// A new one, whatever is there, unless that is a store.
    Create,
    /// The one that is there; a new one where there is nothing but zeros.
    OpenOrCreate,
}

/// Why there is no store.
#[derive(Debug, thiserror::Error)]
pub enum CannotFind {
    /// The drive does not hold one, or does not suit.
    #[error(transparent)]
    Open(#[from] CannotOpen),
    /// There is something else, and nobody has said that it may be overwritten.
    #[error(
        "there is no key-value store on it, and it is not empty: give another drive, or --create to make one there, \
         and all it holds is lost"
    )]
    NotEmpty,
    /// The settings do not fit together.
    #[error("{0}")]
    Settings(String),
    /// There are no random numbers.
    #[error("/dev/urandom: {0}")]
    Random(#[from] io::Error),
}

/// Opens or makes a store on a drive, and waits until it can serve. `progress` is told from time to time how many segments of how many were
/// looked at.
///
/// # Errors
/// See [`CannotFind`]; nothing has been written then, unless the drive has failed in the middle of it.
pub fn find<D: Drive>(
    drive: &mut D,
    settings: Settings,
    making: Making,
    pace: &mut impl Pace,
    mut progress: impl FnMut(u32, u32),
) -> Result<Engine, CannotFind> {
    check(&settings)?;
    if making == Making::Create {
        return Ok(settle(drive, new_store(settings, drive.disk())?, pace, &mut progress)?);
    }
    let opening = Opening::new(settings, drive.disk(), kv::Making::Open);
    match settle(drive, opening, pace, &mut progress) {
        Err(CannotOpen::NotOurs(NotOurs::Foreign)) if is_empty(drive, pace)? => {
            Ok(settle(drive, new_store(settings, drive.disk())?, pace, &mut progress)?)
        }
        Err(CannotOpen::NotOurs(NotOurs::Foreign)) => Err(CannotFind::NotEmpty),
        result => Ok(result?),
    }
}

/// A store in memory only.
///
/// # Errors
/// See [`CannotFind`].
pub fn in_memory(settings: Settings) -> Result<Engine, CannotFind> {
    check(&settings)?;
    Ok(Engine::in_memory(settings, system::random()? as u64))
}

/// Blocks of a segment for a drive: as many as `settings` say, or fewer on one that is small, but enough for its items.
pub fn segment_blocks(settings: &Settings, disk: &Disk) -> u32 {
    let for_items = (2 * settings.most_item).div_ceil(BLOCK_BYTES).next_power_of_two();
    let fitting = (disk.blocks / u64::from(kv::log::LEAST_SEGMENTS)).max(1);
    let fitting = 1 << fitting.ilog2();
    u64::from(settings.segment_blocks).min(fitting).max(for_items) as u32
}

fn check(settings: &Settings) -> Result<(), CannotFind> {
    settings.problems().into_iter().next().map_or(Ok(()), |problem| Err(CannotFind::Settings(problem)))
}

fn new_store(mut settings: Settings, disk: Disk) -> Result<Opening, CannotFind> {
    settings.segment_blocks = segment_blocks(&settings, &disk);
    let making = kv::Making::Create { store: system::random()?, seed: system::random()? as u64 };
    Ok(Opening::new(settings, disk, making))
}

/// Carries an opening out.
fn settle<D: Drive>(
    drive: &mut D,
    mut opening: Opening,
    pace: &mut impl Pace,
    progress: &mut impl FnMut(u32, u32),
) -> Result<Engine, CannotOpen> {
    let mut now = pace.go_on(Time::ZERO);
    let mut answers = Answers::default();
    while !opening.is_done() {
        while let Some(request) = opening.next_request() {
            drive.submit(now, request);
        }
        drive.poll(now, &mut answers);
        answers.responses.drain(..).for_each(|response| opening.respond(response));
        let (looked_at, all) = opening.progress();
        progress(looked_at, all);
        if !opening.is_done() {
            now = pace.go_on(drive.next_event());
        }
    }
    opening.end()
}

/// Where a store would say that it is there, there are zeros.
fn is_empty<D: Drive>(drive: &mut D, pace: &mut impl Pace) -> Result<bool, CannotOpen> {
    let mut now = pace.go_on(Time::ZERO);
    let (class, fua, fail_fast, data) = (Class::DEFAULT, false, false, Vec::new());
    drive.submit(now, Request { id: 0, op: Op::Read, fua, class, fail_fast, block: 0, blocks: 2, data });
    let mut answers = Answers::default();
    loop {
        drive.poll(now, &mut answers);
        if let Some(response) = answers.responses.pop() {
            let is_zero = |block: &Bytes| block.as_slice().iter().all(|&byte| byte == 0);
            let is_read = response.status == Status::Success;
            return is_read.then(|| response.data.iter().all(is_zero)).ok_or(CannotOpen::Disk(0));
        }
        now = pace.go_on(drive.next_event());
    }
}
