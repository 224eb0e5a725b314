use super::{bytes, execute, next, read, submit, write};
use tailcut_disk::{
    Cause, Corruption, Disk, DiskConfig, Error, Nanos, Operation, Personality, Sector, Slowdown, Stream,
};

#[test]
fn corrupt_data_is_read_without_an_error_until_it_is_written_again() {
    let mut disk = Disk::new(Personality::Fresh, 1);
    execute(&mut disk, Operation::write_durable(Sector::new(0), vec![1; 4096]));
    disk.corrupt(Sector::new(1), 2, Corruption::FlipBit(512 * 8 + 3));
    let found = read(&mut disk, 0, 8).into_data().unwrap();
    assert_eq!(found.iter().filter(|&&byte| byte != 1).count(), 1);
    assert_eq!(found[1024], 1 ^ 8);
    disk.corrupt(Sector::new(4), 1, Corruption::Zeros);
    disk.corrupt(Sector::new(5), 1, Corruption::Garbage(1));
    let found = read(&mut disk, 4, 2).into_data().unwrap();
    assert_eq!(found[..512], [0; 512]);
    assert!(found[512..].iter().all(|&byte| byte != 1));
    write(&mut disk, 0, 2, 8);
    assert_eq!(bytes(&disk, 0, 8), [2; 8]);
}

#[test]
fn corruption_does_not_make_unflushed_data_durable() {
    let mut disk = Disk::new(Personality::Fresh, 1);
    execute(&mut disk, Operation::write_durable(Sector::new(0), vec![1; 4096]));
    write(&mut disk, 0, 2, 8);
    disk.corrupt(Sector::new(0), 8, Corruption::FlipBit(2));
    assert_eq!(disk.peek(Sector::new(0), 8)[..2], [2 ^ 4, 2]);
    disk.power_cut_with(disk.now(), |_| false);
    assert_eq!(disk.peek(Sector::new(0), 8)[..2], [1 ^ 4, 1]);
}

#[test]
fn a_misdirected_write_overwrites_something_else() {
    let mut disk = Disk::new(Personality::Fresh, 1);
    write(&mut disk, 0, 1, 1);
    write(&mut disk, 9, 2, 1);
    disk.misdirect_write(Sector::new(9));
    assert_eq!(write(&mut disk, 0, 3, 1).result(), Ok(()));
    assert_eq!((bytes(&disk, 0, 1), bytes(&disk, 9, 1)), (vec![1], vec![3]));
    disk.misdirect_read(Sector::new(9));
    assert_eq!(read(&mut disk, 0, 1).data(), [3; 512]);
    assert_eq!(read(&mut disk, 0, 1).data(), [1; 512], "only the next one");
    let last = Sector::new(disk.sectors() - 1);
    disk.misdirect_write(last);
    write(&mut disk, 0, 4, 8);
    disk.misdirect_read(last);
    assert_eq!(read(&mut disk, 0, 8).data()[7 * 512..], [4; 512], "what does not fit is lost");
}

#[test]
fn unreadable_sectors_fail_until_they_are_written() {
    let mut disk = Disk::new(Personality::Fresh, 1);
    write(&mut disk, 0, 1, 8);
    execute(&mut disk, Operation::flush());
    disk.fail_reads(Sector::new(2), 2);
    let failed = read(&mut disk, 0, 8);
    assert_eq!((failed.result(), failed.data().len()), (Err(Error::Unreadable), 0));
    assert!(failed.latency() > Nanos::micros(50), "the drive has tried");
    assert_eq!(read(&mut disk, 4, 4).result(), Ok(()));
    write(&mut disk, 2, 2, 2);
    assert_eq!(read(&mut disk, 0, 8).result(), Ok(()), "from the cache");
    disk.power_cut_with(disk.now(), |_| false);
    assert_eq!(read(&mut disk, 0, 8).result(), Err(Error::Unreadable), "the write is lost");
    execute(&mut disk, Operation::write_durable(Sector::new(2), vec![3; 1024]));
    disk.power_cut_with(disk.now(), |_| false);
    assert_eq!(read(&mut disk, 0, 8).result(), Ok(()));
}

#[test]
fn a_stall_adds_its_length_to_what_is_in_flight() {
    let latency = |stall: Nanos| {
        let mut disk = Disk::new(Personality::Fresh, 1);
        execute(&mut disk, Operation::write_durable(Sector::new(0), vec![1; 512]));
        submit(&mut disk, Operation::read(Sector::new(0), 8));
        let at = disk.now() + Nanos::micros(10);
        disk.stall(at, stall);
        next(&mut disk)
    };
    let (plain, stalled) = (latency(Nanos::ZERO), latency(Nanos::millis(3)));
    assert_eq!(stalled.latency(), plain.latency() + Nanos::millis(3));
    assert_eq!(stalled.cause(), Cause::Controller);
    assert_eq!(stalled.spans().of(Cause::Cell), plain.spans().of(Cause::Cell));
}

#[test]
fn a_slow_disk_is_slow_in_all_its_parts() {
    let mut disk = Disk::new(Personality::Fresh, 1);
    execute(&mut disk, Operation::write_durable(Sector::new(0), vec![1; 512]));
    let plain = read(&mut disk, 0, 8);
    disk.slow_by(disk.now(), Slowdown::times(5));
    let slow = read(&mut disk, 0, 8);
    assert_eq!(slow.latency(), plain.latency() * 5);
    assert_eq!(slow.spans().of(Cause::Link), plain.spans().of(Cause::Link) * 5);
    disk.slow_by(disk.now(), Slowdown::NONE);
    assert_eq!(read(&mut disk, 0, 8).latency(), plain.latency());
}

#[test]
fn a_dead_disk_answers_with_errors() {
    let mut disk = Disk::new(Personality::Fresh, 1);
    write(&mut disk, 0, 1, 8);
    let in_flight = submit(&mut disk, Operation::read(Sector::new(0), 8));
    disk.die(disk.now() + Nanos(5));
    let completion = next(&mut disk);
    assert_eq!((completion.ticket(), completion.result()), (in_flight, Err(Error::Gone)));
    assert_eq!(completion.latency(), Nanos(5));
    assert_eq!(read(&mut disk, 0, 8).result(), Err(Error::Gone));
    assert_eq!(bytes(&disk, 0, 8), [1; 8], "its data can be looked at");
}

#[test]
fn a_power_cut_tears_writes_at_the_atomic_unit() {
    for (unit, most) in [(512, 8), (4096, 1)] {
        let mut torn = 0;
        for seed in 0..200 {
            let mut disk = Disk::new(DiskConfig::new(Personality::Fresh).atomic_unit(unit), seed);
            write(&mut disk, 0, 1, 8);
            let cut = disk.power_cut(disk.now(), &mut Stream::new(seed, "power"));
            assert_eq!(cut.survived() + cut.lost(), most);
            let survived = bytes(&disk, 0, 8).into_iter().filter(|&byte| byte == 1).count() as u64;
            assert_eq!(survived * most, cut.survived() * 8, "a unit is whole");
            torn += cut.torn();
        }
        assert_eq!(torn > 0, unit == 512, "{unit}: {torn}");
    }
}

#[test]
fn an_atomic_unit_may_be_larger_than_a_page() {
    for seed in 0..50 {
        let mut disk = Disk::new(DiskConfig::new(Personality::Fresh).atomic_unit(16384), seed);
        write(&mut disk, 30, 1, 40);
        disk.power_cut(disk.now(), &mut Stream::new(seed, "power"));
        let found = bytes(&disk, 30, 40);
        for unit in [0..2, 2..34, 34..40] {
            assert!(found[unit.clone()].iter().all(|byte| *byte == found[unit.start]), "{found:?}");
        }
    }
}

#[test]
fn a_disk_serves_after_a_power_cut() {
    let mut disk = Disk::new(Personality::Collecting, 1);
    for index in 0..64 {
        submit(&mut disk, Operation::write(Sector::new(index * 8), vec![1; 4096]));
    }
    let cut = disk.power_cut(disk.now(), &mut Stream::new(1, "power"));
    assert_eq!((cut.aborted().len(), disk.in_flight()), (64, 0));
    disk.slow_by(disk.now(), Slowdown::percent(120));
    write(&mut disk, 0, 2, 8);
    assert_eq!(read(&mut disk, 0, 8).data(), [2; 4096]);
}

#[test]
fn a_worn_disk_becomes_write_protected() {
    let mut disk = Disk::new(Personality::Worn, 1);
    let mut random = Stream::new(1, "writes");
    let protected = (0..2_000_000).find(|_| {
        let sector = random.below(disk.sectors() / 8) * 8;
        write(&mut disk, sector, 1, 8).result() == Err(Error::WriteProtected)
    });
    println!("write protected after {protected:?} writes");
    assert!(protected.is_some_and(|writes| writes > 10_000), "{protected:?}");
    assert!(read(&mut disk, 0, 8).result().is_ok());
}
