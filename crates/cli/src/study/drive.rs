//! Drive tests among the studies: their loads follow one another on one drive, and so do not run as a study's
//! scenarios do; their rows are those of `tailcut pts`.

use crate::failure::Failure;
use crate::pts::arguments::PtsArguments;
use crate::pts::{self, Platform, Report, Watcher};
use tailcut_base::quantity::show_bytes;
use tailcut_pts::{Procedure, Test};
use tailcut_study::{Options, Table};

/// A drive test as a study: on the drive of the built-in scenario, in virtual time.
#[derive(Debug)]
pub struct DriveTest {
    test: Test,
    /// Name of the test on the command line.
    pub id: &'static str,
    /// Title of the test, in one line.
    pub title: &'static str,
    /// The specification that defines the test, and the section.
    pub source: &'static str,
}

/// All of them in the order of the specification.
pub const ALL: [DriveTest; 8] = [
    DriveTest {
        test: Test::Iops,
        id: "pts-iops",
        title: "IOPS of a drive at random places, by size and mix of reads and writes",
        source: "SNIA SSS PTS 2.0, section 7",
    },
    DriveTest {
        test: Test::Throughput,
        id: "pts-tp",
        title: "Throughput of a drive in order, reading and writing, by size",
        source: "SNIA SSS PTS 2.0, section 8",
    },
    DriveTest {
        test: Test::Latency,
        id: "pts-lat",
        title: "Latency of I/Os one after another, by size and mix, and the histogram of writes",
        source: "SNIA SSS PTS 2.0, section 9",
    },
    DriveTest {
        test: Test::WriteSaturation,
        id: "pts-wsat",
        title: "Write saturation: random writes on a fresh drive until their rate is steady",
        source: "SNIA SSS PTS 2.0, section 10",
    },
    DriveTest {
        test: Test::HostIdleRecovery,
        id: "pts-hir",
        title: "Host idle recovery: what rests do for a saturated drive",
        source: "SNIA SSS PTS 2.0, section 11",
    },
    DriveTest {
        test: Test::CrossStimulusRecovery,
        id: "pts-xsr",
        title: "Cross stimulus recovery: large writes in order before and after small ones at random",
        source: "SNIA SSS PTS 2.0, section 12",
    },
    DriveTest {
        test: Test::CompositeBlockSize,
        id: "pts-cbw",
        title: "Composite block size workload: many sizes at uneven places, by threads and queue depth",
        source: "SNIA SSS PTS 2.0, section 13",
    },
    DriveTest {
        test: Test::DemandIntensity,
        id: "pts-dirth",
        title: "Demand intensity: IOPS by threads and queue depth, and response time histograms at three of \
            these points",
        source: "SNIA SSS PTS 2.0, section 14",
    },
];

/// What became of a drive test.
pub struct Carried {
    /// The measurements, also of a test that was ended early; `None` without any figure.
    pub table: Option<Table>,
    /// Whether the test came to its end, or why it did not.
    pub ended: Result<(), Failure>,
}

impl DriveTest {
    /// Carries the test out; `told` is called after each step. Options about traces have no effect.
    ///
    /// # Errors
    /// A drive that cannot be tested.
    pub fn measure(
        &self,
        options: &Options,
        watcher: &Watcher,
        told: &mut dyn FnMut(&Procedure),
    ) -> Result<Carried, Failure> {
        let report = pts::measure(&self.arguments(options), None, watcher, &mut |_, test| told(test))?;
        let tested = &report.tests[0];
        let rows = report.rows(tested);
        let table = Table::new(self.id, options.seed, options.quick, rows).notes(notes(&report));
        Ok(Carried { table: (!table.rows.is_empty()).then_some(table), ended: report.ended() })
    }

    /// The stages of the test with these options in words, one line each.
    ///
    /// # Errors
    /// A drive that cannot be tested.
    pub fn stages(&self, options: &Options) -> Result<Vec<String>, Failure> {
        let tests = pts::procedures(&self.arguments(options))?;
        Ok(tests[0].stages().iter().map(pts::plan::line).collect())
    }

    /// How to run the test with other drives.
    pub fn elsewhere(&self) -> String {
        let test = self.test.name();
        format!(
            "Other drives: 'tailcut pts {test} --set device.preset=NAME', an emulated one with --real-time, \
                a real one with --device PATH"
        )
    }

    /// Why its loads are no runs that could be had alone.
    pub fn no_case(&self) -> Failure {
        let (id, test) = (self.id, self.test.name());
        Failure::Input(format!(
            "{id} has no run that is a scenario by itself: its loads follow one another on one drive\n  'tailcut \
             study show {id}' has its stages, 'tailcut pts {test} --json FILE' the figures of every load"
        ))
    }

    fn arguments(&self, options: &Options) -> PtsArguments {
        PtsArguments::simulated(self.test, options.quick, options.seed)
    }
}

/// The notes above the tables of a drive test.
fn notes(report: &Report) -> Vec<String> {
    let Platform { model, kind, capacity, .. } = &report.platform;
    let (size, form) = (show_bytes(*capacity as f64), report.settings.form.name());
    let drive = format!("{form} on {model}, {size}, {kind}");
    let mut notes: Vec<String> = report.departure().into_iter().chain([drive]).collect();
    notes.extend_from_slice(&report.platform.notes);
    notes.extend(report.tests[0].notes());
    notes
}
