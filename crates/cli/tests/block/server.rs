//! A running server, and programs against it.

use crate::support::Place;
pub use crate::support::has;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

/// `tailcut serve block` in a folder of its own; stopped when it is dropped.
pub struct Server {
    pub place: Place,
    child: Child,
    out: BufReader<ChildStdout>,
    pub uri: String,
}

impl Server {
    /// Starts it on a unix socket and waits until it says where it is.
    pub fn start(more: &[&str]) -> Server {
        Server::at(&["--unix", "socket"], more)
    }

    /// Starts it anywhere.
    pub fn at(address: &[&str], more: &[&str]) -> Server {
        Server::within(Place::new(), address, more)
    }

    fn within(place: Place, address: &[&str], more: &[&str]) -> Server {
        let (child, out) = begin(&place, address, more);
        let mut server = Server { place, child, out, uri: String::new() };
        server.hear_uri();
        server
    }

    /// Starts it on a unix socket in a folder in which there is something already.
    pub fn start_in(place: Place, more: &[&str]) -> Server {
        Server::within(place, &["--unix", "socket"], more)
    }

    /// Starts it again after its end, on a unix socket.
    pub fn start_again(&mut self, more: &[&str]) {
        (self.child, self.out) = begin(&self.place, &["--unix", "socket"], more);
        self.hear_uri();
    }

    /// It speaks when it listens.
    fn hear_uri(&mut self) {
        self.uri.clear();
        while !self.uri.starts_with("nbd") {
            self.uri = self.next_line().trim().to_string();
        }
    }

    /// What it says next.
    pub fn next_line(&mut self) -> String {
        let mut line = String::new();
        assert_ne!(self.out.read_line(&mut line).expect("the output is text"), 0, "the server has ended");
        line
    }

    /// Ends it as a crash would.
    pub fn kill(&mut self) {
        self.signal("-KILL");
        self.last_words();
    }

    /// The URI of another export.
    pub fn uri_of(&self, export: &str) -> String {
        self.uri.replace("/disk", &format!("/{export}"))
    }

    /// Sends a signal.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args([name, &id]).status().expect("kill is everywhere");
        assert!(status.success());
    }

    /// Stops it; its last words, and how it ended.
    pub fn stop(mut self) -> (String, Option<i32>) {
        self.signal("-TERM");
        self.last_words()
    }

    /// What it says until it ends by itself.
    pub fn last_words(&mut self) -> (String, Option<i32>) {
        let mut words = String::new();
        self.out.read_to_string(&mut words).expect("the output is text");
        (words, self.child.wait().expect("it is our child").code())
    }

    /// Runs a program in the server's folder; it must succeed.
    pub fn run(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.attempt(program, arguments);
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{program} {arguments:?}\n{text}");
        text
    }

    /// Runs a program in the server's folder. One that hangs is ended after ten minutes, and the test fails
    /// instead of hanging, too.
    pub fn attempt(&self, program: &str, arguments: &[&str]) -> Output {
        self.place.attempt(program, arguments)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            // A test has failed; nothing is left behind.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn begin(place: &Place, address: &[&str], more: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut command = place.command(&["serve", "block", "--quiet"]);
    command.args(address).args(more).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let out = BufReader::new(child.stdout.take().expect("its output is ours"));
    (child, out)
}

/// Bytes that differ everywhere, with holes of zeros.
pub fn sample(bytes: usize) -> Vec<u8> {
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
