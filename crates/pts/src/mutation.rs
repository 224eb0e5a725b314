//! Rules that only tests of this workspace can break, to see that the checks notice.

tailcut_base::invariants! {
    /// A rule that keeps a judgement right.
    pub enum Invariant {
        /// Rounds of a drive test are steady when all that is tracked is, not only some of it.
        AllTracksAreSteady,
        /// Steady state is judged by the last rounds, not the first.
        TheWindowMoves,
    }
}
