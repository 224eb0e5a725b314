//! Drive tests over simulated drives, in virtual time.

use super::*;
use crate::drive::{Answers, Extent};
use crate::emulated::EmulatedSsd;
use crate::probe::{Unwatched, VirtualTime};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tailcut_base::control::Control;
use tailcut_base::device::Identify;
use tailcut_base::{Op, Time};
use tailcut_host::{Bytes, Request};
use tailcut_pts::{Ending, Metric, Settings, Test};
use tailcut_ssd::{Preset, Ssd, SsdConfig};

/// Four chips, 64 MiB.
fn config() -> SsdConfig {
    let mut config = Preset::G.config();
    (config.geometry.channels, config.geometry.chips) = (2, 2);
    (config.geometry.blocks, config.geometry.pages) = (48, 64);
    assert_eq!(config.check_space(), Ok(()));
    config
}

const SHORT: Nanos = Nanos::millis(20);

fn erased() -> EmulatedSsd {
    EmulatedSsd::inline(Ssd::new(&config(), 1, false))
}

/// Runs the short form on the small drive, with minutes of this length.
fn carried_out(test: Test, form: Form, minute: Nanos) -> Procedure {
    let drive = erased();
    let bytes = drive.disk().blocks * BLOCK_BYTES;
    let purge = Purge::Anew(Box::new(erased));
    let mut tester = DriveTester::new(drive, VirtualTime::default(), form, u64::MAX, purge, 1, &Unwatched);
    let settings = Settings { minute, ..Settings::quick(form, bytes) };
    let mut procedure = Procedure::new(test, settings);
    let mut steps = 0;
    assert_eq!(tester.carry_out(&mut procedure, |_| steps += 1), End::Complete);
    assert!(procedure.is_finished() && steps > 1 && tester.purged() == Some(1.0));
    procedure
}

#[test]
fn a_fresh_drive_saturates() {
    // Long enough that one erase is a small part of the writes in a minute.
    let test = carried_out(Test::WriteSaturation, Form::Enterprise, Nanos::millis(30));
    let rates: Vec<f64> = test.of_stage(1).map(|record| record.figures.iops()).collect();
    let (first, last) = (rates[0], *rates.last().expect("there are some"));
    assert!(last < 0.7 * first, "collection costs it something: {rates:?}");
    let histogram = test.records().last().and_then(|record| record.latency.as_ref()).expect("it was kept");
    assert!(histogram.count() > 20);
    assert_ne!(test.convergences()[0].ending, Some(Ending::Time));
}

#[test]
fn the_matrix_of_response_times_is_full_and_in_order() {
    let test = carried_out(Test::Latency, Form::Client, Nanos::secs(1));
    let rounds = &test.convergences()[0];
    let mean = |place| test.averages(rounds, place).expect("it was measured").mean;
    // Sizes 8 KiB, 4 KiB, 0.5 KiB of reads, of a mix, of writes.
    assert!(mean(0) > mean(1), "two pages take longer than one");
    assert!((mean(1) / mean(2) - 1.0).abs() < 0.05, "half a KiB is read as a block: {} {}", mean(1), mean(2));
    assert!(mean(8) > mean(7) + 0.8 * mean(1), "a write of half a KiB reads first: {} {}", mean(8), mean(7));
}

#[test]
fn an_idle_drive_is_no_slower_than_before() {
    let test = carried_out(Test::HostIdleRecovery, Form::Client, SHORT);
    let mean = |name: &str| {
        let stage = test.stages().iter().position(|stage| stage.name == name).expect("it has one");
        let rates: Vec<f64> = test.of_stage(stage).map(|record| record.figures.iops()).collect();
        rates.iter().sum::<f64>() / rates.len() as f64
    };
    assert!(mean("wait 50 s") > 0.95 * mean("baseline after wait 50 s"));
}

#[test]
fn the_same_seed_gives_the_same_figures() {
    let figures = || -> Vec<Figures> {
        let test = carried_out(Test::Throughput, Form::Enterprise, SHORT);
        test.records().iter().map(|record| record.figures).collect()
    };
    assert_eq!(figures(), figures());
}

#[test]
fn a_failure_and_a_stop_keep_what_was_before() {
    struct After(Cell<u32>);
    impl Watch for After {
        fn begins(&self, _: &str) {}
        fn is_stopped(&self) -> bool {
            self.0.set(self.0.get().saturating_sub(1));
            self.0.get() == 0
        }
    }
    let watch = After(Cell::new(60_000));
    let purge = Purge::Anew(Box::new(erased));
    let form = Form::Client;
    let mut tester = DriveTester::new(erased(), VirtualTime::default(), form, 8 << 20, purge, 1, &watch);
    assert_eq!(tester.active_bytes(), 6 << 20);
    let mut test = Procedure::new(Test::Iops, Settings::quick(form, 8 << 20));
    assert_eq!(tester.carry_out(&mut test, |_| {}), End::Stopped);
    assert!(!test.is_finished() && test.convergences()[0].ending.is_none());
    assert!(test.records().iter().all(|record| record.figures.took > Nanos::ZERO));
}

/// Operation, first block, blocks, force unit access.
type Asked = (Op, u64, u32, bool);

/// A drive that records its requests.
struct RecordingDrive<D> {
    drive: D,
    asked: Rc<RefCell<Vec<Asked>>>,
    is_volatile: bool,
}

impl<D: Drive> Drive for RecordingDrive<D> {
    fn identify(&self) -> Identify {
        Identify { volatile_cache: self.is_volatile, ..self.drive.identify() }
    }
    fn trims_to_zeros(&self) -> bool {
        self.drive.trims_to_zeros()
    }
    fn submit(&mut self, now: Time, request: Request<Bytes>) {
        self.asked.borrow_mut().push((request.op, request.block, request.blocks, request.fua));
        self.drive.submit(now, request);
    }
    fn control(&mut self, now: Time, call: Control) {
        self.drive.control(now, call);
    }
    fn poll(&mut self, now: Time, answers: &mut Answers) {
        self.drive.poll(now, answers);
    }
    fn next_event(&self) -> Time {
        self.drive.next_event()
    }
    fn extent(&self, block: u64, blocks: u64) -> Extent {
        self.drive.extent(block, blocks)
    }
}

#[test]
fn the_forms_differ_in_range_and_write_cache() {
    for (form, fua) in [(Form::Client, false), (Form::Enterprise, true)] {
        let asked = Rc::new(RefCell::new(Vec::new()));
        let drive = RecordingDrive { drive: erased(), asked: Rc::clone(&asked), is_volatile: true };
        let blocks = drive.disk().blocks;
        let purge = Purge::Trim;
        let mut tester =
            DriveTester::new(drive, VirtualTime::default(), form, u64::MAX, purge, 1, &Unwatched);
        assert_eq!(tester.is_write_through(), fua);
        let settings = Settings { rounds: 5, ..Settings::quick(form, blocks * BLOCK_BYTES) };
        let mut test = Procedure::new(Test::CompositeBlockSize, settings);
        assert_eq!(tester.carry_out(&mut test, |_| {}), End::Complete);
        let asked = asked.borrow();
        assert!(asked.iter().all(|&(op, _, _, flag)| flag == (fua && op == Op::Write)));
        let trimmed: u64 =
            asked.iter().filter(|ask| ask.0 == Op::Trim).map(|&(_, _, count, _)| u64::from(count)).sum();
        assert_eq!(trimmed, blocks, "a purge is of the whole drive");
        let active = blocks * form.active_range() / 100;
        let used = asked
            .iter()
            .filter(|ask| ask.0 != Op::Trim)
            .map(|&(_, block, count, _)| block + u64::from(count));
        let most = used.max().expect("there were some");
        assert!(most <= active && most > active * 9 / 10, "{most} of {active}");
    }
}

#[test]
fn writes_of_parts_of_a_block_read_it_first() {
    let asked = Rc::new(RefCell::new(Vec::new()));
    let drive = RecordingDrive { drive: erased(), asked: Rc::clone(&asked), is_volatile: false };
    let mut bench = Bench::new(drive, VirtualTime::default(), 1, &Unwatched);
    let half = tailcut_pts::Cell::random(0, 512, (1, 1)).load();
    let bound = Bound { time: Nanos::secs(1), ios: 10, bytes: u64::MAX, settles: 0, warms: false };
    let tally = bench.run(&[half], bound).expect("nothing fails").remove(0);
    assert_eq!((tally.latency.count(), tally.bytes), (10, 5120));
    for pair in asked.borrow().chunks(2).take(10) {
        assert_eq!((pair[0].0, pair[1].0), (Op::Read, Op::Write));
        assert_eq!((pair[0].1, pair[0].2), (pair[1].1, 1), "the same block");
    }
    let rate = Figures::of(&tally.latency, tally.bytes, tally.took).metric(Metric::Throughput);
    assert!(rate.abs_diff(tally.bandwidth() as u64) <= 1);
}
