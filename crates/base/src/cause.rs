//! What a request waited for: every nanosecond of a latency has exactly one [`Cause`].

use crate::time::Nanos;

macro_rules! causes {
    ($($(#[doc = $doc:literal])+ $name:ident = $label:literal,)+) => {
        /// The cause of a span of a request's latency. The sum of the spans of a request is its
        /// latency; the driver of a run asserts it for every request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Cause { $($(#[doc = $doc])+ $name,)+ }

        impl Cause {
            /// Every cause, in the order in which a request meets them.
            pub const ALL: [Cause; [$($label),+].len()] = [$(Cause::$name),+];

            /// The name used in reports and files.
            pub fn label(self) -> &'static str {
                match self { $(Cause::$name => $label),+ }
            }

            /// One sentence that says what the request waited for.
            pub fn meaning(self) -> &'static str {
                match self { $(Cause::$name => concat!($($doc),+).trim_ascii()),+ }
            }
        }
    };
}

causes! {
    /// Waiting in the host: the request was due, but its predecessors held the queue.
    HostQueue = "host queue",
    /// The device's queue was full: no tag was free.
    Tag = "tag",
    /// A command that the protocol does not queue (a trim or flush over AHCI) had the drive to itself, or
    /// waited for that.
    QueueDrain = "queue drain",
    /// Waiting for the host link, which carried other transfers.
    LinkWait = "link wait",
    /// The request's own data and command on the host link.
    Link = "link",
    /// The controller's own work: DRAM access and firmware.
    Controller = "controller",
    /// The DRAM buffer had no room for the write.
    BufferFull = "buffer full",
    /// A flush or a force-unit-access write waited until the buffer was on flash.
    Flush = "flush",
    /// Ordered behind an earlier request for the same page.
    Hazard = "hazard",
    /// The commit scheduler held the request although its chip was free.
    CommitWait = "commit wait",
    /// The chip was busy with another user read, or with reading the rest of a page written in part.
    ChipUserRead = "chip: user read",
    /// The chip was busy with a read ahead of the host.
    ChipReadAhead = "chip: read ahead",
    /// The chip was busy with a user write.
    ChipUserWrite = "chip: user write",
    /// The chip was busy with a read of garbage collection or wear levelling.
    ChipGcRead = "chip: gc read",
    /// The chip was busy with a program of garbage collection or wear levelling.
    ChipGcProgram = "chip: gc program",
    /// The chip was busy with an erase.
    ChipErase = "chip: erase",
    /// The chip was suspending a program or erase, so that a read could go first.
    ChipSuspend = "chip: suspend",
    /// The chip was resetting a program or erase, so that a read could go first.
    ChipReset = "chip: reset",
    /// The request's own program stood suspended, so that reads could go first.
    Suspended = "suspended",
    /// No erased page was free: the write waited for garbage collection.
    Space = "space",
    /// Waiting for the channel's bus.
    BusWait = "bus wait",
    /// Command and address cycles on the channel's bus.
    BusCommand = "bus command",
    /// The cells themselves: the time to read, program or erase them.
    Cell = "cell",
    /// The page's data on the channel's bus.
    BusTransfer = "bus transfer",
    /// Work done again: a failed program, a reset operation, a read that had to be repeated.
    Retry = "retry",
    /// Other pages of the same request came later than this one, or had to go first.
    Siblings = "siblings",
    /// Waiting in the software queue of an array.
    ArrayQueue = "array queue",
    /// Waiting for an epoch or a token.
    Epoch = "epoch",
    /// Reconstruction of data from the other members of a stripe.
    Reconstruction = "reconstruction",
    /// Served from, or waiting for, a host cache.
    Cache = "cache",
    /// The request's own thread at work for it: system call, command, post-processing.
    HostWork = "host work",
    /// The device had finished, and nobody had looked yet: interrupts are off, and the next look was due
    /// later.
    Poll = "poll",
    /// The device had finished: until its interrupt was served and came to the request; with what interrupts
    /// took from the request's thread.
    Interrupt = "interrupt",
    /// Software interrupt and inter-processor interrupt.
    SoftInterrupt = "soft interrupt",
    /// The waiting thread was ready and waited for a core.
    Scheduling = "scheduling",
    /// Network and protocol.
    Network = "network",
}

/// How many causes there are.
pub const CAUSES: usize = Cause::ALL.len();

/// The spans of one request: the time that each cause took. One number for each cause, so that
/// adding, summing and copying spans is a fixed row of additions without branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spans {
    nanos: [u64; CAUSES],
}

impl Spans {
    /// No spans.
    pub const fn new() -> Spans {
        Spans { nanos: [0; CAUSES] }
    }

    /// Forgets all spans.
    #[inline]
    pub fn clear(&mut self) {
        self.nanos = [0; CAUSES];
    }

    /// Adds `time` for `cause`.
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
    }

    /// The time that `cause` took.
    #[inline]
    pub fn of(&self, cause: Cause) -> Nanos {
        Nanos(self.nanos[cause as usize])
    }

    /// The causes that took any time, in the order in which a request meets them.
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

    #[test]
    fn spans_add_up() {
        let mut spans = Spans::new();
        for i in 0..100u64 {
            spans.add(Cause::ALL[i as usize % 7], Nanos(i));
        }
        assert_eq!(spans.total(), Nanos((0..100).sum()));
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
