//! Which requests may run concurrently: overlapping ones keep the order of submission.

/// Counts, for each block (by the low bits of its address), the requests that use it and those that wait for
/// it.
///
/// Two reads of a block do not conflict; any other combination does. Blocks whose addresses have the same low
/// bits share a counter: a request may wait unnecessarily, but never passes one that it must wait for.
///
/// Requests of many blocks, such as trims, would use all counters until they end. They wait as others do, but
/// while they run they are known by their range, so requests elsewhere do not wait for them.
#[derive(Debug)]
pub struct Order {
    cells: Vec<Cell>,
    /// Running requests of at least [`WIDE`] blocks.
    wide: Vec<Claim>,
    /// Per cell, the last pass in which a waiting reader and a waiting writer were skipped.
    passed: Vec<(u64, u64)>,
    walk: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    readers: u16,
    writers: u16,
    waiting_readers: u16,
    waiting_writers: u16,
}

/// The blocks of a request, and whether it changes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// First block.
    pub first: u64,
    /// Number of blocks; a claim of 0 blocks conflicts with none.
    pub blocks: u64,
    /// True if the request changes them.
    pub writes: bool,
}

impl Claim {
    /// Each cell of the claim once.
    fn cells(&self) -> impl Iterator<Item = usize> + use<> {
        (self.first..self.first + self.blocks.min(CELLS as u64)).map(|block| block as usize % CELLS)
    }

    fn conflicts(&self, other: &Claim) -> bool {
        let is_apart = self.first + self.blocks <= other.first || other.first + other.blocks <= self.first;
        (self.writes || other.writes) && !is_apart
    }
}

impl Order {
    /// No requests.
    pub fn new() -> Order {
        let cells = vec![Cell::default(); CELLS];
        Order { cells, wide: Vec::new(), passed: vec![(0, 0); CELLS], walk: 0 }
    }

    /// True if a new request may start.
    pub fn admits(&self, claim: Claim) -> bool {
        !self.meets_wide(claim)
            && claim.cells().all(|cell| {
                self.cells[cell].is_free(claim.writes) && self.cells[cell].is_unwanted(claim.writes)
            })
    }

    fn meets_wide(&self, claim: Claim) -> bool {
        self.wide.iter().any(|running| running.conflicts(&claim))
    }

    /// A request starts.
    pub fn start(&mut self, claim: Claim) {
        if claim.blocks >= WIDE {
            return self.wide.push(claim);
        }
        claim.cells().for_each(|cell| *self.cells[cell].active(claim.writes) += 1);
    }

    /// A request has ended. True if others may have waited for it.
    pub fn end(&mut self, claim: Claim) -> bool {
        if claim.blocks >= WIDE {
            let at = self.wide.iter().position(|running| *running == claim).expect("it was started");
            self.wide.swap_remove(at);
            return true;
        }
        let mut is_wanted = false;
        for cell in claim.cells() {
            let cell = &mut self.cells[cell];
            *cell.active(claim.writes) -= 1;
            is_wanted |= !cell.is_unwanted(true);
        }
        is_wanted
    }

    /// True if no request is running or waiting.
    #[cfg(test)]
    pub fn is_idle(&self) -> bool {
        self.wide.is_empty() && self.cells.iter().all(|cell| cell.is_free(true) && cell.is_unwanted(true))
    }

    /// Queues a request that has to wait.
    pub fn wait(&mut self, claim: Claim) {
        claim.cells().for_each(|cell| *self.cells[cell].waiting(claim.writes) += 1);
    }

    /// Starts a pass over the waiting requests in submission order; then call [`Order::resumes`] for each.
    pub fn begin_walk(&mut self) {
        self.walk += 1;
    }

    /// True if a waiting request may start; if so, it is counted as started.
    pub fn resumes(&mut self, claim: Claim) -> bool {
        let walk = self.walk;
        let may_start = !self.meets_wide(claim)
            && claim.cells().all(|cell| {
                let (readers, writers) = self.passed[cell];
                let is_behind = writers == walk || (claim.writes && readers == walk);
                !is_behind && self.cells[cell].is_free(claim.writes)
            });
        if may_start {
            claim.cells().for_each(|cell| *self.cells[cell].waiting(claim.writes) -= 1);
            self.start(claim);
        } else {
            for cell in claim.cells() {
                let (readers, writers) = &mut self.passed[cell];
                *if claim.writes { writers } else { readers } = walk;
            }
        }
        may_start
    }
}

impl Default for Order {
    fn default() -> Order {
        Order::new()
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
/// Least number of blocks of a request that is known by its range while it runs: 4 MiB.
const WIDE: u64 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_elsewhere_do_not_wait_for_a_running_trim_of_many_blocks() {
        let mut order = Order::new();
        let claim = |first, blocks, writes| Claim { first, blocks, writes };
        let trim = claim(0, 100_000, true);
        order.start(trim);
        assert!(order.admits(claim(100_000, 8, false)) && order.admits(claim(200_000, 8, true)));
        assert!(order.admits(claim(100_000, 50_000, true)));
        assert!(!order.admits(claim(99_999, 8, false)) && !order.admits(claim(50_000, 50_001, false)));
        let read = claim(99_999, 8, false);
        order.wait(read);
        order.begin_walk();
        assert!(!order.resumes(read));
        assert!(order.end(trim), "a read waits");
        order.begin_walk();
        assert!(order.resumes(read));
        assert!(!order.end(read) && order.is_idle());
    }

    #[test]
    fn a_trim_of_many_blocks_waits_for_those_before_it() {
        let mut order = Order::new();
        let (write, trim) =
            (Claim { first: 9, blocks: 1, writes: true }, Claim { first: 0, blocks: 5000, writes: true });
        order.start(write);
        assert!(!order.admits(trim));
        order.wait(trim);
        assert!(!order.admits(Claim { first: 20, blocks: 1, writes: false }), "it does not pass the trim");
        assert!(order.end(write));
        order.begin_walk();
        assert!(order.resumes(trim) && order.end(trim) && order.is_idle());
    }
}
