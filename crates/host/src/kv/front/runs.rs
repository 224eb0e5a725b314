//! Records that are longer than a segment: each has a run of consecutive segments to itself, of which the
//! first is in a queue.

use super::{Front, FrontSegment, Queue, RESERVE, Victim};
use crate::kv::place::FrontUnit;
use tailcut_base::cast::to_u32;
use tailcut_base::ids::{Id, IdVec};

impl Front {
    /// True if a record of `bytes` bytes takes a run of segments.
    pub fn takes_run(&self, bytes: u32) -> bool {
        bytes as usize > self.segment
    }

    /// The segments of the run that begins with a segment that is in use: itself, unless its record is
    /// longer.
    pub(super) fn run(&self, first: FrontSegment) -> impl ExactSizeIterator<Item = FrontSegment> + use<> {
        let count = (self.fills[first] as usize).div_ceil(self.segment).max(1);
        (first.index()..first.index() + count).map(FrontSegment::at)
    }

    /// Reserves a run of free segments for a record of `bytes` bytes. None until enough of them are side by
    /// side.
    pub(super) fn reserve_run(&mut self, queue: Queue, bytes: u32) -> Option<FrontUnit> {
        let count = (bytes as usize).div_ceil(self.segment);
        if self.free.len() < count + RESERVE / 2 {
            return None;
        }
        let place = run_in(&self.free, count).or_else(|| self.run_with_retired(count))?;
        let first = self.free.drain(place..place + count).next_back().expect("a run of several");
        let unit = self.add(first, bytes);
        // The last segment of the queue is still being filled.
        let before_last = self.queue(queue).len().saturating_sub(1);
        self.enqueue(first, queue, before_last);
        Some(unit)
    }

    /// Puts a run of free and retired segments back to use, if there is one; those that are then too many are
    /// retired as others become free. Returns its place among the free.
    #[cold]
    fn run_with_retired(&mut self, count: usize) -> Option<usize> {
        let mut unused = self.free.clone();
        unused.extend(&self.retired);
        unused.sort_unstable_by(|a, b| b.cmp(a));
        let place = run_in(&unused, count)?;
        for &segment in &unused[place..place + count] {
            let Some(at) = self.retired.iter().position(|&retired| retired == segment) else { continue };
            // What was returned to the system stays in front.
            self.retired.remove(at);
            self.returned -= usize::from(at < self.returned);
            self.make_free(segment);
        }
        run_in(&self.free, count)
    }

    /// Begins to evict one of the consecutive segments that a record of `bytes` bytes needs: those with the
    /// fewest bytes of live records, of which those in the newer half of a queue count as full and the newest
    /// as many. False if a segment is being emptied.
    pub fn begin_eviction_for(&mut self, bytes: u64) -> bool {
        let count = (to_u32(bytes) as usize).div_ceil(self.segment);
        let mut live: IdVec<FrontSegment, u64> = IdVec::filled(self.fills.len(), 0);
        let mut first_of: IdVec<FrontSegment, Option<FrontSegment>> = IdVec::filled(self.fills.len(), None);
        for queue in &self.queues {
            for (place, &first) in queue.iter().enumerate() {
                let run = self.run(first);
                let each = if place + 1 == queue.len() {
                    NEWEST * self.segment as u64
                } else if place >= queue.len() / 2 {
                    self.segment as u64
                } else {
                    u64::from(self.fills[first] - self.dead[first]) / run.len() as u64
                };
                // One more than its bytes: an empty segment is also in the way.
                run.for_each(|member| (live[member], first_of[member]) = (each + 1, Some(first)));
            }
        }
        let starts = FrontSegment::first(live.len() + 1 - count);
        let of_run = |start: FrontSegment| (start.index()..start.index() + count).map(FrontSegment::at);
        let best = starts.min_by_key(|&start| of_run(start).map(|member| live[member]).sum::<u64>());
        let in_use = best.and_then(|start| of_run(start).find_map(|member| first_of[member]));
        let chosen = in_use.filter(|_| self.cursor.is_none());
        chosen.inspect(|&segment| self.evict(segment)).is_some()
    }

    /// Keeps the victim, which has a run to itself, as one of the newest records of the main queue.
    pub fn keep_run(&mut self, victim: &Victim) {
        let Some(cursor) = self.cursor.take() else { return };
        self.dequeue(cursor.segment, victim.queue);
        let before_last = self.queue(Queue::Main).len().saturating_sub(1);
        self.enqueue(cursor.segment, Queue::Main, before_last);
    }
}

/// What was stored last should be found for a while: the newest segment of a queue counts as this many.
const NEWEST: u64 = 1 << 16;

/// Where `count` consecutive segments begin in a list in descending order.
fn run_in(segments: &[FrontSegment], count: usize) -> Option<usize> {
    let is_run = |window: &[FrontSegment]| window[0].index() - window[count - 1].index() == count - 1;
    segments.windows(count).position(is_run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kv::record::Header;
    use crate::kv::settings::Settings;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        /// A record of this length in bytes, in this queue.
        Add(u32, usize),
        Remove(usize),
        /// Evict the oldest segment; the records with a number that this divides stay if they can.
        Evict(u32),
        Limit(u64),
    }

    const QUEUES: [Queue; 3] = [Queue::Small, Queue::Large, Queue::Main];
    /// No records stay that are evicted.
    const NONE: u32 = 0;

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (1u32..3000, 0usize..3).prop_map(|(bytes, queue)| Step::Add(bytes, queue)),
            4 => (16_000u32..56_000, 0usize..3).prop_map(|(bytes, queue)| Step::Add(bytes, queue)),
            3 => any::<usize>().prop_map(Step::Remove),
            2 => (1u32..4).prop_map(Step::Evict),
            1 => (20u64..80).prop_map(|segments| Step::Limit(segments << 14)),
        ];
        prop::collection::vec(step, 1..300)
    }

    /// A front and what it should hold: places and the byte that fills each value.
    struct Model {
        front: Front,
        live: Vec<(FrontUnit, u8)>,
    }

    impl Model {
        fn empty(&mut self, keep: u32) {
            while let Some(victim) = self.front.next_victim() {
                let Some(place) = self.live.iter().position(|&(unit, _)| unit == victim.unit) else {
                    continue;
                };
                if keep == NONE || !victim.unit.get().is_multiple_of(keep) {
                    self.front.discard(victim.unit);
                    self.live.remove(place);
                } else if self.front.takes_run(victim.bytes) {
                    self.front.keep_run(&victim);
                } else if let Some(to) = self.front.reserve(Queue::Main, u64::from(victim.bytes), true) {
                    self.front.copy(&victim, to);
                    self.front.discard(victim.unit);
                    self.live[place].0 = to;
                } else {
                    self.front.discard(victim.unit);
                    self.live.remove(place);
                }
            }
        }

        fn add(&mut self, value: u32, queue: Queue, fill: u8) {
            let header = Header { key: 1, value, ..Header::default() };
            let bytes = header.record_bytes();
            let mut rounds = 0;
            let unit = loop {
                if let Some(unit) = self.front.reserve(queue, bytes, false) {
                    break unit;
                }
                assert!(rounds < 400, "room for {bytes} bytes");
                rounds += 1;
                let is_begun = self.front.takes_run(to_u32(bytes)) && self.front.begin_eviction_for(bytes);
                assert!(is_begun || self.front.begin_eviction(), "something can be evicted");
                self.empty(if rounds < 10 { 2 } else { NONE });
            };
            self.front.begin(unit, &header, b"k");
            self.front.value_mut(unit, &header).fill(fill);
            self.live.push((unit, fill));
        }
    }

    proptest! {
        #[test]
        fn records_longer_than_a_segment_live_beside_others(steps in steps()) {
            let settings = Settings { memory: 1 << 20, most_item: 1 << 16, ..Settings::default() };
            let mut model = Model { front: Front::new(&settings), live: Vec::new() };
            prop_assert_eq!(model.front.segment_bytes(), 1 << 14);
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Add(value, queue) => model.add(value, QUEUES[queue], number as u8),
                    Step::Remove(which) if !model.live.is_empty() => {
                        let (unit, _) = model.live.swap_remove(which % model.live.len());
                        model.front.discard(unit);
                    }
                    Step::Evict(keep) if model.front.begin_eviction() => model.empty(keep),
                    Step::Limit(bytes) => _ = model.front.set_limit(bytes),
                    _ => {}
                }
                while model.front.next_retired().is_some_and(|memory| { memory.fill(0xEE); true }) {}
                model.front.check(model.live.iter().map(|&(unit, _)| unit)).map_err(TestCaseError::fail)?;
                for &(unit, fill) in &model.live {
                    let header = model.front.header(unit);
                    prop_assert!(model.front.value_mut(unit, &header).iter().all(|&byte| byte == fill));
                }
            }
        }
    }
}
