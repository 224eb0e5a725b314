use super::*;
use crate::Clock;
use crate::reactor::{Mailbox, Spin};
use std::sync::Arc;
use tailcut_base::Nanos;

/// A reactor of the test's own thread.
pub(super) fn reactor() -> Reactor<()> {
    let mailbox = Arc::new(Mailbox::new().expect("a descriptor"));
    Reactor::new(mailbox, Spin::new(Nanos::ZERO), Clock::start()).expect("a descriptor")
}

/// A socket served by the test, which echoes each line.
struct Harness {
    folder: tempfile::TempDir,
    socket: ControlSocket,
    reactor: Reactor<()>,
}

impl Harness {
    fn new() -> Harness {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = ControlSocket::bind(&folder.path().join("control")).expect("a socket");
        let reactor = reactor();
        socket.watch(&reactor).expect("memory");
        Harness { folder, socket, reactor }
    }

    fn serve(&mut self) {
        self.socket.serve(&self.reactor, Time::ZERO, |line| format!("you said {line}\n"));
    }

    fn connect(&self) -> UnixStream {
        UnixStream::connect(self.folder.path().join("control")).expect("it listens")
    }

    /// Sends `said` and reads `answers` replies.
    fn talk(&mut self, stream: &mut UnixStream, said: &[u8], answers: usize) -> String {
        stream.write_all(said).expect("it listens");
        stream.set_nonblocking(true).expect("a socket");
        let (mut heard, mut bytes) = (String::new(), [0; 4096]);
        while heard.matches("\n\n").count() < answers {
            self.serve();
            match stream.read(&mut bytes) {
                Ok(0) => break,
                // The connection was closed with unread input.
                Err(why) if why.kind() == ErrorKind::ConnectionReset => break,
                Ok(count) => heard += std::str::from_utf8(&bytes[..count]).expect("it is text"),
                Err(why) => assert_eq!(why.kind(), ErrorKind::WouldBlock),
            }
        }
        heard
    }
}

#[test]
fn each_line_gets_its_answer() {
    let mut harness = Harness::new();
    let mut stream = harness.connect();
    assert_eq!(harness.talk(&mut stream, b"one\ntwo\n", 2), "you said one\n\nyou said two\n\n");
}

#[test]
fn garbage_and_endless_lines_disturb_nobody() {
    let mut harness = Harness::new();
    let mut loud = harness.connect();
    let said = harness.talk(&mut loud, &[0xff; 3 * LINE_MAX], 1);
    assert_eq!(said, "refused: that line is too long\n\n");
    assert_eq!(harness.talk(&mut loud, b"", 1), "", "it is hung up on");
    let mut many: Vec<UnixStream> = (0..3 * PEERS).map(|_| harness.connect()).collect();
    harness.serve();
    assert_eq!(harness.socket.peers.len(), PEERS);
    // Silent peers do not lock out others: the one that has been silent longest makes room.
    let mut good = harness.connect();
    assert_eq!(harness.talk(&mut good, b"status\n", 1), "you said status\n\n");
    many.extend((0..PEERS - 1).map(|_| harness.connect()));
    assert_eq!(harness.talk(&mut good, b"status\n", 1), "you said status\n\n", "who speaks stays longest");
    many.clear();
    // Half a line, then a disconnect.
    drop(harness.talk(&mut harness.connect(), b"free", 0));
    assert_eq!(harness.talk(&mut good, b"free-blocks\n", 1), "you said free-blocks\n\n");
}

#[test]
fn a_socket_has_one_listener_and_outlives_none() {
    let harness = Harness::new();
    let path = harness.folder.path().join("control");
    let taken = ControlSocket::bind(&path).expect_err("it is taken").to_string();
    assert!(taken.contains("is in use by a server that answers"), "{taken}");
    // As after kill -9: the file exists, but no process listens.
    let left = path.with_extension("left");
    drop(std::os::unix::net::UnixListener::bind(&left).expect("a socket"));
    drop(ControlSocket::bind(&left).expect("it is replaced"));
    assert!(!left.exists());
    assert_eq!(ask(&left, "status").expect_err("nobody").kind(), ErrorKind::NotFound);
}

#[test]
fn the_dashboard_asks_for_what_there_is() {
    check_dashboard(
        include_str!("../../../../dashboards/tailcut.json"),
        include_str!("../serve/service/admin.rs"),
    );
    check_dashboard(include_str!("../../../../dashboards/tailcut-kv.json"), include_str!("../kv/admin.rs"));
}

fn check_dashboard(dashboard: &str, told_by_server: &str) {
    let told = [include_str!("figures.rs"), include_str!("process.rs"), told_by_server].concat();
    assert!(!dashboard.contains("[1m]"), "the interval is Grafana's: $__rate_interval");
    let asked: Vec<&str> = dashboard.split("tailcut_").skip(1).collect();
    assert!(asked.len() > 8);
    for after in asked {
        let end = after.find(|c: char| !c.is_ascii_lowercase() && c != '_').expect("a name ends");
        let name = after[..end].trim_end_matches("_bucket").trim_end_matches("_count");
        assert!(told.contains(&format!("\"{name}\"")), "{name} is not told");
    }
}

/// Runs in its own process, because it uses up all descriptors.
#[test]
fn without_descriptors_the_operator_is_heard_and_nobody_spins() {
    const ALONE: &str = "TAILCUT_TEST_WITHOUT_DESCRIPTORS";
    if std::env::var_os(ALONE).is_none() {
        let name = "ctl::tests::without_descriptors_the_operator_is_heard_and_nobody_spins";
        let mut this = std::process::Command::new(std::env::current_exe().expect("it runs"));
        let output = this.args(["--exact", name, "--nocapture"]).env(ALONE, "1").output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let mut harness = Harness::new();
    let mut page = MetricsPage::bind("127.0.0.1:0".parse().expect("an address"), false).expect("a port");
    let Address::Tcp(at) = page.address().clone() else { panic!("it is on TCP") };
    let _prometheus = std::net::TcpStream::connect(at).expect("it listens");
    let silent: Vec<UnixStream> = (0..3).map(|_| harness.connect()).collect();
    let mut operator = harness.connect();
    let limit = rustix::process::Rlimit { current: Some(100), maximum: Some(100) };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).expect("fewer are allowed");
    let mut used = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        used.push(file);
    }
    operator.write_all(b"status\n").expect("it listens");
    operator.set_nonblocking(true).expect("a socket");
    let mut heard = [0; 100];
    let answered = (0..10).find_map(|_| {
        harness.serve();
        operator.read(&mut heard).ok()
    });
    assert!(answered.is_some_and(|count| heard[..count].starts_with(b"you said status")));
    page.watch(&harness.reactor).expect("memory");
    page.serve(&harness.reactor, Time::ZERO, String::new);
    let resumes = page.resumes();
    assert!(resumes != Time::NEVER, "there is none for the page");
    used.clear();
    page.serve(&harness.reactor, Time::ZERO, String::new);
    assert_eq!((page.resumes(), page.connections()), (resumes, 0), "nothing is accepted before its time");
    page.serve(&harness.reactor, resumes, String::new);
    assert_eq!((page.resumes(), page.connections()), (Time::NEVER, 1));
    drop(silent);
}
