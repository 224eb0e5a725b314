//! A cache that writes at once, on a disk that is behind or out of space: commands wait for it, or fail.

use super::harness::settings;
use super::served::Served;
use tailcut_host::kv::{Append, Keep, Settings};

/// A cache that writes at once.
fn cache() -> Served {
    Served::new(Settings { append: Append::AtOnce, ..settings(Keep::WhatIsUsed) })
}

impl Served {
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
    let mut store = cache();
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
    let mut store = cache();
    store.disk.is_full = true;
    assert_eq!(store.fill(0), "", "the log is behind");
    assert_eq!(store.run(200), "SERVER_ERROR out of memory storing object\r\n");
    assert_eq!(store.send("get nothing\r\n", 40), "END\r\n");
}
