//! The rows of segments: which are free, how much of each is valid, and which to collect next.

mod check;
use super::config::VictimChoice;
use super::descriptor::Aged;
use super::geometry::{Geometry, Row};
use super::open_row::OpenRowId;
use crate::array::GroupId;
use std::collections::VecDeque;
use tailcut_base::cast::to_u32;
use tailcut_base::ids::IdVec;
use tailcut_base::random;

/// State of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowState {
    /// Free.
    Free,
    /// Being written.
    Open,
    /// Full, but not covered by a checkpoint yet.
    Closed,
    /// It may be collected.
    Collectable,
    /// Being collected.
    Victim,
}

/// A row's state and counters.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowInfo {
    /// State of the row.
    pub state: RowState,
    /// Number of rows opened before it.
    pub age: u32,
    /// Number of valid blocks of the host in it.
    pub valid: u32,
    /// Reads in flight: they prevent its trim.
    pub readers: u32,
    /// Content of the row while it is written, or [`OpenRowId::NONE`]; see [`Log`](super::Log).
    pub open_row: OpenRowId,
    /// Stripes with valid data; after a recovery, up to the last valid block.
    pub stripes: u32,
    /// True if the row has a readable summary or gets one when it is full.
    pub has_summary: bool,
    before: Row,
    after: Row,
    /// Index among the collectable rows of its group.
    index: u32,
}

/// Rows of one group.
#[derive(Clone, Debug)]
struct Group {
    free: VecDeque<Row>,
    collectable: Vec<Row>,
    /// Collectable rows in order of arrival, with their ages, for policies that need it; rows that are gone
    /// are skipped.
    order: VecDeque<(Row, u32)>,
    /// First and last collectable row per bucket of valid blocks; the first has been there longest.
    buckets: Vec<(Row, Row)>,
    /// Bit set of the buckets that are not empty.
    present: [u64; BUCKETS / 64],
    valid: u64,
}

const BUCKETS: usize = 1024;

/// Old rows examined per victim.
const LOOKS: u32 = 4;

/// All rows of a log.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    rows: IdVec<Row, RowInfo>,
    groups: IdVec<GroupId, Group>,
    rows_of_group: u32,
    positions: u32,
    /// Numbers of valid blocks per bucket.
    quantum: u32,
    choice: VictimChoice,
    /// Valid blocks that an older victim may have in excess of the emptiest.
    slack: u32,
    random: random::Stream,
    /// Full rows not covered by the last checkpoint, in the order in which they were closed.
    closed: VecDeque<Row>,
    /// Number of rows opened so far.
    pub opened: u32,
}

impl Rows {
    /// All rows free.
    pub(super) fn new(geometry: &Geometry, choice: VictimChoice, slack: u32) -> Rows {
        let row = RowInfo {
            state: RowState::Free,
            age: 0,
            valid: 0,
            readers: 0,
            open_row: OpenRowId::NONE,
            stripes: 0,
            has_summary: false,
            before: Row::NONE,
            after: Row::NONE,
            index: 0,
        };
        let group = |group: GroupId| Group {
            free: geometry.rows_of(group).collect(),
            collectable: Vec::new(),
            order: VecDeque::new(),
            buckets: vec![(Row::NONE, Row::NONE); BUCKETS],
            present: [0; BUCKETS / 64],
            valid: 0,
        };
        Rows {
            rows: IdVec::filled(geometry.all_rows() as usize, row),
            groups: geometry.group_ids().map(group).collect(),
            rows_of_group: geometry.rows,
            positions: geometry.positions(),
            quantum: geometry.positions() / to_u32(BUCKETS) + 1,
            choice,
            slack: to_u32(u64::from(geometry.positions()) * u64::from(slack) / 1_000_000),
            random: random::Stream::new(0, "log victim"),
            closed: VecDeque::new(),
            opened: 1,
        }
    }

    /// A row.
    #[inline]
    pub(super) fn get(&self, row: Row) -> &RowInfo {
        &self.rows[row]
    }

    /// A row, mutable.
    #[inline]
    pub(super) fn get_mut(&mut self, row: Row) -> &mut RowInfo {
        &mut self.rows[row]
    }

    /// Number of free rows of a group.
    pub(super) fn free(&self, group: GroupId) -> u32 {
        to_u32(self.groups[group].free.len())
    }

    /// Number of valid blocks of a group.
    pub(super) fn valid(&self, group: GroupId) -> u64 {
        self.groups[group].valid
    }

    /// Number of full rows not covered by the last checkpoint.
    pub(super) fn closed(&self) -> usize {
        self.closed.len()
    }

    fn group_of(&self, row: Row) -> &Group {
        &self.groups[GroupId::new(row.get() / self.rows_of_group)]
    }

    fn group_mut(&mut self, row: Row) -> &mut Group {
        &mut self.groups[GroupId::new(row.get() / self.rows_of_group)]
    }

    /// Opens a free row of a group.
    pub(super) fn open(&mut self, group: GroupId) -> Option<Row> {
        let row = self.groups[group].free.pop_front()?;
        let age = self.opened;
        self.opened = self.opened.checked_add(1).expect("a drive does not last for 2^32 of its segments");
        let info = self.get_mut(row);
        assert_eq!((info.state, info.valid, info.readers), (RowState::Free, 0, 0));
        (info.state, info.age, info.stripes, info.has_summary) = (RowState::Open, age, 0, true);
        Some(row)
    }

    /// A block of the row becomes valid.
    #[inline]
    pub(super) fn validate(&mut self, row: Row) {
        self.get_mut(row).valid += 1;
        self.group_mut(row).valid += 1;
    }

    /// A block of the row becomes invalid.
    #[inline]
    pub(super) fn invalidate(&mut self, row: Row) {
        let is_collectable = self.get(row).state == RowState::Collectable;
        if is_collectable && self.bucket_of(row) != self.bucket_at(self.get(row).valid - 1) {
            self.unlink(row);
            self.get_mut(row).valid -= 1;
            self.link(row);
        } else {
            self.get_mut(row).valid -= 1;
        }
        self.group_mut(row).valid -= 1;
    }

    /// The row is full and completely written.
    pub(super) fn close(&mut self, row: Row) {
        let info = self.get_mut(row);
        assert_eq!(info.state, RowState::Open);
        (info.state, info.open_row) = (RowState::Closed, OpenRowId::NONE);
        self.closed.push_back(row);
    }

    /// A checkpoint covers the first `covered` closed rows: they may be collected.
    pub(super) fn cover(&mut self, covered: usize) {
        for _ in 0..covered {
            let row = self.closed.pop_front().expect("they were closed");
            self.get_mut(row).state = RowState::Collectable;
            let (age, is_ordered) = (self.get(row).age, self.needs_order());
            let group = self.group_mut(row);
            let index = to_u32(group.collectable.len());
            group.collectable.push(row);
            if is_ordered {
                group.order.push_back((row, age));
            }
            self.get_mut(row).index = index;
            self.link(row);
        }
    }

    /// Restores a row with `valid` valid blocks, none behind its first `stripes`; it is collected like any
    /// other. Call [`Rows::rebuild_free`] after the last one.
    pub(super) fn restore(&mut self, here: Aged, valid: u32, (stripes, has_summary): (u32, bool)) {
        let Aged { row, age } = here;
        let info = self.get_mut(row);
        (info.state, info.age, info.valid) = (RowState::Closed, age, valid);
        (info.stripes, info.has_summary) = (stripes, has_summary);
        self.group_mut(row).valid += u64::from(valid);
        self.closed.push_back(row);
    }

    /// Makes exactly the empty rows free.
    pub(super) fn rebuild_free(&mut self) {
        let rows = &self.rows;
        for group in &mut self.groups {
            group.free.retain(|&row| rows[row].state == RowState::Free);
        }
    }

    /// Takes the next row of a group to collect. If the chosen one has more than `most` valid blocks, so that
    /// it would free nothing, takes the one with the fewest.
    pub(super) fn victim(&mut self, group: GroupId, most: u32) -> Option<Row> {
        let chosen = self.choose(group).filter(|&row| self.get(row).valid <= most);
        let row = chosen.or_else(|| self.candidate(group))?;
        self.unlink(row);
        let index = self.get(row).index as usize;
        let collectable = &mut self.groups[group].collectable;
        collectable.swap_remove(index);
        if let Some(&moved) = collectable.get(index) {
            self.get_mut(moved).index = to_u32(index);
        }
        self.get_mut(row).state = RowState::Victim;
        Some(row)
    }

    /// A row with the fewest valid blocks, to the precision of buckets.
    pub(super) fn candidate(&self, group: GroupId) -> Option<Row> {
        let group = &self.groups[group];
        let word = group.present.iter().position(|&word| word != 0)?;
        let bucket = word * 64 + group.present[word].trailing_zeros() as usize;
        Some(group.buckets[bucket].0)
    }

    /// True if victims of a group can gain `needed` positions. `gain` gives the gain of one by its number of
    /// valid blocks: decreasing, and 0 from some number on. Examines at most `needed` rows.
    pub(super) fn gains(&self, group: GroupId, needed: u32, gain: impl Fn(u32) -> u32) -> bool {
        let this = &self.groups[group];
        let mut sum = 0;
        for (word, &bits) in this.present.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                let mut row = this.buckets[word * 64 + bits.trailing_zeros() as usize].0;
                bits &= bits - 1;
                let before = sum;
                while row != Row::NONE {
                    sum += gain(self.get(row).valid);
                    if sum >= needed {
                        return true;
                    }
                    row = self.get(row).after;
                }
                if sum == before {
                    return false;
                }
            }
        }
        false
    }

    fn choose(&mut self, group: GroupId) -> Option<Row> {
        let members = self.groups[group].collectable.len();
        if members == 0 {
            return None;
        }
        match self.choice {
            VictimChoice::Greedy => self.old_and_empty(group),
            VictimChoice::Fifo => self.oldest(group),
            VictimChoice::CostBenefit => self.most_beneficial(group),
            VictimChoice::Random => Some(self.groups[group].collectable[self.random.index(members)]),
            VictimChoice::DChoices => {
                let mut drawn = [0; 10];
                drawn.fill_with(|| self.random.index(members));
                let collectable = &self.groups[group].collectable;
                drawn.iter().map(|&index| collectable[index]).min_by_key(|&row| self.get(row).valid)
            }
        }
    }

    fn needs_order(&self) -> bool {
        self.choice == VictimChoice::Fifo || self.choice == VictimChoice::Greedy && self.slack > 0
    }

    /// The oldest row with hardly more valid blocks than the emptiest. A drive writes sequential data to the
    /// same flash blocks, so sequential trims empty them.
    fn old_and_empty(&mut self, group: GroupId) -> Option<Row> {
        let emptiest = self.candidate(group)?;
        let most = self.get(emptiest).valid + self.slack;
        for _ in 0..if self.slack > 0 { LOOKS } else { 0 } {
            let Some(row) = self.oldest(group) else { break };
            if self.get(row).valid <= most {
                return Some(row);
            }
            if !self.is_fuller_than_most(row) {
                // The emptiest is an exception, and the order is kept.
                break;
            }
            // A row that is full despite its age stays so for long.
            self.groups[group].order.rotate_left(1);
        }
        Some(emptiest)
    }

    /// True if the row has more valid blocks than the average of its group's rows in use.
    fn is_fuller_than_most(&self, row: Row) -> bool {
        let group = self.group_of(row);
        let used = u64::from(self.rows_of_group) - group.free.len() as u64;
        u64::from(self.get(row).valid) * used > group.valid
    }

    fn oldest(&mut self, group: GroupId) -> Option<Row> {
        let (rows, order) = (&self.rows, &mut self.groups[group].order);
        let is_gone = |&(row, age): &(Row, u32)| {
            let info = &rows[row];
            info.state != RowState::Collectable || info.age != age
        };
        while order.front().is_some_and(is_gone) {
            order.pop_front();
        }
        order.front().map(|&(row, _)| row)
    }

    /// Of the rows longest in their buckets, the one with the best ratio.
    fn most_beneficial(&self, group: GroupId) -> Option<Row> {
        let buckets = &self.groups[group].buckets;
        let firsts = buckets.iter().map(|&(first, _)| first).filter(|&first| first != Row::NONE);
        let score = |row: &Row| {
            let info = self.get(*row);
            let (valid, all) = (u64::from(info.valid), u64::from(self.positions));
            let age = u64::from(self.opened - info.age);
            age * (all - valid.min(all)) * 1024 / (all + valid)
        };
        firsts.max_by_key(score)
    }

    /// A collected row becomes free.
    pub(super) fn release(&mut self, row: Row) {
        let info = self.get_mut(row);
        assert_eq!((info.state, info.valid, info.readers), (RowState::Victim, 0, 0));
        info.state = RowState::Free;
        self.group_mut(row).free.push_back(row);
    }

    fn bucket_at(&self, valid: u32) -> usize {
        (valid / self.quantum) as usize
    }

    fn bucket_of(&self, row: Row) -> usize {
        self.bucket_at(self.get(row).valid)
    }

    fn link(&mut self, row: Row) {
        let bucket = self.bucket_of(row);
        let (_, last) = self.group_of(row).buckets[bucket];
        (self.get_mut(row).before, self.get_mut(row).after) = (last, Row::NONE);
        if last != Row::NONE {
            self.get_mut(last).after = row;
        }
        let group = self.group_mut(row);
        let slot = &mut group.buckets[bucket];
        *slot = if last == Row::NONE { (row, row) } else { (slot.0, row) };
        group.present[bucket / 64] |= 1 << (bucket % 64);
    }

    fn unlink(&mut self, row: Row) {
        let bucket = self.bucket_of(row);
        let RowInfo { before, after, .. } = *self.get(row);
        if before != Row::NONE {
            self.get_mut(before).after = after;
        }
        if after != Row::NONE {
            self.get_mut(after).before = before;
        }
        let group = self.group_mut(row);
        let slot = &mut group.buckets[bucket];
        *slot = (if slot.0 == row { after } else { slot.0 }, if slot.1 == row { before } else { slot.1 });
        if slot.0 == Row::NONE {
            group.present[bucket / 64] &= !(1 << (bucket % 64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::array::{ArrayConfig, LayoutKind};
    use tailcut_base::random::Stream;

    const FIRST: GroupId = GroupId::new(0);

    #[test]
    fn victims_are_those_of_a_plain_search() {
        let mut config = ArrayConfig { drives: 3, layout: LayoutKind::LogRaid4, ..ArrayConfig::default() };
        config.log.segment = 65_536;
        let geometry = Geometry::new(&config, 2000);
        let mut rows = Rows::new(&geometry, VictimChoice::Greedy, 0);
        let mut random = Stream::new(1, "rows");
        let mut held: Vec<Row> = Vec::new();
        for _ in 0..20_000 {
            if rows.free(FIRST) > 5 && random.chance_ppm(100_000) {
                let row = rows.open(FIRST).expect("some are free");
                (0..geometry.positions()).for_each(|_| rows.validate(row));
                rows.close(row);
                rows.cover(1);
                held.push(row);
            } else if rows.free(FIRST) <= 5 {
                let fewest = held.iter().map(|&row| rows.get(row).valid).min();
                let row = rows.victim(FIRST, u32::MAX).expect("some are full");
                assert_eq!(Some(rows.get(row).valid), fewest);
                held.retain(|&other| other != row);
                (0..rows.get(row).valid).for_each(|_| rows.invalidate(row));
                rows.release(row);
            } else if !held.is_empty() {
                let row = held[random.index(held.len())];
                if rows.get(row).valid > 0 {
                    rows.invalidate(row);
                }
            }
            let valid: u64 = held.iter().map(|&row| u64::from(rows.get(row).valid)).sum();
            assert_eq!(rows.valid(FIRST), valid);
        }
    }

    /// Opens a row and fills it, making it eligible for collection.
    fn filled(rows: &mut Rows, positions: u32) -> Row {
        let row = rows.open(FIRST).expect("some are free");
        (0..positions).for_each(|_| rows.validate(row));
        rows.close(row);
        rows.cover(1);
        row
    }

    fn small(choice: VictimChoice, slack: u32) -> (Rows, u32) {
        let mut config = ArrayConfig { drives: 3, layout: LayoutKind::LogRaid4, ..ArrayConfig::default() };
        config.log.segment = 65_536;
        let geometry = Geometry::new(&config, 2000);
        (Rows::new(&geometry, choice, slack), geometry.positions())
    }

    #[test]
    fn fifo_takes_the_row_that_was_opened_first_however_full() {
        let (mut rows, positions) = small(VictimChoice::Fifo, 0);
        let first: Vec<Row> = (0..6).map(|_| filled(&mut rows, positions)).collect();
        (0..positions).for_each(|_| rows.invalidate(first[5]));
        for &row in &first[..3] {
            assert_eq!(rows.victim(FIRST, u32::MAX), Some(row));
            (0..positions).for_each(|_| rows.invalidate(row));
            rows.release(row);
        }
        // The last row is collected out of order, since no other would free space; on reuse it goes to the
        // back of the queue.
        assert_eq!(rows.victim(FIRST, 0), Some(first[5]));
        rows.release(first[5]);
        let again: Vec<Row> = (0..rows.free(FIRST)).map(|_| filled(&mut rows, positions)).collect();
        for &row in first[3..5].iter().chain(&again) {
            assert_eq!(rows.victim(FIRST, u32::MAX), Some(row));
            (0..positions).for_each(|_| rows.invalidate(row));
            rows.release(row);
        }
    }

    #[test]
    fn greedy_with_slack_takes_the_older_of_two_that_are_hardly_different() {
        let (mut rows, positions) = small(VictimChoice::Greedy, 200_000);
        let [old, young] = [(); 2].map(|()| filled(&mut rows, positions));
        let (few, slack) = (positions / 4, positions / 5);
        (0..positions - few).for_each(|_| rows.invalidate(young));
        (0..positions - few - slack).for_each(|_| rows.invalidate(old));
        assert_eq!(rows.victim(FIRST, u32::MAX), Some(old));
    }
}
