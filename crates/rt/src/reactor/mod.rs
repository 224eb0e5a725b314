//! The event loop of all threads that serve: acceptors, control server, TLS relay, block services, workers of
//! the key-value server, and embedded stores.
//!
//! Such a thread is an [`EventLoop`], which [`run`] drives:
//!
//! 1. [`EventLoop::iterate`] takes messages from the [`Mailbox`] and carries out the work at hand;
//! 2. while there is more work, further iterations follow, with a poll of the sockets now and then;
//! 3. without work, the thread busy-polls for a while where that pays ([`Spin`]);
//! 4. then it sleeps in epoll until a socket is ready, a message arrives or a deadline passes.
//!
//! No wake-up is lost: before it sleeps, the thread arms its drive and its mailbox, and each of them refuses
//! if it has work already. A thread that is awake costs the senders of messages no system call.
//!
//! There is one way to stop a thread: [`Mailbox::stop`]. The thread completes its work in its own way, until
//! [`EventLoop::is_done`].
//!
//! Connections live in [`Slots`]. The token of a connection counts the generations of its slot, so an event
//! of a closed connection does not reach its successor.

mod listeners;
mod mailbox;
mod slots;
mod socket;
mod spin;

pub use listeners::{Accepted, Listeners};
pub use mailbox::Mailbox;
pub use slots::{Slots, Token};
pub use socket::{Received, Socket};
pub use spin::Spin;

use crate::Clock;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use spin::{PREEMPTED, PollResult};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use tailcut_base::{Nanos, Time};

/// The state of a thread, and the steps of its event loop. See the [module](self).
pub trait EventLoop {
    /// Messages that other threads send it.
    type Message;

    /// A busy thread polls its sockets after this many iterations, or after iterations of 5 ms.
    const POLL_EVERY: u32 = 16;

    /// Its reactor.
    fn reactor(&mut self) -> &mut Reactor<Self::Message>;

    /// Runs an iteration, which begins at `now`: takes messages, and carries out the work at hand. Messages
    /// are handled at `now` as well, because the times that a drive is given never decrease.
    fn iterate(&mut self, now: Time);

    /// True once the loop is to end, asked after each iteration; by default as soon as it was asked to stop.
    fn is_done(&mut self) -> bool {
        self.reactor().is_stopping()
    }

    /// Records a readiness event; the next iteration handles it.
    fn note_event(&mut self, _event: Event) {}

    /// True if another iteration has work at `now`, without further events or messages.
    fn has_work(&mut self, _now: Time) -> bool {
        false
    }

    /// When the next iteration is due without an event or a message; [`Time::NEVER`], the default, if none
    /// is.
    fn deadline(&mut self, _now: Time) -> Time {
        Time::NEVER
    }

    /// Arms the drive to wake the thread; false if it has work already.
    fn arm(&mut self) -> bool {
        true
    }

    /// Looks for work once, while it busy-polls.
    fn busy_poll(&mut self)
    where
        Self: Sized,
    {
        poll(self, Some(Nanos::ZERO));
    }

    /// False if no client is connected whose requests busy polling could find.
    fn has_clients(&self) -> bool {
        true
    }
}

/// Runs an event loop on the calling thread until it is done.
pub fn run<L: EventLoop>(server: &mut L) {
    loop {
        let began = server.reactor().clock.now();
        server.iterate(began);
        if server.is_done() {
            return;
        }
        park(server, began);
    }
}

/// After an iteration that has begun at `began`: returns at once if there is more work; otherwise busy-polls,
/// and then sleeps.
pub(crate) fn park<L: EventLoop>(server: &mut L, began: Time) {
    let now = server.reactor().end_iteration(began);
    if has_work(server, now) || busy_poll(server) {
        let Reactor { unpolled, polled, .. } = *server.reactor();
        if unpolled >= L::POLL_EVERY || now.since(polled) > POLL_AFTER {
            poll(server, Some(Nanos::ZERO));
        }
        return;
    }
    server.reactor().prepare_sleep();
    if server.arm() && server.reactor().mailbox.arm() {
        let now = server.reactor().clock.now();
        let until = server.deadline(now);
        let patience = (until != Time::NEVER).then(|| Nanos(until.0.saturating_sub(now.0)));
        poll(server, patience);
        server.reactor().mailbox.disarm();
    }
}

/// Records the events that are pending or occur within `patience`; waits without limit if it is `None`.
pub(crate) fn poll<L: EventLoop>(server: &mut L, patience: Option<Nanos>) {
    let mut events = [MaybeUninit::uninit(); EVENTS];
    for &epoll::Event { flags, data } in server.reactor().wait(patience, &mut events) {
        let token = Token::from(data);
        if token != Token::MAILBOX {
            server.note_event(Event { token, flags });
        }
    }
}

fn has_work<L: EventLoop>(server: &mut L, now: Time) -> bool {
    server.reactor().mailbox.has_unread() || server.has_work(now)
}

/// Busy-polls if that pays; true if it has found work.
fn busy_poll<L: EventLoop>(server: &mut L) -> bool {
    let clock = server.reactor().clock;
    let patience = server.reactor().spin.patience();
    if patience == Nanos::ZERO {
        return false;
    }
    let mut before = clock.now();
    let until = before + clock.passing_in(patience);
    let mut was_preempted = false;
    loop {
        server.busy_poll();
        let now = clock.now();
        was_preempted |= now.since(before) > PREEMPTED;
        before = now;
        let has_work = has_work(server, now);
        if has_work || now >= until || !server.has_clients() {
            let reactor = server.reactor();
            reactor.spin.judge(match (was_preempted, has_work) {
                (true, _) => PollResult::Preempted,
                (false, true) => PollResult::Found,
                (false, false) => PollResult::InVain,
            });
            reactor.spin.apply_priority();
            return has_work;
        }
        std::hint::spin_loop();
    }
}

/// The event sources of a thread, and how it waits for them.
#[derive(Debug)]
pub struct Reactor<M> {
    epoll: OwnedFd,
    mailbox: Arc<Mailbox<M>>,
    /// Memory for messages.
    messages: Vec<M>,
    clock: Clock,
    spin: Spin,
    /// Iterations since the last poll, and when the first of them began.
    unpolled: u32,
    polled: Time,
    is_stopping: bool,
}

impl<M> Reactor<M> {
    /// A reactor for the thread that reads `mailbox`, and busy-polls as `spin` decides.
    ///
    /// # Errors
    /// If the system is out of descriptors.
    pub fn new(mailbox: Arc<Mailbox<M>>, spin: Spin, clock: Clock) -> io::Result<Reactor<M>> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        // Edge-triggered: a wake-up need not be read from the mailbox's descriptor.
        epoll::add(&epoll, &*mailbox, Token::MAILBOX.into(), EDGE)?;
        // A loop that takes over from another one may be asked to stop already.
        let (messages, polled, is_stopping) = (Vec::new(), Time::ZERO, mailbox.is_stopping());
        Ok(Reactor { epoll, mailbox, messages, clock, spin, unpolled: 0, polled, is_stopping })
    }

    /// Takes the messages that have arrived. Give the vector back with [`Reactor::recycle`] for its memory.
    pub fn receive(&mut self) -> Vec<M> {
        if self.mailbox.has_unread() {
            self.is_stopping = self.mailbox.take(&mut self.messages);
        }
        std::mem::take(&mut self.messages)
    }

    /// Takes back a vector that is empty again.
    pub fn recycle(&mut self, mut messages: Vec<M>) {
        messages.clear();
        self.messages = messages;
    }

    /// True if the thread was asked to stop before its last [`Reactor::receive`].
    pub fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    /// Watches a source for events.
    ///
    /// # Errors
    /// If the system is out of memory for it.
    pub fn watch(&self, source: impl AsFd, token: Token, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, source, token.into(), flags)?)
    }

    /// Watches a source that is watched for other events.
    ///
    /// # Panics
    /// If the source is not watched.
    pub fn watch_for(&self, source: impl AsFd, token: Token, flags: EventFlags) {
        epoll::modify(&self.epoll, source, token.into(), flags)
            .expect("a socket that is watched can be watched otherwise");
    }

    /// Ends watching a source. Needed only for one that is handed over; a source that is closed is not
    /// watched any more.
    ///
    /// # Errors
    /// If it was not watched.
    pub fn forget(&self, source: impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, source)?)
    }

    /// Counts an iteration; returns when it ended. At idle priority the thread may have lost its core in it.
    fn end_iteration(&mut self, began: Time) -> Time {
        let now = self.clock.now();
        if self.unpolled == 0 {
            self.polled = began;
        }
        self.unpolled += 1;
        if self.spin.is_yielding() && now.since(began) > PREEMPTED {
            self.spin.was_preempted();
            self.spin.apply_priority();
        }
        now
    }

    fn prepare_sleep(&mut self) {
        if self.spin.is_yielding() {
            self.spin.before_sleep();
            self.spin.apply_priority();
        }
    }

    fn wait<'e>(
        &mut self,
        patience: Option<Nanos>,
        events: &'e mut [MaybeUninit<epoll::Event>],
    ) -> &'e [epoll::Event] {
        self.unpolled = 0;
        let patience = patience.map(|patience| self.clock.on_machine(patience));
        let span = patience.map(|Nanos(nanos)| Timespec {
            tv_sec: (nanos / 1_000_000_000) as i64,
            tv_nsec: (nanos % 1_000_000_000) as i64,
        });
        // Milliseconds are too coarse for the latency of a drive; poll has nanosecond resolution on all
        // kernels.
        let is_fine = patience.is_some_and(|patience| patience > Nanos::ZERO && patience < COARSE);
        if is_fine {
            // Ignored: the events show what has occurred.
            let _ = rustix::event::poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], span.as_ref());
        }
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let span = if is_fine { Some(&zero) } else { span.as_ref() };
        match epoll::wait(&self.epoll, events, span) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => &[],
            Err(error) => panic!("waiting for events failed: {error}"),
        }
    }
}

/// A readiness event of a source.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    token: Token,
    flags: EventFlags,
}

impl Event {
    /// The token under which the source of the event is watched.
    pub fn token(&self) -> Token {
        self.token
    }

    /// The source takes more data, after it was full.
    pub fn has_room(&self) -> bool {
        self.flags.contains(EventFlags::OUT)
    }

    /// Data has arrived, or the peer has ended its side.
    pub fn has_arrived(&self) -> bool {
        self.is_gone() || self.flags.intersects(EventFlags::IN | EventFlags::RDHUP)
    }

    /// The peer has ended its side: nothing follows what has arrived.
    pub fn is_hung(&self) -> bool {
        self.is_gone() || self.flags.contains(EventFlags::RDHUP)
    }

    /// The connection is closed in both directions, or has failed.
    pub fn is_gone(&self) -> bool {
        self.flags.intersects(EventFlags::HUP | EventFlags::ERR)
    }
}

impl From<Token> for EventData {
    fn from(token: Token) -> EventData {
        EventData::new_u64(token.get())
    }
}

impl From<EventData> for Token {
    fn from(data: EventData) -> Token {
        Token::new(data.u64())
    }
}

/// Watches a source for data as long as there is some (level-triggered).
pub const READABLE: EventFlags = EventFlags::IN;
/// Watches a source as long as it takes data (level-triggered).
pub const WRITABLE: EventFlags = EventFlags::OUT;
/// Watches a source for each arrival of data. Right for drives: they reset their descriptor only when they
/// are armed, and a thread that busy-polls would otherwise see it readable, and find work, for ever.
pub const EDGE: EventFlags = EventFlags::IN.union(EventFlags::ET);
/// A busy thread polls its sockets after iterations of this total time.
const POLL_AFTER: Nanos = Nanos::millis(5);
/// Timeouts from here on can be rounded to milliseconds.
const COARSE: Nanos = Nanos::millis(10);
/// Maximum number of events per poll.
const EVENTS: usize = 64;

#[cfg(test)]
mod tests;
