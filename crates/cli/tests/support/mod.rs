//! The binary and a small drive, for the tests of the command.

#![allow(dead_code)]

pub(crate) mod browser;
pub(crate) mod service_manager;

use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Four chips, 16 MiB, 20,000 requests: a fraction of a second.
pub(crate) const SMALL: &str = "\
seed = 5

[run]
ramp = \"100ms\"
duration = \"0s\"
requests = 20000
round = \"250ms\"

[workload]
read = \"60%\"
read_size = \"4KiB/80:16KiB/20\"
flush_every = 500
region_share = \"100%\"
pace = \"closed\"
depth = 8

[precondition]
state = \"steady\"
fill = \"100%\"

[device]
preset = \"g-1g\"

[device.geometry]
channels = 2
chips = 2
blocks = 32
pages = 16
";

/// A folder with the small scenario in it; removed on drop.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Place {
        let place = Place(TempDir::new().expect("the temporary folder is writable"));
        place.put("small.toml", SMALL.as_bytes());
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, content: &[u8]) -> String {
        std::fs::write(self.path(name), content).expect("the folder is writable");
        name.to_string()
    }

    /// A sparse file of `bytes` zeros.
    pub(crate) fn sparse(&self, name: &str, bytes: u64) {
        let file = std::fs::File::create(self.path(name)).expect("the folder is writable");
        file.set_len(bytes).expect("files can have holes");
    }

    /// Runs the command in this folder.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the binary starts")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tailcut"));
        command.args(arguments).current_dir(self.0.path());
        command
    }

    /// Runs a program in this folder. A hanging program is killed after ten minutes, so that the test fails
    /// instead of hanging.
    pub(crate) fn attempt(&self, program: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new("timeout");
        command
            .args(["--kill-after=10", "600", program])
            .args(arguments)
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        command.output().expect("the program starts")
    }

    /// Runs the command, which must succeed, and returns its output.
    pub(crate) fn text(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        stdout(&output)
    }

    /// Runs the command, which must exit with `code`, and returns its error message.
    pub(crate) fn refused(&self, code: i32, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}{}", stdout(&output), stderr(&output));
        stderr(&output)
    }

    pub(crate) fn json(&self, name: &str) -> Value {
        json(&std::fs::read_to_string(self.path(name)).expect("the file is there"))
    }
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("this is JSON")
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("the output is text")
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("the report is text")
}

/// The result of a call that a stop and continue of the process interrupts: a receive with a timeout is not
/// begun again by the kernel (signal(7)).
pub(crate) fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Compares with a file of the repository; with `TAILCUT_BLESS=1` writes the file instead.
pub(crate) fn golden(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("TAILCUT_BLESS").is_some() {
        std::fs::write(&file, text).expect("the repository is writable");
    }
    let want = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        text == want,
        "{}: what is printed has changed; TAILCUT_BLESS=1 accepts it:\n{text}",
        file.display()
    );
}

/// Whether a process has a handler for SIGINT, signal 2 (proc(5), SigCgt).
#[cfg(target_os = "linux")]
pub(crate) fn listens_to_interrupts(id: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 0b10 != 0)
}

/// Whether all programs are installed; if not, prints what is skipped.
pub(crate) fn has(programs: &[&str]) -> bool {
    let missing: Vec<&str> = programs.iter().copied().filter(|program| !is_installed(program)).collect();
    if !missing.is_empty() {
        eprintln!("skipped: {} not installed; see .ci/programs", missing.join(", "));
    }
    missing.is_empty()
}

/// Whether a fio with NBD support is installed; if not, prints that.
pub(crate) fn has_fio() -> bool {
    if !has(&["fio"]) {
        return false;
    }
    let engines = Command::new("fio").arg("--enghelp").output().expect("fio starts");
    let has_engine = String::from_utf8_lossy(&engines.stdout).contains("nbd");
    if !has_engine {
        eprintln!("skipped: this fio has no engine for NBD");
    }
    has_engine
}

fn is_installed(program: &str) -> bool {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&folders).collect();
    let system = ["/usr/sbin", "/sbin"].map(std::path::PathBuf::from);
    folders.iter().chain(&system).any(|folder| folder.join(program).is_file())
}
