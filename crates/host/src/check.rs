//! Checkers: functions that state the invariants of a machine once and name the first that is broken. They
//! walk the machine's memory, so they are for tests and for searches for faults.

/// Returns from a checker with a message unless a condition holds.
macro_rules! ensure {
    ($condition:expr, $($message:tt)+) => {
        if !$condition {
            return Err(format!($($message)+));
        }
    };
}

pub(crate) use ensure;
