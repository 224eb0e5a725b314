//! A running server, and client programs.

use crate::support::Place;
pub(super) use crate::support::has;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

/// `tailcut serve block` in a temporary folder; stopped on drop.
pub(super) struct Server {
    pub place: Place,
    child: Child,
    out: BufReader<ChildStdout>,
    pub uri: String,
}

impl Server {
    /// Starts it on a Unix socket and waits until it reports its address.
    pub(super) fn start(more: &[&str]) -> Server {
        Server::at(&["--unix", "socket"], more)
    }

    /// Starts it at any address.
    pub(super) fn at(address: &[&str], more: &[&str]) -> Server {
        Server::within(Place::new(), address, more)
    }

    /// Starts it on a Unix socket, by a command that `change` has changed.
    pub(super) fn start_as(place: Place, more: &[&str], change: impl FnOnce(&mut Command)) -> Server {
        Server::within_as(place, &["--unix", "socket"], more, change)
    }

    fn within(place: Place, address: &[&str], more: &[&str]) -> Server {
        Server::within_as(place, address, more, |_| {})
    }

    fn within_as(place: Place, address: &[&str], more: &[&str], change: impl FnOnce(&mut Command)) -> Server {
        let (child, out) = begin_as(&place, address, more, change);
        let mut server = Server { place, child, out, uri: String::new() };
        server.hear_uri();
        server
    }

    /// Starts it on a Unix socket in an existing folder.
    pub(super) fn start_in(place: Place, more: &[&str]) -> Server {
        Server::within(place, &["--unix", "socket"], more)
    }

    /// Restarts it after its end, on a Unix socket.
    pub(super) fn start_again(&mut self, more: &[&str]) {
        (self.child, self.out) = begin(&self.place, &["--unix", "socket"], more);
        self.hear_uri();
    }

    /// The server prints its URI once it listens.
    fn hear_uri(&mut self) {
        self.uri.clear();
        while !self.uri.starts_with("nbd") {
            self.uri = self.next_line().trim().to_string();
        }
    }

    /// Its next line of output.
    pub(super) fn next_line(&mut self) -> String {
        let mut line = String::new();
        assert_ne!(self.out.read_line(&mut line).expect("the output is text"), 0, "the server has ended");
        line
    }

    /// Kills it as a crash would.
    pub(super) fn kill(&mut self) {
        self.signal("-KILL");
        self.last_words();
    }

    /// The URI of another export.
    pub(super) fn uri_of(&self, export: &str) -> String {
        self.uri.replace("/disk", &format!("/{export}"))
    }

    /// Sends a signal.
    pub(super) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args([name, &id]).status().expect("kill is everywhere");
        assert!(status.success());
    }

    /// Stops it; returns its last output and its exit code.
    pub(super) fn stop(mut self) -> (String, Option<i32>) {
        self.signal("-TERM");
        self.last_words()
    }

    /// Its output until it exits by itself, and its exit code.
    pub(super) fn last_words(&mut self) -> (String, Option<i32>) {
        let mut words = String::new();
        self.out.read_to_string(&mut words).expect("the output is text");
        (words, self.child.wait().expect("it is our child").code())
    }

    /// Runs a program in the server's folder, which must succeed.
    pub(super) fn run(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.attempt(program, arguments);
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{program} {arguments:?}\n{text}");
        text
    }

    /// Runs a program in the server's folder. A hanging program is killed after ten minutes, so that the test
    /// fails instead of hanging.
    pub(super) fn attempt(&self, program: &str, arguments: &[&str]) -> Output {
        self.place.attempt(program, arguments)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            // A failed test leaves no process behind.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn begin(place: &Place, address: &[&str], more: &[&str]) -> (Child, BufReader<ChildStdout>) {
    begin_as(place, address, more, |_| {})
}

fn begin_as(
    place: &Place,
    address: &[&str],
    more: &[&str],
    change: impl FnOnce(&mut Command),
) -> (Child, BufReader<ChildStdout>) {
    let mut command = place.command(&["serve", "block", "--quiet"]);
    command.args(address).args(more).stdout(Stdio::piped());
    change(&mut command);
    let mut child = command.spawn().expect("the binary starts");
    let out = BufReader::new(child.stdout.take().expect("its output is ours"));
    (child, out)
}

/// Bytes without repetition, with holes of zeros.
pub(super) fn sample(bytes: usize) -> Vec<u8> {
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    let mut content = Vec::with_capacity(bytes);
    while content.len() < bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let is_hole = content.len() >> 18 & 1 == 1;
        content.extend_from_slice(&if is_hole { 0 } else { state }.to_le_bytes());
    }
    content
}
