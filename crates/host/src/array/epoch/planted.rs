//! What only tests see: rules that they can break.
//!
//! A check that has never failed proves nothing. With the feature `planted`, which only tests turn on,
//! [`broken`] runs a piece of code in a world where one rule does not hold; without it [`holds`] is the
//! constant `true` and costs nothing.

/// A rule that keeps data right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// What is in the cache is read from there.
    ReadFromCache,
    /// A drive lists what it is about to change before it changes it.
    ListFirst,
    /// A slot of descriptors is used again only when both copies of what it lists agree.
    ListedUntilAgreed,
    /// What was written without a drive stays listed until the record says that it is missing.
    RecordFirst,
    /// After a power cut copies that differ are made equal.
    Reconcile,
    /// The newer one counts.
    NewestCounts,
    /// A flush waits for both drives.
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
