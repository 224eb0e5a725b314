//! What a disk costs: a number of operations, or of disks, to be timed from outside.
//!
//!     cargo build --release --package tailcut-disk --example throughput
//!     time target/release/examples/throughput read 5000000
//!     /usr/bin/time -v target/release/examples/throughput idle 1000000
//!
//! Modes: `read`, `write`, `mixed` (70 % reads), `durable` (a flush after every 16 writes), each of 4 KiB at
//! random pages of 64 MiB with 32 in flight; `idle`, disks without an operation; `used`, disks after one
//! write.

use tailcut_disk::{Disk, DiskConfig, Nanos, Op, Operation, Personality, Sector, Stream};

/// Operations in flight.
const DEPTH: u32 = 32;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mode = arguments.next().unwrap_or_else(|| "mixed".into());
    let count = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(1_000_000);
    match mode.as_str() {
        "idle" => println!(
            "{} disks",
            (0..count).map(|seed| Disk::new(Personality::Fresh, seed)).collect::<Vec<_>>().len()
        ),
        "used" => println!("{} disks", (0..count).map(used).collect::<Vec<_>>().len()),
        _ => operations(&mode, count),
    }
}

/// A disk of 16 MiB after one write.
fn used(seed: u64) -> Disk {
    let mut disk = Disk::new(DiskConfig::new(Personality::Collecting).capacity(16 << 20), seed);
    disk.submit(disk.now(), Operation::write(Sector::new(0), vec![1; 4096])).expect("it is the first one");
    disk
}

fn operations(mode: &str, count: u64) {
    let personality = if mode == "read" { Personality::Collecting } else { Personality::Fresh };
    let mut disk = Disk::new(DiskConfig::new(personality).queue_depth(DEPTH), 1);
    let mut random = Stream::new(1, "operations");
    let pages = disk.sectors() / 8;
    for page in 0..pages {
        while disk.submit(disk.now(), Operation::write(Sector::new(page * 8), vec![1; 4096])).is_err() {
            disk.advance(disk.next_event());
        }
    }
    let (mut submitted, mut completed, mut reads, mut latency) = (0, 0, 0, Nanos::ZERO);
    let mut completions = Vec::new();
    while completed < count {
        while submitted < count && disk.in_flight() < DEPTH as usize {
            let sector = Sector::new(random.below(pages) * 8);
            let is_read = mode == "read" || mode == "mixed" && random.below(10) < 7;
            let operation = match is_read {
                true => Operation::read(sector, 8),
                false if mode == "durable" && submitted % 16 == 0 => Operation::flush(),
                false => Operation::write(sector, vec![2; 4096]),
            };
            disk.submit(disk.now(), operation).expect("the queue has room");
            submitted += 1;
        }
        disk.advance_into(disk.next_event().max(disk.now()), &mut completions);
        for completion in completions.drain(..) {
            completed += 1;
            reads += u64::from(completion.op() == Op::Read && completion.data().len() == 4096);
            latency += completion.latency();
        }
    }
    println!("{completed} operations, {reads} reads of 4 KiB, mean latency {}", latency / completed);
}
