//! Whether drives serve, and what becomes of what waits for one that does not.

use super::{Drives, Presence, URGENCIES};
use crate::Block;
use crate::array::DriveId;
use crate::disk::Disk;
use std::ops::Range;

impl<B> Drives<B> {
    /// Whether it serves.
    pub fn presence(&self, drive: DriveId) -> Presence {
        self.members[drive].presence
    }

    /// True when everything that belongs on the drive can be read from it.
    #[inline]
    pub fn is_in_sync(&self, drive: DriveId) -> bool {
        self.members[drive].presence == Presence::InSync
    }

    /// True when these blocks can be read from the drive: it is in sync, or filled so far.
    #[inline]
    pub fn serves(&self, drive: DriveId, blocks: Range<u64>) -> bool {
        let member = &self.members[drive];
        match member.presence {
            Presence::InSync => true,
            Presence::Rebuilding => blocks.end <= member.filled,
            Presence::Missing => false,
        }
    }

    /// A drive that is being filled can be read below block `filled`.
    pub fn set_filled(&mut self, drive: DriveId, filled: u64) {
        self.members[drive].filled = filled;
    }

    /// How often a drive has been lost, replaced, or found to be in sync.
    #[inline]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// True when the drive takes requests.
    #[inline]
    pub fn is_present(&self, drive: DriveId) -> bool {
        self.members[drive].presence != Presence::Missing
    }
}

impl<B: Block> Drives<B> {
    /// Sets whether a drive serves. Requests that wait for a missing drive are answered with
    /// [`Status::Gone`](tailcut_base::Status::Gone).
    pub fn set_presence(&mut self, drive: DriveId, presence: Presence) {
        self.changes += 1;
        self.members[drive].presence = presence;
        if presence == Presence::Missing {
            self.lose_checksums(drive);
            for lane in 0..URGENCIES {
                while let Some(waiting) = self.members[drive].lanes[lane].pop_front() {
                    self.note_bounce(drive, &waiting);
                    self.bounce(drive, waiting);
                }
            }
        }
        self.reset_gate(drive);
    }

    /// A drive has taken the place of another.
    pub fn replace(&mut self, drive: DriveId, disk: Disk) {
        self.most_blocks = self.most_blocks.min(disk.most_blocks);
        let member = &mut self.members[drive];
        assert_eq!(member.presence, Presence::Missing, "a drive that serves is not replaced");
        member.depth = member.most.min(disk.depth);
        member.disk = disk;
        member.presence = Presence::Rebuilding;
        member.filled = 0;
        member.life += 1;
        self.changes += 1;
        self.renew_gate(drive);
    }
}
