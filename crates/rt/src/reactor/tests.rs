use super::*;
use crate::listener::{Address, BindOptions, Listener};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

/// How long the other thread of a test waits: longer than the loop, which fails first.
const PATIENCE: Duration = Duration::from_secs(20);

/// A loop that acknowledges messages. It ends when asked to stop; at a deadline that no test reaches it
/// fails.
struct Harness {
    reactor: Reactor<u32>,
    mailbox: Arc<Mailbox<u32>>,
    acknowledgements: Sender<u32>,
    /// Posted to itself at the last moment before it sleeps.
    late: Option<u32>,
    /// There is always work.
    is_busy: bool,
    iterations: u32,
    events: Vec<Token>,
    fails: Time,
}

impl Harness {
    fn new(acknowledgements: Sender<u32>) -> Harness {
        let mailbox = Arc::new(Mailbox::new().expect("a descriptor"));
        let clock = Clock::start();
        let reactor =
            Reactor::new(Arc::clone(&mailbox), Spin::new(Nanos::ZERO), clock).expect("a descriptor");
        let (late, is_busy, iterations, events) = (None, false, 0, Vec::new());
        let fails = clock.now() + Nanos::secs(10);
        Harness { reactor, mailbox, acknowledgements, late, is_busy, iterations, events, fails }
    }
}

impl EventLoop for Harness {
    type Message = u32;

    fn reactor(&mut self) -> &mut Reactor<u32> {
        &mut self.reactor
    }

    fn iterate(&mut self, now: Time) {
        assert!(now < self.fails, "a wake-up was lost");
        self.iterations += 1;
        let mut messages = self.reactor.receive();
        messages.drain(..).for_each(|message| self.acknowledgements.send(message).expect("the test hears"));
        self.reactor.recycle(messages);
    }

    fn note_event(&mut self, event: Event) {
        self.events.push(event.token());
    }

    fn has_work(&mut self, _: Time) -> bool {
        self.is_busy
    }

    fn deadline(&mut self, _: Time) -> Time {
        self.fails
    }

    fn arm(&mut self) -> bool {
        if let Some(late) = self.late.take() {
            self.mailbox.post(late);
        }
        true
    }
}

#[test]
fn a_message_that_comes_as_the_thread_falls_asleep_wakes_it() {
    let (says, hears) = channel();
    let mut harness = Harness::new(says);
    harness.late = Some(7);
    let mailbox = Arc::clone(&harness.mailbox);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            assert_eq!(hears.recv_timeout(PATIENCE), Ok(7));
            mailbox.stop();
        });
        run(&mut harness);
    });
}

#[test]
fn each_of_many_messages_wakes_it_and_so_does_a_stop() {
    let (says, hears) = channel();
    let mut harness = Harness::new(says);
    let mailbox = Arc::clone(&harness.mailbox);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for message in 0..2000 {
                mailbox.post(message);
                assert_eq!(hears.recv_timeout(PATIENCE), Ok(message));
            }
            mailbox.stop();
        });
        run(&mut harness);
    });
    assert!(harness.events.is_empty(), "messages are no events of the loop");
    assert!(harness.iterations <= 2 * 2001 + 1, "{} iterations", harness.iterations);
}

/// As after a panic of the first loop.
#[test]
fn a_loop_that_takes_over_a_mailbox_ends_if_the_other_was_asked_to_stop() {
    let first = Harness::new(channel().0);
    first.mailbox.stop();
    assert!(first.mailbox.take(&mut Vec::new()));
    let mailbox = Arc::clone(&first.mailbox);
    let clock = Clock::start();
    let reactor = Reactor::new(mailbox, Spin::new(Nanos::ZERO), clock).expect("a descriptor");
    run(&mut Harness { reactor, fails: clock.now() + Nanos::secs(10), ..first });
}

#[test]
fn a_busy_thread_looks_at_its_sockets_now_and_then() {
    let mut harness = Harness::new(channel().0);
    harness.is_busy = true;
    let (mut peer, socket) = UnixStream::pair().expect("sockets");
    socket.set_nonblocking(true).expect("a socket");
    let (mut socket, token) = (Socket::new(socket.into()), Token::source(5));
    socket.watch(&harness.reactor, token).expect("memory");
    for _ in 0..3 {
        harness.events.clear();
        peer.write_all(b"x").expect("room");
        let before = harness.iterations;
        while harness.events.is_empty() {
            let now = harness.reactor.clock.now();
            harness.iterate(now);
            park(&mut harness, now);
            assert!(harness.iterations - before <= Harness::POLL_EVERY, "it does not look");
        }
        assert_eq!(harness.events, [token]);
        assert_eq!(socket.receive(&mut [0; 10]), Received::Bytes(1));
    }
}

/// Runs in its own process, because it uses up all descriptors.
#[test]
fn without_descriptors_a_pending_connection_does_not_keep_the_thread_awake() {
    const ALONE: &str = "TAILCUT_TEST_REACTOR_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let name = "reactor::tests::without_descriptors_a_pending_connection_does_not_keep_the_thread_awake";
        let mut this = std::process::Command::new(std::env::current_exe().expect("it runs"));
        let output = this.args(["--exact", name, "--nocapture"]).env(ALONE, "1").output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let listener = Listener::bind(&Address::Unix(path.clone()), BindOptions::default()).expect("a socket");
    let (mut harness, mut listeners) = (Harness::new(channel().0), Listeners::new(vec![listener], 3));
    listeners.watch(&harness.reactor).expect("memory");
    let wakes = |harness: &mut Harness| {
        harness.events.clear();
        poll(harness, Some(Nanos::ZERO));
        harness.events == [Token::source(3)]
    };
    let _client = UnixStream::connect(&path).expect("it listens");
    let limit = rustix::process::Rlimit { current: Some(100), maximum: Some(100) };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).expect("fewer are allowed");
    let mut used = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        used.push(file);
    }
    assert!(wakes(&mut harness));
    assert!(matches!(listeners.accept(3), Accepted::Exhausted));
    listeners.pause(&harness.reactor, Time(1000));
    assert_eq!(listeners.resumes(), Time(1000) + listeners::PAUSE);
    listeners.resume(&harness.reactor, Time(2000));
    assert!(!wakes(&mut harness), "nothing wakes it before its time");
    listeners.resume(&harness.reactor, listeners.resumes());
    assert_eq!(listeners.resumes(), Time::NEVER);
    assert!(wakes(&mut harness));
    used.clear();
    assert!(matches!(listeners.accept(3), Accepted::Connection(_)));
    assert!(matches!(listeners.accept(3), Accepted::Nothing));
    assert!(!wakes(&mut harness));
}
