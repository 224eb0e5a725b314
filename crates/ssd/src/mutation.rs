//! What only tests of this workspace see: rules that they can break, and a count of work.
//!
//! A check that has never failed proves nothing. With the feature `mutation`, which only tests of
//! this workspace turn on, `broken` runs a piece of code in a world where one rule does not hold;
//! without the feature [`holds`] is the constant `true` and costs nothing.
//!
//! A clock cannot show that work does not grow: caches make it slower where more is touched. So with the
//! feature the commit schedulers count the items that they examine ([`looked`]), and `looks_in` returns the
//! count; without it [`looked`] is empty.

tailcut_base::invariants! {
    /// A rule that keeps requests right.
    pub enum Invariant {
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
        /// What a reset program has spoiled beside its own page is taken back from the controller's copy.
        RestoreWordLine,
        /// Reads that are pending of a page that a reset has spoiled get the controller's copy.
        KeepForReads,
        /// After a reset programs go on in the next word line.
        LeaveWordLine,
        /// Outside of its windows a drive collects only where it must.
        CollectInWindows,
        /// A collection that was forced outside of windows is counted.
        CountForced,
        /// A run of collection ends when its time is over.
        EndRun,
        /// In a quiet period no collection starts.
        RestCollection,
        /// In a quiet period no program starts.
        RestPrograms,
        /// A quiet period begins when what is under way has ended.
        AwaitRest,
        /// Pages of a set are programmed on its own chips.
        StayInSet,
        /// A flush concerns the set that it names.
        FlushOfSet,
        /// The read cache does not keep what a write or a trim has replaced.
        WriteInvalidates,
    }
}

#[cfg(feature = "mutation")]
thread_local! {
    static LOOKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// The commit scheduler has examined one more item: a request, a place, a word of a bit mask.
#[cfg(feature = "mutation")]
#[inline]
pub(crate) fn looked() {
    LOOKS.set(LOOKS.get() + 1);
}

/// Does nothing without the feature `mutation`.
#[cfg(not(feature = "mutation"))]
#[inline(always)]
pub(crate) const fn looked() {}

/// Runs `f` and returns its result with the number of items that the commit schedulers examined meanwhile
/// on this thread.
#[cfg(feature = "mutation")]
pub fn looks_in<T>(f: impl FnOnce() -> T) -> (T, u64) {
    let before = LOOKS.get();
    let result = f();
    (result, LOOKS.get() - before)
}
