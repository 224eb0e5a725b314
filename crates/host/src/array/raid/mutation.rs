//! What only tests see: rules that they can break.
//!
//! A check that has never failed proves nothing. With the feature `mutation`, which only tests turn on,
//! `broken` runs a piece of code in a world where one rule does not hold; without it [`holds`] is the
//! constant `true` and costs nothing.

tailcut_base::invariants! {
    /// A rule that keeps data right.
    pub enum Invariant {
        /// A read waits for the writes before it.
        ReadAfterWrite,
        /// A write of a part of a row changes its parity.
        ParityFollows,
        /// After a power cut the journal is written again.
        Replay,
        /// What is written goes to a drive that is being filled, too.
        WriteWhileRebuilding,
        /// Rebuilding keeps writes away from the unit that it works on.
        RebuildUnderLock,
        /// Nothing is written in place before it is in the journal.
        JournalFirst,
        /// The journal is used again only when what it held is durable.
        ReclaimWhenDurable,
        /// A drive that has been filled counts when the journal holds nothing of its predecessor.
        DrainBeforeInSync,
        /// A scrub leaves nothing of what the journal held before.
        ScrubTheJournal,
        /// A block that cannot be read is no part of a parity.
        ParityOfIntact,
        /// The rest of a row does not change while a block is computed from it.
        RowHeld,
        /// A parity follows from one way to it, gone to its end.
        WholeWay,
    }
}
