use tailcut_disk::array::{ArrayState, DiskArray, LayoutKind};
use tailcut_disk::{
    Choice, Completion, Disk, DiskConfig, Error, Nanos, Op, Operation, Personality, Sector, Stream, Time,
};

fn disks(count: u64, seed: u64) -> Vec<Disk> {
    let config = DiskConfig::new(Personality::Fresh).capacity(32 << 20);
    (0..count).map(|disk| Disk::new(config.clone(), seed * 100 + disk)).collect()
}

/// Lets the time pass until there are completions.
fn next(array: &mut DiskArray) -> Vec<Completion> {
    loop {
        let at = array.next_event();
        assert_ne!(at, Time::NEVER, "nothing is in flight");
        let completions = array.advance(at);
        if !completions.is_empty() {
            return completions;
        }
    }
}

fn execute(array: &mut DiskArray, mut operation: Operation) -> Completion {
    loop {
        match array.submit(array.now(), operation) {
            Ok(_) => break,
            Err(busy) => operation = busy.into_operation(),
        }
        array.advance(array.next_event());
    }
    next(array).remove(0)
}

fn write(array: &mut DiskArray, block: u64, byte: u8) -> Completion {
    execute(array, Operation::write(Sector::new(block * 8), vec![byte; 4096]))
}

fn read(array: &mut DiskArray, block: u64) -> Result<u8, Error> {
    let completion = execute(array, Operation::read(Sector::new(block * 8), 8));
    completion.result()?;
    assert!(completion.data().iter().all(|byte| *byte == completion.data()[0]), "a block is torn");
    assert_eq!(completion.spans().total(), completion.latency());
    Ok(completion.data()[0])
}

fn settle(array: &mut DiskArray) {
    while array.next_event() != Time::NEVER {
        array.advance(array.next_event());
    }
}

#[test]
fn every_layout_is_a_disk() {
    for &layout in LayoutKind::all() {
        let mut array = DiskArray::new(layout, disks(6, 1), 1).unwrap();
        assert_eq!(array.state(), ArrayState::Optimal, "{layout}");
        assert!(array.sectors() > (32 << 20) / 512, "{layout}: {}", array.sectors());
        assert_eq!(write(&mut array, 77, 7).result(), Ok(()));
        assert_eq!((read(&mut array, 77), read(&mut array, 78)), (Ok(7), Ok(0)), "{layout}");
        let odd = execute(&mut array, Operation::read(Sector::new(1), 8));
        assert_eq!(odd.result(), Err(Error::OutOfRange));
    }
    assert!(DiskArray::new(LayoutKind::Raid5, disks(2, 1), 1).unwrap_err().contains("at least 3"));
}

#[test]
fn a_dead_disk_is_done_without_and_replaced() {
    let mut array = DiskArray::new(LayoutKind::Raid5, disks(4, 1), 1).unwrap();
    for block in 0..60 {
        write(&mut array, block, 1 + block as u8);
    }
    execute(&mut array, Operation::flush());
    let now = array.now();
    array.disk_mut(2).die(now);
    for block in 0..60 {
        assert_eq!(read(&mut array, block), Ok(1 + block as u8));
    }
    assert_eq!(array.state(), ArrayState::Degraded);
    array.replace(array.now(), 2, disks(1, 9).remove(0)).unwrap();
    settle(&mut array);
    assert_eq!(array.state(), ArrayState::Optimal);
    let now = array.now();
    array.disk_mut(0).die(now);
    for block in 0..60 {
        assert_eq!(read(&mut array, block), Ok(1 + block as u8));
    }
}

#[test]
fn without_redundancy_a_dead_disk_loses_data() {
    let mut array = DiskArray::new(LayoutKind::Raid0, disks(4, 1), 1).unwrap();
    let now = array.now();
    array.disk_mut(0).die(now);
    let results: Vec<bool> = (0..64).map(|block| read(&mut array, block * 16).is_ok()).collect();
    assert!(results.contains(&true) && results.contains(&false), "{results:?}");
    assert!(matches!(array.state(), ArrayState::Failed(_)));
}

/// Blocks that the test below writes.
const BLOCKS: u64 = 24;

/// Writes blocks, cuts the power, and checks that each block has a version from the last durable one on. The
/// test forgets to flush, if it is to see that this is found.
fn violation(layout: LayoutKind, forgets_to_flush: bool, seed: u64) -> Option<String> {
    let mut random = Stream::new(seed, "test");
    let mut array = DiskArray::new(layout, disks(6, seed), seed).expect("the disks fit");
    // Of each block: the newest version submitted, and the newest that must survive.
    let (mut newest, mut durable) = ([0_u8; BLOCKS as usize], [0_u8; BLOCKS as usize]);
    for _ in 0..3 {
        for _ in 0..random.below(80) {
            if random.below(8) == 0 {
                let covered = newest;
                if forgets_to_flush || execute(&mut array, Operation::flush()).op() == Op::Flush {
                    durable = covered;
                }
            } else {
                let block = random.below(BLOCKS);
                newest[block as usize] += 1;
                write(&mut array, block, newest[block as usize]);
            }
        }
        for block in 0..random.below(BLOCKS) {
            newest[block as usize] += 1;
            let data = vec![newest[block as usize]; 4096];
            array.submit(array.now(), Operation::write(Sector::new(block * 8), data)).expect("it has room");
        }
        array.advance(array.now() + Nanos::micros(random.below(300)));
        array.power_cut(array.now(), &mut random);
        if layout.is_redundant() && random.below(3) == 0 {
            let (disk, now) = (random.index(6), array.now());
            if (0..6).all(|disk| !array.disk(disk).is_dead()) {
                array.disk_mut(disk).die(now);
            }
        }
        for block in 0..BLOCKS {
            let found = match read(&mut array, block) {
                Ok(found) => found,
                Err(error) => return Some(format!("{layout} {seed}: block {block}: {error}")),
            };
            let legal = durable[block as usize]..=newest[block as usize];
            if !legal.contains(&found) {
                return Some(format!("{layout} {seed}: block {block} is version {found}, not of {legal:?}"));
            }
            (newest[block as usize], durable[block as usize]) = (found, found);
        }
    }
    None
}

#[test]
fn flushed_data_survives_power_cuts_and_a_dead_disk() {
    for &layout in LayoutKind::all() {
        assert_eq!((0..12).find_map(|seed| violation(layout, false, seed)), None);
        let lost = (0..12).find_map(|seed| violation(layout, true, seed));
        // Arrays in place with parity make what they write durable in their journal.
        let is_journaled = matches!(layout, LayoutKind::Raid4 | LayoutKind::Raid5);
        assert!(lost.is_some() || is_journaled, "{layout}");
    }
}
