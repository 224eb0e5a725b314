//! Causes of latency: every nanosecond of a request's latency has exactly one [`Cause`].

use crate::cast::{to_u8, to_u32, to_usize};
use crate::fdp::{GROUPS_MAX, HANDLES_MAX, PlacementId};
use crate::time::Nanos;
use std::fmt;

macro_rules! causes {
    ($($(#[doc = $doc:literal])+ $name:ident = $label:literal,)+) => {
        /// The cause of a span of a request's latency. The spans of a request sum up to its latency; the
        /// driver of a run asserts this for every request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Cause { $($(#[doc = $doc])+ $name,)+ }

        impl Cause {
            /// Every cause, in the order in which a request encounters them.
            pub const ALL: [Cause; [$($label),+].len()] = [$(Cause::$name),+];

            /// The name used in reports and files.
            pub fn label(self) -> &'static str {
                match self { $(Cause::$name => $label),+ }
            }

            /// One sentence that describes the wait.
            pub fn meaning(self) -> &'static str {
                match self { $(Cause::$name => concat!($($doc),+).trim_ascii()),+ }
            }
        }
    };
}

causes! {
    /// The request was due, but its predecessors held the host's queue.
    HostQueue = "host queue",
    /// The device's queue was full: no tag was free.
    Tag = "tag",
    /// A non-queued command (a trim or flush over AHCI) had the drive to itself, or waited for the queue to
    /// drain.
    QueueDrain = "queue drain",
    /// Waiting for the host link, which carried other transfers, or earlier pages of the same request.
    LinkWait = "link wait",
    /// The request's own data and command on the host link.
    Link = "link",
    /// The controller's own work: DRAM access and firmware.
    Controller = "controller",
    /// The DRAM buffer, or the cache of an array, had no room for the write.
    BufferFull = "buffer full",
    /// The DRAM buffer had no room for the write, and the programs that made room waited for garbage
    /// collection.
    BufferFullGc = "buffer full: gc",
    /// A flush or a force-unit-access write waited until the buffer was on flash.
    Flush = "flush",
    /// Ordered behind an earlier request for the same page.
    Hazard = "hazard",
    /// The commit scheduler held the request although its chip was free.
    CommitWait = "commit wait",
    /// The chip was busy with a read of another request, or with reading the rest of a partially written
    /// page.
    ChipUserRead = "chip: user read",
    /// The chip was busy with a read-ahead.
    ChipReadAhead = "chip: read ahead",
    /// The chip was busy with a write of another request.
    ChipUserWrite = "chip: user write",
    /// The chip was busy with a read of garbage collection or wear levelling.
    ChipGcRead = "chip: gc read",
    /// The chip was busy with a program of garbage collection or wear levelling.
    ChipGcProgram = "chip: gc program",
    /// The chip was busy with an erase.
    ChipErase = "chip: erase",
    /// The chip was suspending a program or erase to let a read go first.
    ChipSuspend = "chip: suspend",
    /// The chip was resetting a program or erase to let a read go first.
    ChipReset = "chip: reset",
    /// The request's own program was suspended to let reads go first.
    Suspended = "suspended",
    /// No erased page was free: the write waited for garbage collection.
    Space = "space",
    /// Waiting for the channel's bus, which served other chips.
    BusWait = "bus wait",
    /// Command and address cycles on the channel's bus.
    BusCommand = "bus command",
    /// Cell time: reading, programming or erasing the cells.
    Cell = "cell",
    /// The page's data on the channel's bus.
    BusTransfer = "bus transfer",
    /// Repeated work: a failed program, a reset operation, a repeated read.
    Retry = "retry",
    /// Other pages of the same request had the chip or the bus first.
    OwnPages = "own pages",
    /// Waiting in the software queue of an array.
    ArrayQueue = "array queue",
    /// A flush or a force-unit-access write waited until drives had written their copies, each in an epoch.
    Epoch = "epoch",
    /// Reconstruction of data from the other members of a stripe.
    Reconstruction = "reconstruction",
    /// Served from, or waiting for, a host cache.
    Cache = "cache",
    /// CPU time of the request's own thread: system call, command, post-processing.
    HostWork = "host work",
    /// The device had finished, but its completion was not polled yet: interrupts are off, and the next poll
    /// was due later.
    Poll = "poll",
    /// From the device's completion until its interrupt was served and reached the request, with the time
    /// that interrupts took from the request's thread.
    Interrupt = "interrupt",
    /// Softirq and inter-processor interrupt.
    SoftInterrupt = "soft interrupt",
    /// The waiting thread was runnable and waited for a core.
    Scheduling = "scheduling",
    /// Network and protocol.
    Network = "network",
}

/// Number of causes: the length of [`Cause::ALL`].
pub const CAUSES: usize = Cause::ALL.len();

/// What can hold a request up: programs of the host's data of a reclaim unit handle in a reclaim group
/// ([`crate::fdp`]), or collection of it, which reads, programs and erases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldUpBy {
    placement: PlacementId,
    is_collection: bool,
}

/// The handles in all groups.
const PLACEMENTS: usize = HANDLES_MAX * GROUPS_MAX;

impl HeldUpBy {
    /// How many there are.
    pub const COUNT: usize = 2 * PLACEMENTS;

    /// Programs of the host's data.
    pub fn programs(placement: PlacementId) -> HeldUpBy {
        HeldUpBy { placement, is_collection: false }
    }

    /// Collection.
    pub fn collection(placement: PlacementId) -> HeldUpBy {
        HeldUpBy { placement, is_collection: true }
    }

    /// Whose data it is.
    pub fn placement(self) -> PlacementId {
        self.placement
    }

    /// True for collection, false for programs.
    pub fn is_collection(self) -> bool {
        self.is_collection
    }

    /// What is done: `programs` or `collection`.
    pub fn work(self) -> &'static str {
        if self.is_collection { "collection" } else { "programs" }
    }

    /// Its number, below [`HeldUpBy::COUNT`]: programs come first.
    pub fn index(self) -> usize {
        let stream = usize::from(self.placement.stream(to_u32(HANDLES_MAX)));
        if self.is_collection { PLACEMENTS + stream } else { stream }
    }

    /// That with a number, below [`HeldUpBy::COUNT`].
    pub fn at(index: usize) -> HeldUpBy {
        let stream = to_u8(to_u32(index % PLACEMENTS));
        let placement = PlacementId::of_stream(stream, to_u32(HANDLES_MAX));
        HeldUpBy { placement, is_collection: index >= PLACEMENTS }
    }
}

/// `collection of handle 3`, or `collection of handle 3 of group 1`.
impl fmt::Display for HeldUpBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of handle {}", self.work(), self.placement)
    }
}

/// What held a request up for longest, and for how long. Of several pages of a request the longest counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldUp {
    /// The time in ns, and in the [`BITS`] below it the number of what held it up: one word, since every
    /// request has one.
    packed: u64,
}

/// See [`HeldUp`].
const BITS: u32 = HeldUpBy::COUNT.ilog2();

impl HeldUp {
    /// Nothing.
    pub const NONE: HeldUp = HeldUp { packed: 0 };

    /// Held up for this long: for less than 4.5 years.
    pub fn new(by: HeldUpBy, time: Nanos) -> HeldUp {
        debug_assert!(time.0 >> (u64::BITS - BITS) == 0);
        HeldUp { packed: time.0 << BITS | u64::from(to_u32(by.index())) }
    }

    /// By what; `None` if nothing held the request up, or the device has no handles.
    pub fn by(self) -> Option<HeldUpBy> {
        let index = to_usize(self.packed & ((1 << BITS) - 1));
        (self.time() > Nanos::ZERO).then(|| HeldUpBy::at(index))
    }

    /// For how long.
    #[inline]
    pub fn time(self) -> Nanos {
        Nanos(self.packed >> BITS)
    }
}

/// The spans of one request: the time of each cause. One number per cause, so that adding, summing and
/// copying spans is a fixed sequence of additions without branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spans {
    nanos: [u64; CAUSES],
    held_up: HeldUp,
}

impl Spans {
    /// Spans of zero length for every cause.
    pub const fn new() -> Spans {
        Spans { nanos: [0; CAUSES], held_up: HeldUp::NONE }
    }

    /// The handle whose data held the request up for longest.
    #[inline]
    pub fn held_up(&self) -> HeldUp {
        self.held_up
    }

    /// Data of a handle has held the request up; of several the longest counts.
    #[inline]
    pub fn hold_up(&mut self, held_up: HeldUp) {
        if held_up.time() > self.held_up.time() {
            self.held_up = held_up;
        }
    }

    /// Sets the span of every cause to zero.
    #[inline]
    pub fn clear(&mut self) {
        self.nanos = [0; CAUSES];
        self.held_up = HeldUp::NONE;
    }

    /// Adds `time` to the span of `cause`.
    #[inline]
    pub fn add(&mut self, cause: Cause, time: Nanos) {
        self.nanos[cause as usize] += time.0;
    }

    /// Adds every span of `other`.
    #[inline]
    pub fn extend(&mut self, other: &Spans) {
        for (sum, time) in self.nanos.iter_mut().zip(&other.nanos) {
            *sum += time;
        }
        self.hold_up(other.held_up);
    }

    /// The time attributed to `cause`.
    #[inline]
    pub fn of(&self, cause: Cause) -> Nanos {
        Nanos(self.nanos[cause as usize])
    }

    /// The causes with a nonzero time, in the order in which a request encounters them.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (Cause, Nanos)> + '_ {
        Cause::ALL.into_iter().zip(&self.nanos).filter(|(_, n)| **n > 0).map(|(cause, &n)| (cause, Nanos(n)))
    }

    /// The time of every cause, in ns, in the order of [`Cause::ALL`].
    #[inline]
    pub fn nanos(&self) -> &[u64; CAUSES] {
        &self.nanos
    }

    /// The sum of all spans.
    #[inline]
    pub fn total(&self) -> Nanos {
        Nanos(self.nanos.iter().sum())
    }
}

impl Default for Spans {
    fn default() -> Spans {
        Spans::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fdp::{GroupId, HandleId};

    #[test]
    fn spans_add_up() {
        let mut spans = Spans::new();
        for i in 0..100u64 {
            spans.add(Cause::ALL[i as usize % 7], Nanos(i));
        }
        assert_eq!(spans.total(), Nanos((0..100).sum()));
    }

    #[test]
    fn of_what_held_a_request_up_the_longest_counts() {
        let second = PlacementId::new(GroupId::new(7), HandleId::new(5));
        let mut spans = Spans::new();
        assert_eq!(spans.held_up().by(), None);
        spans.hold_up(HeldUp::new(HeldUpBy::programs(PlacementId::FIRST), Nanos(20)));
        let mut other = Spans::new();
        other.hold_up(HeldUp::new(HeldUpBy::collection(second), Nanos(30)));
        other.hold_up(HeldUp::new(HeldUpBy::programs(second), Nanos(29)));
        spans.extend(&other);
        let held_up = spans.held_up();
        assert_eq!((held_up.by(), held_up.time()), (Some(HeldUpBy::collection(second)), Nanos(30)));
        assert_eq!(HeldUpBy::collection(second).to_string(), "collection of handle 5 of group 7");
        for index in 0..HeldUpBy::COUNT {
            assert_eq!(HeldUpBy::at(index).index(), index);
        }
        spans.clear();
        assert_eq!(spans, Spans::new());
    }

    #[test]
    fn labels_are_unique_and_explained() {
        let mut labels: Vec<_> = Cause::ALL.iter().map(|c| c.label()).collect();
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), CAUSES);
        assert!(Cause::ALL.iter().all(|c| c.meaning().ends_with('.')));
    }
}
