//! What holds of the log.

use super::{Log, SegmentId};
use crate::check::ensure;
use tailcut_base::ids::{Id, IdVec};

impl Log {
    /// Each segment is free, full or the open one; full ones are in the order of their sequences; what is not
    /// durable, or not completely written, is full; writes are durable only after they have completed.
    pub(in crate::kv) fn check(&self) -> Result<(), String> {
        let mut owners: IdVec<SegmentId, u32> = IdVec::filled(self.segments.len(), 0);
        let open = self.open.as_ref().map(|open| open.number);
        for &number in self.free.iter().chain(&self.full).chain(&open) {
            owners[number] += 1;
        }
        for (number, &owners) in owners.iter_enumerated() {
            let expected = u32::from(number != SegmentId::SUPERBLOCKS);
            ensure!(owners == expected, "segment {number} is in {owners} lists");
        }
        for &number in &self.free {
            let segment = &self.segments[number];
            let is_unused = segment.sequence == 0 && segment.records == 0;
            ensure!(is_unused, "segment {number} is free, and has sequence {}", segment.sequence);
        }
        let sequences: Vec<u64> = self.full.iter().map(|&number| self.segments[number].sequence).collect();
        ensure!(sequences.is_sorted(), "full segments are not in order: {sequences:?}");
        let newest = sequences.last().copied().max(self.open.as_ref().map(|open| open.sequence));
        ensure!(newest < Some(self.next_sequence), "segment {newest:?} is newer than the next");
        for undurable in &self.undurable {
            let (number, sequence) = (undurable.number, self.segments[undurable.number].sequence);
            ensure!(sequence == undurable.sequence, "segment {number} is {sequence}, and awaited");
        }
        let (durable, settled) = (self.settling.durable(), self.settling.settled());
        ensure!(durable <= settled, "{durable:?} is durable, and only {settled:?} has completed");
        ensure!(settled <= self.settling.issued(), "{settled:?} has completed and was not issued");
        Ok(())
    }

    /// Exactly the records that items refer to are valid; `used` gives the units of all of them.
    pub(in crate::kv) fn check_valid(&self, used: impl Iterator<Item = u64>) -> Result<(), String> {
        let mut valid: IdVec<SegmentId, u32> = IdVec::filled(self.segments.len(), 0);
        for unit in used {
            let number = self.segment_of(unit);
            ensure!(number.index() < self.segments.len(), "an item lies behind the last segment");
            let sequence = self.segments[number].sequence;
            ensure!(sequence != 0, "an item lies in segment {number}, which is free");
            valid[number] += 1;
        }
        for (number, &valid) in valid.iter_enumerated() {
            let (counted, records) = (self.segments[number].valid, self.segments[number].records);
            ensure!(valid == counted, "segment {number} has {valid} valid records, {counted} counted");
            ensure!(valid <= records, "segment {number} has {valid} valid records of {records}");
        }
        Ok(())
    }

    /// All writes have completed, and nothing is read.
    pub(in crate::kv) fn check_at_rest(&self) -> Result<(), String> {
        for (number, segment) in self.segments.iter_enumerated() {
            ensure!(segment.readers == 0, "{} reads hold segment {number}", segment.readers);
        }
        if self.has_failed || self.is_full {
            return Ok(());
        }
        ensure!(self.writes.is_empty(), "{} writes have not been submitted", self.writes.len());
        let (settled, issued) = (self.settling.settled(), self.settling.issued());
        ensure!(settled == issued, "writes up to {settled:?} of {issued:?} have completed");
        ensure!(self.resting.is_empty(), "{} full segments wait for the disk", self.resting.len());
        Ok(())
    }
}
