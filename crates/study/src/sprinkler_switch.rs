//! Why claims of Sprinkler come out differently, by experiment: one key of the scenario is changed, and the
//! rest is as in the study.

use super::Options;
use super::evaluation::{self, Load, Pace, SMALL, table_1};
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_ssd::config::CommitPolicy::{self, Faro, Pas, Sprinkler};

/// A change of one key, on the small drive with a saturated queue of 32 entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Switch {
    /// The host has eight requests at a time, instead of twice as many as the device queue takes.
    EightAtATime,
    /// No transaction passes over the oldest request of its chip. SPK1 then gives a chip its oldest request
    /// even if another one is committed to its place, and PAS lets its oldest I/O request take each chip as
    /// it becomes free.
    NonePassedOver,
    /// Programs take as long as reads.
    QuickPrograms,
}

impl Switch {
    /// Its name as a reading of the paper.
    pub(super) fn reading(self) -> &'static str {
        match self {
            Switch::EightAtATime => "8 requests at a time",
            Switch::NonePassedOver => "none passed over",
            Switch::QuickPrograms => "programs of 20 µs",
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Switch::EightAtATime => "/eight-at-a-time",
            Switch::NonePassedOver => "/none-passed-over",
            Switch::QuickPrograms => "/quick-programs",
        }
    }

    /// The run of a load under a scheduler with this change.
    pub(super) fn run(self, options: &Options, load: &Load, policy: CommitPolicy) -> Run {
        let mut run = load.run(options, policy, SMALL, Pace::Saturated);
        let scenario = &mut run.scenario;
        match self {
            Switch::EightAtATime => scenario.datacenter.depth = 8,
            Switch::NonePassedOver => scenario.device.schedule.passes = 0,
            Switch::QuickPrograms => {
                let read = scenario.device.timing.read[0];
                scenario.device.timing.program.fill(read);
            }
        }
        run.label += self.suffix();
        run
    }

    /// The results of the run that [`Switch::run`] describes.
    pub(super) fn of<'m>(self, done: &'m [Measured], load: &Load, policy: CommitPolicy) -> &'m Measured {
        find(done, &(load.label(policy, SMALL, Pace::Saturated) + self.suffix()))
    }
}

/// As [`evaluation::saturated_runs`], with those that [`Switch::NonePassedOver`] changes.
pub(super) fn saturated_runs(options: &Options, done: &[Measured]) -> Vec<Run> {
    let mut runs = evaluation::saturated_runs(options, done);
    if done.is_empty() {
        let run = |load: &Load, policy| Switch::NonePassedOver.run(options, load, policy);
        runs.extend(table_1().iter().flat_map(|load| [Pas, Faro, Sprinkler].map(|policy| run(load, policy))));
    }
    runs
}

/// The workloads of table 1 without the two whose mean reads, or writes, are longer than one pass over the
/// chips of the small drive, so that pages of one request meet on chips.
pub(super) fn short_loads() -> Vec<Load> {
    table_1().into_iter().filter(|load| !["msnfs1", "msnfs3"].contains(&load.name().as_str())).collect()
}

/// Name of [`short_loads`] as a reading of the paper.
pub(super) const SHORT: &str = "without msnfs1 and msnfs3";

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::Nanos;

    #[test]
    fn a_switch_changes_nothing_else() {
        let options = Options { quick: true, ..Options::default() };
        let load = &short_loads()[0];
        let plain = load.run(&options, CommitPolicy::Faro, SMALL, Pace::Saturated);
        for switch in [Switch::EightAtATime, Switch::NonePassedOver, Switch::QuickPrograms] {
            let mut run = switch.run(&options, load, CommitPolicy::Faro);
            assert_ne!(run, plain, "{}", switch.reading());
            let scenario = &mut run.scenario;
            match switch {
                Switch::EightAtATime => scenario.datacenter.depth = plain.scenario.datacenter.depth,
                Switch::NonePassedOver => {
                    scenario.device.schedule.passes = plain.scenario.device.schedule.passes;
                }
                Switch::QuickPrograms => {
                    assert_eq!(scenario.device.timing.program, [Nanos::micros(20); 2]);
                    scenario.device.timing.program.clone_from(&plain.scenario.device.timing.program);
                }
            }
            assert_eq!(run.scenario, plain.scenario, "{}", switch.reading());
        }
        assert_eq!(short_loads().len(), 14);
    }
}
