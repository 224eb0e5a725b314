//! Tests of what runs in real time, with real files, sockets and threads.

#![allow(clippy::disallowed_types, reason = "the crate of real time")]
#![allow(missing_docs)]

mod embedded;
mod killed;
mod kv;
mod members;
mod serving;
mod volatile;

/// Memory of this process in bytes, by a field of its status: `VmRSS` now, `VmHWM` at its highest.
fn memory_of_process(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the system is Linux");
    let line = status.lines().find_map(|line| line.strip_prefix(field)).expect("it is there");
    let kib: u64 = line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().expect("a number");
    kib << 10
}
