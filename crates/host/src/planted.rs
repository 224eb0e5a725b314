//! Rules that only tests of this workspace can break, to see that the checks notice.

/// A rule that keeps data safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
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
    /// A drive counts as rebuilt only when a checkpoint has been written to it.
    CopiesAreRebuilt,
}

#[cfg(feature = "planted")]
thread_local! {
    static BROKEN: std::cell::Cell<Option<Rule>> = const { std::cell::Cell::new(None) };
}

/// True unless a test has broken `rule`.
#[cfg(feature = "planted")]
#[inline]
pub(crate) fn holds(rule: Rule) -> bool {
    BROKEN.get() != Some(rule)
}

/// True.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub(crate) const fn holds(_: Rule) -> bool {
    true
}

/// Runs `f` while `rule` does not hold on this thread.
#[cfg(feature = "planted")]
pub fn broken<T>(rule: Rule, f: impl FnOnce() -> T) -> T {
    struct Mend;
    impl Drop for Mend {
        fn drop(&mut self) {
            BROKEN.set(None);
        }
    }
    BROKEN.set(Some(rule));
    let _mend = Mend;
    f()
}
