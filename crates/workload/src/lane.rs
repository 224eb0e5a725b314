//! A lane: how the requests of one operation (reads, writes or trims) of a source are placed.

use super::address::{Address, Pattern, WHOLE};
use super::size::Sizes;
use tailcut_base::Class;
use tailcut_base::random::Stream;

/// The description of a lane.
#[derive(Clone, Debug, PartialEq)]
pub struct LanePlan {
    /// Distribution of the sizes of the requests.
    pub sizes: Sizes,
    /// Random requests start at multiples of this many sectors from the start of the region, at
    /// least 1. Sequential requests start where their predecessor ended.
    pub align: u32,
    /// The pattern by which random requests choose their places.
    pub pattern: Pattern,
    /// Share of the requests that `pattern` places, in parts per million; the others follow their
    /// predecessor. Without effect under [`Pattern::Sequential`].
    pub random_ppm: u32,
    /// Requests per random place, at least 1: the first one goes to the place, the others follow
    /// it (fio's `rw=randread:8`).
    pub run: u32,
    /// The others of a run go to the very same place instead (fio's `rw_sequencer=identical`).
    pub repeat: bool,
    /// Sectors left out between a request and its sequential successor (fio's `rw=write:4k`).
    pub skip: u64,
    /// Latency class of the requests.
    pub class: Class,
}

impl LanePlan {
    /// Aligned requests of one size, all placed by `pattern`.
    pub fn new(pattern: Pattern, sizes: Sizes) -> LanePlan {
        LanePlan {
            align: sizes.smallest(),
            sizes,
            pattern,
            random_ppm: WHOLE,
            run: 1,
            repeat: false,
            skip: 0,
            class: Class::DEFAULT,
        }
    }

    /// How many places a random request can start at in a region of `sectors`, which holds the
    /// smallest request at least once.
    pub fn slots(&self, sectors: u64) -> u64 {
        (sectors - u64::from(self.sizes.smallest())) / u64::from(self.align) + 1
    }
}

/// A lane at work.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub sizes: Sizes,
    pub class: Class,
    /// Which of the source's addresses it draws from.
    pub address: usize,
    walk: Walk,
    /// Sectors of the region.
    region: u64,
    align: u64,
    skip: u64,
    /// Where the last request started and ended, from the start of the region.
    start: u64,
    end: u64,
}

/// Which requests are random.
#[derive(Clone, Debug)]
enum Walk {
    Random,
    Sequential,
    Mixed { random_ppm: u32 },
    Runs { random_ppm: u32, run: u32, left: u32, repeat: bool },
}

impl Lane {
    /// `plan` in a region of `region` sectors that holds its largest request.
    pub(crate) fn new(plan: &LanePlan, region: u64, address: usize) -> Lane {
        let walk = match (&plan.pattern, plan.random_ppm, plan.run) {
            (Pattern::Sequential, ..) | (_, 0, _) => Walk::Sequential,
            (_, WHOLE, 0 | 1) => Walk::Random,
            (_, random_ppm, 0 | 1) => Walk::Mixed { random_ppm },
            (_, random_ppm, run) => Walk::Runs { random_ppm, run, left: 0, repeat: plan.repeat },
        };
        Lane {
            sizes: plan.sizes.clone(),
            class: plan.class,
            address,
            walk,
            region,
            align: u64::from(plan.align),
            skip: plan.skip,
            start: 0,
            end: 0,
        }
    }

    /// Where the next request of `sectors` starts, from the start of the region. It ends within
    /// the region.
    #[inline]
    pub(crate) fn place(&mut self, address: &mut Address, draws: &mut Draws, sectors: u32) -> u64 {
        let sectors = u64::from(sectors);
        let start = match self.walk {
            Walk::Random => self.random(address, &mut draws.address, sectors),
            _ => self.walk(address, draws, sectors),
        };
        self.start = start;
        self.end = start + sectors;
        start
    }

    #[inline]
    fn random(&self, address: &mut Address, stream: &mut Stream, sectors: u64) -> u64 {
        let start = address.draw(stream) * self.align;
        if start + sectors <= self.region { start } else { self.last(sectors) }
    }

    /// The last aligned place that has room for a request larger than the smallest.
    #[cold]
    fn last(&self, sectors: u64) -> u64 {
        let last = self.region - sectors;
        last - last % self.align
    }

    fn walk(&mut self, address: &mut Address, draws: &mut Draws, sectors: u64) -> u64 {
        match &mut self.walk {
            Walk::Random => {}
            Walk::Sequential => return self.follow(sectors),
            Walk::Mixed { random_ppm } => {
                if !draws.walk.chance_ppm(*random_ppm) {
                    return self.follow(sectors);
                }
            }
            Walk::Runs { random_ppm, run, left, repeat } => {
                if *left > 0 {
                    *left -= 1;
                    return if *repeat { self.again(sectors) } else { self.follow(sectors) };
                }
                *left = *run - 1;
                if !draws.walk.chance_ppm(*random_ppm) {
                    return self.follow(sectors);
                }
            }
        }
        self.random(address, &mut draws.address, sectors)
    }

    /// Behind the last request, or at the start of the region where that does not fit.
    fn follow(&self, sectors: u64) -> u64 {
        let skip = if self.end == 0 { 0 } else { self.skip };
        let start = self.end.saturating_add(skip);
        if start.saturating_add(sectors) <= self.region { start } else { 0 }
    }

    /// Where the last request was.
    fn again(&self, sectors: u64) -> u64 {
        if self.start + sectors <= self.region { self.start } else { self.last(sectors) }
    }
}

/// The random streams that place requests, one per purpose.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    /// The draws of the slots that random requests start at.
    pub address: Stream,
    /// The draws of whether a request is random or sequential.
    pub walk: Stream,
}
