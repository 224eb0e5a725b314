//! A log whose drives share a token: appended data waits in memory until each drive's epoch, and is
//! acknowledged there.
//!
//! A stripe stays in memory until it is on all of its drives, about one round of the token; until then it is
//! read from memory. A flush, or a write with force unit access, waits for the round: each epoch ends with a
//! flush of its drive, so no further flush is needed.
//!
//! The amount of waiting data is bounded by what a drive writes in an epoch, and by `epoch.cache`. From half
//! of that on, writes are admitted one by one, with pauses that grow with the amount: at three quarters as
//! fast as the drives write, and slower beyond; as in [`admission`](crate::array::epoch) of the layout with
//! copies.

use super::Log;
use super::geometry::Geometry;
use super::open_row::OpenRowId;
use super::stream::{HOST, MOVED};
use crate::Block;
use crate::array::core::Core;
use crate::array::token_scheduling::EpochFigures;
use crate::array::{Column, DriveId};
use crate::disk::BLOCK_BYTES;
use tailcut_base::cast::{to_u32, to_usize};
use tailcut_base::{Nanos, Time};

/// Shares of the room are in this fraction.
const SCALE: u64 = 1024;

/// Rows of moved blocks that may wait to be completely written, without tokens.
const MOVED_CLOSING_MAX: usize = 2;

/// At most one in this many rows of a group may be in memory.
const OPEN_PART: u32 = 64;

/// Admission of writes of the host.
#[derive(Debug)]
pub(super) struct Admission {
    /// When the next write may be admitted.
    next: Time,
    /// When there was last no room.
    stopped: Time,
    /// Rows of the host that may wait to be completely written.
    pub rows: usize,
    burden: Burden,
    /// Scratch list of the rows that a drive's epoch visits.
    open_rows: Vec<OpenRowId>,
}

impl Admission {
    /// Admission of at most `cache` bytes in rows of the host.
    pub(super) fn new(cache: u64, geometry: &Geometry) -> Admission {
        let row = u64::from(geometry.segment * geometry.data) * BLOCK_BYTES;
        let rows = to_usize((cache / row).min(u64::from(geometry.rows / OPEN_PART)).max(2));
        Admission {
            next: Time::ZERO,
            stopped: Time::ZERO,
            rows,
            burden: Burden::default(),
            open_rows: Vec::new(),
        }
    }
}

impl<B: Block> Log<B> {
    /// New blocks of a column of a row wait for the token, if its drive has a gate.
    pub(super) fn keep_back(&mut self, now: Time, core: &mut Core<B>, id: OpenRowId, column: Column) {
        let row = &mut self.open_rows[id];
        let drive = self.geometry.drive(row.here.row, column);
        row.announce(now, column);
        if core.drives.is_gated(drive) {
            core.drives.keep(now, drive, row.keep(column));
        } else {
            row.permit(column);
        }
    }

    /// Blocks of a row are about to be sent.
    pub(super) fn release(&mut self, now: Time, core: &mut Core<B>, id: OpenRowId, column: Column) {
        let row = &mut self.open_rows[id];
        let drive = self.geometry.drive(row.here.row, column);
        core.drives.release(drive, row.release(column));
        let deadline = core.config.epoch.deadline;
        let tokens = core.tokens.as_mut().expect("it has tokens");
        while let Some((blocks, since)) = row.waited(column) {
            tokens.note_wait(now.since(since), u64::from(blocks), deadline);
        }
    }

    /// A drive has the token: sends it all blocks known by now.
    pub(super) fn send_to(&mut self, now: Time, core: &mut Core<B>, drive: DriveId) {
        if self.open_rows.is_empty() {
            // Recovery has not come so far.
            return;
        }
        let (group, column) = self.geometry.column_of(drive);
        let mut ids = std::mem::take(&mut self.admission.open_rows);
        for stream in [HOST, MOVED] {
            ids.extend(self.streams[stream].closing.iter().copied().chain([self.streams[stream].open]));
        }
        for id in ids.drain(..) {
            let row = &mut self.open_rows[id];
            if self.geometry.group_of(row.here.row) == group && !row.is_absent(column) {
                row.permit(column);
                self.send_lane(now, core, id, column);
            }
        }
        self.admission.open_rows = ids;
    }

    /// A request waits for the row of a stream: makes its drives due.
    pub(super) fn hurry(&self, now: Time, core: &mut Core<B>, stream: usize) {
        self.drives_of(stream).for_each(|drive| core.drives.hurry(now, drive));
    }

    /// Number of blocks that may be appended now, as far as the epochs of the front-end's drives suffice.
    pub(super) fn room_in_epochs(&self, now: Time, core: &Core<B>) -> u32 {
        let Some(tokens) = core.tokens.as_ref().filter(|_| now >= self.admission.next) else { return 0 };
        let rooms = self.drives_of(HOST).filter(|&drive| core.drives.is_gated(drive)).map(|drive| {
            let gate = core.drives.gate(drive);
            gate.pace.room(tokens.share()).saturating_sub(gate.kept)
        });
        rooms.min().map_or(u32::MAX, |stripes| to_u32(stripes) * self.geometry.data)
    }

    /// A write of the host found no room.
    pub(super) fn stop(&mut self, now: Time) {
        self.admission.stopped = now;
    }

    /// True if the epochs of the drives that receive moved blocks suffice for more of them. A quarter is
    /// reserved for the host, unless it has no room left anyway: moved blocks come in bursts, behind which
    /// its writes would wait for rounds.
    pub(super) fn has_room_to_move(&self, core: &Core<B>) -> bool {
        let Some(tokens) = &core.tokens else {
            return self.streams[MOVED].closing.len() <= MOVED_CLOSING_MAX;
        };
        if self.streams[MOVED].closing.len() > self.admission.rows.div_ceil(2) {
            return false;
        }
        let has_room = |drive: DriveId| {
            let room = || core.drives.gate(drive).pace.room(tokens.share()) * 3 / 4;
            !core.drives.is_gated(drive) || core.drives.gate(drive).kept < room()
        };
        self.is_short || self.drives_of(MOVED).all(has_room)
    }

    fn drives_of(&self, stream: usize) -> impl Iterator<Item = DriveId> + use<B> {
        self.geometry.drives(self.open_row(stream).here.row)
    }

    /// When the next write may be admitted, if it waits for nothing else.
    pub(super) fn next_admission(&self) -> Time {
        let is_paced = !self.space.waiting.is_empty() && self.admission.next > self.admission.stopped;
        if is_paced { self.admission.next } else { Time::NEVER }
    }

    /// The host has written `blocks` blocks: sets the pause of the next write.
    pub(super) fn pause(&mut self, now: Time, core: &Core<B>, blocks: u32) {
        let Some(tokens) = &core.tokens else { return };
        let used = self.drives_of(HOST).map(|drive| {
            let gate = core.drives.gate(drive);
            Fill { used: gate.kept, room: gate.pace.room(tokens.share()) }.share()
        });
        let used = used.fold(
            Fill { used: self.streams[HOST].closing.len(), room: self.admission.rows }.share(),
            u64::max,
        );
        let excess = used.min(SCALE).saturating_sub(SCALE / 2);
        let per_block = tokens.interval(self.space.front).0 * u64::from(self.geometry.width);
        let host = self.figures.host_blocks;
        let appended = Appended { host, all: host + self.figures.moved_blocks };
        let burden = self.admission.burden.update(appended, u64::from(self.geometry.positions()));
        let per_block = per_block * burden / (SCALE * u64::from(self.geometry.data));
        let pause = Nanos(per_block * u64::from(blocks) * excess / (SCALE / 4));
        self.admission.next = now + pause.min(tokens.share());
    }

    /// Counters of epochs, if there are any.
    pub(in crate::array) fn epoch_figures(&self, core: &Core<B>) -> Option<EpochFigures> {
        let (from_cache, throttled) = (self.figures.reads_memory, self.figures.throttled);
        core.token_figures().map(|figures| EpochFigures { from_cache, throttled, ..figures })
    }
}

/// Blocks appended recently per block of the host: blocks moved by collection use their part of each epoch.
#[derive(Debug)]
struct Burden {
    /// What had been appended at the last update.
    appended: Appended,
    /// In units of 1 / [`SCALE`].
    ratio: u64,
}

impl Default for Burden {
    fn default() -> Burden {
        Burden { appended: Appended { host: 0, all: 0 }, ratio: SCALE }
    }
}

impl Burden {
    /// The ratio, recomputed once per `every` blocks of the host. `now` counts the blocks appended so far.
    fn update(&mut self, now: Appended, every: u64) -> u64 {
        let host = now.host - self.appended.host;
        if host >= every {
            self.ratio = (now.all - self.appended.all) * SCALE / host;
            self.appended = now;
        }
        self.ratio
    }
}

/// Blocks appended to a log.
#[derive(Debug)]
struct Appended {
    /// Blocks of the host.
    host: u64,
    /// Those and the blocks moved by collection.
    all: u64,
}

/// Usage of a limited resource.
struct Fill {
    used: usize,
    room: usize,
}

impl Fill {
    /// The used share in units of 1 / [`SCALE`]; more than that if overfull.
    fn share(&self) -> u64 {
        self.used as u64 * SCALE / self.room.max(1) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_burden_is_that_of_the_last_blocks_of_the_host() {
        let mut burden = Burden::default();
        for (host, all, expected) in
            [(9, 30, SCALE), (10, 30, 3 * SCALE), (19, 90, 3 * SCALE), (30, 60, 3 * SCALE / 2)]
        {
            assert_eq!(burden.update(Appended { host, all }, 10), expected, "{host} of {all}");
        }
    }
}
