//! Benchmark of an emulated drive: throughput and lateness under load.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::time::Duration;
use tailcut_base::fdp::HandleId;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::random::Stream;
use tailcut_base::{Cause, Class, Nanos, Op, Status, Time};
use tailcut_host::{BLOCK_BYTES, Block, Bytes, Mirror, Request, Response};
use tailcut_rt::emulated::{CoreOptions, Late, Lateness, Waiting};
use tailcut_rt::{Answers, Clock, Drive, EmulatedSsd, processor_time, sleep_precisely};
use tailcut_ssd::{Preset, Ssd};

tailcut_base::choice! {
    /// Where the model runs, and how the threads wait.
    pub enum Form {
        /// The drive runs in the user's loop, which spins.
        Inline = "inline",
        /// In the user's loop, which sleeps until the next event of the model.
        InlineSleeping = "inline-sleeping",
        /// A thread that spins, as does its user.
        OwnCore = "own-core",
        /// A thread that spins; its user sleeps until it is woken.
        OwnCoreRings = "own-core-rings",
        /// A thread that sleeps until 64 µs before the next event; its user spins.
        OwnCoreNaps = "own-core-naps",
        /// A thread that sleeps until the next event; its user spins.
        OwnCoreSleeps = "own-core-sleeps",
        /// A thread that polls continuously, but only while no other thread wants its core.
        OwnCoreIdle = "own-core-idle",
    }
}

/// Load on the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Number of requests in flight.
    pub depth: u32,
    /// Percentage of writes among the 4 KiB requests at random addresses; the others are reads.
    pub writes: u32,
}

/// Results of a run.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Number of requests completed in the run.
    pub requests: u64,
    /// Length of the run by the wall clock, in s.
    pub seconds: f64,
    /// CPU time that the process used in the run, in s.
    pub processor: f64,
    /// Lateness of completions when the drive posted them.
    pub late: Lateness,
    /// Lateness of completions when the user saw them.
    pub seen: Lateness,
    /// Latencies of the requests in modelled time, without lateness.
    pub modelled: LatencyHistogram,
}

/// A drive and its user, on this thread.
#[derive(Debug)]
pub struct Harness {
    drive: EmulatedSsd,
    clock: Clock,
    may_spin: bool,
    load: Load,
    random: Stream,
    page: Box<[u8; BLOCK_BYTES as usize]>,
    free: Vec<u32>,
    answers: Answers,
    seen: Lateness,
    modelled: LatencyHistogram,
    requests: u64,
}

/// Blocks that are preconditioned and used by the load: 256 MiB.
const BLOCKS: u64 = 1 << 16;

/// Blocks per preconditioning write.
const AT_A_TIME: u64 = 64;

impl Harness {
    /// A drive of the preset `m-32g` with data on it. `load.depth` is at most its queue depth, 1024.
    ///
    /// # Errors
    /// The thread of the drive, or the eventfd that wakes it, cannot be created.
    pub fn new(form: Form, load: Load) -> io::Result<Harness> {
        let (ssd, clock) = (Ssd::new(&Preset::M.config(), 1, false), Clock::start());
        let own = |waiting| CoreOptions { core: None, waiting, is_idle_priority: form == Form::OwnCoreIdle };
        let drive = match form {
            Form::Inline | Form::InlineSleeping => EmulatedSsd::inline(ssd),
            Form::OwnCore | Form::OwnCoreRings | Form::OwnCoreIdle => {
                EmulatedSsd::on_own_core(ssd, clock, own(Waiting::Spin))?
            }
            Form::OwnCoreNaps => {
                EmulatedSsd::on_own_core(ssd, clock, own(Waiting::Sleep { spin: Nanos(64_000) }))?
            }
            Form::OwnCoreSleeps => {
                EmulatedSsd::on_own_core(ssd, clock, own(Waiting::Sleep { spin: Nanos::ZERO }))?
            }
        };
        sleep_precisely()?;
        let mut harness = Harness {
            drive,
            clock,
            may_spin: !matches!(form, Form::InlineSleeping | Form::OwnCoreRings),
            load: Load { depth: 16, ..load },
            random: Stream::new(1, "emulated load"),
            page: Box::new([7; BLOCK_BYTES as usize]),
            free: (0..16).collect(),
            answers: Answers::default(),
            seen: Lateness::default(),
            modelled: LatencyHistogram::new(),
            requests: 0,
        };
        harness.fill();
        harness.load = load;
        harness.free = (0..load.depth).collect();
        Ok(harness)
    }

    fn fill(&mut self) {
        let mut next = 0;
        while next < BLOCKS || self.free.len() < self.load.depth as usize {
            while next < BLOCKS
                && let Some(id) = self.free.pop()
            {
                let data = vec![Bytes::encode(&*self.page); AT_A_TIME as usize];
                self.submit(id, Op::Write, next, data);
                next += AT_A_TIME;
            }
            self.take();
        }
    }

    /// Runs the load for `long` and returns the results.
    pub fn run(&mut self, long: Duration) -> Measured {
        let (begun, used) = (self.clock.now(), processor_time());
        let end = begun + Nanos(long.as_nanos() as u64);
        self.drive.take_lateness();
        (self.requests, self.seen, self.modelled) = Default::default();
        while self.clock.now() < end {
            while let Some(id) = self.free.pop() {
                self.ask(id);
            }
            self.take();
        }
        let (requests, seconds) = (self.requests, self.clock.now().since(begun).0 as f64 / 1e9);
        let processor = (processor_time() - used).as_secs_f64();
        while self.free.len() < self.load.depth as usize {
            self.take();
        }
        let late = self.drive.take_lateness();
        let (seen, modelled) = (self.seen.clone(), self.modelled.clone());
        Measured { requests, seconds, processor, late, seen, modelled }
    }

    fn ask(&mut self, id: u32) {
        let block = self.random.below(BLOCKS);
        if self.random.below(100) < u64::from(self.load.writes) {
            // As in a server, data received from a socket is copied once.
            let data = vec![Bytes::encode(&*self.page)];
            self.submit(id, Op::Write, block, data);
        } else {
            self.submit(id, Op::Read, block, Vec::new());
        }
    }

    fn submit(&mut self, id: u32, op: Op, block: u64, data: Vec<Bytes>) {
        let blocks = data.len().max(1) as u32;
        let (class, fua, fail_fast) = (Class::DEFAULT, false, false);
        let request = Request {
            id,
            op,
            fua,
            class,
            fail_fast,
            mirror: Mirror::Any,
            handle: HandleId::FIRST,
            block,
            blocks,
            data,
        };
        self.drive.submit(self.clock.now(), request);
    }

    /// Processes completions, or waits for one.
    fn take(&mut self) {
        let now = self.clock.now();
        self.drive.poll(now, &mut self.answers);
        if self.answers.responses.is_empty() {
            return self.wait(now);
        }
        let seen = self.clock.now();
        for response in std::mem::take(&mut self.answers.responses) {
            self.taken(response, now, seen);
        }
    }

    fn taken(&mut self, response: Response<Bytes>, now: Time, seen: Time) {
        assert_eq!(response.status, Status::Success, "nothing fails here");
        if let Some(block) = response.data.first() {
            self.page.copy_from_slice(block.as_slice());
        }
        let waited = response.spans.of(Cause::Poll);
        let modelled = Nanos(response.spans.total().0 - waited.0);
        self.seen.add(Late { by: waited + seen.since(now), modelled });
        self.modelled.record(modelled);
        self.free.push(response.id);
        self.requests += 1;
    }

    fn wait(&mut self, now: Time) {
        if self.may_spin || !self.drive.arm() {
            return std::hint::spin_loop();
        }
        let next = self.drive.next_event();
        let rest = next.0.saturating_sub(now.0);
        let timeout =
            Timespec { tv_sec: (rest / 1_000_000_000) as i64, tv_nsec: (rest % 1_000_000_000) as i64 };
        let timeout = (next != Time::NEVER).then_some(&timeout);
        // A signal may end the sleep early, which is harmless: the caller polls again.
        let _ = match self.drive.wakes() {
            Some(fd) => poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], timeout),
            None => poll(&mut [], timeout),
        };
    }
}
