//! The cores of a host in virtual time: what runs where, what interrupts it, and when it is done.
//!
//! Each core has three levels: hardware interrupts over software interrupts over threads. The owner directs
//! each level, *piece* by piece: [`Machine::serve`] returns the core and level that have come to the end of
//! their piece, and the owner replies, at the same moment, with the next piece ([`Machine::run`]) or with
//! the end of the level ([`Machine::leave_hard`], [`Machine::leave_soft`], [`Machine::block`]). Pieces in
//! the kernel are not preempted by other threads (`CONFIG_PREEMPT_VOLUNTARY`), those marked `preemptible`
//! are.

mod debt;
mod interrupts;
mod scheduling;

use super::account::{CpuTime, Spent};
use super::costs;
use super::piece::{Event, Level, Piece};
use super::runqueue::{Claim, RunQueue, ThreadId, virtual_runtime};
use debt::Debt;
use tailcut_base::timers::Timers;
use tailcut_base::{Nanos, Time};

/// The interrupt that makes a core look for a better thread; served by the machine itself.
const RESCHEDULE: u32 = 0;

/// The first interrupt that is the owner's to use; the last is 63.
pub const FIRST_IRQ: u32 = 1;

const ALONE: u64 = 1000;
const NOBODY: ThreadId = ThreadId::MAX;

#[derive(Clone, Debug)]
struct Frame {
    /// The owner owes the next piece.
    waits: bool,
    /// Work left, in thousandths of a nanosecond: speeds are thousandths, so that nothing is lost to
    /// rounding.
    left: u64,
    on: Spent,
    preemptible: bool,
}

const INACTIVE: Frame = Frame { waits: false, left: 0, on: Spent::Idle, preemptible: false };

/// What stands between a thread and its next piece when it gets a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Prelude {
    None,
    Switch,
    Refill,
}

#[derive(Clone, Debug)]
struct Cpu {
    levels: [Frame; 3],
    /// The levels that are active, a bit for each.
    active: u8,
    irq: u32,
    pending: u64,
    is_soft_pending: bool,
    current: Option<ThreadId>,
    prelude: Prelude,
    /// Whose data the caches hold.
    last: ThreadId,
    queue: RunQueue,
    /// How long competitors have had it.
    competed: Nanos,
    should_switch: bool,
    /// How long the current thread has run since it was picked.
    ran: Nanos,
    since: Time,
    is_busy: bool,
    /// Speed in thousandths.
    rate: u64,
    time: CpuTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Blocked,
    Ready,
    Running,
}

#[derive(Clone, Debug)]
struct Thread {
    state: State,
    weight: u64,
    is_real_time: bool,
    is_pinned: bool,
    competes: bool,
    /// When it was woken, another ran that did not make way for it.
    waits_its_turn: bool,
    cpu: usize,
    runtime: u64,
    debt: Debt,
    /// The piece that it was running when it lost its core.
    saved: Piece,
    /// Since when it has been ready without running.
    ready_since: Time,
    delayed: Nanos,
    stolen: Nanos,
}

/// The cores of a host: threads, interrupts, their schedulers and time accounts.
#[derive(Clone, Debug)]
pub struct Machine {
    cpus: Vec<Cpu>,
    threads: Vec<Thread>,
    /// One slot for each core: the end of its piece, or of its thread's time slice.
    timers: Timers,
    cores: usize,
    /// The core on which only threads run that are kept there.
    set_aside: Option<usize>,
    has_siblings: bool,
    /// Speed of a core alone, in thousandths of that of the costs.
    speed: u64,
    has_competitors: bool,
    switches: u64,
}

impl Machine {
    /// Idle cores; each shows as two where it has siblings (numbers `i` and `i + cores`).
    pub fn new(cores: usize, has_siblings: bool) -> Machine {
        let count = if has_siblings { 2 * cores } else { cores };
        let cpu = Cpu {
            levels: [INACTIVE, INACTIVE, INACTIVE],
            active: 0,
            irq: 0,
            pending: 0,
            is_soft_pending: false,
            current: None,
            prelude: Prelude::None,
            last: NOBODY,
            queue: RunQueue::default(),
            competed: Nanos::ZERO,
            should_switch: false,
            ran: Nanos::ZERO,
            since: Time::ZERO,
            is_busy: false,
            rate: ALONE,
            time: CpuTime::default(),
        };
        let timers = Timers::new(count);
        Machine {
            cpus: vec![cpu; count],
            threads: Vec::new(),
            timers,
            cores,
            set_aside: None,
            has_siblings,
            speed: ALONE,
            has_competitors: false,
            switches: 0,
        }
    }

    /// Sets the speed of the cores, in thousandths of the one that the costs are those of.
    ///
    /// # Panics
    /// If the speed is so low that a shared core would stand still.
    #[must_use]
    pub fn with_speed(mut self, speed: u64) -> Machine {
        assert!(speed * costs::SHARED_CORE >= ALONE, "a core that shares does some work");
        self.speed = speed;
        self.cpus.iter_mut().for_each(|cpu| cpu.rate = speed);
        self
    }

    /// A new thread, blocked, that ran on `cpu` last, of those that are not set aside.
    #[expect(clippy::missing_panics_doc, reason = "one core at least is not set aside")]
    pub fn add_thread(&mut self, nice: i8, cpu: usize) -> ThreadId {
        let open = (0..self.cpus.len()).filter(|&cpu| self.is_open(cpu));
        let cpu = open.clone().nth(cpu % open.count()).expect("a core is open");
        self.threads.push(Thread {
            state: State::Blocked,
            weight: costs::weight(nice),
            is_real_time: false,
            is_pinned: false,
            competes: false,
            waits_its_turn: false,
            cpu,
            runtime: 0,
            debt: Debt::NEW,
            saved: Piece::NONE,
            ready_since: Time::ZERO,
            delayed: Nanos::ZERO,
            stolen: Nanos::ZERO,
        });
        (self.threads.len() - 1) as ThreadId
    }

    /// A new thread that goes before all that are not of its kind, as Linux's interrupt threads do
    /// (`SCHED_FIFO`).
    pub fn add_real_time_thread(&mut self, cpu: usize) -> ThreadId {
        let thread = self.add_thread(0, cpu);
        self.threads[thread as usize].is_real_time = true;
        self.keep(thread, cpu % self.cpus.len());
        thread
    }

    /// Sets the last core aside, with its sibling: no thread runs on it but those that are
    /// [kept](Machine::keep) there (Linux: `isolcpus`). Before any thread is added.
    ///
    /// # Panics
    /// If there is only one core, or a thread has been added already.
    pub fn set_aside(&mut self) {
        assert!(self.cores > 1 && self.threads.is_empty(), "a core is left for other threads");
        self.set_aside = Some(self.cores - 1);
    }

    /// Keeps a thread on a core for good, also on the one that is set aside.
    pub fn keep(&mut self, thread: ThreadId, cpu: usize) {
        let thread = &mut self.threads[thread as usize];
        (thread.cpu, thread.is_pinned) = (cpu, true);
    }

    /// True when any thread may run on a core.
    #[inline]
    fn is_open(&self, cpu: usize) -> bool {
        self.set_aside != Some(cpu % self.cores)
    }

    /// Number of cores as the scheduler sees them: a core with a sibling counts as two.
    pub fn cpus(&self) -> usize {
        self.cpus.len()
    }

    /// Number of context switches on all cores so far.
    pub fn switches(&self) -> u64 {
        self.switches
    }

    /// The moment of the next event.
    #[inline]
    pub fn next_event(&self) -> Time {
        self.timers.next()
    }

    /// The core on which a thread runs, or ran last.
    #[inline]
    pub fn cpu_of(&self, thread: ThreadId) -> usize {
        self.threads[thread as usize].cpu
    }

    /// Keeps a thread from other cores, or no more.
    #[inline]
    pub fn pin(&mut self, thread: ThreadId, is_pinned: bool) {
        self.threads[thread as usize].is_pinned = is_pinned;
    }

    /// True while a thread sleeps.
    #[inline]
    pub fn is_blocked(&self, thread: ThreadId) -> bool {
        self.threads[thread as usize].state == State::Blocked
    }

    /// How long a thread has been ready without running, and how long interrupts have taken its core, since
    /// this was last asked. Getting the core (the switch and its cold caches) counts as not running.
    #[inline]
    pub fn take_delays(&mut self, thread: ThreadId) -> (Nanos, Nanos) {
        let t = &mut self.threads[thread as usize];
        (std::mem::take(&mut t.delayed), std::mem::take(&mut t.stolen))
    }

    /// The time account of each core until `now`, by core number.
    ///
    /// # Panics
    /// If the account of a core does not add up to `now`, which would be a bug of the model.
    pub fn times(&mut self, now: Time) -> Vec<CpuTime> {
        for cpu in 0..self.cpus.len() {
            self.settle(now, cpu);
            assert_eq!(self.cpus[cpu].time.total(), Nanos(now.0), "the time of core {cpu} adds up");
        }
        self.cpus.iter().map(|cpu| cpu.time.clone()).collect()
    }

    /// For how long cores have been at work until `now`, all together, but for the background.
    pub fn at_work(&mut self, now: Time) -> Nanos {
        let mut sum = Nanos::ZERO;
        for cpu in 0..self.cpus.len() {
            self.settle(now, cpu);
            let time = &self.cpus[cpu].time;
            sum += time.total() - time.of(Spent::Idle) - time.of(Spent::Background);
        }
        sum
    }

    /// Serves the next event, which is due at `now`.
    ///
    /// # Panics
    /// If no event is due at `now`; see [`Machine::next_event`].
    #[inline]
    pub fn serve(&mut self, now: Time) -> Option<Event> {
        let (at, cpu) = self.timers.first().expect("an event is due");
        assert_eq!(at, now, "events are served when they are due");
        self.timers.clear(cpu);
        self.settle(now, cpu);
        let level = self.top(cpu).expect("an idle core has no events");
        let irq = self.cpus[cpu].irq;
        let frame = &mut self.cpus[cpu].levels[level as usize];
        if frame.left > 0 {
            self.resume(now, cpu);
            return None;
        }
        match level {
            Level::Hard if irq == RESCHEDULE => {
                self.leave_hard(now, cpu);
                None
            }
            Level::Hard => {
                frame.waits = true;
                Some(Event::Hard { cpu, irq })
            }
            Level::Soft => {
                frame.waits = true;
                Some(Event::Soft { cpu })
            }
            Level::Thread => self.thread_goes_on(now, cpu),
        }
    }

    /// A thread has come to the end of a piece, or of what stands before it.
    #[inline]
    fn thread_goes_on(&mut self, now: Time, cpu: usize) -> Option<Event> {
        let c = &mut self.cpus[cpu];
        let thread = c.current.expect("the level is active");
        if c.prelude == Prelude::Switch && c.last != thread {
            c.prelude = Prelude::Refill;
            c.last = thread;
            c.levels[0].left = costs::REFILL.0 * ALONE;
            c.levels[0].on = Spent::Refill;
            self.plan(now, cpu);
            return None;
        }
        if c.prelude != Prelude::None {
            c.prelude = Prelude::None;
            let t = &mut self.threads[thread as usize];
            t.delayed += now.since(t.ready_since);
            c.levels[0].set(t.saved);
            if t.saved.work > Nanos::ZERO {
                self.resume(now, cpu);
                return None;
            }
        }
        self.cpus[cpu].levels[0].waits = true;
        Some(Event::Thread { cpu, thread })
    }

    /// Gives a level its next piece.
    ///
    /// # Panics
    /// If the level has not come to the end of its piece.
    #[inline]
    pub fn run(&mut self, now: Time, cpu: usize, level: Level, piece: Piece) {
        let frame = &mut self.cpus[cpu].levels[level as usize];
        assert!(frame.waits, "a level gets a piece when it has come to the end of one");
        frame.waits = false;
        frame.set(piece);
        if self.top(cpu) == Some(level) {
            self.resume(now, cpu);
        }
    }

    /// The top level of a core continues with its piece; a preemptible thread checks whether to yield.
    #[inline]
    fn resume(&mut self, now: Time, cpu: usize) {
        if self.top(cpu) == Some(Level::Thread) && self.may_switch(cpu) {
            let c = &self.cpus[cpu];
            if c.should_switch || (!c.queue.is_empty() && c.ran >= self.slice(cpu)) {
                return self.switch(now, cpu);
            }
        }
        self.plan(now, cpu);
    }

    #[inline]
    fn top(&self, cpu: usize) -> Option<Level> {
        self.cpus[cpu].top()
    }

    /// Accounts for the time up to `now`.
    #[inline]
    fn settle(&mut self, now: Time, cpu: usize) {
        let c = &mut self.cpus[cpu];
        let elapsed = now.since(c.since);
        if elapsed == Nanos::ZERO {
            return;
        }
        c.since = now;
        let Some(level) = c.top() else { return c.time.add(Spent::Idle, elapsed) };
        let frame = &mut c.levels[level as usize];
        frame.left = frame.left.saturating_sub(elapsed.0 * c.rate);
        c.time.add(frame.on, elapsed);
        let Some(thread) = c.current else { return };
        let t = &mut self.threads[thread as usize];
        if level == Level::Thread {
            c.ran += elapsed;
            t.runtime += virtual_runtime(elapsed, t.weight);
            c.queue.move_on(Some(t.runtime));
            match t.competes {
                true => c.competed += elapsed,
                false => t.debt.grow(elapsed, c.queue.competing(), t.weight),
            }
        } else if c.prelude == Prelude::None {
            t.stolen += elapsed;
        }
    }

    /// Sets the next event of a core, which has been settled.
    fn plan(&mut self, now: Time, cpu: usize) {
        self.note_busy(now, cpu);
        let Some(level) = self.top(cpu) else { return self.timers.clear(cpu) };
        let frame = &self.cpus[cpu].levels[level as usize];
        if frame.waits {
            return self.timers.clear(cpu);
        }
        let c = &self.cpus[cpu];
        let mut left = Nanos(frame.left.div_ceil(c.rate));
        if level == Level::Thread && !c.queue.is_empty() && self.may_switch(cpu) && left > Nanos::ZERO {
            let of_slice = self.slice(cpu).saturating_sub(c.ran);
            left = left.min(Nanos(of_slice.0.max(1)));
        }
        self.timers.set(cpu, now + left);
    }

    fn sibling(&self, cpu: usize) -> Option<usize> {
        self.has_siblings.then(|| (cpu + self.cores) % self.cpus.len())
    }

    /// A core that turns busy or idle changes the speed of its sibling.
    fn note_busy(&mut self, now: Time, cpu: usize) {
        let is_busy = self.top(cpu).is_some();
        if self.cpus[cpu].is_busy == is_busy {
            return;
        }
        self.cpus[cpu].is_busy = is_busy;
        if let Some(sibling) = self.sibling(cpu) {
            self.settle(now, sibling);
            self.cpus[sibling].rate =
                if is_busy { self.speed * costs::SHARED_CORE / ALONE } else { self.speed };
            if self.top(sibling).is_some() {
                self.plan(now, sibling);
            }
        }
    }
}

impl Cpu {
    /// The highest level that is active; `None` while the core is idle.
    #[inline]
    fn top(&self) -> Option<Level> {
        match self.active {
            0 => None,
            1 => Some(Level::Thread),
            2..4 => Some(Level::Soft),
            _ => Some(Level::Hard),
        }
    }

    #[inline]
    fn is_active(&self, level: Level) -> bool {
        self.active & 1 << level as u8 != 0
    }

    #[inline]
    fn begin(&mut self, level: Level, left: Nanos, on: Spent) {
        self.active |= 1 << level as u8;
        self.levels[level as usize] = Frame { waits: false, left: left.0 * ALONE, on, preemptible: false };
    }

    #[inline]
    fn end(&mut self, level: Level) {
        self.active &= !(1 << level as u8);
        self.levels[level as usize] = INACTIVE;
    }
}

impl Frame {
    #[inline]
    fn set(&mut self, piece: Piece) {
        (self.left, self.on, self.preemptible) = (piece.work.0 * ALONE, piece.on, piece.preemptible);
    }
}

impl Thread {
    /// Its place in a run queue.
    #[inline]
    fn key(&self) -> u64 {
        if self.is_real_time { 0 } else { self.runtime }
    }

    #[inline]
    fn claim(&self) -> Claim {
        Claim { weight: self.weight, competes: self.competes }
    }
}
