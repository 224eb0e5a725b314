//! The end of a recovery: valid blocks are counted, and the log begins to serve.

use super::super::Log;
use super::super::descriptor::Aged;
use super::super::geometry::Row;
use super::super::stream::BEGUN_MAX;
use super::{Phase, RecoveryReport};
use crate::Block;
use crate::array::core::Core;
use crate::array::drives::Presence;
use tailcut_base::Time;
use tailcut_base::ids::{Id, Pool};

impl<B: Block> Log<B> {
    /// The log has been replayed: prepares it for writes.
    pub(in crate::array::log) fn end_recovery(&mut self, now: Time, core: &mut Core<B>) {
        let Some(recovery) = &mut self.recovery else { return };
        if recovery.phase != Phase::Repairs || recovery.repairs > 0 {
            return;
        }
        recovery.phase = Phase::Done;
        let header = recovery.header.clone().expect("it was read");
        let (ages, unfinished) =
            (std::mem::take(&mut recovery.ages), std::mem::take(&mut recovery.unfinished));
        let last = recovery.last;
        if !self.count_valid(&ages, &unfinished) {
            return self.abandon(format!("checkpoint {} names rows that nobody has written", header.number));
        }
        // Ages that were assigned but left no trace are not reused; hops and the like come on top of what a
        // stream may begin without a commit.
        let newest = ages.iter().copied().max().unwrap_or(0).max(header.opened);
        self.rows.opened = newest.saturating_add(4 * BEGUN_MAX);
        for (stream, batch) in self.streams.iter_mut().zip(last) {
            stream.batch.number = batch + 1;
            stream.dirty.as_mut_slice().fill(true);
        }
        self.checkpoint.follow(header.number, core.drives.len());
        let front = self.geometry.group_ids().max_by_key(|&group| self.rows.free(group));
        self.space.front = front.expect("there are groups");
        if !self.begin_streams(core) {
            // Without open rows nothing can be written.
            self.open_rows = Pool::new();
            self.failed = Some("no row is free to write to".into());
            self.is_ready = true;
            return;
        }
        self.begin_checkpoint(now, core);
    }

    /// Counts the valid blocks of each row; false if a row has more than it can hold, or no age.
    fn count_valid(&mut self, ages: &[u32], unfinished: &[Row]) -> bool {
        let (mut valid, mut reach) = (vec![0u32; ages.len()], vec![0u32; ages.len()]);
        for block in 0..self.geometry.host_blocks {
            let Some(place) = self.map.get(block) else { continue };
            let (row, _, stripe) = self.geometry.locate(place);
            valid[row.index()] += 1;
            reach[row.index()] = reach[row.index()].max(stripe + 1);
        }
        for (row, (&age, &count)) in (0..).map(Row::new).zip(ages.iter().zip(&valid)) {
            if count > 0 {
                if age == 0 || count > self.geometry.positions() {
                    return false;
                }
                let (here, stripes) = (Aged { row, age: age - 1 }, reach[row.index()]);
                self.rows.restore(here, count, (stripes, !unfinished.contains(&row)));
            }
        }
        self.rows.rebuild_free();
        true
    }

    /// The log accepts requests.
    pub(in crate::array::log) fn recovered(&mut self, now: Time, core: &Core<B>) {
        if let Some(recovery) = self.recovery.take() {
            let duration = now.since(recovery.began);
            self.recovery_report = Some(RecoveryReport { duration, ..recovery.report });
            // The progress of a rebuild is unknown: it starts again.
            let unfilled = core.drives.ids().filter(|&d| core.drives.presence(d) == Presence::Rebuilding);
            self.to_rebuild.extend(unfilled);
        }
    }
}
