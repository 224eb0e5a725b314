//! NVMe Predictable Latency Mode of a drive: its windows, the log about them, and their effects.

use crate::control::Host;
use crate::drives;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::plm::{Config, Events, Log, State, Window};
use tailcut_base::{Nanos, Op};
use tailcut_ssd::nvme::plm::{decode_log, encode_log};
use tailcut_ssd::request::Kind;

fn log(host: &mut Host) -> Log {
    match host.ask(Control::PredictableLatencyLog) {
        ControlReply::Log(log) => {
            assert_eq!(decode_log(&encode_log(&log)), Ok(log), "what a drive says can be sent");
            log
        }
        reply => panic!("{reply:?}"),
    }
}

/// A drive with the mode enabled, in the deterministic window after collection has finished.
fn deterministic(writes: u64) -> Host {
    let mut host = Host::overwritten();
    let config = Config { events: Events::ALL, writes, ..Config::default() };
    assert_eq!(log(&mut host).state, State::Off);
    assert_eq!(host.ask(Control::SelectWindow(Window::Deterministic)), ControlReply::Invalid);
    let call = Control::SetPredictableLatency { is_enabled: true, config };
    assert_eq!(host.ask(call), ControlReply::Done);
    assert_eq!(
        host.ask(Control::GetPredictableLatency),
        ControlReply::PredictableLatency { is_enabled: true, config }
    );
    assert_eq!(log(&mut host).state, State::NonDeterministic);
    host.pass(Nanos::secs(1));
    assert_eq!(host.ask(Control::SelectWindow(Window::Deterministic)), ControlReply::Done);
    host
}

#[test]
fn the_non_deterministic_window_collects_up_to_the_high_threshold() {
    let mut host = deterministic(0);
    assert_eq!(host.free_blocks(), 6);
    assert_eq!(log(&mut host).state, State::Deterministic);
    assert_eq!(host.ask(Control::SelectedWindow), ControlReply::Window(Window::Deterministic));
}

#[test]
fn a_deterministic_window_takes_as_many_writes_as_the_log_says() {
    let mut host = deterministic(0);
    let collections = host.records(Kind::Erase).len();
    let mut left = log(&mut host).writes_left;
    assert!(left > 20, "a window of {left} writes shows nothing");
    while left > 0 {
        host.run(Op::Write, left * 5 % 51);
        left -= 1;
        let log = log(&mut host);
        assert_eq!((log.writes_left, log.state), (left, State::Deterministic));
    }
    host.pass(Nanos::secs(1));
    assert_eq!(host.records(Kind::Erase).len(), collections, "collection has waited");
    host.run(Op::Write, 1);
    let over = log(&mut host);
    assert_eq!(over.state, State::NonDeterministic);
    assert!(over.events.contain(Events::EXCEEDED));
    assert_eq!(log(&mut host).events, Events::NONE, "reading has taken them away");
    assert_eq!(host.ask(Control::SelectedWindow), ControlReply::Window(Window::NonDeterministic));
    host.pass(Nanos::secs(1));
    assert_eq!(host.free_blocks(), 6);
}

#[test]
fn the_host_is_warned_once_and_before_it_is_too_late() {
    let mut host = deterministic(7);
    let mut warnings = Vec::new();
    while log(&mut host).state == State::Deterministic {
        let left = log(&mut host).writes_left;
        host.run(Op::Write, left * 5 % 51);
        let log = log(&mut host);
        if log.events.contain(Events::WRITES) {
            warnings.push(log.writes_left);
        }
        if log.events.contain(Events::EXCEEDED) {
            break;
        }
    }
    assert_eq!(warnings, [7]);
}

#[test]
fn events_that_are_not_wanted_are_not_told() {
    let mut host = deterministic(7);
    let call = Control::SetPredictableLatency { is_enabled: true, config: Config::default() };
    assert_eq!(host.ask(call), ControlReply::Done);
    for page in 0..60 {
        host.run(Op::Write, page % 51);
        assert_eq!(log(&mut host).events, Events::NONE);
    }
}

#[test]
fn a_drive_is_not_in_the_deterministic_window_before_its_own_work_has_ended() {
    let mut host = Host::with_garbage(&drives::with_high(6));
    host.ask(Control::SetPredictableLatency { is_enabled: true, config: Config::default() });
    host.pass(Nanos::micros(10));
    host.ask(Control::SelectWindow(Window::Deterministic));
    assert_eq!(log(&mut host).state, State::NonDeterministic);
    let rest = log(&mut host).rest_low_ms;
    host.pass(Nanos::millis(rest));
    assert_eq!(log(&mut host).state, State::Deterministic, "not after {rest} ms");
}

#[test]
fn the_time_that_the_log_gives_is_enough_to_make_the_typical_room() {
    let mut host = deterministic(0);
    let Log { rest_high_ms, writes_typical, .. } = log(&mut host);
    assert_eq!(writes_typical, 4 * 8);
    while log(&mut host).state == State::Deterministic {
        let left = log(&mut host).writes_left;
        host.run(Op::Write, left * 5 % 51);
    }
    host.ask(Control::SelectWindow(Window::NonDeterministic));
    host.pass(Nanos::millis(rest_high_ms));
    assert_eq!(host.free_blocks(), 6);
    assert!(log(&mut host).writes_left >= writes_typical);
}

#[test]
fn switched_off_a_drive_is_as_before() {
    let mut host = deterministic(0);
    host.ask(Control::SetPredictableLatency { is_enabled: false, config: Config::default() });
    assert_eq!(log(&mut host).state, State::Off);
    assert_eq!(host.ask(Control::SelectedWindow), ControlReply::Invalid);
    for page in 0..200 {
        host.run(Op::Write, page * 5 % 51);
    }
    assert!(host.free_blocks() <= 3, "it collects from the low threshold on, and no further");
    host.ssd.check();
}
