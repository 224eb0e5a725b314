//! Reads of segments during recovery, and repairs of their copies.

use super::super::flash::{Flash, Job};
use super::super::jobs::Haste;
use super::super::log::format::summary_blocks;
use super::super::log::{SegmentId, WriteNumber};
use super::super::search::Search;
use super::super::versions::Versions;
use super::{Reading, Stretch, UsedSegment};
use crate::block::Bytes;
use crate::disk::Mirror;
use tailcut_base::cast::{to_u32, to_usize};

impl Reading {
    /// Combines the copies read so far. Returns the blocks that are right and differ between copies.
    pub(super) fn combine(&mut self, search: &Search) -> Vec<usize> {
        let Reading { blocks, versions, unreadable, .. } = self;
        if self.copy.is_some() {
            versions.add(self.copy, blocks, unreadable);
        }
        unreadable.retain(|&at| match versions.readable(at) {
            Some(block) => {
                blocks[at] = block.clone();
                false
            }
            None => true,
        });
        search.combine(blocks, versions)
    }
}

impl Flash {
    /// Starts reading the summary of a segment, or all of it if it has none.
    pub(super) fn begin_reading(
        &mut self,
        found: UsedSegment,
        mut blocks: Vec<Bytes>,
        copy: Option<u8>,
    ) -> Reading {
        let all = u64::from(self.log.segment_blocks());
        let end = self.log.first_block(found.number) + all;
        let count = found.foot.map_or(all, |foot| summary_blocks(foot.entries as usize).min(all));
        blocks.clear();
        blocks.resize(to_usize(count), Bytes::ZEROS);
        let (left, unreadable) = (None, Vec::new());
        let versions = Versions::default();
        let mut reading =
            Reading { found, blocks, under_way: 0, left, tombstones: 0, copy, versions, unreadable };
        let is_urgent = found.foot.is_none();
        let mut block = end - count;
        while block < end {
            let blocks = to_u32((end - block).min(u64::from(self.jobs.most_blocks())));
            self.read_stretch(
                Stretch { sequence: found.sequence, block, blocks, copy, is_urgent, tries: 1 },
                Vec::new(),
            );
            reading.under_way += 1;
            block += u64::from(blocks);
        }
        reading
    }

    fn read_stretch(&mut self, stretch: Stretch, list: Vec<Bytes>) {
        let haste = if stretch.is_urgent { Haste::Urgent } else { Haste::Later };
        let mirror = stretch.copy.map_or(Mirror::Any, Mirror::Only);
        self.jobs.read_copy(Job::Recover(stretch), haste, stretch.block, stretch.blocks, (list, mirror));
    }

    /// Retries a failed read block by block, so that one bad block costs no other. Returns the number of
    /// reads issued.
    pub(super) fn read_apart(&mut self, stretch: Stretch, list: Vec<Bytes>) -> u32 {
        let tries = stretch.tries.saturating_add(1);
        if stretch.blocks == 1 {
            self.read_stretch(Stretch { tries, ..stretch }, list);
            return 1;
        }
        for block in stretch.block..stretch.block + u64::from(stretch.blocks) {
            self.read_stretch(Stretch { block, blocks: 1, tries: 1, ..stretch }, Vec::new());
        }
        stretch.blocks
    }

    /// First block of a segment's summary.
    pub(super) fn first_summary_block(&self, found: &UsedSegment) -> u64 {
        let blocks = found.foot.map_or(0, |foot| summary_blocks(foot.entries as usize));
        self.log.end_block(found.number) - blocks
    }

    /// Overwrites the other copies of blocks with the data of copy `copy`.
    pub(crate) fn repair_copies(&mut self, segment: SegmentId, copy: u8, block: u64, blocks: &[Bytes]) {
        let most = self.jobs.most_blocks() as usize;
        for (number, blocks) in blocks.chunks(most).enumerate() {
            self.log.begin_read(segment);
            self.jobs.repair(Job::Repair(segment), copy, block + (number * most) as u64, blocks.to_vec());
        }
    }

    pub(super) fn write_block(&mut self, block: u64, bytes: Bytes) {
        let number = self.log.count_write();
        self.write_optional(number, block, vec![bytes]);
    }

    /// Writes a summary for a segment that was open when the store stopped. Returns its last write.
    pub(super) fn write_summary(&mut self, number: SegmentId, blocks: &[Bytes]) -> WriteNumber {
        let (most, mut last) = (self.jobs.most_blocks(), WriteNumber::NONE);
        let mut block = self.log.end_block(number) - blocks.len() as u64;
        for part in blocks.chunks(most as usize) {
            last = self.log.count_write();
            self.write_optional(last, block, part.to_vec());
            block += part.len() as u64;
        }
        last
    }
}
