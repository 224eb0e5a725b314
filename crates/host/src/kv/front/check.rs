//! What holds of the memory.

use super::{Front, FrontSegment, at};
use crate::check::ensure;
use crate::kv::place::FrontUnit;
use tailcut_base::cast::{to_u32, to_usize};
use tailcut_base::ids::IdVec;

impl Front {
    /// Each segment is free or in one queue; the live records, given by their places, lie in used parts of
    /// segments, and what they leave of these is dead.
    pub(in crate::kv) fn check(&self, live: impl Iterator<Item = FrontUnit>) -> Result<(), String> {
        let mut owners: IdVec<FrontSegment, u32> = IdVec::filled(self.fills.len(), 0);
        let used = self.queues.iter().flatten().flat_map(|&first| self.run(first));
        for segment in used.chain(self.free.iter().copied()).chain(self.retired.iter().copied()) {
            owners[segment] += 1;
        }
        ensure!(self.free.is_sorted_by(|a, b| a > b), "the free segments of the memory are not in order");
        for (queue, &counted) in self.queues.iter().zip(&self.in_use) {
            let in_use: usize = queue.iter().map(|&first| self.run(first).len()).sum();
            ensure!(in_use == counted, "{in_use} segments in a queue of the memory, {counted} counted");
        }
        for (segment, &owners) in owners.iter_enumerated() {
            let (fill, dead) = (self.fills[segment], self.dead[segment]);
            ensure!(owners == 1, "segment {segment} of the memory is in {owners} lists");
            ensure!(dead <= fill, "{dead} of {fill} bytes of segment {segment} of the memory are dead");
        }
        for &segment in self.free.iter().chain(&self.retired) {
            let fill = self.fills[segment];
            ensure!(fill == 0, "segment {segment} of the memory is free, and has {fill} bytes");
        }
        let mut used: IdVec<FrontSegment, u32> = IdVec::filled(self.fills.len(), 0);
        for (segment, &fill) in self.fills.iter_enumerated().filter(|(_, fill)| self.takes_run(**fill)) {
            let bytes = self.header(self.unit_at(segment, 0)).record_bytes();
            ensure!(
                u64::from(fill) == bytes,
                "a run of segments has {fill} bytes from {segment} on, its record {bytes}"
            );
        }
        for unit in live {
            let segment = FrontSegment::new(to_u32(at(unit) / self.segment));
            let end = at(unit) % self.segment + to_usize(self.header(unit).record_bytes());
            let fill = self.fills[segment];
            ensure!(
                end <= fill as usize,
                "record {unit} ends at byte {end} of segment {segment}, {fill} used"
            );
            used[segment] += to_u32(self.header(unit).record_bytes());
        }
        for (segment, &used) in used.iter_enumerated() {
            let live = self.fills[segment] - self.dead[segment];
            ensure!(used == live, "segment {segment} of the memory has {used} live bytes, {live} counted");
        }
        Ok(())
    }
}
