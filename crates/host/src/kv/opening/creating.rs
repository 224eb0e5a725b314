//! Creation of a store on a blank disk.

use super::{AT_A_TIME, CannotOpen, Job, Opening};
use crate::block::Bytes;
use crate::kv::Keep;
use crate::kv::jobs::Haste;
use crate::kv::log::format::Superblock;
use crate::placement::WriteKind;

impl Opening {
    /// Starts to create a store; `there` is the superblock of the store to replace, if any.
    pub(super) fn create(&mut self, store: u128, seed: u64, there: Option<Superblock>) {
        match self.settings.segments_on(&self.disk) {
            Err(why) => self.fail(CannotOpen::Unsuitable(why)),
            Ok(segments) => {
                let (segment_blocks, part, blocks) =
                    (self.settings.segment_blocks, self.part, self.disk.blocks);
                self.damages.clear();
                self.superblock = Some(Superblock {
                    store,
                    seed,
                    segment_blocks,
                    segments,
                    run: 0,
                    count: there.map_or(0, |there| there.count),
                    flushed: 0,
                    part,
                    doubted: 0,
                    durable: 0,
                    used: 0,
                    keeps_all: self.settings.keep == Keep::Everything,
                    blocks,
                });
                self.read_ends();
            }
        }
    }

    /// Reads the ends of the segments of a new store, to blank those that are not.
    fn read_ends(&mut self) {
        let Some(Superblock { segments, segment_blocks, .. }) = self.superblock else { return };
        while self.reading < AT_A_TIME && self.next_head < segments {
            let first = u64::from(self.next_head) * u64::from(segment_blocks);
            self.next_head += 1;
            for block in [first, first + u64::from(segment_blocks) - 1] {
                self.reading += 1;
                self.jobs.read(Job::Blank(block), Haste::Urgent, block, 1, Vec::new());
            }
        }
        if self.reading == 0 {
            match self.disk.volatile_cache {
                true => self.jobs.flush(Job::Flush, Haste::Urgent),
                false => self.begin_run(),
            }
        }
    }

    pub(super) fn note_end(&mut self, block: u64, bytes: &Bytes) {
        if bytes.as_slice().iter().any(|&byte| byte != 0) {
            return self.jobs.write(
                Job::Blanked(block),
                Haste::Urgent,
                WriteKind::Metadata,
                block,
                vec![Bytes::ZEROS],
            );
        }
        self.note_blanked();
    }

    pub(super) fn note_blanked(&mut self) {
        self.reading -= 1;
        self.read_ends();
    }
}
