//! A source that draws its requests.

use super::address::Address;
use super::arrival::{ArrivalPlan, Arrivals};
use super::lane::{Draws, Lane};
use super::recipe::{Recipe, RequestClasses};
use super::streams::NextStream;
use super::{Pace, Request, Schedule, Source};
use tailcut_base::random::Stream;
use tailcut_base::{Class, Op, Problem};

/// A synthetic mix: a [`Recipe`] at work. Seed, name and recipe fix every request; each purpose
/// (operation, address, size, arrival …) draws from its own stream, so that a change of one leaves
/// the others alone.
///
/// # Examples
/// ```
/// use tailcut_base::Op;
/// use tailcut_workload::{Recipe, Source, Synthetic};
///
/// // Uniform random reads of 4 KiB over 1000 sectors.
/// let mut source = Synthetic::new("reads", &Recipe::new(1000), 1).expect("a valid recipe");
/// let request = source.next().expect("it has no end");
/// assert_eq!((request.op, request.sectors), (Op::Read, 8));
/// assert!(request.sector + 8 <= 1000);
/// ```
#[derive(Clone, Debug)]
pub struct Synthetic {
    name: String,
    pace: Pace,
    schedule: Schedule,
    think_every: u32,
    len: Option<u64>,
    /// Requests and sectors left until the end; `u64::MAX` for no end.
    requests: u64,
    sectors: u64,
    mix: Mix,
    lanes: [Lane; 3],
    addresses: Vec<Address>,
    first: u64,
    /// Writes between flushes, 0 for never, and how many are left until the next.
    flush_every: u64,
    flush_in: u64,
    fua_ppm: u32,
    streams: NextStream,
    arrivals: Arrivals,
    draws: Draws,
    op: Stream,
    size: Stream,
    fua: Stream,
    notes: Vec<String>,
}

/// Which operation comes next.
#[derive(Clone, Copy, Debug)]
enum Mix {
    Only(Op),
    /// Bounds in parts per million: reads below the first, trims below the second, then writes.
    Draw {
        reads: u32,
        trims: u32,
    },
}

impl Synthetic {
    /// The source called `name` of the run with `seed`.
    ///
    /// # Errors
    /// Everything that is wrong with the recipe, with its key; see [`Recipe::problems`].
    pub fn new(name: &str, recipe: &Recipe, seed: u64) -> Result<Synthetic, Vec<Problem>> {
        let problems = recipe.problems();
        if !problems.is_empty() {
            return Err(problems);
        }
        let named = |purpose: &str| Stream::new(seed, &format!("workload {name} {purpose}"));
        let (lanes, addresses) = lanes(recipe, named("scatter").bits());
        Ok(Synthetic {
            name: name.to_string(),
            pace: match recipe.arrivals {
                ArrivalPlan::Closed => Pace::Closed { depth: recipe.depth, think: recipe.think },
                _ => Pace::Open { depth: recipe.depth },
            },
            schedule: recipe.schedule,
            think_every: recipe.think_every,
            len: recipe.len(),
            requests: recipe.requests.unwrap_or(u64::MAX),
            sectors: recipe.sectors.unwrap_or(u64::MAX),
            mix: Mix::new(recipe),
            lanes,
            addresses,
            first: recipe.first,
            flush_every: recipe.flush_every,
            flush_in: recipe.flush_every,
            fua_ppm: recipe.fua_ppm,
            streams: NextStream::new(recipe.streams.clone(), named("stream")),
            arrivals: Arrivals::new(recipe.arrivals, named("arrival")),
            draws: Draws { address: named("address"), walk: named("walk") },
            op: named("op"),
            size: named("size"),
            fua: named("fua"),
            notes: Vec::new(),
        })
    }

    /// Adds notes for the reader of the results.
    pub fn with_notes(self, notes: Vec<String>) -> Synthetic {
        Synthetic { notes, ..self }
    }

    /// This source with other classes for its requests.
    pub fn with_classes(mut self, classes: RequestClasses) -> Synthetic {
        let [reads, writes, trims] = &mut self.lanes;
        reads.class = classes.reads;
        (writes.class, trims.class) = (classes.others, classes.others);
        self
    }

    /// A flush, due with the write that it follows.
    #[cold]
    fn flush(&mut self) -> Request {
        self.flush_in = self.flush_every;
        Request {
            due: self.arrivals.last(),
            op: Op::Flush,
            fua: false,
            class: Class::DEFAULT,
            stream: 0,
            sector: 0,
            sectors: 0,
        }
    }

    /// Whether the next write has force unit access.
    #[cold]
    fn draw_fua(&mut self) -> bool {
        self.fua.chance_ppm(self.fua_ppm)
    }
}

impl Mix {
    fn new(recipe: &Recipe) -> Mix {
        match (recipe.read_ppm, recipe.write_ppm(), recipe.trim_ppm) {
            (_, 0, 0) => Mix::Only(Op::Read),
            (0, _, 0) => Mix::Only(Op::Write),
            (0, 0, _) => Mix::Only(Op::Trim),
            (reads, _, trims) => Mix::Draw { reads, trims: reads + trims },
        }
    }

    #[inline]
    fn draw(self, stream: &mut Stream) -> Op {
        match self {
            Mix::Only(op) => op,
            Mix::Draw { reads, trims } => {
                let at = stream.below(1_000_000) as u32;
                if at < reads {
                    Op::Read
                } else if at < trims {
                    Op::Trim
                } else {
                    Op::Write
                }
            }
        }
    }
}

/// The lanes in the order of [`Recipe::lanes`], and the address generators that they use: equal
/// ones are shared.
fn lanes(recipe: &Recipe, scatter: u64) -> ([Lane; 3], Vec<Address>) {
    let mut addresses = Vec::new();
    let mut made: Vec<(&super::Pattern, u32, u64)> = Vec::new();
    let lanes = recipe.lanes().map(|(plan, ppm)| {
        if ppm == 0 {
            // Never asked for a place.
            return Lane::new(plan, recipe.region, usize::MAX);
        }
        let what = (&plan.pattern, plan.align, plan.slots(recipe.region));
        let address = made.iter().position(|m| *m == what).unwrap_or_else(|| {
            made.push(what);
            addresses.push(Address::new(what.0, what.2, scatter));
            addresses.len() - 1
        });
        Lane::new(plan, recipe.region, address)
    });
    (lanes, addresses)
}

impl Source for Synthetic {
    fn name(&self) -> &str {
        &self.name
    }

    fn pace(&self) -> Pace {
        self.pace
    }

    #[inline]
    fn next(&mut self) -> Option<Request> {
        if self.flush_in == 0 && self.flush_every != 0 {
            return Some(self.flush());
        }
        if self.requests == 0 || self.sectors == 0 {
            return None;
        }
        let op = self.mix.draw(&mut self.op);
        let (lane, write) = match op {
            Op::Read => (&mut self.lanes[0], false),
            Op::Trim => (&mut self.lanes[2], false),
            Op::Write | Op::Flush => (&mut self.lanes[1], true),
        };
        let sectors = lane.sizes.draw(&mut self.size);
        let place = lane.place(&mut self.addresses[lane.address], &mut self.draws, sectors);
        let class = lane.class;
        if self.requests != u64::MAX {
            self.requests -= 1;
        }
        if self.sectors != u64::MAX {
            self.sectors = self.sectors.saturating_sub(u64::from(sectors));
        }
        if write {
            self.flush_in = self.flush_in.wrapping_sub(1);
        }
        Some(Request {
            due: self.arrivals.take(sectors),
            op,
            fua: write && self.fua_ppm > 0 && self.draw_fua(),
            class,
            stream: if write { self.streams.draw() } else { 0 },
            sector: self.first + place,
            sectors,
        })
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn len_hint(&self) -> Option<u64> {
        self.len
    }

    fn schedule(&self) -> Schedule {
        self.schedule
    }

    fn think_every(&self) -> u32 {
        self.think_every
    }
}
