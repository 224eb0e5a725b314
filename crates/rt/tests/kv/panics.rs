//! Violated invariants: only the connection or the shard concerned fails.

use crate::kv::memory::figure;
use crate::kv::{Client, Harness, SMALL, emulated, hit, memory_drive, set, value};
use std::io::Read;
use tailcut_base::Nanos;
use tailcut_host::kv::Settings;
use tailcut_rt::MemoryDrive;
use tailcut_rt::ctl::Steered;
use tailcut_rt::kv::{Limits, ListenOptions};

const FAILED: &str = "SERVER_ERROR this shard of the store has failed, see the server's log\r\n";

fn harness<D: Steered + Send + 'static>(drive: Option<D>, threads: u32, is_durable: bool) -> Harness<D> {
    let settings = Settings { memory: 16 << 20, ..SMALL };
    let limits = Limits { threads, patience: Nanos::secs(3600), ..Limits::default() };
    Harness::with(drive, settings, ListenOptions::default(), limits, is_durable)
}

/// Reads a reply of one line.
fn line(client: &mut Client) -> String {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        let mut byte = [0];
        client.0.read_exact(&mut byte).expect("it answers");
        line.push(byte[0]);
    }
    String::from_utf8(line).expect("it answers in letters")
}

#[test]
fn a_panic_in_a_session_ends_its_connection_and_nothing_else() {
    for threads in [1, 2] {
        let harness: Harness<MemoryDrive> = harness(None, threads, false);
        let mut good: Vec<Client> = (0..4).map(|_| harness.client()).collect();
        let content = value(1, 5000);
        for (number, client) in good.iter_mut().enumerate() {
            client.say(set(&format!("key{number}"), &content), "STORED\r\n");
        }
        for round in 0..5 {
            let mut bad = harness.client();
            bad.send("get key0\r\nget inject:session\r\nget key1\r\nset half 0 0 10\r\n123");
            // Unsent replies are dropped with the connection.
            assert!(bad.rest().is_empty(), "round {round}");
            for (number, client) in good.iter_mut().enumerate() {
                let key = format!("key{number}");
                client.say(format!("get {key}\r\n"), [&hit(&key, &content)[..], b"END\r\n"].concat());
            }
        }
        assert_eq!((figure(&mut good[0], "panics"), figure(&mut good[0], "failed_shards")), (5, 0));
        let figures = harness.stop().figures;
        assert!(figures.is_durable());
        assert_eq!(figures.sums.items, 4);
    }
}

fn check_shard<D: Steered + Send + 'static>(harness: Harness<D>, shards: u64) {
    let mut good = harness.client();
    for number in 0..100 {
        good.say(set(&format!("key{number}"), &value(number, 100)), "STORED\r\n");
    }
    let mut bad = harness.client();
    bad.send("get inject:shard\r\n");
    assert!(bad.rest().is_empty(), "whoever has met the panic is closed");
    let (mut failed, mut served) = (0, 0);
    for number in 0..100 {
        let key = format!("key{number}");
        good.send(format!("get {key} {key}\r\nmn\r\n"));
        match line(&mut good) {
            said if said == FAILED => failed += 1,
            said => {
                let hit = hit(&key, &value(number, 100));
                let rest = [&hit[said.len()..], &hit[..], b"END\r\n"].concat();
                assert!(hit.starts_with(said.as_bytes()), "{said}");
                good.hear(rest);
                served += 1;
            }
        }
        // The next reply belongs to the next command.
        good.hear("MN\r\n");
    }
    assert!(failed > 0 && (served > 0) == (shards > 1), "{failed} failed, {served} were served");
    // Other kinds of commands behave alike.
    let (mut stored, mut refused) = (0, 0);
    for number in 0..100 {
        good.send(format!("set key{number} 0 0 1 noreply\r\nx\r\nms key{number} 1\r\ny\r\n"));
        match line(&mut good).as_str() {
            "HD\r\n" => stored += 1,
            said if said == FAILED => refused += 1,
            said => panic!("{said}"),
        }
    }
    assert_eq!((stored, refused), (served, failed));
    assert_eq!((figure(&mut good, "panics"), figure(&mut good, "failed_shards")), (1, 1));
    assert_eq!(figure(&mut good, "curr_items"), served, "what is there of the other shards is counted");
    assert!(
        !harness.stop().figures.is_durable(),
        "what the shard had to write may be lost, and the server says so"
    );
}

#[test]
fn a_panic_in_a_shard_ends_that_shard_and_nothing_else() {
    check_shard(harness::<MemoryDrive>(None, 1, false), 1);
    check_shard(harness::<MemoryDrive>(None, 3, false), 3);
    check_shard(harness(Some(memory_drive()), 3, false), 3);
}

#[test]
fn whoever_waits_for_a_shard_that_fails_is_told() {
    let harness = harness(Some(emulated()), 1, true);
    let mut waits = harness.client();
    let sets: Vec<u8> =
        (0..100).flat_map(|number| set(&format!("key{number}"), &value(number, 10_000))).collect();
    let mut writer = waits.0.try_clone().expect("a descriptor");
    std::thread::scope(|scope| {
        // The connection may be closed before everything is sent.
        scope.spawn(move || std::io::Write::write_all(&mut writer, &sets).unwrap_or(()));
        let mut bad = harness.client();
        bad.send("get inject:shard\r\n");
        assert!(bad.rest().is_empty());
        let said = String::from_utf8(waits.first_answers(100)).expect("it answers in letters");
        let errors = said.lines().filter(|line| format!("{line}\r\n") == FAILED).count();
        let stored = said.lines().filter(|line| *line == "STORED").count();
        assert_eq!(said.lines().count(), errors + stored, "{said}");
        assert!(stored + errors == 100 || errors > 0, "{stored} stored, {errors} errors");
        let _ = waits.0.shutdown(std::net::Shutdown::Both);
    });
    assert!(!harness.stop().figures.is_durable());
}
