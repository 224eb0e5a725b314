//! A drive that does not respond: its commands time out and fail, and the run continues.

use std::collections::VecDeque;
use tailcut_base::{Command, CommandId, Completion, Device, Nanos, Op, Status, Submit, Time};
use tailcut_sim::path::{ControllerKind, HostConfig, SimulatedHost};
use tailcut_sim::world::Checker;
use tailcut_ssd::{Preset, Ssd};

const LIMIT: Nanos = Nanos::millis(10);
const THREADS: u32 = 8;

/// A host whose second drive stops responding after 2 ms; each thread accesses both drives alternately.
fn answers(strategy: &str, controller: ControllerKind) -> Vec<(CommandId, Time, Completion)> {
    let config = HostConfig {
        strategy: strategy.into(),
        threads: THREADS,
        drives: 2,
        controller,
        timeout: LIMIT,
        ..HostConfig::default()
    };
    let drives = vec![Ssd::new(&Preset::G.config(), 1, false), Ssd::new(&Preset::G.config(), 2, false)];
    let checkers = vec![Checker::off(), Checker::off()];
    let mut host: SimulatedHost = SimulatedHost::new(&config, drives, checkers, Nanos::ZERO, 1);
    host.silence(1, Time(Nanos::millis(2).0));
    let half = host.identify().sectors / 2;
    let command = |thread: u32| Command {
        id: CommandId(thread),
        op: Op::Read,
        fua: false,
        class: Default::default(),
        fail_fast: false,
        stream: 0,
        queue: 0,
        sector: u64::from(thread % 2) * half,
        sectors: 8,
        content: 0,
    };
    let mut begun = [Time::ZERO; THREADS as usize];
    let mut next: VecDeque<u32> = (0..THREADS).collect();
    let (mut now, mut answers, mut completions) = (Time::ZERO, Vec::new(), Vec::new());
    while now < Time(Nanos::millis(30).0) {
        for thread in next.drain(..) {
            begun[thread as usize] = now;
            assert_eq!(host.submit(now, &command(thread)), Submit::Accepted);
        }
        now = host.next_event();
        assert_ne!(now, Time::NEVER, "{strategy}: the run is stuck");
        host.advance(now, &mut completions);
        for completion in completions.drain(..) {
            let CommandId(thread) = completion.id;
            answers.push((completion.id, begun[thread as usize], completion));
            next.push_back(thread);
        }
    }
    answers
}

#[test]
fn what_a_silent_drive_has_fails_and_the_run_goes_on() {
    for strategy in ["scsi", "nvme", "nonblocking", "coop", "coop-poll", "spin", "precomplete", "hybrid"] {
        for controller in [ControllerKind::Ahci, ControllerKind::Nvme] {
            let all = answers(strategy, controller);
            let of = |drive: u32| all.iter().filter(move |(CommandId(thread), ..)| thread % 2 == drive);
            let case = format!("{strategy} over {controller}");
            assert!(of(0).all(|(.., answer)| answer.status == Status::Success), "{case}");
            let lately = |(_, begun, _): &&(CommandId, Time, Completion)| begun.0 > Nanos::millis(25).0;
            assert!(of(0).filter(lately).count() > 50, "{case}: the other drive serves on");
            let failed: Vec<_> = of(1).filter(|(.., answer)| answer.status != Status::Success).collect();
            assert!(failed.len() > 50, "{case}: what comes later fails, too");
            let mut timed_out = 0;
            for (_, begun, answer) in failed {
                assert_eq!(answer.status, Status::Gone, "{case}");
                let took = answer.at.since(*begun);
                let is_late = (LIMIT..LIMIT + LIMIT / 2).contains(&took);
                assert!(is_late || took < Nanos::millis(1), "{case}: {took:?}");
                timed_out += u32::from(is_late);
            }
            assert_eq!(timed_out, THREADS / 2, "{case}: each had one command there");
        }
    }
}
