//! Rules that only tests of this workspace can break, to see that the checks notice.

tailcut_base::invariants! {
    /// A rule that keeps data safe.
    pub enum Invariant {
        /// A victim is trimmed only when all that replaces it is durable.
        BarrierBeforeTrim,
        /// When a log is read again, a moved block counts only if nothing newer is known.
        MovesAreConditional,
        /// A checkpoint counts only when all that it describes is durable.
        BarrierBeforeHeader,
        /// What was trimmed is written to the log.
        TrimsAreLogged,
        /// Only what the last checkpoint covers is collected.
        VictimsAreCovered,
        /// A row is trimmed only when nobody reads it.
        ReadersKeepRows,
        /// Blocks that are not on their drives yet are read from memory.
        ReadFromMemory,
        /// A batch whose blocks cannot all be read does not count.
        BatchesAreWhole,
        /// What is read is compared with its block checksum.
        ChecksumsAreCompared,
        /// Block checksums that a checkpoint holds are known again after a restart.
        ChecksumsAreRestored,
        /// Checksums of what was in a row are forgotten when the row is written again.
        OldChecksumsAreForgotten,
        /// Where drives have no protection information, recovery looks again at what may be damaged.
        DamageIsNoEnd,
        /// Recovery writes parities again that do not fit what counts.
        ParitiesAreRepaired,
        /// Descriptors are compared with checksums as blocks of the host are.
        DescriptorsAreChecked,
        /// What is written in place waits until its region is marked as dirty for good.
        DirtyBeforeWrite,
        /// A region is clean only when its blocks and their checksums are durable.
        DataBeforeClean,
        /// A drive counts as rebuilt only when a checkpoint has been written to it.
        CopiesAreRebuilt,
        /// The epoch of a drive with a token ends with a flush.
        EpochsAreFlushed,
        /// After a flush that failed, without redundancy, none is believed.
        FailedFlushesAreFinal,
        /// A segment whose head is damaged is not taken for a free one.
        DamagedHeadsAreNotFree,
        /// Of what was durable, a record counts even if its value is damaged: no older version does.
        DamagedRecordsCount,
        /// Where a record was durable and its key is not known any more, nothing older is believed.
        HolesCastDoubt,
        /// A log at rest says which of its records are durable.
        DurableIsMarked,
        /// The last block of its segment records the same.
        DurableIsMarkedTwice,
        /// What was written to a log is flushed within a second, whether anybody waits for that or not.
        WritesAreFlushedInTime,
        /// The other superblock is written, too, once the first one is durable.
        SuperblocksAreTwo,
        /// The durable superblock is not overwritten until the other one is durable.
        DurableSuperblockStays,
        /// What cannot be copied from a segment that is reclaimed leaves a record that says so.
        LossesAreRecorded,
        /// A record that is not what was written is looked for in another copy.
        OtherCopiesAreRead,
        /// Requests for bytes that overlap are carried out in the order in which they came.
        OverlapsKeepOrder,
        /// Of a block that is written in part, the rest stays.
        RestsOfBlocksStay,
        /// What was trimmed with force unit access is flushed before it is answered.
        TrimsAreFlushed,
        /// A tombstone is written for what is on flash and is not valid any more.
        TombstonesAreWritten,
        /// The head of a segment is erased only when what was copied from it is durable.
        CopiesAreDurable,
        /// What was deferred to a shard is executed in the order in which it came.
        DeferredKeepOrder,
        /// A reply goes to the thread whose client has asked.
        RepliesGoToTheirThread,
        /// A tag is free again when its completion has been fetched.
        TagsAreReleased,
        /// A thread looks whether its request has ended before it sleeps.
        LooksBeforeItSleeps,
        /// A drive of an array that finds no room for a write has not failed.
        FullIsNoFailure,
    }
}
