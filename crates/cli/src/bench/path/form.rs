//! The forms under comparison, and the goals.

use crate::failure::Failure;
use std::fmt;
use tailcut_base::Nanos;
use tailcut_host::path::{Strategy, Wait};
use tailcut_path::{Harness, Plan, Poller, Rest, Submitters, Watch};

/// A way to wait.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Form {
    name: String,
    plan: Plan,
    is_reaper: bool,
}

/// How long the poll thread on a timer sleeps between two looks.
const PERIOD: Nanos = Nanos::micros(20);

/// How long before its end a read is announced (8 µs: Shin 2017, section 4.4.3).
const WINDOW: Nanos = Nanos::micros(8);

/// Requests of a lane that can be with the device.
const DEPTH: u32 = 256;

/// Requests that the reaper keeps in flight.
pub(super) const REAPED: u32 = 128;

/// Two hand-offs: device, completion thread, waiter.
pub(super) const BASELINE: &str = "nvme";
/// The cooperative path with a poller at idle priority on the core that waits.
pub(super) const COOPERATIVE: &str = "coop-poll/idle";
/// One thread with many requests in flight.
pub(super) const REAPER: &str = "reaper";

const FORMS: [&str; 7] =
    [BASELINE, "lazy", "coop", "coop-poll/timer", COOPERATIVE, "coop-poll+precomplete/idle", "spin"];
const QUICK: [&str; 2] = [BASELINE, COOPERATIVE];

impl Form {
    /// The form of a name: a strategy, and behind a slash its poll thread, which is `idle` or `timer`.
    ///
    /// # Errors
    /// A message that the name is invalid, or that real threads cannot do it.
    pub(super) fn parse(name: &str) -> Result<Form, String> {
        let (strategy, poller) = name.split_once('/').unwrap_or((name, "idle"));
        let poller = match poller {
            "idle" => Poller::Idle,
            "timer" => Poller::Timer(PERIOD),
            other => return Err(format!("'{other}' is no poll thread; write \"idle\" or \"timer\"")),
        };
        let plan = Plan::of(&Strategy::parse(strategy)?, poller)?;
        Ok(Form { name: name.to_string(), plan, is_reaper: false })
    }

    /// The named forms, after the baseline; all forms if none is named.
    pub(super) fn chosen(names: &[String], is_quick: bool) -> Result<Vec<Form>, Failure> {
        let all: &[&str] = if is_quick { &QUICK } else { &FORMS };
        let named = names.iter().map(String::as_str).filter(|&name| name != BASELINE);
        let names: Vec<&str> = match names {
            [] => all.to_vec(),
            _ => [BASELINE].into_iter().chain(named).collect(),
        };
        let parse = |name: &&str| {
            Form::parse(name).map_err(|why| Failure::Input(format!("--strategy {name}: {why}")))
        };
        let mut forms: Vec<Form> = names.iter().map(parse).collect::<Result<_, _>>()?;
        forms.push(Form {
            name: REAPER.into(),
            is_reaper: true,
            ..Form::parse("spin").expect("it is a strategy")
        });
        Ok(forms)
    }

    /// True for the one that never waits.
    pub(super) fn is_reaper(&self) -> bool {
        self.is_reaper
    }

    /// True when it is measured with `threads` threads: a spinning form is measured alone on its core, the
    /// reaper beside the most threads.
    pub(super) fn is_for(&self, threads: u32, most: u32) -> bool {
        match (self.is_reaper, self.plan.wait) {
            (true, _) => threads == most,
            (false, Wait::Spin) => threads == 1,
            (false, _) => true,
        }
    }

    /// True when the cores that wait have times at which none of its threads runs.
    pub(super) fn sleeps(&self) -> bool {
        !self.is_reaper && self.plan.wait != Wait::Spin && self.plan.watch != Watch::Poller(Poller::Idle)
    }

    /// The benchmark set-up for this form.
    pub(super) fn harness(
        &self,
        threads: u32,
        waiting: &[usize],
        device_core: usize,
        rest: Rest,
        is_real_time: bool,
    ) -> Harness {
        Harness {
            plan: self.plan,
            submitters: if self.is_reaper {
                Submitters::Reaper(REAPED)
            } else {
                Submitters::Threads(threads)
            },
            cores: waiting.to_vec(),
            device_core,
            rest,
            depth: DEPTH,
            window: if self.plan.wait == Wait::UntilNotice { WINDOW } else { Nanos::ZERO },
            is_real_time,
        }
    }

    /// Requests that can be with the device at a time.
    pub(super) fn depth(waiting: &[usize]) -> u32 {
        DEPTH * waiting.len() as u32
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

/// A comparison of two forms, round by round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goal {
    /// The quantity under comparison.
    pub quantity: Quantity,
    /// Name of the form that is to reach the goal.
    pub form: &'static str,
    /// Name of the form that is compared with.
    pub against: &'static str,
    /// The fewest threads for which the goal applies.
    pub from: u32,
    /// The most threads for which the goal applies.
    pub to: u32,
    /// The bound of the ratio of the first form's figure to the second's: at most this if below 1, else at
    /// least.
    pub ratio: f64,
}

/// A quantity under comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    /// Mean latency.
    Latency,
    /// Time on cores, per request.
    Cpu,
    /// Requests per second.
    Rate,
}

impl Quantity {
    /// In words.
    pub(super) fn name(self) -> &'static str {
        match self {
            Quantity::Latency => "mean latency",
            Quantity::Cpu => "CPU per request",
            Quantity::Rate => "requests per second",
        }
    }
}

const fn against_baseline(quantity: Quantity, from: u32, to: u32, ratio: f64) -> Goal {
    Goal { quantity, form: COOPERATIVE, against: BASELINE, from, to, ratio }
}

/// The goals.
pub(super) const GOALS: [Goal; 4] = [
    against_baseline(Quantity::Latency, 1, 1, 0.7),
    against_baseline(Quantity::Latency, 8, 8, 0.8),
    against_baseline(Quantity::Cpu, 32, u32::MAX, 0.9),
    Goal { quantity: Quantity::Rate, form: REAPER, against: BASELINE, from: 128, to: 128, ratio: 5.0 },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_can_be_carried_out() {
        for is_quick in [false, true] {
            let forms = Form::chosen(&[], is_quick).expect("all can be carried out");
            for goal in GOALS {
                for name in [goal.form, goal.against] {
                    assert!(forms.iter().any(|form| form.name == name), "{name}");
                }
            }
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_a_remedy() {
        for (name, word) in [("scsi", "nvme"), ("coop-poll/sometimes", "timer"), ("warp", "nvme")] {
            let why = Form::parse(name).expect_err("it cannot be measured");
            assert!(why.contains(word), "{name}: {why}");
        }
    }
}
