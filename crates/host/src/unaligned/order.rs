//! Which requests may run concurrently: overlapping ones keep the order of submission.
//!
//! - Short requests are counted per block, by the low bits of its address, both while they run and while they
//!   wait. Two reads of a block do not conflict; any other combination does. Blocks whose addresses have the
//!   same low bits share a counter: a request may wait unnecessarily, but never passes one that it must wait
//!   for.
//! - Long requests ([`LONG`]), such as trims, would use all counters. They are known by their range: a long
//!   request counts the earlier requests in flight that it conflicts with, and starts when all of them have
//!   ended. A short request counts the earlier long ones in the same way. So a long request, running or
//!   waiting, delays only requests that overlap it.

use crate::mutation::{Invariant, holds};
use std::collections::VecDeque;
use tailcut_base::cast::{to_u32, to_usize};

/// The requests in flight, running or waiting. A request is named by a small number, its slot.
#[derive(Debug)]
pub struct Order {
    cells: Vec<Cell>,
    /// Per cell, the last pass in which a waiting reader and a waiting writer were skipped.
    passed: Vec<(u64, u64)>,
    walk: u64,
    /// Claims of requests in flight, by slot; those of vacant slots have no blocks.
    claims: Vec<Claim>,
    /// Long requests, running and waiting, in order of submission.
    long: Vec<Blocked>,
    /// Short requests that wait, in order of submission.
    waiting: VecDeque<Blocked>,
    /// Number of long requests that wait.
    long_waiting: usize,
    submitted: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    readers: u16,
    writers: u16,
    waiting_readers: u16,
    waiting_writers: u16,
}

/// The blocks of a request, and whether it changes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// Number of the first block.
    pub first: u64,
    /// Number of blocks; a claim of 0 blocks conflicts with none.
    pub blocks: u64,
    /// True if the request changes them.
    pub writes: bool,
}

/// A request that has to wait for earlier ones, or a long one.
#[derive(Clone, Copy, Debug)]
struct Blocked {
    slot: u32,
    /// Position in the order of submission.
    serial: u64,
    claim: Claim,
    /// Number of earlier requests in flight that it conflicts with. For a short request, of long ones.
    blockers: u32,
    is_running: bool,
}

impl Claim {
    fn is_long(&self) -> bool {
        self.blocks >= LONG
    }

    /// Each cell of a short claim once.
    fn cells(&self) -> impl Iterator<Item = usize> + use<> {
        (self.first..self.first + self.blocks).map(|block| to_usize(block) % CELLS)
    }

    fn conflicts(&self, other: &Claim) -> bool {
        let is_apart = self.first + self.blocks <= other.first || other.first + other.blocks <= self.first;
        let is_empty = self.blocks == 0 || other.blocks == 0;
        (self.writes || other.writes) && !is_apart && !is_empty
    }
}

impl Order {
    /// An order without any request.
    pub fn new() -> Order {
        Order {
            cells: vec![Cell::default(); CELLS],
            passed: vec![(0, 0); CELLS],
            walk: 0,
            claims: Vec::new(),
            long: Vec::new(),
            waiting: VecDeque::new(),
            long_waiting: 0,
            submitted: 0,
        }
    }

    /// Adds a request, on a vacant slot. True if it runs at once; otherwise it waits for
    /// [`Order::resume`].
    pub fn submit(&mut self, slot: u32, claim: Claim) -> bool {
        self.submitted += 1;
        let is_running = if claim.is_long() {
            let blockers = to_u32(self.claims.iter().filter(|other| other.conflicts(&claim)).count());
            self.push_long(slot, claim, blockers)
        } else {
            self.submit_short(slot, claim)
        };
        self.note(slot, claim);
        is_running
    }

    fn push_long(&mut self, slot: u32, claim: Claim, blockers: u32) -> bool {
        let is_running = blockers == 0 || !holds(Invariant::OverlapsKeepOrder);
        self.long_waiting += usize::from(!is_running);
        self.long.push(Blocked { slot, serial: self.submitted, claim, blockers, is_running });
        is_running
    }

    fn submit_short(&mut self, slot: u32, claim: Claim) -> bool {
        let blockers = to_u32(self.long.iter().filter(|long| long.claim.conflicts(&claim)).count());
        let is_free = |cell: &Cell| cell.is_free(claim.writes) && cell.is_unwanted(claim.writes);
        let is_admitted = blockers == 0 && claim.cells().all(|cell| is_free(&self.cells[cell]));
        let is_running = is_admitted || !holds(Invariant::OverlapsKeepOrder);
        if is_running {
            claim.cells().for_each(|cell| *self.cells[cell].active(claim.writes) += 1);
        } else {
            claim.cells().for_each(|cell| *self.cells[cell].waiting(claim.writes) += 1);
            self.waiting.push_back(Blocked { slot, serial: self.submitted, claim, blockers, is_running });
        }
        is_running
    }

    fn note(&mut self, slot: u32, claim: Claim) {
        let slot = slot as usize;
        if slot >= self.claims.len() {
            self.claims.resize(slot + 1, Claim::default());
        }
        self.claims[slot] = claim;
    }

    /// A running request has ended; its slot is vacant. True if others may have waited for it.
    pub fn end(&mut self, slot: u32) -> bool {
        let claim = std::mem::take(&mut self.claims[slot as usize]);
        if claim.is_long() {
            return self.end_long(slot);
        }
        let mut is_wanted = false;
        for cell in claim.cells() {
            let cell = &mut self.cells[cell];
            *cell.active(claim.writes) -= 1;
            is_wanted |= !cell.is_unwanted(true);
        }
        // A long request that waits for a short one came after it: one that came before is a blocker of the
        // short one, which would not have run.
        if self.long_waiting > 0 {
            for long in self.long.iter_mut().filter(|long| !long.is_running) {
                is_wanted |= long.unblock(&claim);
            }
        }
        is_wanted
    }

    fn end_long(&mut self, slot: u32) -> bool {
        let at = self.long.iter().position(|long| long.slot == slot).expect("it was submitted");
        let Blocked { claim, serial, .. } = self.long.remove(at);
        let mut is_wanted = false;
        // Later ones; they are in order of submission.
        for long in self.long[at..].iter_mut().filter(|long| !long.is_running) {
            is_wanted |= long.unblock(&claim);
        }
        for short in self.waiting.iter_mut().filter(|short| short.serial > serial) {
            is_wanted |= short.unblock(&claim);
        }
        is_wanted
    }

    /// Starts the requests that no earlier one blocks any more, and appends their slots. Examines all that
    /// wait.
    pub fn resume(&mut self, started: &mut Vec<u32>) {
        for long in self.long.iter_mut().filter(|long| !long.is_running && long.blockers == 0) {
            long.is_running = true;
            self.long_waiting -= 1;
            started.push(long.slot);
        }
        self.walk += 1;
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|short| {
            let starts = short.blockers == 0 && self.has_free_cells(&short.claim);
            if starts {
                self.start_short(&short.claim);
                started.push(short.slot);
            } else {
                self.pass(&short.claim);
            }
            !starts
        });
        self.waiting = waiting;
    }

    /// True if nothing that runs, or that was skipped in this pass, conflicts with a short claim.
    fn has_free_cells(&self, claim: &Claim) -> bool {
        claim.cells().all(|cell| {
            let (readers, writers) = self.passed[cell];
            let is_behind = writers == self.walk || (claim.writes && readers == self.walk);
            !is_behind && self.cells[cell].is_free(claim.writes)
        })
    }

    fn start_short(&mut self, claim: &Claim) {
        for cell in claim.cells() {
            let cell = &mut self.cells[cell];
            *cell.waiting(claim.writes) -= 1;
            *cell.active(claim.writes) += 1;
        }
    }

    fn pass(&mut self, claim: &Claim) {
        for cell in claim.cells() {
            let (readers, writers) = &mut self.passed[cell];
            *if claim.writes { writers } else { readers } = self.walk;
        }
    }

    /// Number of requests that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len() + self.long_waiting
    }

    /// True if no request is running or waiting.
    #[cfg(test)]
    pub fn is_idle(&self) -> bool {
        let is_unused = |cell: &Cell| cell.is_free(true) && cell.is_unwanted(true);
        self.long.is_empty() && self.waiting() == 0 && self.cells.iter().all(is_unused)
    }
}

impl Default for Order {
    fn default() -> Order {
        Order::new()
    }
}

impl Blocked {
    /// An earlier request has ended. True if no other blocks this one.
    fn unblock(&mut self, ended: &Claim) -> bool {
        let was_blocked = self.claim.conflicts(ended);
        self.blockers -= u32::from(was_blocked);
        was_blocked && self.blockers == 0
    }
}

impl Cell {
    fn is_free(&self, writes: bool) -> bool {
        self.writers == 0 && (!writes || self.readers == 0)
    }

    fn is_unwanted(&self, writes: bool) -> bool {
        self.waiting_writers == 0 && (!writes || self.waiting_readers == 0)
    }

    fn active(&mut self, writes: bool) -> &mut u16 {
        if writes { &mut self.writers } else { &mut self.readers }
    }

    fn waiting(&mut self, writes: bool) -> &mut u16 {
        if writes { &mut self.waiting_writers } else { &mut self.waiting_readers }
    }
}

/// Number of cells: 16 MiB of addresses. Counters have 16 bits, so there must be fewer than 65536 requests.
const CELLS: usize = 4096;
/// Least number of blocks of a long request: 4 MiB.
const LONG: u64 = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::random::Stream;

    fn claim(first: u64, blocks: u64, writes: bool) -> Claim {
        Claim { first, blocks, writes }
    }

    fn resumed(order: &mut Order) -> Vec<u32> {
        let mut started = Vec::new();
        order.resume(&mut started);
        started
    }

    #[test]
    fn requests_elsewhere_do_not_wait_for_trims_of_many_blocks() {
        let mut order = Order::new();
        assert!(order.submit(0, claim(0, 100_000, true)), "a trim runs");
        assert!(!order.submit(1, claim(50_000, 50_000, true)), "another waits for it");
        assert!(order.submit(2, claim(100_000, 8, false)) && order.submit(3, claim(200_000, 8, true)));
        assert!(order.submit(4, claim(200_100, 50_000, true)));
        assert!(!order.submit(5, claim(99_999, 8, false)) && !order.submit(6, claim(50_000, 50_001, false)));
        assert!(order.end(0), "the second trim has waited for the first");
        assert_eq!(resumed(&mut order), [1]);
        assert!(order.end(1), "reads have waited for both");
        assert_eq!(resumed(&mut order), [6, 5]);
    }

    #[test]
    fn a_trim_of_many_blocks_does_not_starve() {
        let mut order = Order::new();
        assert!(order.submit(0, claim(9, 1, false)));
        assert!(!order.submit(1, claim(0, 5000, true)));
        assert!(!order.submit(2, claim(20, 1, false)), "it does not pass the trim");
        // Elsewhere, with the same counter as a block of the trim.
        assert!(order.submit(3, claim(100 + 2 * CELLS as u64, 1, true)));
        assert!(order.end(0), "a trim has waited for this read, and only for it");
        assert_eq!(resumed(&mut order), [1]);
    }

    /// A request in flight, in the model.
    struct Model {
        slot: u32,
        claim: Claim,
        is_running: bool,
    }

    /// True if two requests must not run at the same time: short ones that share a counter need not either.
    fn excludes(a: &Claim, b: &Claim) -> bool {
        if a.is_long() || b.is_long() {
            return a.conflicts(b);
        }
        let shares = || a.cells().any(|cell| b.cells().any(|other| cell == other));
        (a.writes || b.writes) && shares()
    }

    /// A request runs if and only if no earlier one in flight excludes it.
    #[test]
    fn it_is_the_order_of_submission() {
        for seed in 0..400 {
            let mut random = Stream::new(seed, "order");
            let (mut order, mut model) = (Order::new(), Vec::<Model>::new());
            let mut vacant: Vec<u32> = (0..40).collect();
            let longs = 1 + random.below(6);
            for _ in 0..400 {
                let is_submission = random.below(2) == 0 && !vacant.is_empty();
                if is_submission {
                    let blocks = match random.below(8) {
                        0 => 0,
                        at if at <= longs => LONG + random.below(3 * CELLS as u64),
                        _ => 1 + random.below(6),
                    };
                    let space = if random.below(2) == 0 { 40 } else { 5 * CELLS as u64 };
                    let claim = claim(random.below(space), blocks, random.below(2) == 0);
                    let slot = vacant.pop().expect("one is vacant");
                    let is_running = order.submit(slot, claim);
                    model.push(Model { slot, claim, is_running });
                } else {
                    let running: Vec<usize> = (0..model.len()).filter(|&at| model[at].is_running).collect();
                    if running.is_empty() {
                        continue;
                    }
                    let at = running[random.below(running.len() as u64) as usize];
                    let slot = model.remove(at).slot;
                    vacant.push(slot);
                    let started = if order.end(slot) { resumed(&mut order) } else { Vec::new() };
                    for request in model.iter_mut().filter(|request| started.contains(&request.slot)) {
                        assert!(!std::mem::replace(&mut request.is_running, true), "it starts once");
                    }
                }
                for (at, request) in model.iter().enumerate() {
                    let waits = model[..at].iter().any(|earlier| excludes(&earlier.claim, &request.claim));
                    assert_eq!(request.is_running, !waits, "seed {seed}: {:?}", request.claim);
                }
                let waiting = model.iter().filter(|request| !request.is_running).count();
                assert_eq!(order.waiting(), waiting);
            }
            while let Some(at) = model.iter().position(|request| request.is_running) {
                order.end(model.remove(at).slot);
                let started = resumed(&mut order);
                model.iter_mut().for_each(|request| request.is_running |= started.contains(&request.slot));
            }
            assert!(model.is_empty() && order.is_idle());
        }
    }
}
