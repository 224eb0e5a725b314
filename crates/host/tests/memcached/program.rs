//! The real memcached, if installed, gets the same requests and must give the same replies.

#![allow(clippy::disallowed_types, reason = "memcached itself runs in real time")]

use super::dialogues;
use super::requests::{Request, any_requests};
use super::session::Session;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};
use std::ffi::OsStr;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tailcut_host::wire::memcached::{Attempt, Login, Users};

/// A running memcached on a socket in a temporary directory.
pub(super) struct Program {
    child: Child,
    folder: tempfile::TempDir,
}

/// A connection to the program.
pub(super) struct Connection(UnixStream);

impl Program {
    /// Starts the program; None, with a message, if the reference release is not installed. Optional features
    /// are off, and so is the LRU maintainer thread: memcached does not overwrite a number in place while
    /// another thread references it, but creates a new one.
    pub(super) fn start(options: &[&str]) -> Option<Program> {
        let path = std::env::var_os("TAILCUT_MEMCACHED").unwrap_or_else(|| "memcached".into());
        if !is_reference_release(&path) {
            eprintln!("skipped: memcached {RELEASE} is not installed; TAILCUT_MEMCACHED=PATH names one");
            return None;
        }
        let folder = tempfile::tempdir().expect("there is a place for temporary files");
        let child = Command::new(path)
            .args([
                "-u",
                "root",
                "-t",
                "1",
                "-U",
                "0",
                "-W",
                "-X",
                "-o",
                "no_slab_reassign,no_lru_crawler,no_lru_maintainer",
            ])
            .arg("-s")
            .arg(folder.path().join("socket"))
            .args(options)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it has just told its release");
        Some(Program { child, folder })
    }

    /// Connects as soon as the program listens.
    pub(super) fn connect(&self) -> Connection {
        let socket = self.folder.path().join("socket");
        let stream = std::iter::repeat_with(|| {
            std::thread::yield_now();
            UnixStream::connect(&socket)
        })
        .find_map(Result::ok)
        .expect("it comes to listen");
        Connection(stream)
    }
}

/// The release whose replies are the reference.
const RELEASE: &str = "1.6.45";

/// True if the program is of the reference release; one built from its source archive calls its release
/// UNKNOWN.
fn is_reference_release(path: &OsStr) -> bool {
    let Ok(output) = Command::new(path).arg("-V").output() else { return false };
    let text = String::from_utf8_lossy(&output.stdout);
    matches!(text.trim().strip_prefix("memcached "), Some(RELEASE | "UNKNOWN"))
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Connection {
    /// Receives until `expected` bytes have arrived, or until nothing arrives for `patience` milliseconds.
    fn receive(&mut self, answer: &mut Vec<u8>, expected: usize, patience: u64) {
        self.0.set_read_timeout(Some(Duration::from_millis(patience))).expect("a time to wait can be set");
        let mut piece = [0; 4096];
        while answer.len() < expected {
            match self.0.read(&mut piece) {
                Ok(bytes @ 1..) => answer.extend_from_slice(&piece[..bytes]),
                // A stop and continue of the process interrupts a receive with a timeout (signal(7)).
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                _ => break,
            }
        }
    }

    /// Sends a request and receives `expected` bytes, or fewer if no more arrive.
    pub(super) fn ask(&mut self, request: &[u8], expected: usize) -> Vec<u8> {
        let mut answer = Vec::new();
        self.send(request);
        self.receive(&mut answer, expected.max(1), 5000);
        answer
    }

    /// Sends a request. Write errors on a closed connection are ignored: receiving detects them.
    fn send(&mut self, request: &[u8]) {
        let _ = self.0.write_all(request);
    }
}

/// Sends the same requests to fresh instances of both; reports the first difference, if any.
///
/// Each request waits for the reply to the previous one, since an error in the program can discard replies
/// that were not sent yet. The wait is short, because the program holds replies back until it has received
/// all unwanted data.
fn compare(requests: &[Vec<u8>]) -> Result<(), String> {
    let Some(program) = Program::start(&[]) else { return Ok(()) };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs();
    let (mut connection, mut session) = (program.connect(), Session::as_program(now));
    let mut theirs = Vec::new();
    for request in requests {
        let before = theirs.len();
        session.receive(request);
        connection.send(request);
        // If the connection is closed, expect one extra byte: the end of the stream comes instead.
        let is_closed = usize::from(session.closed.is_some());
        connection.receive(&mut theirs, session.sent.len() + is_closed, 30);
        check(request, &session.sent[before..], &theirs[before..], false)?;
        if session.closed.is_some() {
            break;
        }
    }
    let last = b"mn\r\n".repeat(3);
    session.receive(&last);
    connection.send(&last);
    let is_closed = usize::from(session.closed.is_some());
    connection.receive(&mut theirs, session.sent.len() + is_closed, 2000);
    check(&last, &session.sent, &theirs, true)
}

/// Compares the replies received so far.
fn check(request: &[u8], ours: &[u8], theirs: &[u8], is_all: bool) -> Result<(), String> {
    let same = ours.iter().zip(theirs).take_while(|(ours, theirs)| ours == theirs).count();
    let is_right = if is_all { ours == theirs } else { same == theirs.len() };
    let [request, ours, theirs] =
        [request, &ours[same..], &theirs[same..]].map(|text| text[..text.len().min(300)].escape_ascii());
    if is_right { Ok(()) } else { Err(format!("{request}:\n   ours ...{ours}\n theirs ...{theirs}")) }
}

/// The program's clock advances, ours does not: if its second ends in between, times differ. That is unlikely
/// three times in a row.
fn compare_thrice(requests: &[Vec<u8>]) -> Result<(), String> {
    compare(requests).or_else(|_| compare(requests)).or_else(|_| compare(requests))
}

#[test]
fn the_program_answers_what_is_written() {
    let mut wrong = Vec::new();
    for dialogue in dialogues::all().iter().filter(|dialogue| !dialogue.is_ours) {
        let requests: Vec<Vec<u8>> = dialogue
            .turns
            .iter()
            .map(|(sent, _)| sent.iter().flat_map(|line| dialogues::bytes(line)).collect())
            .collect();
        if let Err(difference) = compare_thrice(&requests) {
            wrong.push(format!("{}: {difference}", dialogue.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_program_closes_at_the_same_byte() {
    let line = |bytes: usize| [&b"mg "[..], &vec![b'k'; bytes - 3]].concat();
    let end = || b"\nmn\r\n".to_vec();
    let many = format!("set key 0 0 1\r\nv\r\nget{}", " key".repeat(30_000)).into_bytes();
    let spaced =
        |spaces: usize| [" ".repeat(spaces).as_bytes(), b"get", " k".repeat(1100).as_bytes()].concat();
    let streams = [
        vec![line(2048), end()],
        vec![line(2049), end()],
        vec![many, end()],
        vec![spaced(100), end()],
        vec![spaced(101), end()],
    ];
    for stream in streams {
        compare(&stream).unwrap_or_else(|difference| panic!("{difference}"));
    }
}

#[test]
fn the_program_lets_in_the_same() {
    let folder = tempfile::tempdir().expect("there is a place for temporary files");
    let file = folder.path().join("users");
    let users = b"root:secret\nguest:a:b c\n";
    std::fs::write(&file, users).expect("it can be written");
    let Some(program) = Program::start(&["-Y", file.to_str().expect("its name is text")]) else { return };
    let users = Users::parse(users).expect("they are users");
    let long = [&b"set x 0 0 16000\r\n"[..], &b"a".repeat(15_000), b" ", &b"b".repeat(999), b"\r\n"].concat();
    let requests: [&[u8]; 19] = [
        b"get x\r\n",
        b"set x 0 0 x\r\n",
        b"set x 0 0 +11\r\n",
        b"set x 0 0 16385\r\n",
        b"set x 0 0 4294967295\r\n",
        b"set x 0 0 4294967296\r\n",
        &long,
        b"set x 0 0 11 a b c d\r\nroot secreT\r\n",
        b"set x 0 0 4\r\nroot\r\n",
        b"set x 0 0 0\r\n\r\n",
        b"set x 0 0 11\r\nroot secret!!",
        b"set x 0 0 11\r\nguest secre\r\n",
        b"set x 0 0 12\r\n root secret\r\n",
        b"set x 0 0 15\r\nroot secret and\r\n",
        b"add x 0 0 11\r\n",
        b"root secret\r\n",
        b"set x 0 0\r\n",
        b"set x 0 0 -1\r\n",
        b"setting x 9 -1 11 noreply\r\nguest a:b c\r\n",
    ];
    let (mut connection, mut login) = (program.connect(), Login::default());
    for (at, mut request) in requests.into_iter().enumerate() {
        let line = match login.next(&users, &mut request) {
            Attempt::Refused(line) => line,
            Attempt::Welcome => b"STORED\r\n",
            attempt => panic!("{at}: {attempt:?}"),
        };
        assert_eq!(connection.ask(requests[at], line.len()), line, "{at}");
        assert!(request.is_empty());
    }
    assert_eq!(connection.ask(b"mn\r\n", 4), b"MN\r\n");
    // A line too short to be any attempt ends the connection.
    let (mut connection, mut login) = (program.connect(), Login::default());
    assert_eq!(login.next(&users, &mut &b"mn\r\n"[..]), Attempt::Close);
    assert_eq!(connection.ask(b"mn\r\n", 1), b"");
}

/// Number of random conversations, multiplied by `TAILCUT_CASES`.
fn widened() -> u32 {
    std::env::var("TAILCUT_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(1)
}

#[test]
fn the_program_answers_the_same_to_anything() {
    if Program::start(&[]).is_none() {
        return;
    }
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 300 * widened(),
        failure_persistence: None,
        max_shrink_iters: 60,
        ..ProptestConfig::default()
    });
    let outcome = runner.run(&any_requests(), |requests: Vec<Request>| {
        let requests: Vec<Vec<u8>> = requests.iter().map(|request| request.0.clone()).collect();
        compare_thrice(&requests).map_err(TestCaseError::fail)
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}
