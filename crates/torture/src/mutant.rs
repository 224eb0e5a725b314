//! Mutated bugs on this side of the seam: checks that have never failed prove nothing.

tailcut_base::choice! {
    /// Something that breaks a promise; the checkers must see it.
    pub enum Mutant {
        /// Drives forget what they have flushed, and what was written with force unit access.
        LiesAboutFlush = "lies-about-flush",
        /// Drives write half a block when the power goes.
        TearsBlocks = "tears-blocks",
        /// Drives drop every 17th block that they write.
        DropsWrites = "drops-writes",
        /// Flushes are answered at once.
        FlushesEarly = "flushes-early",
        /// Writes with force unit access are passed on without.
        ForgetsFua = "forgets-fua",
        /// Trims are answered and do nothing.
        ForgetsTrims = "forgets-trims",
        /// Some reads return what was in the block before.
        ReadsStale = "reads-stale",
        /// Some reads are answered with an error although nothing is wrong.
        FailsReads = "fails-reads",
        /// Some requests are never answered.
        NeverAnswers = "never-answers",
    }
}
