//! Studies: tables and figures of papers, and published tests of real drives ([`drives`]), measured again.
//!
//! A [`Study`] defines which scenarios must run and how the rows of its table follow from the measurements.
//! It is data and pure functions: any runner ([`measure`](tailcut_sim::measured::measure)
//! for each [`Run`], in any order, on any number of threads) gets identical rows for equal [`Options`].

mod array_loads;
mod array_tail;
mod beyond_completion;
mod beyond_degraded;
mod beyond_epochs;
mod beyond_epochs_sets;
mod beyond_kv;
mod beyond_placement;
mod beyond_prediction;
mod beyond_read_importance;
mod beyond_window;
pub mod claims;
pub mod drives;
mod epoch_writes;
pub mod evaluation;
mod interval;
pub mod many_chip;
pub mod pareset;
mod pareset_12;
mod pareset_7;
pub mod real_drives;
mod row;
mod served;
mod shin;
mod shin_3;
mod shin_3_kv;
mod shin_4;
mod shin_4_host;
mod shin_6;
mod shin_host;
mod shin_t5_2;
mod sprinkler_1;
mod sprinkler_10;
mod sprinkler_11;
mod sprinkler_13;
mod sprinkler_14;
mod sprinkler_15;
mod sprinkler_16;
mod sprinkler_17;
mod sprinkler_6;
mod sprinkler_switch;
mod swan;
mod swan_1;
mod swan_12;
mod swan_4;
mod swan_5;
mod swan_6;
mod swan_8;
mod swan_eq1;
mod whole_path;

pub use row::{Basis, MAIN, NO_CAUSE, Row, Sense, TOLERANCE, Table};

use std::path::PathBuf;
use tailcut_sim::measured::{Measured, Run};

/// A user's options for a study.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Fewer cases and shorter runs: seconds for most studies, minutes for some.
    pub quick: bool,
    /// Seed of the random streams of all runs.
    pub seed: u64,
    /// The folder of recorded traces, for studies that can use them.
    pub traces: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options { quick: false, seed: 1, traces: None }
    }
}

/// A table or figure of a paper, measured again.
pub trait Study: Sync {
    /// Its name on the command line.
    fn id(&self) -> &'static str;

    /// Its title, in one line.
    fn title(&self) -> &'static str;

    /// The paper, the section and the table or figure.
    fn source(&self) -> &'static str;

    /// The next runs, given everything measured so far in the order in which it was asked for;
    /// empty when the study has all it needs. All of one answer may run at the same time; a study
    /// whose loads depend on earlier results asks several times.
    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run>;

    /// A note for the reader on runs that depend on earlier results, if there are any.
    fn later_runs(&self) -> Option<&'static str> {
        None
    }

    /// The rows of its table, from all that was asked for.
    fn rows(&self, options: &Options, done: &[Measured]) -> Vec<Row>;
}

/// Every study, in the order in which they are listed.
pub fn all() -> &'static [&'static dyn Study] {
    &[
        &sprinkler_1::StagnatingReads,
        &sprinkler_6::Potential,
        &sprinkler_10::Performance,
        &sprinkler_11::Idleness,
        &sprinkler_13::TimeBreakdown,
        &sprinkler_14::Parallelism,
        &sprinkler_15::ChipUtilisation,
        &sprinkler_16::Transactions,
        &sprinkler_17::Migration,
        &pareset_7::Combinations,
        &pareset_12::Classed,
        &beyond_read_importance::ReadImportance,
        &swan_1::Fluctuation,
        &swan_4::Bandwidth,
        &swan_5::Collection,
        &swan_6::SimplerDrives,
        &swan_8::Ycsb,
        &swan_12::Inside,
        &swan_eq1::Sizes,
        &shin_3::Drives,
        &shin_3::Sizes,
        &shin_3::LongestHandler,
        &shin_3::PollInterval,
        &shin_3_kv::KeyValue,
        &shin_4_host::Prediction,
        &shin_4_host::Precompletion,
        &shin_4_host::Multidepth,
        &beyond_window::FeedbackWindow,
        &beyond_prediction::Predictors,
        &beyond_completion::Completion,
        &array_tail::ArrayTail,
        &beyond_degraded::Degraded,
        &beyond_placement::Placement,
        &shin_4::ReadTail,
        &shin_6::Readers,
        &shin_t5_2::StoredItems,
        &epoch_writes::WriteLoad,
        &beyond_epochs::BeyondEpochs,
        &beyond_kv::GetsBesideSets,
        &whole_path::WholePath,
    ]
}

/// The study of that name.
pub fn by_id(id: &str) -> Option<&'static dyn Study> {
    all().iter().copied().find(|study| study.id() == id)
}

/// The finished table of a study.
pub fn table(study: &dyn Study, options: &Options, done: &[Measured]) -> Table {
    Table::new(study.id(), options.seed, options.quick, study.rows(options, done))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use tailcut_base::config::Configure;

    #[test]
    fn names_of_studies_and_runs_are_unique_and_typeable() {
        let mut ids = BTreeSet::new();
        for study in all() {
            assert!(ids.insert(study.id()), "two studies are called {}", study.id());
            let mut labels = BTreeSet::new();
            for run in study.next(&Options::default(), &[]) {
                assert!(!run.label.contains(char::is_whitespace), "{}: '{}'", study.id(), run.label);
                assert!(labels.insert(run.label.clone()), "{}: two runs '{}'", study.id(), run.label);
            }
        }
    }

    #[test]
    fn the_quick_form_is_a_part_of_the_full_form() {
        for study in all() {
            let labels = |quick| -> BTreeSet<String> {
                let options = Options { quick, ..Options::default() };
                study.next(&options, &[]).into_iter().map(|run| run.label).collect()
            };
            assert!(labels(true).is_subset(&labels(false)), "{}", study.id());
        }
    }

    #[test]
    fn every_scenario_is_a_good_one() {
        for study in all() {
            for quick in [false, true] {
                for mut run in study.next(&Options { quick, seed: 9, traces: None }, &[]) {
                    assert_eq!(run.scenario.seed, 9, "{}", run.label);
                    let mut problems = Problems(Vec::new());
                    run.scenario.configure(&mut problems);
                    assert!(problems.0.is_empty(), "{} {}: {:?}", study.id(), run.label, problems.0);
                }
            }
        }
    }

    /// Collects the errors of a scenario, and its values out of range.
    struct Problems(Vec<String>);

    impl Problems {
        fn check<T: PartialOrd + std::fmt::Debug>(
            &mut self,
            key: &str,
            value: &T,
            range: &std::ops::RangeInclusive<T>,
        ) {
            if !range.contains(value) {
                self.0.push(format!("{key} = {value:?} is outside of {range:?}"));
            }
        }
    }

    type Range<T> = std::ops::RangeInclusive<T>;

    impl tailcut_base::config::KeyVisitor for Problems {
        fn section(&mut self, _: &'static str, _: &'static str, part: &mut dyn Configure) {
            part.configure(self);
        }
        fn time(
            &mut self,
            key: &'static str,
            _: &'static str,
            v: &mut tailcut_base::Nanos,
            r: Range<tailcut_base::Nanos>,
        ) {
            self.check(key, v, &r);
        }
        fn times(
            &mut self,
            key: &'static str,
            _: &'static str,
            v: &mut Vec<tailcut_base::Nanos>,
            r: Range<tailcut_base::Nanos>,
        ) {
            v.iter().for_each(|time| self.check(key, time, &r));
        }
        fn bytes(&mut self, key: &'static str, _: &'static str, v: &mut u64, r: Range<u64>) {
            self.check(key, v, &r);
        }
        fn rate(&mut self, key: &'static str, _: &'static str, v: &mut u64, r: Range<u64>) {
            self.check(key, v, &r);
        }
        fn share(&mut self, key: &'static str, _: &'static str, v: &mut u32, r: Range<u32>) {
            self.check(key, v, &r);
        }
        fn number(&mut self, key: &'static str, _: &'static str, v: &mut f64, r: Range<f64>) {
            self.check(key, v, &r);
        }
        fn count(&mut self, key: &'static str, _: &'static str, v: &mut u64, r: Range<u64>) {
            self.check(key, v, &r);
        }
        fn flag(&mut self, _: &'static str, _: &'static str, _: &mut bool) {}
        fn choice(
            &mut self,
            _: &'static str,
            _: &'static str,
            _: &mut usize,
            _: tailcut_base::config::Names,
        ) {
        }
        fn text(&mut self, _: &'static str, _: &'static str, _: &mut String) {}
        fn problem(&mut self, key: &'static str, message: String) {
            self.0.push(format!("{key}: {message}"));
        }
    }
}
