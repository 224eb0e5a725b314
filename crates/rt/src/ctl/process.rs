//! The process of a server: its version, age, processor time, memory and descriptors.

use crate::system;
use std::fmt::Write;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};
use tailcut_base::Nanos;
use tailcut_base::quantity::{show_bytes, show_time};
use tailcut_host::wire::metrics::{Kind, Metrics};

/// Adds metrics of the process, which has run for `uptime`: those that client libraries of Prometheus have,
/// under their names.
pub(crate) fn count(uptime: Nanos, metrics: &mut Metrics) {
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    metrics.add(Kind::Gauge, "build_info", "1, with the version of the program.", &version, 1.0);
    let uptime = uptime.0 as f64 / 1e9;
    metrics.add(Kind::Gauge, "uptime_seconds", "Time since the start.", &[], uptime);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
    metrics.add(Kind::Gauge, "process_start_time_seconds", START_TIME, &[], (now - uptime).max(0.0));
    // What the system does not report is left out.
    if let Ok(times) = system::user_and_system_time() {
        let seconds = times.iter().map(|time| time.0 as f64 / 1e9).sum();
        metrics.add(Kind::Counter, "process_cpu_seconds_total", CPU, &[], seconds);
    }
    if let Some(bytes) = resident_bytes() {
        metrics.add(Kind::Gauge, "process_resident_memory_bytes", RESIDENT, &[], bytes as f64);
    }
    if let Some(open) = open_descriptors() {
        metrics.add(Kind::Gauge, "process_open_fds", "Open file descriptors.", &[], open as f64);
    }
    if let Some(most) = system::most_descriptors() {
        metrics.add(Kind::Gauge, "process_max_fds", "Limit of open file descriptors.", &[], most as f64);
    }
}

/// The process in words, one `key value` line each.
pub(crate) fn describe(uptime: Nanos) -> String {
    let mut text = format!(
        "process {}\nversion {}\nuptime {}\n",
        std::process::id(),
        env!("CARGO_PKG_VERSION"),
        show_time(uptime.0 as f64)
    );
    let mut line = |line: String| writeln!(text, "{line}").expect("a text takes all");
    if let Ok([user, kernel]) = system::user_and_system_time() {
        let [user, kernel] = [user, kernel].map(|time| show_time(time.0 as f64));
        line(format!("processor time {user} user, {kernel} system"));
    }
    if let Some(bytes) = resident_bytes() {
        line(format!("resident memory {}", show_bytes(bytes as f64)));
    }
    if let (Some(open), Some(most)) = (open_descriptors(), system::most_descriptors()) {
        line(format!("descriptors {open} of {most}"));
        if open >= most / 10 * 9 {
            line(String::from(
                "warning: nearly all descriptors are in use, and clients are turned away when none is left: \
                 raise the limit (LimitNOFILE, ulimit -n)",
            ));
        }
    }
    text
}

/// Resident memory (proc_pid_status(5)).
fn resident_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

/// Descriptors that are open, without the one for counting them.
fn open_descriptors() -> Option<u64> {
    Some(fs::read_dir("/proc/self/fd").ok()?.count().saturating_sub(1) as u64)
}

const START_TIME: &str = "Start of the process, in seconds of Unix time.";
const CPU: &str = "Processor time, in user space and in the kernel.";
const RESIDENT: &str = "Resident memory.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_is_told_under_the_usual_names() {
        let mut metrics = Metrics::default();
        count(Nanos::secs(90), &mut metrics);
        let page = metrics.to_string();
        for line in [
            "\ntailcut_uptime_seconds 90\n",
            "# TYPE process_cpu_seconds_total counter\n",
            "\nprocess_resident_memory_bytes ",
            "\nprocess_open_fds ",
            "\nprocess_max_fds ",
        ] {
            assert!(page.contains(line), "{line}: {page}");
        }
        let version = concat!("tailcut_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"} 1\n");
        assert!(page.contains(version), "{page}");
        let text = describe(Nanos::secs(90));
        assert!(text.contains("\nuptime 90.0 s\n") && text.contains("\nresident memory "), "{text}");
    }
}
