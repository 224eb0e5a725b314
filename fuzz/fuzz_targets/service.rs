//! Anything as a client of a key-value service over a disk that answers late and in any order, beside a
//! client that means well. The first byte says how the stream is cut, the second how the disk answers. The
//! other client is answered, and memory stays bounded.

#![no_main]

#[path = "../../crates/host/tests/kv/disk.rs"]
#[allow(dead_code)]
mod disk;

use disk::TestDisk;
use libfuzzer_sys::fuzz_target;
use tailcut_base::{Nanos, Time};
use tailcut_host::kv::session::{Service, ServiceSettings};
use tailcut_host::kv::{AdmissionSettings, Append, Engine, Keep, OpenMode, Opening, Settings};

fuzz_target!(|input: &[u8]| {
    let [cut, how, stream @ ..] = input else { return };
    let mut disk = TestDisk::new(64 * 16, how & 1 == 1, u64::from(*how));
    let keep = if how & 2 == 0 { Keep::Everything } else { Keep::WhatIsUsed };
    let settings = ServiceSettings { most_item: 8000, is_durable: how & 4 == 4, client_memory: 1 << 20, process: 1 };
    let mut service = Service::new(open(keep, &mut disk), settings);
    service.tick(Time(1), 1_900_000_000);
    let (bad, good) = (service.open(), service.open());
    let (mut is_there, mut answers) = (true, Vec::new());
    for (number, piece) in stream.chunks(usize::from(*cut) + 1).enumerate() {
        let mut rest = piece;
        while is_there && service.can_accept(bad) && !rest.is_empty() {
            let before = rest.len();
            service.receive(bad, &mut rest);
            assert!(service.send_queue(bad).bytes() < (1 << 20) + 10_000, "a client that does not read is \
                not served on and on");
            service.send_queue(bad).empty_into(&mut Vec::new());
            if rest.len() == before {
                break;
            }
        }
        is_there &= service.closing(bad).is_none();
        if number % 16 == 0 && service.can_accept(good) {
            service.receive(good, &mut &b"set good 0 0 4\r\ngood\r\nget good\r\n"[..]);
        }
        turn(&mut service, &mut disk);
        service.send_queue(good).empty_into(&mut answers);
    }
    for _ in 0..5000 {
        turn(&mut service, &mut disk);
        service.send_queue(good).empty_into(&mut answers);
        service.send_queue(bad).empty_into(&mut Vec::new());
    }
    assert!(service.is_answered(good), "whoever means well is answered");
    assert_eq!(answers.iter().filter(|&&byte| byte == b'\n').count() % 2, 0, "in whole");
});

fn turn(service: &mut Service, disk: &mut TestDisk) {
    while let Some(request) = service.next_request() {
        disk.submit(request);
    }
    disk.answer().into_iter().for_each(|response| service.respond(response));
    service.turn(&mut Vec::new());
}

/// A new store with as little memory as there can be.
fn open(keep: Keep, disk: &mut TestDisk) -> Engine {
    let settings = Settings {
        memory: 1 << 20,
        most_item: 10_000,
        keep,
        may_evict_store: false,
        append: Append::OnLeaving,
        admission: AdmissionSettings::NONE,
        segment_blocks: 16,
        patience: Nanos::millis(1),
    };
    let mut opening = Opening::new(settings, disk.shape.clone(), OpenMode::Create { store: 1, seed: 1 });
    while !opening.is_done() {
        while let Some(request) = opening.next_request() {
            disk.submit(request);
        }
        disk.answer().into_iter().for_each(|response| opening.respond(response));
    }
    opening.end().expect("a new store")
}
