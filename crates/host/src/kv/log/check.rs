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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Disk;
    use crate::kv::hash::KeyHash;
    use crate::kv::item::Value;
    use crate::kv::log::format::{Part, Superblock};
    use crate::kv::log::{AppendPurpose, Record, UNITS};
    use crate::kv::place::Place;
    use crate::kv::record::{Header, State};
    use crate::pool::Pool;
    use tailcut_base::Time;

    /// A log with full segments and an open one, and the units of its records.
    fn log() -> (Log, Vec<u64>) {
        let superblock = Superblock {
            store: 1,
            seed: 1,
            segment_blocks: 32,
            segments: 16,
            run: 1,
            count: 1,
            flushed: 0,
            part: Part::WHOLE,
            doubted: 0,
            durable: 0,
            used: 0,
            keeps_all: false,
            blocks: 512,
        };
        let disk =
            Disk { blocks: 512, depth: 8, most_blocks: 32, volatile_cache: true, copies: 1, handles: 1 };
        let (mut log, mut pool) = (Log::new(&superblock, &disk), Pool::default());
        let mut append = |key: u64| {
            let (key, value) = (key.to_le_bytes(), [7; 4000]);
            let header = Header { key: 8, value: 4000, state: State::default(), ..Header::default() };
            let record = Record { header, key: &key, value: Value::Slice(&value), hash: KeyHash(1) };
            let place = log.append(Time::ZERO, &record, AppendPurpose::User, &mut pool);
            let Some(Place::Log { unit, .. }) = place else { panic!("there is room") };
            unit
        };
        let units = (0..100).map(&mut append).collect();
        assert!(log.full.len() >= 2, "{} segments are full", log.full.len());
        (log, units)
    }

    #[test]
    fn a_log_in_order_passes() {
        let (log, units) = log();
        assert_eq!(log.check(), Ok(()));
        assert_eq!(log.check_valid(units.into_iter()), Ok(()));
        assert!(log.check_at_rest().expect_err("nothing is written").contains("not been submitted"));
    }

    #[test]
    fn every_planted_fault_of_the_log_is_found() {
        type Fault = fn(&mut Log);
        let faults: [(&str, Fault); 8] = [
            ("is in 2 lists", |log| log.free.push_back(log.full[0])),
            ("is in 0 lists", |log| log.full.truncate(1)),
            ("is free, and has sequence", |log| {
                let free = log.free[0];
                log.segments[free].records = 1;
            }),
            ("not in order", |log| log.full.swap(0, 1)),
            ("newer than the next", |log| log.next_sequence = 1),
            ("and awaited", |log| log.undurable[0].sequence += 1),
            ("is durable, and only", |log| log.settling.note_durable(log.settling.issued())),
            ("awaited", |log| {
                let full = log.undurable[0].number;
                log.segments[full].sequence -= 1;
            }),
        ];
        for (expected, plant) in faults {
            let (mut log, _) = log();
            plant(&mut log);
            let found = log.check().expect_err(expected);
            assert!(found.contains(expected), "{expected}: {found}");
        }
    }

    #[test]
    fn every_planted_fault_of_its_records_is_found() {
        let (log, units) = log();
        let check = |units: &[u64]| log.check_valid(units.iter().copied());
        assert!(check(&units[1..]).expect_err("one is missing").contains("counted"));
        let free = log.free[0].first_block(log.segment_blocks) * UNITS;
        assert!(check(&[free]).expect_err("it is free").contains("is free"));
        assert!(
            check(&[u64::from(u32::MAX)]).expect_err("it is outside").contains("behind the last segment")
        );
    }

    #[test]
    fn reads_and_writes_in_flight_are_no_rest() {
        let (mut log, _) = log();
        let writes = std::mem::take(&mut log.writes);
        assert!(log.check_at_rest().expect_err("they are in flight").contains("have completed"));
        writes.iter().for_each(|write| log.settling.note_done(write.number));
        log.resting.clear();
        assert_eq!(log.check_at_rest(), Ok(()));
        log.begin_read(SegmentId::new(1));
        assert!(log.check_at_rest().expect_err("it is being read").contains("hold segment 1"));
    }
}
