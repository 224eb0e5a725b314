//! Processes of measurements: one of its own for each, and how much memory it took.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::Write;
use std::process::{Command, Stdio};
use tailcut::failure::Failure;

/// One measurement of a command in a process of its own; returns the JSON that it printed.
///
/// # Errors
/// If the process cannot be started, fails or prints something else.
pub fn spawn<T: DeserializeOwned>(command: &str, what: &str) -> Result<T, Failure> {
    let failed = |why: String| Failure::Operation(format!("measuring {what}: {why}"));
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let child = Command::new(program)
        .args([command, "--alone", what])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !child.status.success() {
        return Err(failed(format!("it ended with {}", child.status)));
    }
    serde_json::from_slice(&child.stdout).map_err(|error| failed(error.to_string()))
}

/// Prints what a measurement in this process has found, for [`spawn`] to read.
///
/// # Errors
/// Standard output cannot be written.
pub fn print_measured(measured: &impl Serialize, out: &mut dyn Write) -> Result<(), Failure> {
    serde_json::to_writer(&mut *out, measured).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// The peak memory of this process in bytes; `None` where the system does not report it (only Linux does).
pub fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}
