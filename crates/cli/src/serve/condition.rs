//! Reports changes of a block server's array to the operator: that it is degraded, and that it no longer
//! is.

use crate::terminal::{ColorMode, TextRole};
use std::path::PathBuf;

/// The condition of the array that is served, as it was last reported.
#[derive(Debug)]
pub struct ConditionLog {
    /// Where the server is asked.
    control: PathBuf,
    last: String,
}

impl ConditionLog {
    /// For a server with this control socket. Its array counts as optimal until a status differs.
    pub fn new(control: PathBuf) -> ConditionLog {
        ConditionLog { control, last: OPTIMAL.into() }
    }

    /// Asks, and writes a line to standard error when the condition has changed.
    pub fn report(&mut self) {
        // A server that does not answer is heard of elsewhere.
        let Ok(status) = tailcut_rt::ctl::ask(&self.control, "status") else { return };
        if let Some(line) = self.change(&status) {
            let ink = if self.last == OPTIMAL { TextRole::Heading } else { TextRole::Warning };
            eprintln!("{}", ColorMode::of_stderr().paint(ink, &line));
        }
    }

    /// The message about a status, if the condition has changed.
    fn change(&mut self, status: &str) -> Option<String> {
        let condition = status.lines().find_map(|line| line.strip_prefix("condition "))?;
        if condition == self.last {
            return None;
        }
        self.last = condition.into();
        let remedy = match condition.starts_with("degraded; missing [") && !condition.contains("missing []") {
            true => ": replace what is missing with 'tailcut ctl'",
            false => "",
        };
        Some(format!("the array is {condition}{remedy}"))
    }
}

const OPTIMAL: &str = "optimal";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_is_said_once() {
        let mut log = ConditionLog::new(PathBuf::new());
        let mut change =
            |condition: &str| log.change(&format!("drive x\nready yes\ncondition {condition}\n"));
        assert_eq!(change("optimal"), None);
        let text =
            "the array is degraded; missing [1], rebuilding []: replace what is missing with 'tailcut ctl'";
        assert_eq!(change("degraded; missing [1], rebuilding []").as_deref(), Some(text));
        assert_eq!(change("degraded; missing [1], rebuilding []"), None);
        let text = "the array is degraded; missing [], rebuilding [1]";
        assert_eq!(change("degraded; missing [], rebuilding [1]").as_deref(), Some(text));
        assert_eq!(change("optimal").as_deref(), Some("the array is optimal"));
        assert_eq!(log.change("drive x\nsize 1 GiB\n"), None);
    }
}
