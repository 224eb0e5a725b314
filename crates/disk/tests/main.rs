//! Tests of the disk: operations and durability, a reference model of power cuts, faults, adapters, arrays.

mod adapters;
mod array;
mod faults;
mod model;
mod operations;
mod size;

use tailcut_disk::{Completion, Disk, Operation, Sector, Ticket, Time};

/// Submits an operation at the disk's time.
fn submit(disk: &mut Disk, operation: Operation) -> Ticket {
    disk.submit(disk.now(), operation).expect("the queue has room")
}

/// Lets the time pass until the next completion.
fn next(disk: &mut Disk) -> Completion {
    loop {
        let at = disk.next_event();
        assert_ne!(at, Time::NEVER, "nothing is in flight");
        let mut completions = disk.advance(at.max(disk.now()));
        if !completions.is_empty() {
            assert_eq!(completions.len(), 1, "one at a time");
            return completions.remove(0);
        }
    }
}

/// Carries out an operation on a disk with nothing else in flight.
fn execute(disk: &mut Disk, operation: Operation) -> Completion {
    let ticket = submit(disk, operation);
    let completion = next(disk);
    assert_eq!(completion.ticket(), ticket);
    completion
}

fn write(disk: &mut Disk, sector: u64, byte: u8, sectors: usize) -> Completion {
    execute(disk, Operation::write(Sector::new(sector), vec![byte; sectors * 512]))
}

fn read(disk: &mut Disk, sector: u64, sectors: u32) -> Completion {
    execute(disk, Operation::read(Sector::new(sector), sectors))
}

/// The first byte of each sector, which must be all of its bytes.
fn bytes(disk: &Disk, sector: u64, sectors: u32) -> Vec<u8> {
    let data = disk.peek(Sector::new(sector), sectors);
    let byte = |sector: &[u8]| {
        assert!(sector.iter().all(|byte| *byte == sector[0]), "a sector is torn inside");
        sector[0]
    };
    data.chunks(512).map(byte).collect()
}
