//! Moments that have been arranged for, in order; those of one moment in the order in which they were set.

/// What happens at such a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HostTimer {
    /// The measurement begins.
    Measure,
    /// The command of a client is in the memory of the server.
    Arrives(u32),
    /// The network card of a link interrupts.
    Interrupt(u32),
    /// A client has its answer.
    Answered(u32),
    /// The engine wants to go on by itself.
    Engine,
}

/// All that has been arranged for.
pub(super) type TimerHeap = crate::timer_heap::TimerHeap<HostTimer>;
