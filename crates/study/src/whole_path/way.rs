//! The arrangements: nothing of the papers, each of their techniques alone, and all of them together.

use crate::Options;
use tailcut_base::Class;
use tailcut_host::array::epoch::EpochMode;
use tailcut_host::array::{ArrayConfig, LayoutKind, ReadPolicy};
use tailcut_sim::Scenario;
use tailcut_sim::path::HostConfig;
use tailcut_ssd::config::{Arbitration, ChipPolicy, CommitPolicy, FailFast, Handling};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Precondition, Preset};

/// Drives of every array.
const DRIVES: u32 = 4;

/// Share of their space that holds data, in parts per million: that of Shin's and SWAN's studies.
pub(super) const FILLED: u32 = 600_000;

/// Threads of the application: more than there are ever requests, so that none waits for a thread.
pub(super) const THREADS: u32 = 1024;

/// An arrangement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrangement {
    /// Drives striped, requests in order, interrupts: none of the techniques.
    Plain,
    /// The cooperative path of HIOPS.
    Hiops,
    /// Threads that wait for the drive's announcement, or spin where the drive predicts a short wait.
    Precompletion,
    /// RIOS and FARO (SPK3).
    Sprinkler,
    /// Reads that reset programs and erases.
    PaReset,
    /// Two R-groups.
    Swan,
    /// Two copies in token groups.
    Epochs,
    /// As [`Arrangement::Epochs`], with drives that collect on the host's command.
    ControlApi,
    /// All of them that have a place beside each other, and reads that go to whichever copy's chip is free
    /// first; with the copies and token groups that Shin describes.
    TwoCopies,
    /// As [`Arrangement::TwoCopies`], with a third copy, and a token group for each drive.
    ThreeCopies,
    /// As [`Arrangement::ThreeCopies`], with a copy on every drive: of each block three are on drives that
    /// are not being written.
    Combined,
}

/// All ways.
pub(super) const WAYS: [Arrangement; 11] = [
    Arrangement::Plain,
    Arrangement::Hiops,
    Arrangement::Precompletion,
    Arrangement::Sprinkler,
    Arrangement::PaReset,
    Arrangement::Swan,
    Arrangement::Epochs,
    Arrangement::ControlApi,
    Arrangement::TwoCopies,
    Arrangement::ThreeCopies,
    Arrangement::Combined,
];

/// The ways of the quick form.
pub(super) const FEW: [Arrangement; 5] = [
    Arrangement::Plain,
    Arrangement::PaReset,
    Arrangement::ControlApi,
    Arrangement::TwoCopies,
    Arrangement::Combined,
];

impl Arrangement {
    /// Its name in rows.
    pub(super) fn name(self) -> &'static str {
        match self {
            Arrangement::Plain => "none",
            Arrangement::Hiops => "HIOPS path",
            Arrangement::Precompletion => "precompletion",
            Arrangement::Sprinkler => "Sprinkler",
            Arrangement::PaReset => "PAReset",
            Arrangement::Swan => "SWAN",
            Arrangement::Epochs => "epochs",
            Arrangement::ControlApi => "epochs + control API",
            Arrangement::TwoCopies => "combined, 2 copies",
            Arrangement::ThreeCopies => "combined, 3 copies",
            Arrangement::Combined => "combined",
        }
    }

    /// Its name in labels.
    pub(super) fn id(self) -> &'static str {
        match self {
            Arrangement::Plain => "none",
            Arrangement::Hiops => "hiops",
            Arrangement::Precompletion => "precompletion",
            Arrangement::Sprinkler => "sprinkler",
            Arrangement::PaReset => "pareset",
            Arrangement::Swan => "swan",
            Arrangement::Epochs => "epochs",
            Arrangement::ControlApi => "control-api",
            Arrangement::TwoCopies => "combined-2",
            Arrangement::ThreeCopies => "combined-3",
            Arrangement::Combined => "combined",
        }
    }

    /// The path, without a load.
    pub(super) fn scenario(self, options: &Options) -> Scenario {
        let mut scenario = plain(options);
        match self {
            Arrangement::Plain => {}
            Arrangement::Hiops => scenario.host.strategy = "coop".into(),
            Arrangement::Precompletion => scenario.host.strategy = ANNOUNCED.into(),
            Arrangement::Sprinkler => scenario.device.schedule.commit = CommitPolicy::Sprinkler,
            Arrangement::PaReset => reset(&mut scenario),
            Arrangement::Swan => (scenario.array.layout, scenario.array.groups) = (LayoutKind::Swan0, 2),
            Arrangement::Epochs => epochs(&mut scenario, EpochMode::Epoch),
            Arrangement::ControlApi => epochs(&mut scenario, EpochMode::GcControl),
            Arrangement::TwoCopies => combine(&mut scenario, 2, 2),
            Arrangement::ThreeCopies => combine(&mut scenario, DRIVES, 3),
            Arrangement::Combined => combine(&mut scenario, DRIVES, DRIVES),
        }
        scenario
    }

    /// The class of urgent reads.
    pub(super) fn read_class(self) -> Class {
        match self {
            Arrangement::PaReset
            | Arrangement::TwoCopies
            | Arrangement::ThreeCopies
            | Arrangement::Combined => Class::new(1).expect("it is one"),
            _ => Class::DEFAULT,
        }
    }
}

/// Shin's two strategies for drives that announce the ends of reads (2017, section 4.3.2).
const ANNOUNCED: &str = "nonblocking+precomplete+buffer-spin";

fn plain(options: &Options) -> Scenario {
    let mut device = Preset::M.config();
    // A quarter of its blocks: nothing but how long preparing takes depends on them.
    device.geometry.blocks = 128;
    // The writes of an epoch must be flushed, in all arrangements.
    device.buffer.capacitor = false;
    device.gc.background = false;
    let array = ArrayConfig { drives: DRIVES, layout: LayoutKind::Raid0, ..ArrayConfig::default() };
    let host = HostConfig { strategy: "nvme".into(), cores: 8, threads: THREADS, ..HostConfig::default() };
    let precondition = Precondition { state: PreparedState::Steady, fill: FILLED };
    Scenario { seed: options.seed, content: false, device, array, host, precondition, ..Scenario::default() }
}

/// Reads first; operations in their way are reset (table 2 of the paper).
fn reset(scenario: &mut Scenario) {
    let device = &mut scenario.device;
    (device.schedule.commit, device.schedule.chip) = (CommitPolicy::Sos, ChipPolicy::ReadsFirst);
    (device.preempt.program, device.preempt.erase) = (Handling::Reset, Handling::Reset);
}

fn epochs(scenario: &mut Scenario, mode: EpochMode) {
    (scenario.array.layout, scenario.array.groups) = (LayoutKind::Epochs, 2);
    scenario.array.epoch.mode = mode;
}

fn combine(scenario: &mut Scenario, groups: u32, copies: u32) {
    reset(scenario);
    scenario.device.schedule.commit = CommitPolicy::Sprinkler;
    epochs(scenario, EpochMode::GcControl);
    (scenario.array.groups, scenario.array.epoch.copies) = (groups, copies);
    scenario.array.reads = ReadPolicy::FailFast;
    scenario.device.schedule.fail_fast = FailFast::Anything;
    scenario.device.bus.arbitration = Arbitration::ReadsFirst;
    // With more cores than requests at a time, a thread that looks after others keeps its own waiting.
    scenario.host.strategy = ANNOUNCED.into();
    scenario.host.window_feedback = true;
    // No thread waits for the array's own work: it is done where it interrupts none.
    scenario.host.array_core = true;
}
