//! What only tests see: rules that they can break.
//!
//! A check that has never failed proves nothing. With the feature `mutation`, which only tests turn on,
//! `broken` runs a piece of code in a world where one rule does not hold; without it [`holds`] is the
//! constant `true` and costs nothing.

tailcut_base::invariants! {
    /// A rule that keeps data right.
    pub enum Invariant {
        /// What is in the cache is read from there.
        ReadFromCache,
        /// A drive lists what it is about to change before it changes it.
        ListFirst,
        /// With more than two copies each drive lists what it changes, whatever others have listed.
        ListEverywhere,
        /// A slot of descriptors is used again only when all copies of what it lists agree.
        ListedUntilAgreed,
        /// What was written without a drive stays listed until the superblock says that it is missing.
        RecordFirst,
        /// After a power cut copies that differ are made equal.
        Reconcile,
        /// The newer one counts.
        NewestCounts,
        /// A flush waits for all drives.
        FlushBoth,
        /// A copy counts as written when its drive has been flushed.
        FlushEpochs,
        /// What is written goes to a drive that is being filled, too.
        WriteWhileRebuilding,
        /// Blocks that are copied to a drive stay in the cache meanwhile.
        FillInCache,
        /// Descriptors of a predecessor are cleared.
        ClearDescriptors,
    }
}
