//! A running server, and a client.

use crate::support::Place;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// `tailcut serve kv` in a temporary folder, at any port; stopped on drop.
pub(super) struct Server {
    pub place: Place,
    child: Child,
    out: BufReader<ChildStdout>,
    /// Address and port.
    pub at: String,
    /// The line that reports its address.
    pub greeting: String,
}

impl Server {
    /// Starts it and waits until it reports its address.
    pub(super) fn start(arguments: &[&str]) -> Server {
        Server::start_in(Place::new(), arguments)
    }

    /// Starts it in an existing folder.
    pub(super) fn start_in(place: Place, arguments: &[&str]) -> Server {
        Server::start_as(place, arguments, |_| {})
    }

    /// Starts it in a process set up by `set_up`.
    pub(super) fn start_as(place: Place, arguments: &[&str], set_up: impl FnOnce(&mut Command)) -> Server {
        let mut command = place.command(&["serve", "kv", "--quiet", "-p", "-1"]);
        set_up(&mut command);
        let mut child = command.args(arguments).stdout(Stdio::piped()).spawn().expect("the binary starts");
        let mut out = BufReader::new(child.stdout.take().expect("its output is ours"));
        let mut greeting = String::new();
        out.read_line(&mut greeting).expect("the output is text");
        let at = greeting.trim_end().rsplit(' ').next().unwrap_or_default().to_string();
        Server { place, child, out, at, greeting }
    }

    /// Kills it as a crash would.
    pub(super) fn kill(&mut self) {
        self.signal("-KILL");
        self.last_words();
    }

    /// Restarts it after its end.
    pub(super) fn start_again(mut self, arguments: &[&str]) -> Server {
        let place = std::mem::replace(&mut self.place, Place::new());
        drop(self);
        Server::start_in(place, arguments)
    }

    pub(super) fn client(&self) -> Client {
        Client::to(TcpStream::connect(&self.at).expect("it listens"))
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args([name, &id]).status().expect("kill is everywhere");
        assert!(status.success());
    }

    /// Its next line of output.
    pub(super) fn next_line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).expect("the output is text");
        line
    }

    /// The output of `stats`, by name.
    pub(super) fn stats(&self) -> BTreeMap<String, String> {
        self.client().stats()
    }

    /// The output of `tailcut ctl` or another command about it, which must succeed.
    pub(super) fn tell(&self, arguments: &[&str]) -> String {
        self.run(env!("CARGO_BIN_EXE_tailcut"), arguments)
    }

    /// Stops it; returns its last output and its exit code.
    pub(super) fn stop(&mut self) -> (String, Option<i32>) {
        self.signal("-TERM");
        self.last_words()
    }

    fn last_words(&mut self) -> (String, Option<i32>) {
        let mut words = String::new();
        self.out.read_to_string(&mut words).expect("the output is text");
        (words, self.child.wait().expect("it is our child").code())
    }

    /// Runs a program in the server's folder, which must succeed.
    pub(super) fn run(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.place.attempt(program, arguments);
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{program} {arguments:?}\n{text}");
        text
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

/// A client that sends one line after the other.
pub(super) struct Client(BufReader<TcpStream>);

impl Client {
    /// `None` if the connection is refused.
    pub(super) fn at(address: &str) -> Option<Client> {
        TcpStream::connect(address).ok().map(Client::to)
    }

    fn to(stream: TcpStream) -> Client {
        // A test that would hang fails.
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a good time");
        Client(BufReader::new(stream))
    }

    /// The output of `stats`, by name.
    pub(super) fn stats(&mut self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        let mut line = self.say("stats").expect("it answers");
        while line != "END" {
            let mut words = line.splitn(3, ' ').skip(1).map(String::from);
            all.insert(words.next().expect("a name"), words.next().unwrap_or_default());
            line = self.hear().expect("it answers to the end");
        }
        all
    }

    /// Sends a line and returns the reply line.
    pub(super) fn say(&mut self, line: &str) -> Option<String> {
        self.0.get_mut().write_all(format!("{line}\r\n").as_bytes()).ok()?;
        self.hear()
    }

    pub(super) fn hear(&mut self) -> Option<String> {
        let mut line = String::new();
        self.0.read_line(&mut line).ok().filter(|&bytes| bytes > 0)?;
        Some(line.trim_end().to_string())
    }

    /// True if the write was acknowledged.
    pub(super) fn set(&mut self, key: &str, value: &str) -> bool {
        let told = self.say(&format!("set {key} 0 0 {}\r\n{value}", value.len()));
        told.as_deref() == Some("STORED")
    }

    /// Polls until the server has found everything on its drives; until then a cache may report an existing
    /// item as missing.
    pub(super) fn wait_for_recovery(&mut self) {
        loop {
            let mut line = self.say("stats");
            let mut is_recovering = false;
            while line.as_deref().expect("the server is there") != "END" {
                is_recovering |= line.as_deref() == Some("STAT recovering 1");
                line = self.hear();
            }
            if !is_recovering {
                return;
            }
        }
    }

    pub(super) fn get(&mut self, key: &str) -> Option<String> {
        let head = self.say(&format!("get {key}"))?;
        if head == "END" {
            return None;
        }
        let value = self.hear();
        assert_eq!(self.hear().as_deref(), Some("END"));
        value
    }
}
