//! Drives with known parameters, in virtual time: the estimates match them.

use super::check::Unit;
use super::*;
use crate::drive::{Answers, Drive};
use crate::emulated::EmulatedSsd;
use std::cell::Cell;
use tailcut_base::control::Control;
use tailcut_base::device::Identify;
use tailcut_base::{Nanos, Op, Status, Time};
use tailcut_host::{Bytes, Request};
use tailcut_ssd::config::SsdConfig;
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset, Ssd};

const EFFORT: MeasurementLimits = MeasurementLimits { ios: 4000, bytes: 64 << 20, ..MeasurementLimits::FULL };

fn drive(config: &SsdConfig, state: PreparedState) -> EmulatedSsd {
    assert_eq!(config.check_space(), Ok(()));
    let mut ssd = Ssd::new(config, 7, false);
    ssd.precondition(&Precondition { state, fill: 1_000_000 }, 7);
    EmulatedSsd::inline(ssd)
}

fn probed<D: Drive>(drive: D, parts: &[Part], watch: &dyn Watch) -> Measured {
    let mut prober = Prober::new(drive, VirtualTime::default(), EFFORT, 3, watch);
    let mut measured = prober.nothing();
    prober.measure(parts, &mut measured);
    measured
}

/// Measures reads of a full drive.
fn reading(config: &SsdConfig) -> Measured {
    let measured = probed(drive(config, PreparedState::Sequential), &[Part::Reads], &Unwatched);
    assert_eq!(measured.end, End::Complete);
    measured
}

/// Measures everything on an erased drive.
fn everything(config: &SsdConfig) -> Measured {
    let measured = probed(drive(config, PreparedState::Empty), &Part::ALL, &Unwatched);
    assert_eq!(measured.end, End::Complete);
    measured
}

#[track_caller]
fn near(what: &str, found: f64, truth: f64, off: f64) {
    println!("{what}: {found:.4}, in truth {truth:.4}");
    assert!((found / truth - 1.0).abs() <= off, "{what}: {found}, in truth {truth}");
}

/// Read-only: the estimate reproduces the rate curves, and the parameters behind them.
#[test]
fn a_read_curve_becomes_a_drive_that_has_it() {
    for preset in [Preset::M, Preset::PaReset, Preset::Femu, Preset::SwanSata, Preset::Zssd] {
        let truth = preset.config();
        let measured = reading(&truth);
        let estimate = Estimate::of(&measured).expect("it was read");
        assert_eq!(estimate.preset, preset);
        let simulated = simulate(&estimate, &measured, &Unwatched);
        for row in compare(&measured, &simulated) {
            let within = match row.unit {
                Unit::Time => continue,
                _ if row.what == "random reads, depth 1" => 0.02,
                Unit::Ios => 0.2,
                Unit::Rate => 0.3,
            };
            near(&format!("{preset}, {}", row.what), row.simulated, row.measured, within);
        }
        let found = &estimate.config;
        let units = f64::from(found.geometry.luns()) / f64::from(truth.geometry.luns());
        assert!((0.5..2.0).contains(&units), "{preset}: {units} times as many chips");
        near(&format!("{preset}, cells"), found.timing.read[0].0 as f64, truth.timing.read[0].0 as f64, 0.8);
        let blocks =
            tailcut_host::Disk::of(&tailcut_base::Device::identify(&Ssd::new(found, 1, false))).blocks;
        assert!(blocks >= measured.identity.blocks, "{preset}: {blocks}");
        near(&format!("{preset}, blocks"), blocks as f64, measured.identity.blocks as f64, 1e-3);
    }
}

/// Writes reveal the rest: link, buffer, programs, erases, spare space, and the cliff.
#[test]
fn writing_shows_buffer_programs_erases_and_spare_space() {
    let truth = Preset::G.config();
    let measured = everything(&truth);
    let estimate = Estimate::of(&measured).expect("it was read");
    let found = &estimate.config;
    assert!(measured.writes.is_settled);
    near("link", found.link.rate as f64, truth.link.rate as f64, 0.01);
    near("buffer", found.buffer.size as f64, truth.buffer.size as f64, 0.05);
    near("program", found.timing.program[0].0 as f64, truth.timing.program[0].0 as f64, 0.1);
    near("erase", found.timing.erase.0 as f64, truth.timing.erase.0 as f64, 0.2);
    near("cells", found.timing.read[0].0 as f64, truth.timing.read[0].0 as f64, 0.01);
    near("spare", f64::from(found.ftl.spare), f64::from(truth.ftl.spare), 0.15);
    assert_eq!((found.geometry.planes, found.buffer.capacitor), (truth.geometry.planes, true));
    // Blocks that are erased when the drive is full of data, without the reserve of garbage collection.
    let geometry = &truth.geometry;
    let kept = u64::from(truth.blocks_kept()) * u64::from(geometry.pages) * u64::from(geometry.plane_count());
    let free = (geometry.page_count() - measured.identity.blocks - kept) * 4096;
    let written: u64 = measured.writes.latency.iter().map(|tally| tally.profile.total()).sum();
    let cliff = measured.writes.overwrite.as_ref().and_then(profile::Profile::cliff).expect("it falls");
    near("cliff", (cliff.at + written) as f64, free as f64, 0.1);
    let simulated = simulate(&estimate, &measured, &Unwatched);
    for row in compare(&measured, &simulated).iter().filter(|row| row.unit != Unit::Time) {
        near(&row.what, row.simulated, row.measured, 0.25);
    }
    for row in
        compare(&measured, &simulated).iter().filter(|row| row.what.starts_with("reads beside few writes"))
    {
        near(&row.what, row.simulated, row.measured, 0.3);
    }
    let signature = measured.signature().expect("it was looked for");
    assert!(signature.bursts > 50 && signature.slow > 0.05, "{signature:?}");
}

#[test]
fn what_was_not_filled_says_nothing_of_spare_space() {
    let effort = MeasurementLimits { fill: Nanos::secs(2), ..EFFORT };
    let drive = drive(&Preset::G.config(), PreparedState::Empty);
    let mut prober = Prober::new(drive, VirtualTime::default(), effort, 3, &Unwatched);
    let mut measured = prober.nothing();
    prober.measure(&Part::ALL, &mut measured);
    assert!((0.1..0.9).contains(&measured.filled()), "{}", measured.filled());
    let estimate = Estimate::of(&measured).expect("it was read");
    let spare = estimate.origins.iter().find(|origin| origin.key == "ftl.spare").expect("it is named");
    assert!(spare.how == Provenance::Assumed && spare.why.contains("was filled in its time"), "{spare:?}");
    assert!(!estimate.config.gc.ideal);
}

/// A small drive of SWAN's kind: a volatile buffer and 32 tags.
fn volatile() -> SsdConfig {
    let mut config = Preset::SwanSata.config();
    (config.geometry.blocks, config.geometry.pages, config.ftl.spare) = (48, 64, 300_000);
    config
}

#[test]
fn a_volatile_buffer_is_known_by_its_flushes() {
    let truth = volatile();
    let measured = everything(&truth);
    let found = Estimate::of(&measured).expect("it was read").config;
    assert!(!found.buffer.capacitor);
    // The link is only half as fast again as the chips, so the buffer fills slowly.
    near("buffer", found.buffer.size as f64, truth.buffer.size as f64, 0.3);
    near("program", found.timing.program[0].0 as f64, truth.timing.program[0].0 as f64, 0.25);
    assert_eq!((found.queue.protocol, found.queue.depth), (truth.queue.protocol, 32));
}

#[test]
fn a_drive_without_a_buffer_is_known_by_its_writes() {
    let mut truth = volatile();
    truth.buffer.size = 0;
    let measured =
        probed(drive(&truth, PreparedState::Empty), &[Part::Fresh, Part::Reads, Part::Light], &Unwatched);
    let found = Estimate::of(&measured).expect("it was read").config;
    assert_eq!(found.buffer.size, 0);
    // As accurate as the number of chips: only the product of both was measured.
    near("program", found.timing.program[0].0 as f64, truth.timing.program[0].0 as f64, 0.25);
}

/// A cost per command limits small reads, which no number of chips explains.
#[test]
fn commands_that_cost_are_told_from_chips_that_are_few() {
    let mut truth = Preset::Femu.config();
    truth.geometry.blocks = 64;
    truth.link.command = Nanos::micros(12);
    let measured = reading(&truth);
    let estimate = Estimate::of(&measured).expect("it was read");
    near("command", estimate.config.link.command.0 as f64, truth.link.command.0 as f64, 0.1);
    let simulated = simulate(&estimate, &measured, &Unwatched);
    for row in compare(&measured, &simulated).iter().filter(|row| row.unit != Unit::Time) {
        near(&row.what, row.simulated, row.measured, 0.3);
    }
    for preset in [Preset::G, Preset::PaReset, Preset::Zssd] {
        let estimate = Estimate::of(&reading(&preset.config())).expect("it was read");
        assert_eq!(estimate.config.link.command, Nanos::ZERO, "{preset}");
    }
}

/// A drive that rejects all modifications, and fails after a number of requests.
struct Guarded {
    drive: EmulatedSsd,
    left: Cell<u64>,
}

impl Drive for Guarded {
    fn identify(&self) -> Identify {
        self.drive.identify()
    }

    fn trims_to_zeros(&self) -> bool {
        true
    }

    fn submit(&mut self, now: Time, request: Request<Bytes>) {
        assert_eq!(request.op, Op::Read, "nothing else may come");
        self.drive.submit(now, request);
    }

    fn control(&mut self, _: Time, _: Control) {
        unreachable!("nobody asks")
    }

    fn poll(&mut self, now: Time, answers: &mut Answers) {
        self.drive.poll(now, answers);
        for response in &mut answers.responses {
            let left = self.left.get();
            self.left.set(left.saturating_sub(1));
            if left == 0 {
                response.status = Status::MediaError;
            }
        }
    }

    fn next_event(&self) -> Time {
        self.drive.next_event()
    }
}

fn guarded(requests: u64) -> Guarded {
    Guarded { drive: drive(&Preset::G.config(), PreparedState::Sequential), left: Cell::new(requests) }
}

#[test]
fn reading_changes_nothing() {
    let measured = probed(guarded(u64::MAX), &[Part::Reads], &Unwatched);
    assert_eq!((measured.end, measured.reads.len(), measured.has_writes()), (End::Complete, 9, false));
    assert_eq!(
        measured.reads[0].latency,
        probed(guarded(u64::MAX), &[Part::Reads], &Unwatched).reads[0].latency
    );
}

#[test]
fn what_was_measured_before_a_failure_is_kept() {
    let measured = probed(guarded(9000), &[Part::Reads], &Unwatched);
    let End::Failed(failed) = measured.end else { panic!("{:?}", measured.end) };
    assert_eq!((failed.op, failed.status, measured.reads.len()), (Op::Read, Status::MediaError, 2));
    assert!(failed.to_string().contains("read at block"), "{failed}");
    assert!(Estimate::of(&measured).is_some());
}

/// An observer that cancels the probe after a number of measurements have begun.
struct Impatient(Cell<u32>);

impl Watch for Impatient {
    fn begins(&self, _: &str) {
        self.0.set(self.0.get().saturating_sub(1));
    }

    fn is_stopped(&self) -> bool {
        self.0.get() == 0
    }
}

#[test]
fn whoever_stops_has_what_was_measured_until_then() {
    for (begun, points) in [(1, 1), (4, 4), (12, 9)] {
        let measured = probed(guarded(u64::MAX), &[Part::Reads], &Impatient(Cell::new(begun)));
        assert_eq!((measured.end, measured.reads.len()), (End::Stopped, points));
        assert!(measured.reads[..points - 1].iter().all(|tally| tally.latency.count() > 0));
    }
    let all = probed(drive(&Preset::G.config(), PreparedState::Empty), &Part::ALL, &Impatient(Cell::new(3)));
    assert_eq!((all.end, all.writes.fill.is_some(), all.reads.len()), (End::Stopped, true, 0));
    assert!(Estimate::of(&all).is_none(), "nothing was read");
}

#[test]
fn a_drive_of_a_block_is_measured_and_estimated() {
    let mut prober =
        Prober::new(crate::MemoryDrive::new(1, 4), RealTime::new(crate::Clock::start()), TINY, 1, &Unwatched);
    let mut measured = prober.nothing();
    prober.measure(&Part::ALL, &mut measured);
    assert_eq!(measured.end, End::Complete);
    let estimate = Estimate::of(&measured).expect("it was read");
    assert_eq!(estimate.config.check_space(), Ok(()));
}

const TINY: MeasurementLimits = MeasurementLimits {
    point: Nanos::millis(20),
    ios: 100,
    bytes: 1 << 20,
    fill: Nanos::millis(20),
    fill_bytes: 1 << 20,
    overwrite: Nanos::millis(20),
    unsteady: 100,
};

#[test]
fn an_effort_fits_into_its_time() {
    for is_destroying in [false, true] {
        for total in [Nanos::secs(5), Nanos::secs(3600)] {
            let effort = MeasurementLimits::FULL.within(total, is_destroying);
            near("total", effort.most(is_destroying).0 as f64, total.0 as f64, 1e-6);
        }
    }
    assert_eq!(MeasurementLimits::QUICK.most(false), Nanos::secs(4));
}
