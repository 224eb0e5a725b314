//! Cores: time adds up, shares are fair, sleepers run first.

use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Time};
use tailcut_sim::cpu::{Event, Level, Machine, Piece, Spent, costs};

/// Runs a machine whose threads compute endlessly until `until`; returns what each has done, in pieces.
fn compute(machine: &mut Machine, threads: usize, piece: Nanos, until: Time) -> Vec<u64> {
    let mut done = vec![0; threads];
    while machine.next_event() <= until {
        let now = machine.next_event();
        match machine.serve(now) {
            Some(Event::Thread { cpu, thread }) => {
                done[thread as usize] += 1;
                machine.run(now, cpu, Level::Thread, Piece::preemptible(piece, Spent::Application));
            }
            Some(event) => panic!("nothing interrupts here: {event:?}"),
            None => {}
        }
    }
    done
}

#[test]
fn equal_threads_have_equal_shares_and_the_time_adds_up() {
    let mut machine = Machine::new(1, false);
    let threads: Vec<u32> = (0..5).map(|_| machine.add_thread(0, 0)).collect();
    threads.iter().for_each(|&t| assert!(machine.wake(Time::ZERO, t)));
    let until = Time(Nanos::secs(3).0);
    let done = compute(&mut machine, 5, Nanos::micros(100), until);
    let (least, most) = (done.iter().min().unwrap(), done.iter().max().unwrap());
    assert!(most - least <= 60, "one slice at the most apart: {done:?}");
    let time = &machine.times(until)[0];
    assert_eq!(time.total(), Nanos(until.0));
    let lost = time.of(Spent::Switch) + time.of(Spent::Refill);
    let each = costs::SWITCH + costs::REFILL;
    let all = each * machine.switches() + costs::IDLE_EXIT;
    assert!(lost <= all && all - lost <= each, "the last switch may not be over");
}

#[test]
fn a_slower_core_does_less_in_the_same_time() {
    let done = |speed: u64, has_siblings: bool| {
        let mut machine = Machine::new(1, has_siblings).with_speed(speed);
        let cpus = machine.cpus();
        let threads: Vec<u32> = (0..cpus).map(|cpu| machine.add_thread(0, cpu)).collect();
        threads.iter().for_each(|&t| assert!(machine.wake(Time::ZERO, t)));
        let until = Time(Nanos::millis(500).0);
        let done = compute(&mut machine, cpus, Nanos::micros(100), until);
        assert!(machine.times(until).iter().all(|time| time.total() == Nanos(until.0)));
        done.iter().sum::<u64>() as f64
    };
    for has_siblings in [false, true] {
        let (full, half) = (done(1000, has_siblings), done(500, has_siblings));
        assert!((full / half - 2.0).abs() < 0.01, "{full} pieces at full speed, {half} at half of it");
    }
}

/// A minimal scheduler: the thread with the least time by weight runs, one slice at a time.
fn reference(weights: &[u64], until: u64) -> Vec<f64> {
    let total: u64 = weights.iter().sum();
    let mut ran = vec![0u64; weights.len()];
    let mut now = 0;
    while now < until {
        let next = (0..weights.len()).min_by_key(|&t| ran[t] * 1024 / weights[t]).unwrap();
        ran[next] += 3_000_000;
        now += 3_000_000;
    }
    let _ = total;
    ran.iter().map(|&t| t as f64 / now as f64).collect()
}

#[test]
fn shares_follow_nice_levels_as_those_of_a_plain_scheduler_do() {
    let mut random = Stream::new(5, "nice levels");
    for _ in 0..8 {
        let nice: Vec<i8> = (0..2 + random.below(4)).map(|_| random.below(11) as i8 - 5).collect();
        let mut machine = Machine::new(1, false);
        for &level in &nice {
            let thread = machine.add_thread(level, 0);
            machine.wake(Time::ZERO, thread);
        }
        let until = Time(Nanos::secs(20).0);
        let done = compute(&mut machine, nice.len(), Nanos::micros(500), until);
        let all: u64 = done.iter().sum();
        let weights: Vec<u64> = nice.iter().map(|&n| costs::weight(n)).collect();
        for ((&done, share), nice) in done.iter().zip(reference(&weights, until.0)).zip(&nice) {
            let had = done as f64 / all as f64;
            assert!((had - share).abs() < 0.02, "nice {nice} had {had}, not {share}");
        }
    }
}

#[test]
fn a_sleeper_preempts_a_thread_that_computes() {
    let mut machine = Machine::new(1, false);
    let (busy, sleeper) = (machine.add_thread(0, 0), machine.add_thread(0, 0));
    machine.wake(Time::ZERO, busy);
    compute(&mut machine, 2, Nanos::millis(1), Time(Nanos::millis(100).0));
    let woken = Time(Nanos::millis(100).0 + 1);
    machine.wake(woken, sleeper);
    let runs = loop {
        let now = machine.next_event();
        if let Some(Event::Thread { thread, cpu }) = machine.serve(now) {
            if thread == sleeper {
                break now;
            }
            machine.run(now, cpu, Level::Thread, Piece::preemptible(Nanos::millis(1), Spent::Application));
        }
    };
    assert_eq!(runs.since(woken), costs::HARD_ENTRY + costs::SWITCH + costs::REFILL);
}

#[test]
fn on_a_core_that_is_set_aside_only_what_is_kept_there_runs() {
    for has_siblings in [false, true] {
        let mut machine = Machine::new(3, has_siblings);
        machine.set_aside();
        let many: Vec<u32> = (0..9).map(|cpu| machine.add_thread(0, cpu)).collect();
        let kept = machine.add_thread(19, 0);
        machine.keep(kept, 2);
        many.iter().for_each(|&thread| assert!(machine.wake(Time::ZERO, thread)));
        let until = Time(Nanos::millis(200).0);
        compute(&mut machine, 10, Nanos::micros(100), until);
        let times = machine.times(until);
        let is_aside = |cpu: usize| cpu % 3 == 2;
        for (cpu, time) in times.iter().enumerate() {
            assert_eq!(time.of(Spent::Idle) == Nanos(until.0), is_aside(cpu), "core {cpu}");
        }
        assert!(machine.wake(until, kept));
        let done = compute(&mut machine, 10, Nanos::micros(100), until + Nanos::millis(100));
        assert_eq!(machine.cpu_of(kept), 2);
        assert!(done[kept as usize] > 900, "nobody is in its way, whatever its nice level: {done:?}");
    }
}

#[test]
fn two_threads_on_one_core_with_siblings_share_its_speed() {
    for (threads, expected) in [(1u64, 1000u64), (2, 1250)] {
        let mut machine = Machine::new(1, true);
        for cpu in 0..threads {
            let thread = machine.add_thread(0, cpu as usize);
            machine.wake(Time::ZERO, thread);
        }
        let done = compute(&mut machine, threads as usize, Nanos::micros(100), Time(Nanos::millis(100).0));
        let work = done.iter().sum::<u64>();
        assert!(work.abs_diff(expected) <= 4, "{threads} threads did {work} pieces");
    }
}

#[test]
fn interrupts_go_over_software_interrupts_go_over_threads() {
    let mut machine = Machine::new(1, false);
    let thread = machine.add_thread(0, 0);
    machine.wake(Time::ZERO, thread);
    let start = machine.next_event();
    assert_eq!(start.0, (costs::IDLE_EXIT + costs::SWITCH).0);
    let mut log = Vec::new();
    let mut left = [3, 2, 2];
    let mut handled = 0;
    while machine.next_event() < Time(Nanos::millis(1).0) {
        let now = machine.next_event();
        let Some(event) = machine.serve(now) else { continue };
        let (cpu, level) = match event {
            Event::Hard { cpu, .. } => (cpu, Level::Hard),
            Event::Soft { cpu } => (cpu, Level::Soft),
            Event::Thread { cpu, .. } => (cpu, Level::Thread),
        };
        log.push((now.0, level));
        if left[level as usize] == 0 {
            left[level as usize] = 2;
            match level {
                Level::Hard => machine.leave_hard(now, cpu),
                Level::Soft => machine.leave_soft(now, cpu),
                Level::Thread => machine.block(now, cpu),
            }
            continue;
        }
        left[level as usize] -= 1;
        machine.run(now, cpu, level, Piece::kernel(Nanos(1000), Spent::Application));
        if handled == 0 {
            handled = 1;
            machine.raise_soft(now, cpu);
        } else if level == Level::Soft && handled == 1 {
            handled = 2;
            machine.interrupt(now, cpu, 5);
        }
    }
    let levels: Vec<Level> = log.iter().map(|&(_, level)| level).collect();
    use Level::{Hard, Soft, Thread};
    let expected = [Thread, Soft, Hard, Hard, Hard, Soft, Soft, Thread, Thread, Thread];
    assert_eq!(levels, expected, "{log:?}");
    let times = machine.times(Time(Nanos::millis(1).0));
    let of = |on| times[0].of(on);
    assert_eq!(of(Spent::Interrupt), costs::HARD_ENTRY);
    assert_eq!(of(Spent::SoftInterrupt), costs::SOFT_ENTRY);
    assert_eq!(of(Spent::Application), Nanos(3000 + 2000 + 2000));
}

/// One thread that repeatedly works for `work` and sleeps for `pause`, beside one that computes.
struct Beside {
    machine: Machine,
    work: Nanos,
    pause: Nanos,
    sleeper: u32,
    wakes: Time,
    now: Time,
    /// Number of times it has worked, total wait for the core, and the longest wait.
    turns: u64,
    waited: Nanos,
    longest: Nanos,
}

impl Beside {
    fn new(work: Nanos, pause: Nanos, competes: bool) -> Beside {
        let mut machine = Machine::new(1, false);
        let (busy, sleeper) = (machine.add_thread(0, 0), machine.add_thread(0, 0));
        if competes {
            machine.set_competitor(busy);
        }
        machine.wake(Time::ZERO, busy);
        let (turns, waited, longest) = (0, Nanos::ZERO, Nanos::ZERO);
        Beside { machine, work, pause, sleeper, wakes: Time(1), now: Time::ZERO, turns, waited, longest }
    }

    fn run(&mut self, until: Time) {
        loop {
            let now = self.machine.next_event().min(self.wakes);
            if now > until {
                self.now = until;
                return;
            }
            if now == self.wakes {
                self.machine.wake(now, self.sleeper);
                self.wakes = Time::NEVER;
                continue;
            }
            match self.machine.serve(now) {
                Some(Event::Thread { cpu, thread }) if thread == self.sleeper => self.turn(now, cpu),
                Some(Event::Thread { cpu, .. }) => {
                    let piece = Piece::preemptible(Nanos::millis(1), Spent::Background);
                    self.machine.run(now, cpu, Level::Thread, piece);
                }
                _ => {}
            }
        }
    }

    fn owes(&mut self) -> i64 {
        let now = self.now;
        self.machine.owes(now, self.sleeper).0 as i64
    }

    /// The sleeper has been scheduled, or has finished its work.
    fn turn(&mut self, now: Time, cpu: usize) {
        let (delayed, _) = self.machine.take_delays(self.sleeper);
        if delayed > Nanos::ZERO {
            (self.waited, self.longest) = (self.waited + delayed, self.longest.max(delayed));
            return self.machine.run(now, cpu, Level::Thread, Piece::kernel(self.work, Spent::Application));
        }
        self.turns += 1;
        self.wakes = now + self.pause;
        self.machine.block(now, cpu);
    }
}

/// The scheduler reclaims up to half as much again: it lets a competitor run for a whole slice.
#[test]
fn what_a_thread_will_wait_for_it_owes_at_once() {
    let mut random = Stream::new(7, "debts");
    for _ in 0..20 {
        let work = Nanos(30_000 + random.below(40_000));
        // It demands more than its share, up to the whole core.
        let pause = Nanos(10_000 + random.below(work.0 - 20_000));
        let mut beside = Beside::new(work, pause, true);
        let (mut at_once, mut visible, mut turns) = (0, 0, 0);
        for ms in 1..400 {
            let (before, waited, done) = (beside.owes(), beside.waited, beside.turns);
            beside.longest = Nanos::ZERO;
            beside.run(Time(Nanos::millis(ms).0));
            if beside.longest < Nanos::micros(100) && beside.turns > done + 5 {
                let waited = (beside.waited - waited).0 as i64;
                at_once += waited + beside.owes() - before;
                visible += waited;
                turns += (beside.turns - done) as i64;
            }
        }
        beside.run(Time(Nanos::secs(4).0));
        let all = beside.waited.0 as i64 / beside.turns as i64;
        let (at_once, visible) = (at_once / turns, visible / turns);
        assert!((all * 3 / 5..=all).contains(&at_once), "{work} {pause}: {at_once} of {all} ns");
        assert!(visible < 5000 && visible * 2 < at_once, "{work} {pause}: {visible} of {all} ns were seen");
    }
}

#[test]
fn a_thread_within_its_share_owes_nothing_for_long() {
    for competes in [true, false] {
        let mut beside = Beside::new(Nanos::micros(20), Nanos::micros(80), competes);
        beside.run(Time(Nanos::millis(50).0));
        beside.longest = Nanos::ZERO;
        for ms in 51..150 {
            let now = Time(Nanos::millis(ms).0);
            beside.run(now);
            let owed = beside.owes();
            assert!(owed <= 25_000 && (competes || owed == 0), "{owed} ns");
        }
        assert!(beside.longest < Nanos::micros(10), "{:?}", beside.longest);
    }
}
