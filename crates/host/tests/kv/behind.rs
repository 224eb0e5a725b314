//! A cache that writes at once, on a disk that is behind or out of space: commands wait for it, or fail.

use super::disk::TestDisk;
use super::harness::{open, settings};
use tailcut_base::Time;
use tailcut_host::kv::session::{Service, ServiceSettings};
use tailcut_host::kv::{Append, Keep, OpenMode, Settings};

struct Store {
    service: Service,
    disk: TestDisk,
    client: u32,
    now: Time,
}

impl Store {
    fn new() -> Store {
        let settings = Settings { append: Append::AtOnce, ..settings(Keep::WhatIsUsed) };
        let mut disk = TestDisk::new(4000, false, 7);
        let engine = open(settings, &mut disk, OpenMode::Create { store: 1, seed: 1 }).expect("a new store");
        let service =
            ServiceSettings { most_item: 20_000, is_durable: false, client_memory: 16 << 20, process: 1 };
        let mut service = Service::new(engine, service);
        let client = service.open();
        Store { service, disk, client, now: Time(1) }
    }

    /// Sends a command, and returns its reply; empty if it waits for the disk. The disk answers up to
    /// `completions` requests.
    fn send(&mut self, command: &str, completions: u32) -> String {
        let mut input = command.as_bytes();
        self.service.receive(self.client, &mut input);
        assert!(input.is_empty(), "{command:.40} was taken");
        self.run(completions)
    }

    fn run(&mut self, completions: u32) -> String {
        for _ in 0..completions {
            self.now.0 += 10_000;
            self.service.tick(self.now, 1_000_000);
            while let Some(request) = self.service.next_request() {
                self.disk.submit(request);
            }
            if let Some(response) = self.disk.answer() {
                self.service.respond(response);
            }
            self.service.turn(&mut Vec::new());
        }
        let mut text = Vec::new();
        self.service.send_queue(self.client).empty_into(&mut text);
        String::from_utf8(text).expect("text")
    }

    /// Stores items of 8000 bytes until one is not stored; returns its reply.
    fn fill(&mut self, completions: u32) -> String {
        let value = "x".repeat(8000);
        for number in 0..400 {
            let reply = self.send(&format!("set new-{number} 0 0 8000\r\n{value}\r\n"), completions);
            if reply != "STORED\r\n" {
                return reply;
            }
        }
        panic!("the disk has room for everything")
    }
}

#[test]
fn a_change_that_waits_for_room_reads_its_item_once() {
    let mut store = Store::new();
    // The first item is on flash alone.
    let value = "x".repeat(8000);
    for number in 0..200 {
        assert_eq!(store.send(&format!("set key-{number} 0 0 8000\r\n{value}\r\n"), 20), "STORED\r\n");
    }
    store.disk.holds_writes = true;
    assert_eq!(store.fill(0), "", "the log is behind");
    store.client = store.service.open();
    let before = store.disk.reads;
    assert_eq!(store.send("append key-1 0 0 1\r\ny\r\n", 200), "");
    let reads = store.disk.reads - before;
    assert!((1..8).contains(&reads), "{reads} reads");
    store.disk.holds_writes = false;
    assert_eq!(store.run(500), "STORED\r\n");
}

#[test]
fn a_cache_on_a_full_disk_refuses_changes() {
    let mut store = Store::new();
    store.disk.is_full = true;
    assert_eq!(store.fill(0), "", "the log is behind");
    assert_eq!(store.run(200), "SERVER_ERROR out of memory storing object\r\n");
    assert_eq!(store.send("get nothing\r\n", 40), "END\r\n");
}
