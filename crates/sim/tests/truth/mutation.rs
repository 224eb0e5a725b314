//! Planted bugs: a device that breaks its guarantees must be detected, or runs prove nothing.

use super::drives;
use super::runs::{TO_THE_END, drive, run, source};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::device::Identify;
use tailcut_base::{Cause, Command, Completion, Device, Nanos, Op, Submit, Time};
use tailcut_sim::world::{RunError, World};
use tailcut_ssd::Ssd;
use tailcut_ssd::precondition::PreparedState;
use tailcut_workload::Recipe;

/// A device's repeated misbehaviour: a single wrong write may be overwritten before it is read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bug {
    None,
    /// A read returns wrong content.
    WrongContent,
    /// A write completes but changes nothing.
    LostWrite,
    /// A write goes to the neighbouring page.
    MisplacedWrite,
    /// A write stores another write's data.
    WrongData,
    /// A trim does nothing.
    LostTrim,
    /// A trim covers one page too many.
    LongTrim,
    /// Two writes of one page are swapped.
    ReorderedWrites,
    /// A completion is delivered twice.
    AnsweredTwice,
    /// A completion is never delivered.
    NeverAnswered,
    /// A span is missing from the attribution.
    MissingSpan,
    /// A span is counted twice.
    DoubleSpan,
    /// A completion is later than the sum of its spans.
    LateCompletion,
}

/// A correct drive with a bug in front of it.
struct Broken {
    drive: Ssd,
    bug: Bug,
    /// The bug strikes at every n-th command or completion of the right kind.
    every: u32,
    seen: u32,
    held: Option<Command>,
}

impl Broken {
    fn strikes(&mut self) -> bool {
        self.seen += 1;
        self.seen.is_multiple_of(self.every)
    }

    fn change(&mut self, command: &mut Command) {
        match (self.bug, command.op) {
            (Bug::LostWrite, Op::Write) if self.strikes() => (command.op, command.sectors) = (Op::Read, 1),
            (Bug::MisplacedWrite, Op::Write) if self.strikes() => command.sector ^= 1,
            (Bug::WrongData, Op::Write) if self.strikes() => command.content ^= 1,
            (Bug::LostTrim, Op::Trim) if self.strikes() => command.op = Op::Read,
            (Bug::LongTrim, Op::Trim) if self.strikes() => {
                command.sector &= !1;
                command.sectors = 2;
            }
            (Bug::ReorderedWrites, Op::Write) => {
                // The data of a write and of the next write to the same page are swapped.
                match self.held.take() {
                    Some(held) if held.sector == command.sector && held.content != command.content => {
                        command.content = held.content;
                    }
                    _ => self.held = Some(*command),
                }
            }
            _ => {}
        }
    }

    fn tamper(&mut self, completion: &mut Completion) -> bool {
        let (bug, is_read) = (self.bug, completion.content != 0);
        match bug {
            Bug::WrongContent if is_read && self.strikes() => completion.content ^= 1 << 40,
            Bug::MissingSpan if completion.spans.total() > Nanos::ZERO && self.strikes() => {
                completion.spans = Default::default()
            }
            Bug::DoubleSpan if self.strikes() => completion.spans.add(Cause::Cell, Nanos(1)),
            Bug::LateCompletion if self.strikes() => completion.at += Nanos(1),
            Bug::NeverAnswered if self.strikes() => return false,
            _ => {}
        }
        true
    }
}

impl Device for Broken {
    fn identify(&self) -> Identify {
        self.drive.identify()
    }

    fn submit(&mut self, now: Time, command: &Command) -> Submit {
        let mut command = *command;
        self.change(&mut command);
        self.drive.submit(now, &command)
    }

    fn next_event(&self) -> Time {
        self.drive.next_event()
    }

    fn advance(&mut self, until: Time, completions: &mut Vec<Completion>) -> bool {
        let before = completions.len();
        let done = self.drive.advance(until, completions);
        let mut new = completions.split_off(before);
        new.retain_mut(|completion| self.tamper(completion));
        completions.extend(new.iter().copied());
        if self.bug == Bug::AnsweredTwice && !new.is_empty() && self.strikes() {
            completions.push(new[0]);
        }
        done
    }

    fn expect(&self, commands: &[Command]) -> u64 {
        self.drive.expect(commands)
    }

    fn control(&mut self, now: Time, call: Control) -> ControlReply {
        self.drive.control(now, call)
    }
}

/// Runs a mixed load over a broken drive. `Err` is the message of a panic.
fn outcome(bug: Bug, every: u32) -> Result<Result<(), RunError>, String> {
    let mut config = drives::plane(32, 8);
    config.ftl.spare = 300_000;
    let (ssd, checker) = drive(&config, PreparedState::Sequential, 1);
    let sectors = ssd.identify().sectors;
    let device = Broken { drive: ssd, bug, every, seen: 0, held: None };
    let recipe = Recipe {
        read_ppm: 600_000,
        trim_ppm: 100_000,
        // One at a time, so that the two writes of a page are in order.
        depth: 1,
        requests: Some(20_000),
        ..super::queueing::one_sector(Recipe::new(sectors.min(32)))
    };
    let mut world = World::new(device, checker, vec![source("load", &recipe, 1)], TO_THE_END);
    catch_unwind(AssertUnwindSafe(|| run(&mut world))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string())).unwrap_or_default()
    })
}

#[test]
fn a_drive_without_bugs_passes() {
    assert_eq!(outcome(Bug::None, 1), Ok(Ok(())));
}

/// The bug must end the run, however often it strikes, with a message that contains `words`.
fn is_caught(bug: Bug, words: &str) {
    for every in [1, 2, 40, 300] {
        match outcome(bug, every) {
            Err(message) => {
                assert!(message.contains(words), "{bug:?} every {every} was caught as: {message}")
            }
            Ok(result) => panic!("{bug:?} every {every} was not caught: {result:?}"),
        }
    }
}

#[test]
fn wrong_contents_are_caught() {
    let contents = [
        Bug::WrongContent,
        Bug::LostWrite,
        Bug::MisplacedWrite,
        Bug::WrongData,
        Bug::LostTrim,
        Bug::LongTrim,
        Bug::ReorderedWrites,
    ];
    for bug in contents {
        is_caught(bug, "read something else than was last written");
    }
}

#[test]
fn wrong_accounts_are_caught() {
    for bug in [Bug::MissingSpan, Bug::DoubleSpan, Bug::LateCompletion] {
        is_caught(bug, "the spans add up to the latency");
    }
}

#[test]
fn a_request_that_is_answered_twice_is_caught() {
    for every in [1, 2, 40, 300] {
        assert!(outcome(Bug::AnsweredTwice, every).is_err(), "every {every}");
    }
}

#[test]
fn a_request_that_is_never_answered_ends_the_run_with_an_error() {
    for every in [1, 2, 40, 300] {
        let stuck = outcome(Bug::NeverAnswered, every);
        assert!(matches!(stuck, Ok(Err(RunError::Stuck { in_flight: 1, .. }))), "{stuck:?} every {every}");
    }
}
