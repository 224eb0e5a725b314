//! Which requests may run concurrently: overlapping ones keep the order of submission.

/// Counts, for each block (by the low bits of its address), the requests that use it and those that wait for
/// it.
///
/// Two reads of a block do not conflict; any other combination does. Blocks whose addresses have the same low
/// bits share a counter: a request may wait unnecessarily, but never passes one that it must wait for.
#[derive(Debug)]
pub struct Order {
    cells: Vec<Cell>,
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
}

impl Order {
    /// No requests.
    pub fn new() -> Order {
        Order { cells: vec![Cell::default(); CELLS], passed: vec![(0, 0); CELLS], walk: 0 }
    }

    /// True if a new request may start.
    pub fn admits(&self, claim: Claim) -> bool {
        claim
            .cells()
            .all(|cell| self.cells[cell].is_free(claim.writes) && self.cells[cell].is_unwanted(claim.writes))
    }

    /// A request starts.
    pub fn start(&mut self, claim: Claim) {
        claim.cells().for_each(|cell| *self.cells[cell].active(claim.writes) += 1);
    }

    /// A request has ended. True if others may have waited for it.
    pub fn end(&mut self, claim: Claim) -> bool {
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
        self.cells.iter().all(|cell| cell.is_free(true) && cell.is_unwanted(true))
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
        let may_start = claim.cells().all(|cell| {
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
