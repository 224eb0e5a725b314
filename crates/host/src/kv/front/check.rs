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
        for &segment in self.small.iter().chain(&self.main).chain(&self.free).chain(&self.retired) {
            owners[segment] += 1;
        }
        for (segment, &owners) in owners.iter_enumerated() {
            let (fill, dead) = (self.fills[segment], self.dead[segment]);
            ensure!(owners == 1, "segment {segment} of the memory is in {owners} lists");
            ensure!(fill as usize <= self.segment, "segment {segment} of the memory has {fill} bytes");
            ensure!(dead <= fill, "{dead} of {fill} bytes of segment {segment} of the memory are dead");
        }
        for &segment in self.free.iter().chain(&self.retired) {
            let fill = self.fills[segment];
            ensure!(fill == 0, "segment {segment} of the memory is free, and has {fill} bytes");
        }
        let mut used: IdVec<FrontSegment, u32> = IdVec::filled(self.fills.len(), 0);
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
