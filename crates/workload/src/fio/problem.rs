//! Problems of a job file, and notes on a valid one.

use std::fmt;

/// One thing that is wrong in a job file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {key}: {message}")]
pub struct FioError {
    /// Name of the file, as it was given.
    pub file: String,
    /// Line, counted from 1.
    pub line: u32,
    /// The key, or the section in brackets.
    pub key: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// Everything that is wrong in a job file, in the order of its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FioErrors(pub Vec<FioError>);

impl fmt::Display for FioErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            let separator = if i == 0 { "" } else { "\n" };
            write!(f, "{separator}{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for FioErrors {}

/// Something in a job file that is taken otherwise than fio takes it, or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FioNote {
    /// Line, counted from 1.
    pub line: u32,
    /// The key, or the section in brackets.
    pub key: String,
    /// What is done instead, or why nothing needs to be done.
    pub message: String,
}

impl fmt::Display for FioNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}: {}", self.line, self.key, self.message)
    }
}

/// Errors and notes while a file is read.
#[derive(Debug)]
pub(super) struct Findings {
    pub file: String,
    pub errors: Vec<FioError>,
    pub notes: Vec<FioNote>,
}

impl Findings {
    pub(super) fn new(file: &str) -> Findings {
        Findings { file: file.to_string(), errors: Vec::new(), notes: Vec::new() }
    }

    pub(super) fn error(&mut self, line: u32, key: &str, message: impl Into<String>) {
        let (file, key, message) = (self.file.clone(), key.to_string(), message.into());
        self.errors.push(FioError { file, line, key, message });
    }

    pub(super) fn note(&mut self, line: u32, key: &str, message: impl Into<String>) {
        self.notes.push(FioNote { line, key: key.to_string(), message: message.into() });
    }

    /// `value`, or every error that was found, by line.
    pub(super) fn finish<T>(mut self, value: T) -> Result<T, FioErrors> {
        if self.errors.is_empty() {
            return Ok(value);
        }
        self.errors.sort_by_key(|e| e.line);
        Err(FioErrors(self.errors))
    }
}
