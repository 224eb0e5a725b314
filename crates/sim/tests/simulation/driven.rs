//! A source driven by the completions of its own requests.

use std::cell::RefCell;
use std::rc::Rc;
use tailcut_base::{Class, Nanos, Op, Status, Time};
use tailcut_sim::Scenario;
use tailcut_sim::world::{Limits, World};
use tailcut_ssd::{Preset, Ssd};
use tailcut_workload::{DrivenRequest, Pace, Request, Source};

/// The log of each thread of an application: submission and completion times of its requests.
type Log = Rc<RefCell<Vec<(u64, Time, Time)>>>;

/// Threads that compute for `cpu`, read a sector, and wait for it.
struct Threads {
    cpu: Nanos,
    left: u64,
    wakes: Vec<Time>,
    asked: Vec<Time>,
    log: Log,
}

impl Threads {
    fn new(threads: usize, cpu: Nanos, requests: u64) -> (Threads, Log) {
        let log = Log::default();
        let wakes = vec![Time::ZERO + cpu; threads];
        let asked = vec![Time::ZERO; threads];
        (Threads { cpu, left: requests, wakes, asked, log: log.clone() }, log)
    }
}

impl Source for Threads {
    fn name(&self) -> &str {
        "threads"
    }

    fn pace(&self) -> Pace {
        Pace::Driven { depth: self.wakes.len() as u32 }
    }

    fn next(&mut self) -> Option<Request> {
        unreachable!("a driven source is not drawn")
    }

    fn len_hint(&self) -> Option<u64> {
        None
    }

    fn advance(&mut self, now: Time, asked: &mut Vec<DrivenRequest>) {
        for thread in 0..self.wakes.len() {
            let due = self.wakes[thread];
            if due > now {
                continue;
            }
            self.wakes[thread] = Time::NEVER;
            if self.left == 0 {
                continue;
            }
            self.left -= 1;
            self.asked[thread] = due;
            let request = Request {
                due,
                op: Op::Read,
                fua: false,
                class: Class::DEFAULT,
                stream: 0,
                sector: (self.left % 1000) * 8,
                sectors: 8,
            };
            asked.push(DrivenRequest { request, token: thread as u64 });
        }
    }

    fn next_event(&self) -> Time {
        self.wakes.iter().copied().min().unwrap_or(Time::NEVER)
    }

    fn answered(&mut self, now: Time, token: u64, status: Status) {
        assert_eq!(status, Status::Success);
        self.log.borrow_mut().push((token, self.asked[token as usize], now));
        self.wakes[token as usize] = now + self.cpu;
    }
}

fn world(queue: u32, limits: Limits, source: Threads) -> World<Ssd> {
    let mut scenario = Scenario { run: limits, ..Scenario::default() };
    scenario.device = Preset::G.config();
    scenario.device.queue.depth = queue;
    let (ssd, checker) = scenario.prepare(()).expect("a good drive");
    World::new(ssd, checker, vec![Box::new(source)], scenario.run)
}

#[test]
fn each_thread_computes_between_an_answer_and_its_next_request() {
    let (source, log) = Threads::new(3, Nanos::micros(7), 300);
    let mut world = world(64, Limits::NONE, source);
    world.run(&mut |_| std::ops::ControlFlow::Continue(()), &mut |_, _| ()).expect("it ends");
    assert_eq!(world.completed(), 300);
    let log = log.borrow();
    for thread in 0..3 {
        let own: Vec<_> = log.iter().filter(|(token, ..)| *token == thread).collect();
        assert!((95..=105).contains(&own.len()), "equal threads get about as much: {}", own.len());
        for pair in own.windows(2) {
            assert_eq!(pair[1].1, pair[0].2 + Nanos::micros(7));
        }
    }
    // The run ends with its last completion, whatever the threads would have computed after it.
    let last = log.iter().map(|(.., at)| *at).max().expect("answers");
    assert!(world.now() <= last + Nanos::micros(7));
}

#[test]
fn a_full_device_delays_requests_and_not_the_threads() {
    let (source, log) = Threads::new(16, Nanos::micros(5), 2000);
    let mut world = world(2, Limits::NONE, source);
    world.run(&mut |_| std::ops::ControlFlow::Continue(()), &mut |_, _| ()).expect("it ends");
    assert_eq!((world.completed(), log.borrow().len()), (2000, 2000));
    assert!(world.stats.queue_stall > Nanos::ZERO);
    // Latencies count from the thread's submission.
    let sum: u64 = log.borrow().iter().map(|(_, asked, at)| at.since(*asked).0).sum();
    assert_eq!(u128::from(sum), world.stats.all().latency.sum());
}

#[test]
fn limits_of_requests_and_of_time_end_an_application() {
    let (source, log) = Threads::new(4, Nanos::micros(5), u64::MAX);
    let mut counted = world(64, Limits { requests: 500, ..Limits::NONE }, source);
    counted.run(&mut |_| std::ops::ControlFlow::Continue(()), &mut |_, _| ()).expect("it ends");
    assert_eq!((counted.completed(), log.borrow().len()), (500, 500));

    let (source, _) = Threads::new(4, Nanos::micros(5), u64::MAX);
    let end = Nanos::millis(20);
    let mut timed = world(64, Limits { duration: end, ..Limits::NONE }, source);
    timed.run(&mut |_| std::ops::ControlFlow::Continue(()), &mut |_, _| ()).expect("it ends");
    assert!(timed.completed() > 100 && timed.now() < Time::ZERO + end + Nanos::millis(20));
}
