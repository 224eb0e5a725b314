//! Opens the store on a drive, or creates one, in one or more parts.

use super::parts::{Parts, Slice};
use crate::array::Pace;
use crate::drive::{Answers, Drive};
use crate::system;
use std::io;
use tailcut_base::fdp::HandleId;
use tailcut_base::{Class, Op, Status, Time};
use tailcut_host::kv::log::format::{End, NotOurs, Part, Superblock};
use tailcut_host::kv::{self, CannotOpen, Engine, Opening, Settings};
use tailcut_host::{BLOCK_BYTES, Bytes, Disk, Mirror, Request, Response};

/// Whether a store is created or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreMode {
    /// Create a store, whatever the drive holds, unless that is a store.
    Create,
    /// Open the store on the drive; create one if the drive holds only zeros.
    OpenOrCreate,
}

/// Why a store cannot be opened or created.
#[derive(Debug, thiserror::Error)]
pub enum CannotFind {
    /// The drive does not hold a store, or is unsuitable.
    #[error(transparent)]
    Open(#[from] CannotOpen),
    /// The drive holds other data, and permission to overwrite it was not given.
    #[error(
        "there is no key-value store on it, and it is not empty: give another drive, or --create to make one \
         there, and all it holds is lost"
    )]
    NotEmpty,
    /// Both superblocks, which locate the segments of the store, are zeros.
    #[error(
        "both superblocks of the key-value store on it are zeros, and block {0} is not: what was in it \
         cannot be found; give another drive, or --create to make a new store there, and all it holds is lost"
    )]
    NoSuperblocks(u64),
    /// The store has several parts, and only a store in a single part can be opened here.
    #[error(
        "its store is in {0} parts, as 'tailcut serve kv -t {0}' makes it, and only one in a single part is \
            opened here: serve it, or give another drive"
    )]
    InParts(u32),
    /// The settings are inconsistent.
    #[error("{0}")]
    Settings(String),
    /// Reading random numbers failed.
    #[error("/dev/urandom: {0}")]
    Random(#[from] io::Error),
}

/// Opens or creates a store on a drive, and waits until it can serve. A new store has the given number of
/// parts; an existing one keeps the number it was created with. `settings` returns the settings of each part
/// for a number of parts. `progress` is called from time to time with the number of segments scanned and the
/// total.
///
/// # Errors
/// See [`CannotFind`]; nothing has been written then, unless the drive failed during creation.
pub fn find<D: Drive>(
    drive: &mut D,
    settings: impl Fn(u32) -> Settings,
    (making, parts): (StoreMode, u32),
    pace: &mut impl Pace,
    progress: impl FnMut(u32, u32),
) -> Result<Vec<Engine>, CannotFind> {
    find_if(drive, |of| Ok(settings(of)), (making, parts), pace, progress)
}

/// Opens or creates a store in a single part, and waits until its recovery is complete.
///
/// # Errors
/// See [`CannotFind`].
#[expect(clippy::missing_panics_doc, reason = "a store in one part has one engine")]
pub fn find_whole<D: Drive>(
    drive: &mut D,
    settings: Settings,
    making: StoreMode,
    pace: &mut impl Pace,
    progress: impl FnMut(u32, u32),
) -> Result<Engine, CannotFind> {
    let whole = |of| if of == 1 { Ok(settings) } else { Err(CannotFind::InParts(of)) };
    let mut engines = find_if(drive, whole, (making, 1), pace, progress)?;
    let mut engine = engines.pop().expect("one part has one engine");
    recover(drive, &mut engine, pace)?;
    Ok(engine)
}

/// Opens or creates a store; `settings` may refuse the number of parts of an existing one.
fn find_if<D: Drive>(
    drive: &mut D,
    settings: impl Fn(u32) -> Result<Settings, CannotFind>,
    (making, parts): (StoreMode, u32),
    pace: &mut impl Pace,
    mut progress: impl FnMut(u32, u32),
) -> Result<Vec<Engine>, CannotFind> {
    let disk = drive.disk();
    if disk.blocks < u64::from(kv::log::LEAST_SEGMENTS) {
        let why = settings(parts)?.segments_on(&disk).err().unwrap_or_default();
        return Err(CannotOpen::Unsuitable(why).into());
    }
    let there = read_beginning(drive, pace)?;
    let of = match (making, &there) {
        (StoreMode::OpenOrCreate, Beginning::Store(superblock)) => superblock.part.of,
        (StoreMode::Create, Beginning::Store(_)) => return Err(CannotOpen::Taken.into()),
        (_, Beginning::Other(newer @ NotOurs::Newer(_))) => return Err(CannotOpen::from(*newer).into()),
        (StoreMode::OpenOrCreate, Beginning::Other(NotOurs::Foreign)) => return Err(CannotFind::NotEmpty),
        (StoreMode::OpenOrCreate, Beginning::Other(other)) => return Err(CannotOpen::from(*other).into()),
        (StoreMode::OpenOrCreate, Beginning::Zeros) | (StoreMode::Create, _) => parts,
    };
    let settings = settings(of)?;
    check(&settings)?;
    if let (StoreMode::OpenOrCreate, Beginning::Zeros) = (making, &there) {
        check_blank(drive, &settings, of, pace)?;
    }
    let parts = match &there {
        Beginning::Store(superblock) => Parts::of_store(&drive.disk(), of, superblock.blocks),
        _ => Parts::new(&drive.disk(), of),
    };
    let (store, disk) = (parts.all_blocks(), drive.disk().blocks);
    if store > disk {
        return Err(CannotOpen::from(NotOurs::Larger { store, disk }).into());
    }
    let (store, seed) = (system::random()?, system::random()? as u64);
    let mut engines = Vec::new();
    // The first part is created last: without it there is no store.
    for part in (0..of).rev() {
        let mut slice = Slice { drive, parts, part };
        let disk = slice.disk();
        let (mut settings, mut making) = (settings, kv::OpenMode::Open);
        if !matches!(there, Beginning::Store(_)) {
            settings.segment_blocks = segment_blocks(&settings, &disk);
            making = kv::OpenMode::Create { store, seed };
        }
        let opening = Opening::new(settings, disk, making).of_part(Part { number: part, of });
        engines.push(ready(settle(&mut slice, opening, pace, &mut progress)?));
    }
    engines.reverse();
    Ok(engines)
}

/// A store in memory only, with `parts` parts.
///
/// # Errors
/// See [`CannotFind`].
pub fn in_memory(settings: Settings, parts: u32) -> Result<Vec<Engine>, CannotFind> {
    check(&settings)?;
    let seed = system::random()? as u64;
    Ok((0..parts).map(|_| ready(Engine::in_memory(settings, seed))).collect())
}

fn ready(engine: Engine) -> Engine {
    system::prefer_large_pages(engine.memory());
    engine
}

/// Blocks per segment on a drive: as many as `settings` specify, or fewer on a small drive, but enough for
/// the largest item.
pub fn segment_blocks(settings: &Settings, disk: &Disk) -> u32 {
    let for_items = (2 * settings.most_item).div_ceil(BLOCK_BYTES).next_power_of_two();
    let fitting = (disk.blocks / u64::from(kv::log::LEAST_SEGMENTS)).max(1);
    let fitting = 1 << fitting.ilog2();
    u64::from(settings.segment_blocks).min(fitting).max(for_items) as u32
}

fn check(settings: &Settings) -> Result<(), CannotFind> {
    settings.problems().into_iter().next().map_or(Ok(()), |problem| Err(CannotFind::Settings(problem)))
}

/// Runs an opening to its end.
fn settle<D: Drive>(
    drive: &mut D,
    mut opening: Opening,
    pace: &mut impl Pace,
    progress: &mut impl FnMut(u32, u32),
) -> Result<Engine, CannotOpen> {
    let mut now = pace.advance(Time::ZERO);
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
            now = pace.advance(drive.next_event());
        }
    }
    opening.end()
}

/// Waits until recovery of a store is complete.
fn recover<D: Drive>(drive: &mut D, engine: &mut Engine, pace: &mut impl Pace) -> Result<(), CannotOpen> {
    let mut now = pace.advance(Time::ZERO);
    let mut answers = Answers::default();
    while engine.recovered().is_some() {
        let goes_on = engine.recover(usize::MAX);
        while let Some(request) = engine.next_request() {
            drive.submit(now, request);
        }
        drive.poll(now, &mut answers);
        let is_answered = !answers.responses.is_empty();
        answers.responses.drain(..).for_each(|response| _ = engine.respond(response));
        if let Some(block) = engine.unreadable() {
            return Err(CannotOpen::Disk(block));
        }
        if !goes_on && !is_answered && engine.recovered().is_some() {
            now = pace.advance(drive.next_event());
        }
    }
    Ok(())
}

/// What the first blocks of a drive hold.
enum Beginning {
    Store(Superblock),
    Zeros,
    Other(NotOurs),
}

/// Reads a block.
fn read<D: Drive>(drive: &mut D, block: u64, pace: &mut impl Pace) -> Response<Bytes> {
    let mut now = pace.advance(Time::ZERO);
    let (class, fua, fail_fast, data) = (Class::DEFAULT, false, false, Vec::new());
    let (op, mirror) = (Op::Read, Mirror::Any);
    drive.submit(
        now,
        Request { id: 0, op, fua, class, fail_fast, mirror, handle: HandleId::FIRST, block, blocks: 1, data },
    );
    let mut answers = Answers::default();
    loop {
        drive.poll(now, &mut answers);
        match answers.responses.pop() {
            Some(response) => return response,
            None => now = pace.advance(drive.next_event()),
        }
    }
}

/// Whether a drive, which may be an array, holds a key-value store. False if its first blocks are unreadable.
pub fn holds_store<D: Drive>(drive: &mut D, pace: &mut impl Pace) -> bool {
    matches!(read_beginning(drive, pace), Ok(Beginning::Store(_) | Beginning::Other(NotOurs::Newer(_))))
}

/// Checks whether a drive with zeros at its beginning holds data elsewhere: at powers of two, where segments
/// of a store and superblocks of file systems lie, and where segments of the new store would lie.
fn check_blank<D: Drive>(
    drive: &mut D,
    settings: &Settings,
    of: u32,
    pace: &mut impl Pace,
) -> Result<(), CannotFind> {
    let disk = drive.disk();
    let parts = Parts::new(&disk, of);
    let firsts = (0..of).map(|part| parts.block(part, 0));
    let segments = (1..=4).map(|number| number * u64::from(settings.segment_blocks));
    let powers = (1..u64::BITS).map(|bit| 1 << bit);
    for block in powers.chain(firsts).chain(segments).filter(|&block| block < disk.blocks) {
        let response = read(drive, block, pace);
        if response.status != Status::Success {
            return Err(CannotOpen::Disk(block).into());
        }
        let Some(found) = response.data.first() else { continue };
        if Superblock::decode(found).is_ok() {
            // A superblock of another part is left from an interrupted creation.
            continue;
        }
        if End::is_of_any(found) {
            return Err(CannotFind::NoSuperblocks(block));
        }
        if found.as_slice().iter().any(|&byte| byte != 0) {
            return Err(CannotFind::NotEmpty);
        }
    }
    Ok(())
}

/// Reads both superblocks. A block that the drive cannot read is an error only if the other is no superblock.
fn read_beginning<D: Drive>(drive: &mut D, pace: &mut impl Pace) -> Result<Beginning, CannotOpen> {
    let read = [0, 1].map(|block| (block, read(drive, block, pace)));
    let is_of_drive = |status| !matches!(status, Status::Success | Status::MediaError);
    if let Some((block, _)) = read.iter().find(|(_, response)| is_of_drive(response.status)) {
        return Err(CannotOpen::Disk(*block));
    }
    let blocks: Vec<&Bytes> = read.iter().filter_map(|(_, response)| response.data.first()).collect();
    let found: Vec<_> = blocks.iter().map(|block| Superblock::decode(block)).collect();
    if let Some(newest) = found.iter().filter_map(|found| found.ok()).max_by_key(|found| found.count) {
        return Ok(Beginning::Store(newest));
    }
    if let Some((block, _)) = read.iter().find(|(_, response)| response.status != Status::Success) {
        return Err(CannotOpen::Disk(*block));
    }
    if blocks.iter().all(|block| block.as_slice().iter().all(|&byte| byte == 0)) {
        return Ok(Beginning::Zeros);
    }
    let mut others = found.into_iter().filter_map(Result::err);
    Ok(Beginning::Other(others.find(|other| *other != NotOurs::Foreign).unwrap_or(NotOurs::Foreign)))
}
