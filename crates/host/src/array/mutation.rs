//! What only tests see: rules about the members of an array that they can break.

tailcut_base::invariants! {
    /// A rule that keeps drives of the past out of an array.
    pub enum Invariant {
        /// A drive that was replaced, or is older than the array, is no member of it.
        StaleIsLeftOut,
        /// Two histories of one array are not opened as one.
        DivergedIsRefused,
    }
}
