//! Rules that tests can break: mutation points.

/// Declares the rules of some code, which its tests can break one by one: a check that has never
/// failed proves nothing.
///
/// Besides the enum of rules this declares two functions. The code calls `holds(rule)`, which is visible in
/// the crate. With the feature `mutation` of the crate that declares the rules, which only tests enable,
/// `broken(rule, f)` runs `f` on this thread with `rule` broken; without the feature there is no `broken`,
/// and `holds` is the constant `true` and costs nothing.
///
/// ```
/// mod mutation {
///     tailcut_base::invariants! {
///         /// A rule that keeps data right.
///         pub enum Invariant {
///             /// A read waits for the writes before it.
///             ReadAfterWrite,
///         }
///     }
/// }
///
/// fn may_read(writes_before: u32) -> bool {
///     writes_before == 0 || !mutation::holds(mutation::Invariant::ReadAfterWrite)
/// }
/// assert!(!may_read(1));
/// ```
#[macro_export]
macro_rules! invariants {
    ($(#[$about:meta])* pub enum $rules:ident { $($(#[$meaning:meta])* $rule:ident),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $rules {
            $($(#[$meaning])* $rule,)+
        }

        #[cfg(feature = "mutation")]
        ::std::thread_local! {
            static BROKEN: ::std::cell::Cell<Option<$rules>> = const { ::std::cell::Cell::new(None) };
        }

        /// True unless a test has broken `rule`.
        #[cfg(feature = "mutation")]
        #[inline]
        pub(crate) fn holds(rule: $rules) -> bool {
            BROKEN.get() != Some(rule)
        }

        /// True.
        #[cfg(not(feature = "mutation"))]
        #[inline(always)]
        pub(crate) const fn holds(_: $rules) -> bool {
            true
        }

        /// Runs `f` with `rule` broken on this thread.
        #[cfg(feature = "mutation")]
        pub fn broken<T>(rule: $rules, f: impl FnOnce() -> T) -> T {
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
    };
}
