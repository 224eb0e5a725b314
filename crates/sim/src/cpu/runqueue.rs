//! The run queue of a core: ready threads by virtual runtime, as Linux's completely fair scheduler keeps
//! them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use tailcut_base::Nanos;

/// A thread by its number.
pub type ThreadId = u32;

/// Ready threads, the one that has had the least first. Virtual runtime is time divided by weight, in units
/// of ns at nice 0; it is comparable within one queue only.
#[derive(Clone, Debug, Default)]
pub struct RunQueue {
    ready: BinaryHeap<Reverse<(u64, u64, ThreadId)>>,
    /// Total weight of the ready threads.
    weight: u64,
    /// Of it, that of competitors.
    competing: u64,
    /// Never decreases: the least virtual runtime that a new thread may have here.
    least: u64,
    /// Threads of equal runtime go in the order in which they came.
    arrivals: u64,
}

/// A thread as its run queue sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Share of the core relative to other ready threads, as the thread's nice level gives it.
    pub weight: u64,
    /// True if the thread competes with the threads that are measured (see
    /// [`Machine::set_competitor`](super::Machine::set_competitor)).
    pub competes: bool,
}

impl RunQueue {
    /// Number of threads that are ready.
    pub fn len(&self) -> usize {
        self.ready.len()
    }

    /// True if no thread is ready.
    pub fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    /// Total weight of the ready threads.
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// Total weight of the ready competitors.
    pub fn competing(&self) -> u64 {
        self.competing
    }

    /// The virtual runtime that counts as "now" here.
    pub fn least(&self) -> u64 {
        self.least
    }

    /// Adds a ready thread with its virtual runtime.
    #[inline]
    pub fn push(&mut self, thread: ThreadId, runtime: u64, claim: Claim) {
        self.arrivals += 1;
        self.ready.push(Reverse((runtime, self.arrivals, thread)));
        self.weight += claim.weight;
        self.competing += if claim.competes { claim.weight } else { 0 };
    }

    /// The ready thread with the least virtual runtime, and that runtime; `None` if none is ready.
    #[inline]
    pub fn first(&self) -> Option<(u64, ThreadId)> {
        self.ready.peek().map(|&Reverse((runtime, _, thread))| (runtime, thread))
    }

    /// Takes the thread with the least virtual runtime; `claim` gives its weight.
    #[inline]
    pub fn pop(&mut self, claim: impl Fn(ThreadId) -> Claim) -> Option<ThreadId> {
        let Reverse((_, _, thread)) = self.ready.pop()?;
        let claim = claim(thread);
        self.weight -= claim.weight;
        self.competing -= if claim.competes { claim.weight } else { 0 };
        Some(thread)
    }

    /// Moves "now" on, given the runtime of the thread that runs.
    #[inline]
    pub fn move_on(&mut self, running: Option<u64>) {
        let first = self.first().map(|(runtime, _)| runtime);
        let least = match (running, first) {
            (Some(running), Some(first)) => running.min(first),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => return,
        };
        self.least = self.least.max(least);
    }
}

/// Virtual runtime of `time` at `weight`, rounded down.
#[inline]
pub fn virtual_runtime(time: Nanos, weight: u64) -> u64 {
    if weight == NICE_0 { time.0 } else { time.0 * NICE_0 / weight }
}

/// The weight of nice 0.
pub const NICE_0: u64 = 1024;
