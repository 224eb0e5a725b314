//! Which requests may be under way at the same time: overlapping ones keep the order in which they came.

/// Counts, for each block (by the low bits of its address), who uses it and who waits to.
///
/// Two reads of a block do not concern each other; anything else does. Blocks whose addresses have the same
/// low bits are taken for one: that can make a request wait that need not, and never lets one pass that must
/// wait.
#[derive(Debug)]
pub struct Order {
    cells: Vec<Cell>,
    /// Per cell, the last walk in which a reader and a writer were passed over.
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

/// The blocks that a request concerns, and whether it changes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// First block.
    pub first: u64,
    /// Number of blocks; none concern nobody.
    pub blocks: u64,
    /// It changes them.
    pub writes: bool,
}

impl Claim {
    /// Each cell of the claim once.
    fn cells(&self) -> impl Iterator<Item = usize> + use<> {
        (self.first..self.first + self.blocks.min(CELLS as u64)).map(|block| block as usize % CELLS)
    }
}

impl Order {
    /// Nobody is under way.
    pub fn new() -> Order {
        Order { cells: vec![Cell::default(); CELLS], passed: vec![(0, 0); CELLS], walk: 0 }
    }

    /// Whether a request that has just come may start.
    pub fn admits(&self, claim: Claim) -> bool {
        claim
            .cells()
            .all(|cell| self.cells[cell].is_free(claim.writes) && self.cells[cell].is_unwanted(claim.writes))
    }

    /// A request starts.
    pub fn start(&mut self, claim: Claim) {
        claim.cells().for_each(|cell| *self.cells[cell].active(claim.writes) += 1);
    }

    /// A request has ended. True when somebody may have waited for it.
    pub fn end(&mut self, claim: Claim) -> bool {
        let mut is_wanted = false;
        for cell in claim.cells() {
            let cell = &mut self.cells[cell];
            *cell.active(claim.writes) -= 1;
            is_wanted |= !cell.is_unwanted(true);
        }
        is_wanted
    }

    /// Nobody is under way or waits.
    #[cfg(test)]
    pub fn is_idle(&self) -> bool {
        self.cells.iter().all(|cell| cell.is_free(true) && cell.is_unwanted(true))
    }

    /// A request has to wait.
    pub fn wait(&mut self, claim: Claim) {
        claim.cells().for_each(|cell| *self.cells[cell].waiting(claim.writes) += 1);
    }

    /// Looks for those that need not wait any more, in the order in which they came. Begin with this, then
    /// ask [`Order::resumes`] for each.
    pub fn begin_walk(&mut self) {
        self.walk += 1;
    }

    /// Whether a waiting request may start: then it does.
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

/// 16 MiB of addresses. Counters have 16 bits, so there must be fewer requests than 65536.
const CELLS: usize = 4096;
