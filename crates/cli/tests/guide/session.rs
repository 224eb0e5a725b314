//! A shell in a temporary folder, as a reader of a page uses it.

use crate::guide::block::{Command as Line, How};
use crate::guide::output::{check, is_elision, moved};
use crate::support::{Place, stderr, stdout};
use clap::Parser;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use tailcut::arguments::Arguments;

/// The folder of a page, and the server that the page has started.
pub(super) struct Session {
    place: Place,
    server: Option<Server>,
}

impl Session {
    /// An empty folder.
    pub(super) fn new() -> Session {
        Session { place: Place::new(), server: None }
    }

    /// Writes a file of the page.
    pub(super) fn put(&self, name: &str, content: &str) {
        self.place.put(name, content.as_bytes());
    }

    /// Runs a command and checks the output that the page shows.
    pub(super) fn run(&mut self, at: &str, command: &Line, how: &How) {
        if let Some(line) = command.line.strip_suffix(" &") {
            let mut server = Server::start(&self.place, line);
            server.hear(at, command, how);
            self.server = Some(server);
        } else if let Some(signal) = signal(&command.line) {
            let server = self.server.take().unwrap_or_else(|| panic!("{at}: there is no server"));
            check(at, &command.shown, &server.stop(at, signal), how.likeness);
        } else {
            self.carry_out(at, command, how);
        }
    }

    fn carry_out(&self, at: &str, command: &Line, how: &How) {
        let output = self.place.attempt("sh", &["-c", &with_path(&command.line)]);
        let said = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.success(), !how.fails, "{at}: {}\n{said}", command.line);
        let sets_in_vain = said.contains(" has no effect") || said.contains(" have no effect");
        assert!(!sets_in_vain, "{at}: an example sets a key without effect: {}\n{said}", command.line);
        if std::env::var_os("TAILCUT_BLESS").is_some() {
            bless(at, &moved(&command.shown, &said, how.likeness));
        } else {
            check(at, &command.shown, &said, how.likeness);
        }
    }

    /// Parses a command as tailcut would, without running it.
    pub(super) fn parse(&self, at: &str, command: &Line) {
        let line = command.line.trim_end_matches('&');
        if !line.trim_start_matches("sudo ").starts_with("tailcut ") {
            return;
        }
        let words = "sudo() { \"$@\"; }; tailcut() { printf '%s\\0' tailcut \"$@\"; }; ";
        let output = self.place.attempt("sh", &["-c", &format!("{words}{line}")]);
        let words = stdout(&output);
        let read = Arguments::try_parse_from(words.trim_end_matches('\0').split('\0'));
        // Help and version are not errors, though they run nothing.
        if let Err(error) = read.map_err(|error| (error.exit_code(), error)) {
            assert_eq!(error.0, 0, "{at}: {line}: {}", error.1);
        }
    }
}

/// Rewrites lines of a page, from the block on that begins at `PAGE:LINE`.
fn bless(at: &str, moved: &[(String, String)]) {
    let (name, line) = at.split_once(':').expect("a page and a line");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    let text = std::fs::read_to_string(&path).expect("the page is there");
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    let mut from: usize = line.parse().expect("a number");
    for (shown, now) in moved {
        let Some(found) = lines.iter().skip(from).position(|line| line == shown) else { continue };
        from += found;
        lines[from].clone_from(now);
    }
    std::fs::write(&path, lines.join("\n") + "\n").expect("the page can be written");
}

/// A server in the background; stopped on drop.
struct Server {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Server {
    fn start(place: &Place, line: &str) -> Server {
        let line = with_path(&format!("exec {line} 2>&1"));
        let mut command = Command::new("sh");
        command.args(["-c", &line]).current_dir(place.path("")).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the shell starts");
        let out = BufReader::new(child.stdout.take().expect("its output is ours"));
        Server { child, out }
    }

    /// Waits until it has printed what the page shows.
    fn hear(&mut self, at: &str, command: &Line, how: &How) {
        for shown in command.shown.iter().filter(|line| !is_elision(line)) {
            let mut line = String::new();
            while !how.likeness.holds(shown, &line) {
                line.clear();
                let length = self.out.read_line(&mut line).expect("the output is text");
                assert_ne!(length, 0, "{at}: the server has ended without saying: {shown}");
            }
        }
    }

    /// Stops it by a signal; returns its last output.
    fn stop(mut self, at: &str, signal: &str) -> String {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().expect("kill is everywhere").success());
        let mut words = String::new();
        self.out.read_to_string(&mut words).expect("the output is text");
        let status = self.child.wait().expect("it is our child");
        assert!(status.success() || signal == CRASH, "{at}: {status}\n{words}");
        words
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            // A page that does not stop it, or a failed test, leaves no process behind.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The signal with which a line ends the server.
fn signal(line: &str) -> Option<&'static str> {
    match line {
        "kill %1" => Some("-TERM"),
        "kill -9 %1" => Some(CRASH),
        _ => None,
    }
}

const CRASH: &str = "-KILL";

/// The line with the binary under test as `tailcut`.
fn with_path(line: &str) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_tailcut"));
    let folder = binary.parent().expect("it is in a folder").display();
    format!("PATH='{folder}':\"$PATH\"; {line}")
}
