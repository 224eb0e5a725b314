//! A dedicated thread that runs an emulated drive.
//!
//! Two rings connect it to the drive's user, one per direction, each with one producer and one consumer. The
//! thread makes a system call only to wake a user that has announced that it sleeps. Data does not cross: it
//! stays with the user (see the module above).

use super::Account;
use super::lateness::{Late, Lateness};
use super::timing::{Ask, DriveOutput, Timing};
use super::wake_event::{WakeEvent, Waker};
use crate::Clock;
use crate::system;
use rtrb::{Consumer, Producer, RingBuffer};
use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use tailcut_base::{Nanos, Time};

/// How the drive's thread waits for its next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Spins: takes a core, and is never late because of sleep.
    Spin,
    /// Sleeps until this long before the event, and spins from then on. A request that arrives during the
    /// sleep costs its user a wakeup.
    Sleep {
        /// How long it spins before an event; zero sleeps up to it.
        spin: Nanos,
    },
}

/// Options of the drive's thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreOptions {
    /// The core to pin the thread to; `None` leaves the choice to the system.
    pub core: Option<usize>,
    /// Whether the thread spins or sleeps until its next event.
    pub waiting: Waiting,
    /// The thread runs at `SCHED_IDLE`, only when no other thread wants the core, so spinning costs others
    /// nothing.
    pub is_idle_priority: bool,
}

/// Maximum number of control calls in flight.
const CALLS: usize = 64;

/// The user's side of a drive with its own thread.
#[derive(Debug)]
pub(super) struct OwnCore {
    asks: Option<Producer<Ask>>,
    told: Consumer<DriveOutput>,
    /// Calls that wait for calls in flight.
    waiting_calls: VecDeque<Ask>,
    calls_in_flight: usize,
    event: WakeEvent,
    waker: Waker,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// State that both threads access.
#[derive(Debug)]
struct Shared {
    lateness: Mutex<Lateness>,
    account: Mutex<Option<Account>>,
}

impl OwnCore {
    /// Starts the drive's thread.
    ///
    /// # Errors
    /// If the system is out of threads or descriptors, or refuses the core or the priority.
    pub(super) fn start(timing: Timing, clock: Clock, options: CoreOptions) -> io::Result<OwnCore> {
        let room = timing.identify().queue_depth as usize + CALLS;
        let (asks, to_serve) = RingBuffer::new(room);
        let (to_tell, told) = RingBuffer::new(room);
        let (event, user) = WakeEvent::new()?;
        let (own_event, waker) = WakeEvent::new()?;
        let shared = Arc::new(Shared { lateness: Mutex::default(), account: Mutex::default() });
        let (ready, is_ready) = std::sync::mpsc::sync_channel(1);
        let device = Device {
            timing,
            clock,
            waiting: options.waiting,
            asks: to_serve,
            told: to_tell,
            event: own_event,
            user,
            shared: shared.clone(),
            unrecorded: Vec::new(),
        };
        let body = move || {
            let placed = options.place();
            let may_run = placed.is_ok();
            if ready.send(placed).is_ok() && may_run {
                device.run();
            }
        };
        let thread = std::thread::Builder::new().name("drive".into()).spawn(body)?;
        is_ready.recv().expect("the thread says how it was placed")?;
        Ok(OwnCore {
            asks: Some(asks),
            told,
            waiting_calls: VecDeque::new(),
            calls_in_flight: 0,
            event,
            waker,
            shared,
            thread: Some(thread),
        })
    }

    /// Sends a command or call to the drive.
    #[inline]
    pub(super) fn ask(&mut self, ask: Ask) {
        if matches!(ask, Ask::Control { .. }) {
            if self.calls_in_flight == CALLS {
                return self.waiting_calls.push_back(ask);
            }
            self.calls_in_flight += 1;
        }
        let asks = self.asks.as_mut().expect("it is open as long as the drive");
        asks.push(ask).expect("there is room for as many as are in flight");
        self.waker.wake();
    }

    /// Appends the drive's completions and replies.
    #[inline]
    pub(super) fn poll(&mut self, told: &mut Vec<DriveOutput>) {
        self.event.disarm();
        while let Ok(next) = self.told.pop() {
            if matches!(next, DriveOutput::Reply(..)) {
                self.calls_in_flight -= 1;
            }
            told.push(next);
        }
        while self.calls_in_flight < CALLS
            && let Some(call) = self.waiting_calls.pop_front()
        {
            self.ask(call);
        }
        assert!(!self.told.is_abandoned(), "the thread of the drive has come to an end");
    }

    /// The descriptor that becomes readable after [`OwnCore::arm`].
    pub(super) fn wakes(&self) -> BorrowedFd<'_> {
        self.event.fd()
    }

    /// Announces that the user is about to sleep.
    pub(super) fn arm(&mut self) -> bool {
        self.event.arm(|| !self.told.is_empty())
    }

    /// Lateness of its completions.
    pub(super) fn lateness(&self) -> Lateness {
        self.shared.lateness.lock().expect("nobody panics with it").clone()
    }

    /// Returns the lateness, and resets it.
    pub(super) fn take_lateness(&self) -> Lateness {
        std::mem::take(&mut *self.shared.lateness.lock().expect("nobody panics with it"))
    }

    /// The drive's last report of its counters and state; None before the first.
    pub(super) fn account(&self) -> Option<Account> {
        self.shared.account.lock().expect("nobody panics with it").clone()
    }
}

impl Drop for OwnCore {
    fn drop(&mut self) {
        self.asks = None;
        self.waker.wake();
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(
            std::thread::panicking() || !matches!(ended, Some(Err(_))),
            "the thread of the drive has failed"
        );
    }
}

impl CoreOptions {
    /// Applies the options to the calling thread.
    fn place(self) -> io::Result<()> {
        if let Some(core) = self.core {
            system::stay_on(core)?;
        }
        if self.is_idle_priority {
            system::yield_to_all()?;
        }
        system::sleep_precisely()
    }
}

/// State of the drive's thread.
struct Device {
    timing: Timing,
    clock: Clock,
    waiting: Waiting,
    asks: Consumer<Ask>,
    told: Producer<DriveOutput>,
    event: WakeEvent,
    user: Waker,
    shared: Arc<Shared>,
    /// Lateness not recorded yet, because another thread held the lock.
    unrecorded: Vec<Late>,
}

/// Interval at which an idle drive reports its counters.
const TOLD_EVERY: Nanos = Nanos(100_000_000);

impl Device {
    fn run(mut self) {
        let mut told = Vec::new();
        let mut told_at = Time::ZERO;
        loop {
            while let Ok(ask) = self.asks.pop() {
                self.timing.ask(ask, &mut told);
            }
            let now = self.clock.now();
            self.timing.serve(now, &mut told);
            if !told.is_empty() {
                self.post(&mut told);
            } else if now >= told_at {
                *self.shared.account.lock().expect("nobody panics with it") = Some(self.timing.account());
                told_at = now + TOLD_EVERY;
            } else if self.asks.is_abandoned() {
                return;
            } else {
                self.wait(now);
            }
        }
    }

    fn post(&mut self, told: &mut Vec<DriveOutput>) {
        for next in told.drain(..) {
            let late = self.late(&next);
            self.told.push(next).expect("there is room for all that is in flight");
            self.unrecorded.extend(late);
        }
        self.user.wake();
        if let Ok(mut lateness) = self.shared.lateness.try_lock() {
            self.unrecorded.drain(..).for_each(|late| lateness.add(late));
        }
    }

    fn late(&self, told: &DriveOutput) -> Option<Late> {
        let DriveOutput::Completion(completion) = told else { return None };
        Some(Late { by: self.clock.now().since(completion.at), modelled: completion.spans.total() })
    }

    fn wait(&mut self, now: Time) {
        let Waiting::Sleep { spin } = self.waiting else { return std::hint::spin_loop() };
        let next = self.timing.next_event();
        let most = (next != Time::NEVER).then(|| {
            let until = self.clock.on_machine(Nanos(next.0.saturating_sub(now.0)));
            Nanos(until.0.saturating_sub(spin.0))
        });
        if most == Some(Nanos::ZERO) {
            return std::hint::spin_loop();
        }
        if self.event.arm(|| !self.asks.is_empty() || self.asks.is_abandoned()) {
            self.event.sleep(most);
        }
        self.event.disarm();
    }
}
