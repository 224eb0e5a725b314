use std::future::Future;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::pin::pin;
use std::task::Poll;
use tailcut_disk::future::{AsyncDisk, Clock, VirtualClock};
use tailcut_disk::ring::Ring;
use tailcut_disk::volume::Volume;
use tailcut_disk::{Disk, DiskConfig, Error, Nanos, Operation, Personality, Sector, Stream, Time};

#[path = "../examples/journal.rs"]
mod journal;
#[path = "../examples/pages.rs"]
mod pages;
#[path = "../examples/replica.rs"]
mod replica;

/// The first of these seeds at which an example is wrong.
fn first(seeds: u64, violation: impl Fn(u64) -> Option<String>) -> Option<(u64, String)> {
    (0..seeds).find_map(|seed| Some((seed, violation(seed)?)))
}

#[test]
fn a_journal_that_forgets_to_sync_is_found() {
    assert_eq!(first(300, |seed| journal::violation(true, seed).unwrap()), None);
    let found = first(300, |seed| journal::violation(false, seed).unwrap());
    println!("{found:?}");
    assert!(found.is_some());
}

#[test]
fn a_replica_that_forgets_to_flush_is_found() {
    assert_eq!(first(300, |seed| replica::violation(true, seed)), None);
    let found = first(300, |seed| replica::violation(false, seed));
    println!("{found:?}");
    assert!(found.is_some());
}

#[test]
fn a_header_that_is_not_ordered_behind_its_pages_is_found() {
    assert_eq!(first(300, |seed| pages::violation(true, seed).unwrap()), None);
    let found = first(300, |seed| pages::violation(false, seed).unwrap());
    println!("{found:?}");
    assert!(found.is_some());
}

#[test]
fn a_file_reads_and_writes_any_bytes() {
    let volume = Volume::new(Disk::new(Personality::Fresh, 1));
    let mut file = volume.file(4096..12288);
    file.seek(SeekFrom::Start(700)).unwrap();
    file.write_all(&[7; 1000]).unwrap();
    file.seek(SeekFrom::Current(-1001)).unwrap();
    let mut found = [1; 1002];
    file.read_exact(&mut found).unwrap();
    assert_eq!((found[0], found[1], found[1000], found[1001]), (0, 7, 7, 0));
    assert!(volume.now() > Time::ZERO);
    file.seek(SeekFrom::End(-1)).unwrap();
    assert_eq!(file.write(&[1; 2]).unwrap(), 1);
    assert_eq!(file.write(&[1]).unwrap_err().kind(), ErrorKind::StorageFull);
    assert_eq!(file.read(&mut found).unwrap(), 0);
    assert!(file.seek(SeekFrom::Current(-10000)).is_err());
    volume.with_disk(|now, disk| disk.die(now));
    assert_eq!(file.sync_data().unwrap_err().kind(), ErrorKind::NotConnected);
}

#[test]
fn errors_keep_their_cause_in_io_errors() {
    let volume = Volume::new(Disk::new(Personality::Fresh, 1));
    let file = volume.file(0..4096);
    volume.with_disk(|_, disk| disk.fail_reads(Sector::new(1), 1));
    assert_eq!(file.read_at(&mut [0; 512], 0).unwrap(), 512);
    let error = file.read_at(&mut [0; 512], 512).unwrap_err();
    assert_eq!(error.get_ref().unwrap().downcast_ref(), Some(&Error::Unreadable));
}

#[test]
fn a_power_cut_drops_callbacks() {
    let mut ring = Ring::new(Disk::new(Personality::Fresh, 1));
    let mut calls = 0;
    ring.submit(Operation::flush(), |calls: &mut u32, _, _| *calls += 1).unwrap();
    ring.power_cut(&mut Stream::new(1, "power"));
    while ring.tick(&mut calls) {}
    assert_eq!(calls, 0);
    assert_eq!(ring.into_disk().in_flight(), 0);
}

/// Polls all futures until they are ready.
async fn all<F: Future>(futures: Vec<F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.into_iter().map(Box::pin).collect();
    let mut outputs: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, output) in futures.iter_mut().zip(&mut outputs) {
            if output.is_none()
                && let Poll::Ready(ready) = future.as_mut().poll(context)
            {
                *output = Some(ready);
            }
        }
        if outputs.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outputs.into_iter().flatten().collect()
}

#[test]
fn futures_share_a_disk_and_wait_for_a_full_queue() {
    let clock = VirtualClock::new();
    let config = DiskConfig::new(Personality::Collecting).queue_depth(2);
    let disk = AsyncDisk::new(Disk::new(config, 1), clock.clone());
    let file = disk.file(0..1 << 20);
    clock.block_on(async {
        let writes = (0..20).map(|at| file.write_at(at * 4096, vec![at as u8; 4096])).collect();
        assert!(all(writes).await.into_iter().all(|written| written.is_ok()));
        file.sync_data().await.unwrap();
        let reads = all((0..20).map(|at| file.read_at(at * 4096, 512)).collect()).await;
        for (at, read) in (0..).zip(reads) {
            assert_eq!(read.unwrap(), [at; 512]);
        }
        assert_eq!(file.read_at(100, 512).await.unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(file.read_at(1 << 20, 512).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    });
    assert!(clock.now() > Time::ZERO);
}

#[test]
fn a_future_that_is_dropped_leaves_its_write() {
    let clock = VirtualClock::new();
    let disk = AsyncDisk::new(Disk::new(Personality::Fresh, 1), clock.clone());
    clock.block_on(async {
        {
            let mut write = pin!(disk.execute(Operation::write(Sector::new(0), vec![1; 512])));
            std::future::poll_fn(|context| {
                assert!(write.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await;
        }
        clock.sleep_until(clock.now() + Nanos::millis(1)).await;
        let read = disk.execute(Operation::read(Sector::new(0), 1)).await.unwrap();
        assert_eq!(read.data(), [1; 512]);
    });
}

#[test]
fn a_power_cut_ends_futures_in_flight() {
    let clock = VirtualClock::new();
    let disk = AsyncDisk::new(Disk::new(Personality::Fresh, 1), clock.clone());
    clock.block_on(async {
        let mut flush = pin!(disk.execute(Operation::flush()));
        std::future::poll_fn(|context| {
            assert!(flush.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        disk.power_cut(&mut Stream::new(1, "power"));
        assert_eq!(flush.await.unwrap_err(), Error::Gone);
    });
}

#[test]
fn operations_can_move_between_threads() {
    fn is_send<T: Send>(_: &T) {}
    let disk = AsyncDisk::new(Disk::new(Personality::Fresh, 1), VirtualClock::new());
    let file = disk.file(0..4096);
    is_send(&disk.execute(Operation::flush()));
    is_send(&file.read_at(0, 512));
    is_send(&Volume::new(Disk::new(Personality::Fresh, 1)));
}
