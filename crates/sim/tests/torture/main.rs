//! Crash and fault search in the tests: a share of the seeds that `tailcut torture` runs in CI.

#![allow(missing_docs)]

mod above;
mod arrays;
mod members;
mod steps;

/// `TAILCUT_CASES` seeds from `TAILCUT_SEED` on.
fn cases(least: u64) -> std::ops::Range<u64> {
    let number =
        |name: &str, default| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let first = number("TAILCUT_SEED", 1);
    first..first + number("TAILCUT_CASES", least)
}
