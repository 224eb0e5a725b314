//! The drive that is tested: simulated in virtual time, emulated in real time, a file or a block device.

use super::Platform;
use super::arguments::PtsArguments;
use super::watcher::Watcher;
use crate::bench::path::others::LoadBaseline;
use crate::failure::Failure;
use crate::probe::destructive_check::DestructiveCheck;
use crate::probe::{DEPTH, DISTURBED};
use crate::run::Scenario;
use crate::scenario;
use std::os::fd::OwnedFd;
use std::path::Path;
use tailcut_base::config::Choice;
use tailcut_host::BLOCK_BYTES;
use tailcut_pts::Procedure;
use tailcut_rt::file::FileOptions;
use tailcut_rt::placement::cores;
use tailcut_rt::probe::{RealTime, VirtualTime};
use tailcut_rt::pts::{DriveTester, End, Purge};
use tailcut_rt::{Clock, Drive, EmulatedSsd, FileDrive};
use tailcut_ssd::{Ssd, SsdConfig};

/// The drive under test, and its tester.
pub(super) struct Subject<'a> {
    tester: AnyTester<'a>,
    /// Facts about the drive.
    pub platform: Platform,
    /// Exclusive claim on a device.
    _claim: Option<OwnedFd>,
    others: Option<LoadBaseline>,
}

enum AnyTester<'a> {
    Simulated(Box<DriveTester<'a, EmulatedSsd, VirtualTime>>),
    Emulated(Box<DriveTester<'a, EmulatedSsd, RealTime>>),
    Device(Box<DriveTester<'a, FileDrive, RealTime>>),
}

/// Calls whichever it is.
macro_rules! with {
    ($any:expr, $tester:ident => $call:expr) => {
        match $any {
            AnyTester::Simulated($tester) => $call,
            AnyTester::Emulated($tester) => $call,
            AnyTester::Device($tester) => $call,
        }
    };
}

/// The purge method on a device.
const TRIM: &str = "TRIM of all blocks; neither a secure erase nor a format";
/// The purge method on a simulated drive.
const ANEW: &str = "an erased drive of the same kind takes its place, as a format leaves it";

impl<'a> Subject<'a> {
    /// Opens or makes what the arguments name.
    ///
    /// # Errors
    /// What is wrong with the scenario or the device; a device with data, unless they may be destroyed.
    pub(super) fn open(arguments: &PtsArguments, watch: &'a Watcher) -> Result<Subject<'a>, Failure> {
        match &arguments.device {
            Some(device) => Subject::device(device, arguments, watch),
            None => Subject::model(arguments, watch),
        }
    }

    fn device(device: &Path, arguments: &PtsArguments, watch: &'a Watcher) -> Result<Subject<'a>, Failure> {
        let destructive_check = DestructiveCheck::of(device, "pts", "")?;
        if !arguments.destroy_data {
            return Err(destructive_check.refuse());
        }
        let claim = destructive_check.claim()?;
        crate::tell!("{}", destructive_check.sentence());
        let options = FileOptions { is_hasty: true, depth: Some(DEPTH), ..FileOptions::default() };
        let drive = FileDrive::open(device, options).map_err(|why| Failure::Input(format!("pts: {why}")))?;
        let mut notes = destructive_check.notes(true);
        if !drive.is_direct() {
            notes.push(String::from(
                "direct I/O is refused: what is tested is the page cache, and not what lies under it",
            ));
        }
        let range = arguments.range(drive.disk().blocks * BLOCK_BYTES);
        check(range, &drive)?;
        let pace = RealTime::new(Clock::start());
        let tester =
            DriveTester::new(drive, pace, arguments.form(), range, Purge::Trim, arguments.seed, watch);
        let kind = if destructive_check.is_device() { "a block device" } else { "a file" };
        let platform = platform(&tester, kind, device.display().to_string(), TRIM, notes);
        let (tester, others) = (AnyTester::Device(Box::new(tester)), LoadBaseline::now(&cores()));
        Ok(Subject { tester, platform, _claim: claim, others })
    }

    fn model(arguments: &PtsArguments, watch: &'a Watcher) -> Result<Subject<'a>, Failure> {
        let mut scenario = Scenario::default();
        scenario::load(&mut scenario, arguments.scenario.as_deref(), &arguments.sets)?;
        if scenario.array.drives > 0 || scenario.device.sets.count > 1 {
            return Err(Failure::Input(
                "pts: it tests one drive; leave out array.drives and device.sets".into(),
            ));
        }
        let (config, seed) = (scenario.device.clone(), arguments.seed);
        let name = config.preset.name().to_owned();
        let make = move || erased(&config, seed);
        let drive = make();
        let range = arguments.range(drive.disk().blocks * BLOCK_BYTES);
        check(range, &drive)?;
        let (form, purge) = (arguments.form(), Purge::Anew(Box::new(make)));
        if arguments.real_time {
            let pace = RealTime::new(Clock::start());
            let tester = DriveTester::new(drive, pace, form, range, purge, seed, watch);
            let platform = platform(&tester, "an emulated drive, in real time", name, ANEW, Vec::new());
            let (tester, others) = (AnyTester::Emulated(Box::new(tester)), LoadBaseline::now(&cores()));
            return Ok(Subject { tester, platform, _claim: None, others });
        }
        let tester = DriveTester::new(drive, VirtualTime::default(), form, range, purge, seed, watch);
        let platform = platform(&tester, "a simulated drive, in virtual time", name, ANEW, Vec::new());
        let tester = AnyTester::Simulated(Box::new(tester));
        Ok(Subject { tester, platform, _claim: None, others: None })
    }

    /// Carries a test out, and passes it to `told` after each step.
    pub(super) fn carry_out(&mut self, test: &mut Procedure, told: impl FnMut(&Procedure)) -> End {
        with!(&mut self.tester, tester => tester.carry_out(test, told))
    }

    /// Share of the drive that the last purge reached.
    pub(super) fn purged(&self) -> Option<f64> {
        with!(&self.tester, tester => tester.purged())
    }

    /// Notes for the reader so far.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = self.platform.notes.clone();
        if let AnyTester::Emulated(tester) = &self.tester {
            notes.extend(tester.drive().lateness().warning());
        }
        let share = self.others.as_ref().and_then(LoadBaseline::share).filter(|&share| share > DISTURBED);
        notes.extend(share.map(|share| {
            format!(
                "other programs took {:.0} % of the cores meanwhile: rates are too low, and long response \
                    times are theirs",
                100.0 * share
            )
        }));
        notes
    }
}

fn erased(config: &SsdConfig, seed: u64) -> EmulatedSsd {
    EmulatedSsd::inline(Ssd::new(config, seed, false))
}

/// A range in which every I/O of a test has room.
fn check(range: u64, drive: &impl Drive) -> Result<(), Failure> {
    if range >= LEAST {
        return Ok(());
    }
    let bytes = tailcut_base::quantity::show_bytes((drive.disk().blocks * BLOCK_BYTES) as f64);
    Err(Failure::Input(format!("pts: the drive has {bytes}; tests with I/Os of 1 MiB want 2 MiB or more")))
}

/// The smallest range.
const LEAST: u64 = 2 << 20;

fn platform<D: Drive, P: tailcut_rt::probe::Pace>(
    tester: &DriveTester<'_, D, P>,
    kind: &'static str,
    name: String,
    purge: &'static str,
    mut notes: Vec<String>,
) -> Platform {
    let disk = tester.drive().disk();
    notes.push(THREADS.into());
    let write_cache = match (tester.is_write_through(), disk.volatile_cache) {
        (true, _) => "disabled: each write is made durable by itself (force unit access)",
        (false, true) => "enabled",
        (false, false) => "none that could lose anything",
    };
    Platform {
        model: tester.drive().identify().model,
        kind,
        name,
        capacity: disk.blocks * BLOCK_BYTES,
        active: tester.active_bytes(),
        depth: disk.depth,
        write_cache,
        purge,
        notes,
    }
}

/// What holds for every drive that is tested in this way.
const THREADS: &str = "threads and their queues are added up: one thread issues all I/Os";
