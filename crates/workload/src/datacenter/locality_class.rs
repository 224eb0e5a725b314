//! The classes of transactional locality in Sprinkler's table 1.

tailcut_base::choice! {
    /// Table 1's classes of transactional locality.
    ///
    /// The paper does not say where it draws the lines. Here they are the thirds of the range of
    /// the share of pages that plane sharing can take together
    /// (`Locality::share`), which goes from 0 to 1.
    pub enum LocalityClass {
        /// Below a third.
        Low = "low",
        /// Medium locality: from one third to two thirds.
        Medium = "medium",
        /// Two thirds and more.
        High = "high",
    }
}
