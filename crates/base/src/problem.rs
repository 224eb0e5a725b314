//! What is wrong with a configuration.

use std::fmt;

/// Why a value or a text cannot be used, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadValue {
    /// What is wrong and what would be right, in one sentence without a full stop.
    pub message: String,
}

impl BadValue {
    /// A problem with this sentence, without a full stop.
    pub fn new(message: impl Into<String>) -> BadValue {
        BadValue { message: message.into() }
    }

    /// As a problem of the key that has the value.
    pub fn of(self, key: &'static str) -> Problem {
        Problem { key, message: self.message }
    }
}

impl From<String> for BadValue {
    fn from(message: String) -> BadValue {
        BadValue { message }
    }
}

impl From<&str> for BadValue {
    fn from(message: &str) -> BadValue {
        BadValue::new(message)
    }
}

impl From<BadValue> for String {
    fn from(bad: BadValue) -> String {
        bad.message
    }
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BadValue {}

/// What does not fit together in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The configuration key to which the problem is attributed.
    pub key: &'static str,
    /// What is wrong and what would be right, in one sentence without a full stop.
    pub message: String,
}

impl Problem {
    /// A problem of `key` with this sentence, without a full stop.
    pub fn new(key: &'static str, message: impl Into<String>) -> Problem {
        Problem { key, message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.message)
    }
}

impl std::error::Error for Problem {}
