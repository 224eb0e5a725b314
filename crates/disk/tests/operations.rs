use super::{bytes, execute, next, read, submit, write};
use tailcut_disk::{
    Cause, Choice, Completion, Disk, DiskConfig, Error, Nanos, Op, Operation, Personality, Sector, Stream,
    Time,
};

#[test]
fn reads_return_what_was_written_and_zeros_elsewhere() {
    let mut disk = Disk::new(Personality::Fresh, 1);
    assert_eq!(read(&mut disk, 0, 16).into_data(), Ok(vec![0; 8192]));
    write(&mut disk, 3, 7, 10);
    let found = read(&mut disk, 0, 16).into_data().unwrap();
    assert!(
        found.iter().enumerate().all(|(at, &byte)| byte == if (3..13).contains(&(at / 512)) { 7 } else { 0 })
    );
    execute(&mut disk, Operation::trim(Sector::new(0), 16));
    assert_eq!(bytes(&disk, 0, 16), [0; 16]);
}

#[test]
fn a_trim_of_parts_of_pages_keeps_their_data() {
    let mut disk = Disk::new(Personality::Fresh, 1);
    write(&mut disk, 0, 7, 24);
    execute(&mut disk, Operation::trim(Sector::new(1), 17));
    let expected = [[7; 8], [0; 8], [7; 8]].concat();
    assert_eq!(bytes(&disk, 0, 24), expected);
}

#[test]
fn completions_have_data_latency_and_cause() {
    let mut disk = Disk::new(Personality::Fresh, 1);
    let written = execute(&mut disk, Operation::write_durable(Sector::new(8), vec![9; 4096]));
    assert_eq!((written.op(), written.cause()), (Op::Write, Cause::Cell), "a program takes longest");
    assert!(written.latency() > Nanos::micros(750), "{}", written.latency());
    let found = read(&mut disk, 8, 8);
    assert_eq!(found.data(), [9; 4096]);
    assert_eq!((found.cause(), found.spans().total()), (Cause::Cell, found.latency()));
    assert!((75_000..100_000).contains(&found.latency().0), "{}", found.latency());
}

#[test]
fn a_write_into_the_volatile_cache_is_quick_and_its_flush_is_not() {
    let mut disk = Disk::new(Personality::Fresh, 1);
    assert!(write(&mut disk, 0, 1, 8).latency() < Nanos::micros(20));
    let flushed = execute(&mut disk, Operation::flush());
    assert!(flushed.latency() > Nanos::micros(700), "{}", flushed.latency());
    assert_eq!(disk.unflushed_bytes(), 0);
}

#[test]
fn operations_that_name_no_sectors_of_the_disk_fail_at_once() {
    let mut disk = Disk::new(Personality::Fresh, 1);
    let end = disk.sectors();
    for operation in [
        Operation::read(Sector::new(end), 1),
        Operation::read(Sector::new(0), 0),
        Operation::write(Sector::new(end - 1), vec![0; 1024]),
        Operation::trim(Sector::new(u64::MAX), 8),
        Operation::write(Sector::new(0), Vec::new()),
    ] {
        let completion = execute(&mut disk, operation);
        assert_eq!((completion.result(), completion.latency()), (Err(Error::OutOfRange), Nanos::ZERO));
    }
}

#[test]
fn a_full_queue_gives_the_operation_back() {
    let mut disk = Disk::new(DiskConfig::new(Personality::Fresh).queue_depth(2), 1);
    let operation = Operation::write(Sector::new(5), vec![1; 512]);
    submit(&mut disk, operation.clone());
    submit(&mut disk, operation.clone());
    assert_eq!(disk.submit(Time::ZERO, operation.clone()).unwrap_err().into_operation(), operation);
    next(&mut disk);
    assert!(disk.submit(disk.now(), operation).is_ok());
}

#[test]
#[should_panic(expected = "time runs backwards")]
fn time_does_not_run_backwards() {
    let mut disk = Disk::new(Personality::Fresh, 1);
    disk.advance(Time(5));
    disk.advance(Time(4));
}

#[test]
fn a_flush_covers_what_had_completed_when_it_was_submitted() {
    let mut disk = Disk::new(Personality::Fresh, 1);
    write(&mut disk, 0, 1, 8);
    submit(&mut disk, Operation::write(Sector::new(8), vec![2; 4096]));
    submit(&mut disk, Operation::flush());
    while next(&mut disk).op() != Op::Flush {}
    let unflushed: Vec<u64> = disk.unflushed().map(|piece| piece.sector().number()).collect();
    assert_eq!(unflushed, [8], "the second write was in flight, and has completed since");
    disk.power_cut_with(disk.now(), |_| false);
    assert_eq!(bytes(&disk, 0, 1), [1]);
}

#[test]
fn a_full_volatile_cache_writes_back_the_oldest() {
    let mut disk = Disk::new(DiskConfig::new(Personality::Fresh).volatile_cache(8192), 1);
    for index in 0..4 {
        write(&mut disk, index * 8, 1 + index as u8, 8);
    }
    let unflushed: Vec<u64> = disk.unflushed().map(|piece| piece.sector().number()).collect();
    assert_eq!(unflushed, [16, 24]);
}

#[test]
fn without_a_volatile_cache_completed_writes_are_durable() {
    let mut disk = Disk::new(Personality::Pm9a3, 1);
    write(&mut disk, 0, 1, 8);
    submit(&mut disk, Operation::write(Sector::new(8), vec![2; 4096]));
    let cut = disk.power_cut_with(disk.now(), |piece| {
        assert!(!piece.is_acknowledged());
        false
    });
    assert_eq!((cut.lost(), cut.aborted().len()), (1, 1));
    assert_eq!(bytes(&disk, 0, 16), [[1; 8], [0; 8]].concat());
}

/// A mix of operations on a disk; returns its history.
fn history(personality: Personality, seed: u64) -> Vec<(u64, Time, Cause)> {
    let config = DiskConfig::new(personality).capacity(8 << 20);
    let mut disk = Disk::new(config, seed);
    let mut random = Stream::new(seed, "mix");
    let mut history = Vec::new();
    let note = |completion: Completion| {
        assert_eq!(completion.result(), Ok(()));
        (completion.ticket().number(), completion.at(), completion.cause())
    };
    for _ in 0..4000 {
        let sector = Sector::new(random.below(disk.sectors() - 64));
        let operation = match random.below(10) {
            0 => Operation::flush(),
            1 => Operation::trim(sector, 16),
            2..=5 => Operation::read(sector, 1 + random.below_u32(16)),
            6 => Operation::write_durable(sector, vec![1; 512]),
            _ => Operation::write(sector, vec![1; 512 * (1 + random.index(16))]),
        };
        if disk.submit(disk.now(), operation).is_err() || random.below(3) == 0 {
            let at = disk.next_event().max(disk.now());
            history.extend(disk.advance(at).into_iter().map(note));
        }
    }
    while disk.in_flight() > 0 {
        history.extend(disk.advance(disk.next_event()).into_iter().map(note));
    }
    history
}

#[test]
fn every_personality_works_and_repeats_to_the_nanosecond() {
    for &personality in Personality::all() {
        let first = history(personality, 1);
        assert!(first.len() > 500, "{personality}: {}", first.len());
        assert_eq!(first, history(personality, 1), "{personality}");
        assert_ne!(first, history(personality, 2), "{personality}");
    }
}

/// The 99th percentile of reads beside writes.
fn slow_read(personality: Personality) -> Nanos {
    let mut disk = Disk::new(DiskConfig::new(personality).volatile_cache(16 << 20), 1);
    let mut random = Stream::new(1, "mix");
    let mut latencies = Vec::new();
    while latencies.len() < 2000 {
        let pages = disk.sectors() / 8;
        let sector = Sector::new(random.below(pages) * 8);
        let is_write = random.below(3) == 0;
        let operation =
            if is_write { Operation::write(sector, vec![1; 4096]) } else { Operation::read(sector, 8) };
        let _ = disk.submit(disk.now() + Nanos::micros(50), operation);
        let reads = disk.advance(disk.now()).into_iter().filter(|completion| completion.op() == Op::Read);
        latencies.extend(reads.map(|completion| completion.latency()));
    }
    latencies.sort_unstable();
    latencies[latencies.len() * 99 / 100]
}

#[test]
fn personalities_differ_in_their_tails() {
    let [fresh, collecting, worn, stalling] =
        [Personality::Fresh, Personality::Collecting, Personality::Worn, Personality::ThermalStall]
            .map(slow_read);
    println!("fresh {fresh}, collecting {collecting}, worn {worn}, thermal-stall {stalling}");
    assert!(collecting > fresh * 2, "{fresh} {collecting}");
    assert!(worn > collecting, "{collecting} {worn}");
}

#[test]
fn stalls_of_the_controller_are_seen_and_explained() {
    let mut disk = Disk::new(Personality::ThermalStall, 1);
    let mut stalls = 0;
    for _ in 0..4000 {
        let at = disk.now() + Nanos::millis(1);
        disk.advance(at);
        let completion = read(&mut disk, 0, 8);
        if completion.latency() > Nanos::millis(1) {
            assert_eq!(completion.cause(), Cause::Controller);
            stalls += 1;
        }
    }
    assert!((2..=10).contains(&stalls), "{stalls} in 4 s");
}
