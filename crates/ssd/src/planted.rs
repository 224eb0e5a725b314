//! Rules that a test can break, to see that its checks notice.
//!
//! A check that has never failed proves nothing. With the feature `planted`, which only tests of
//! this workspace turn on, [`broken`] runs a piece of code in a world where one rule does not hold;
//! without the feature [`holds`] is the constant `true` and costs nothing.

/// A rule that keeps requests right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A read of a page that is on its way to flash gets what is on its way.
    ReadAfterWrite,
    /// Of two writes to a page, what the later one wrote stays.
    WriteAfterWrite,
    /// What a read waits for is not erased because a later write has replaced it.
    WriteAfterRead,
    /// Force-unit-access requests are not reordered.
    FuaInPlace,
    /// Data of a read goes to the host in the order of its pages.
    InOrderReturn,
    /// The oldest request of a chip is passed over so often and no more.
    BoundedWait,
    /// A chip waits for data that is on the link to share its transaction.
    HoldForData,
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
