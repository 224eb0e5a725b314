//! Reports what an operator of a block server's array has to know as it happens: that it is degraded, and
//! that it no longer is; wrong data from a member; the result of a scrub.

use crate::terminal::{ColorMode, TextRole};
use std::path::PathBuf;

/// The state of the array that is served, as it was last reported.
#[derive(Debug)]
pub struct ConditionLog {
    /// Control socket of the server.
    control: PathBuf,
    condition: String,
    /// Number of the last scrub that has ended.
    scrubs: String,
    /// Members with faulty reads.
    faulty: Vec<String>,
    /// Members have no room for writes.
    is_full: bool,
}

/// A line for the operator.
pub type Line = (TextRole, String);

impl ConditionLog {
    /// For a server with this control socket. Its array counts as optimal until a status differs.
    pub fn new(control: PathBuf) -> ConditionLog {
        let (scrubs, faulty) = (String::new(), Vec::new());
        ConditionLog { control, condition: OPTIMAL.into(), scrubs, faulty, is_full: false }
    }

    /// Requests the status, and logs what has changed.
    pub fn report(&mut self) {
        // A server that does not respond is reported elsewhere.
        let Ok(status) = tailcut_rt::ctl::ask(&self.control, "status") else { return };
        let tone = ColorMode::of_stderr();
        for (role, text) in self.changes(&status) {
            let line = tone.paint(role, &text);
            match role {
                TextRole::Warning => tracing::warn!(event = "array", line, "{text}"),
                _ => tracing::info!(event = "array", line, "{text}"),
            }
        }
    }

    /// Lines about what has changed in a status.
    fn changes(&mut self, status: &str) -> Vec<Line> {
        let (mut lines, mut started) = (Vec::new(), "");
        let full = status.lines().find_map(|line| line.strip_prefix("warning: no room to write on "));
        if full.is_some() != self.is_full {
            self.is_full = full.is_some();
            lines.push(match full {
                Some(full) => (TextRole::Warning, format!("no room to write on {full}")),
                None => (TextRole::Heading, "there is room to write again".into()),
            });
        }
        for line in status.lines() {
            if let Some(condition) = line.strip_prefix("condition ") {
                lines.extend(self.change_of_condition(condition));
            } else if let Some(number) = line.strip_prefix("scrubs ") {
                started = number;
            } else if let Some(scrub) = line.strip_prefix("last scrub: ")
                && started != self.scrubs
            {
                self.scrubs = started.into();
                lines.push(scrub_result(scrub));
            } else if let Some(warning) = line.strip_prefix("warning: member ")
                && let Some(member) = warning.split(' ').next()
                && warning.contains("returned wrong data")
                && !self.faulty.iter().any(|faulty| faulty == member)
            {
                self.faulty.push(member.into());
                lines.push((TextRole::Warning, format!("member {warning}; 'tailcut status' has the counts")));
            }
        }
        lines
    }

    fn change_of_condition(&mut self, condition: &str) -> Option<Line> {
        if condition == self.condition {
            return None;
        }
        self.condition = condition.into();
        let is_missing = condition.starts_with("degraded; missing [") && !condition.contains("missing []");
        let remedy = match is_missing && !condition.contains("erasing [") {
            true => ": replace what is missing with 'tailcut ctl'",
            false => "",
        };
        let role = if condition == OPTIMAL { TextRole::Heading } else { TextRole::Warning };
        Some((role, format!("the array is {condition}{remedy}")))
    }
}

/// The line about a scrub that has ended with this result: a warning if it has found something, or could not
/// compare.
pub fn scrub_result(scrub: &str) -> Line {
    let is_clean =
        !scrub.contains(|digit: char| ('1'..='9').contains(&digit)) && !scrub.contains("not checked");
    let role = if is_clean { TextRole::Heading } else { TextRole::Warning };
    (role, format!("the scrub is complete: {scrub}"))
}

const OPTIMAL: &str = "optimal";

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(log: &mut ConditionLog, status: &str) -> Vec<String> {
        log.changes(status).into_iter().map(|(_, line)| line).collect()
    }

    #[test]
    fn each_change_is_said_once() {
        let mut log = ConditionLog::new(PathBuf::new());
        let mut change = |condition: &str| {
            changes(&mut log, &format!("drive x\nready yes\ncondition {condition}\n")).pop()
        };
        assert_eq!(change("optimal"), None);
        let text =
            "the array is degraded; missing [1], rebuilding []: replace what is missing with 'tailcut ctl'";
        assert_eq!(change("degraded; missing [1], rebuilding []").as_deref(), Some(text));
        assert_eq!(change("degraded; missing [1], rebuilding []"), None);
        let text = "the array is degraded; missing [1], rebuilding [], erasing [1] before the rebuild";
        let erasing = change("degraded; missing [1], rebuilding [], erasing [1] before the rebuild");
        assert_eq!(erasing.as_deref(), Some(text), "nothing is left to do");
        let text = "the array is degraded; missing [], rebuilding [1]";
        assert_eq!(change("degraded; missing [], rebuilding [1]").as_deref(), Some(text));
        assert_eq!(change("optimal").as_deref(), Some("the array is optimal"));
        assert_eq!(changes(&mut log, "drive x\nsize 1 GiB\n"), Vec::<String>::new());
    }

    #[test]
    fn a_full_member_and_its_room_are_said_once() {
        let mut log = ConditionLog::new(PathBuf::new());
        let full = "condition optimal\nwarning: no room to write on d0: make some\n";
        assert_eq!(changes(&mut log, full), ["no room to write on d0: make some"]);
        assert!(changes(&mut log, full).is_empty());
        assert_eq!(changes(&mut log, "condition optimal\n"), ["there is room to write again"]);
        assert!(changes(&mut log, "condition optimal\n").is_empty());
    }

    #[test]
    fn each_scrub_has_a_result() {
        let mut log = ConditionLog::new(PathBuf::new());
        for number in 1..=2 {
            let running = format!("scrubs {number}\nscrub running: 0 damaged blocks rewritten\n");
            let done = format!("scrubs {number}\nlast scrub: 0 damaged blocks rewritten\n");
            assert!(changes(&mut log, &running).is_empty());
            assert_eq!(changes(&mut log, &done), ["the scrub is complete: 0 damaged blocks rewritten"]);
            assert!(changes(&mut log, &done).is_empty());
        }
    }

    #[test]
    fn a_scrub_that_could_not_compare_is_a_warning() {
        let mut log = ConditionLog::new(PathBuf::new());
        let role = |log: &mut ConditionLog, number: u32, text: &str| {
            log.changes(&format!("scrubs {number}\nlast scrub: {text}\n"))[0].0
        };
        assert_eq!(role(&mut log, 1, "0 beyond repair, 0 mismatches"), TextRole::Heading);
        assert_eq!(role(&mut log, 2, "mismatches not checked: a member is missing"), TextRole::Warning);
    }

    #[test]
    fn wrong_data_of_a_member_is_reported_once() {
        let mut log = ConditionLog::new(PathBuf::new());
        let status =
            |count| format!("warning: member 1 returned wrong data in {count} reads, and an error in 0\n");
        assert_eq!(changes(&mut log, &status(1)).len(), 1);
        assert!(changes(&mut log, &status(2)).is_empty());
    }
}
