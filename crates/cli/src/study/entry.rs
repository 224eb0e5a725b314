//! The entries of the list of studies.

use super::drive::{self, DriveTest};
use serde_json::{Value, json};
use tailcut_study::{Study, real_drives};

/// What can be run by a name: scenarios that measure a paper's figure, a drive test, or real drives.
#[derive(Clone, Copy)]
pub enum Entry {
    /// A table or figure of a paper.
    Paper(&'static dyn Study),
    /// A test of a drive.
    Drive(&'static DriveTest),
    /// Drives that can be bought, point by point.
    RealDrives,
}

impl Entry {
    /// Every one, in the order in which they are listed: drive tests behind the papers.
    pub fn all() -> Vec<Entry> {
        let tests = drive::ALL.iter().map(Entry::Drive);
        Entry::papers().into_iter().chain([Entry::RealDrives]).chain(tests).collect()
    }

    /// The studies that reproduce papers, in the order in which they are listed.
    pub fn papers() -> Vec<Entry> {
        tailcut_study::all().iter().copied().map(Entry::Paper).collect()
    }

    /// The study with this name on the command line, if there is one.
    pub fn by_id(id: &str) -> Option<Entry> {
        Entry::all().into_iter().find(|entry| entry.id() == id)
    }

    /// Name of the study on the command line.
    pub fn id(self) -> &'static str {
        match self {
            Entry::Paper(study) => study.id(),
            Entry::Drive(test) => test.id,
            Entry::RealDrives => real_drives::ID,
        }
    }

    /// Title of the study, in one line.
    pub fn title(self) -> &'static str {
        match self {
            Entry::Paper(study) => study.title(),
            Entry::Drive(test) => test.title,
            Entry::RealDrives => real_drives::TITLE,
        }
    }

    /// Where that comes from: paper or specification, and the place in it.
    pub fn source(self) -> &'static str {
        match self {
            Entry::Paper(study) => study.source(),
            Entry::Drive(test) => test.source,
            Entry::RealDrives => real_drives::SOURCE,
        }
    }

    /// Heads of the columns of a study's rows: of the figure to compare with, and of the simulation's. Other
    /// studies than those of real drives compare with a paper.
    pub fn heads(study: &str) -> [&'static str; 2] {
        if study == real_drives::ID { ["measured", "predicted"] } else { ["paper", "measured"] }
    }

    /// The study as a JSON object: name, title and source.
    pub fn to_json(self) -> Value {
        json!({ "study": self.id(), "title": self.title(), "source": self.source() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_found() {
        let all = Entry::all();
        let ids: BTreeSet<&str> = all.iter().map(|entry| entry.id()).collect();
        assert_eq!(ids.len(), all.len());
        assert!(
            all.iter()
                .all(|entry| Entry::by_id(entry.id()).is_some_and(|found| found.title() == entry.title()))
        );
        assert!(Entry::by_id("pts").is_none());
    }
}
