//! The state of drives, and the failure of requests that wait for a missing one.

use super::{Drives, Presence, URGENCIES, Waiting};
use crate::Block;
use crate::array::DriveId;
use crate::disk::Disk;
use std::ops::Range;

impl<B> Drives<B> {
    /// Whether a member is in sync, being rebuilt, or missing.
    pub fn presence(&self, drive: DriveId) -> Presence {
        self.members[drive].presence
    }

    /// True if all of the drive's content can be read from it.
    #[inline]
    pub fn is_in_sync(&self, drive: DriveId) -> bool {
        self.members[drive].presence == Presence::InSync
    }

    /// True if these blocks can be read from the drive: it is in sync, or rebuilt up to them.
    #[inline]
    pub fn serves(&self, drive: DriveId, blocks: Range<u64>) -> bool {
        let member = &self.members[drive];
        match member.presence {
            Presence::InSync => true,
            Presence::Rebuilding => blocks.end <= member.filled,
            Presence::Missing => false,
        }
    }

    /// A drive that is being rebuilt can be read below block `filled`.
    pub fn set_filled(&mut self, drive: DriveId, filled: u64) {
        self.members[drive].filled = filled;
    }

    /// Number of times that a drive has failed, been replaced, or come in sync.
    #[inline]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// True if the drive accepts requests.
    #[inline]
    pub fn is_present(&self, drive: DriveId) -> bool {
        self.members[drive].presence != Presence::Missing
    }
}

impl<B: Block> Drives<B> {
    /// Sets the state of a drive. Requests that wait for a missing drive complete with
    /// [`Status::Gone`](tailcut_base::Status::Gone).
    pub fn set_presence(&mut self, drive: DriveId, presence: Presence) {
        self.changes += 1;
        self.members[drive].presence = presence;
        if presence == Presence::Missing {
            self.lose_checksums(drive);
            for waiting in self.take_refused(drive) {
                self.note_bounce(drive, &waiting);
                self.bounce(drive, Waiting { is_retry: false, ..waiting });
            }
            for lane in 0..URGENCIES {
                while let Some(waiting) = self.members[drive].lanes[lane].pop_front() {
                    self.note_bounce(drive, &waiting);
                    self.bounce(drive, waiting);
                }
            }
        }
        self.reset_gate(drive);
    }

    /// A drive has been replaced.
    ///
    /// # Panics
    /// If the drive is not missing.
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
