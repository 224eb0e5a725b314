//! Clients that try to make the server use more memory for them than it has.

use crate::kv::threads::told;
use crate::kv::{Client, Harness, SMALL, hit, memory_drive, set, value};
use crate::memory_of_process;
use std::io::{ErrorKind, Write};
use tailcut_base::Nanos;
use tailcut_host::kv::Settings;
use tailcut_host::kv::session::ServiceSettings;
use tailcut_rt::MemoryDrive;
use tailcut_rt::kv::{Limits, ListenOptions};

const SERVICE: ServiceSettings =
    ServiceSettings { most_item: 1 << 20, is_durable: false, client_memory: 16 << 20, process: 1 };
const LARGE: usize = 1_000_000;

fn harness(threads: u32) -> Harness<MemoryDrive> {
    with_limits(Limits { threads, ..Limits::default() })
}

fn with_limits(limits: Limits) -> Harness<MemoryDrive> {
    let settings = Settings { memory: 64 << 20, most_item: (1 << 20) + 1024, ..SMALL };
    Harness::serving(None, settings, ListenOptions::default(), limits, SERVICE)
}

/// Sends as many bytes as the server accepts now.
fn push(client: &mut Client, bytes: &[u8]) {
    client.0.set_nonblocking(true).expect("a socket");
    let mut rest = bytes;
    while !rest.is_empty() {
        match client.0.write(rest) {
            Ok(count) => rest = &rest[count..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            // The client was disconnected already.
            Err(_) => break,
        }
    }
}

/// A counter from `stats`.
pub(super) fn figure(client: &mut Client, name: &str) -> u64 {
    client.send("stats\r\n");
    told(client)[name].parse().expect("a number")
}

/// Checks that another client is served: small items and the large one.
fn check_service(client: &mut Client) {
    for round in 0..10 {
        let (key, content) = (format!("key{round}"), value(round, 100));
        client.say(set(&key, &content), "STORED\r\n");
        client.say(format!("get {key} none\r\n"), [&hit(&key, &content)[..], b"END\r\n"].concat());
    }
    client.say("get big\r\n", [&hit("big", &value(1, LARGE))[..], b"END\r\n"].concat());
}

fn check(threads: u32, attack: impl Fn(&mut Client)) {
    let harness = harness(threads);
    let mut good: Vec<Client> = (0..threads).map(|_| harness.client()).collect();
    good[0].say(set("big", &value(1, LARGE)), "STORED\r\n");
    let mut bad: Vec<Client> = (0..100).map(|_| harness.client()).collect();
    bad.iter_mut().for_each(&attack);
    for round in 0..3 {
        good.iter_mut().for_each(check_service);
        let limit = figure(&mut good[0], "client_memory_limit");
        assert_eq!(limit, SERVICE.most_client_memory(threads));
        let most = figure(&mut good[0], "client_memory_max");
        assert!(most <= limit, "round {round}: {most} of {limit} bytes");
        assert!(most > limit / 2, "round {round}: only {most} of {limit} bytes: nobody attacks");
        bad.iter_mut().for_each(&attack);
    }
    drop(bad);
    let mut looks = 0;
    while figure(&mut good[0], "client_memory") > 8 << 10 {
        looks += 1;
        assert!(looks < 10_000_000, "memory of clients that have gone is free");
    }
    harness.stop();
}

#[test]
fn who_reads_no_large_answers_takes_what_there_is_for_clients_and_others_are_served() {
    for threads in [1, 2, 4] {
        check(threads, |client| push(client, &b"get big\r\n".repeat(1000)));
    }
}

/// Replies from a drive take the memory that they are charged with, not twice as much.
#[test]
fn who_reads_no_large_answers_from_a_drive_takes_no_more_than_there_is() {
    let settings = Settings { memory: 17 << 20, most_item: (1 << 20) + 1024, ..SMALL };
    let harness = Harness::serving(
        Some(memory_drive()),
        settings,
        ListenOptions::default(),
        Limits::default(),
        SERVICE,
    );
    let mut good = harness.client();
    for item in 0..ITEMS {
        good.say(set(&format!("big{item}"), &value(item, LARGE)), "STORED\r\n");
    }
    let mut bad: Vec<_> = (0..50).map(|_| harness.client()).collect();
    for (number, client) in bad.iter_mut().enumerate() {
        let keys: Vec<u8> =
            (0..1000).flat_map(|item| format!(" big{}", (item + number) % ITEMS).into_bytes()).collect();
        push(client, &[&b"get"[..], &keys, b"\r\n"].concat());
    }
    for _ in 0..3 {
        good.say("get big0\r\n", [&hit("big0", &value(0, LARGE))[..], b"END\r\n"].concat());
    }
    let (most, limit) = (figure(&mut good, "client_memory_max"), figure(&mut good, "client_memory_limit"));
    assert!(most <= limit, "{most} of {limit} bytes");
    assert!(most > limit / 2, "only {most} of {limit} bytes: nobody attacks");
    drop(bad);
    harness.stop();
}

/// Number of large items; the memory cache holds fewer than half of them.
const ITEMS: usize = 50;

#[test]
fn who_half_sends_values_takes_what_there_is_for_clients_and_others_are_served() {
    let half = [&b"set half 0 0 1000000\r\n"[..], &vec![b'h'; 900_000]].concat();
    for threads in [1, 2, 4] {
        check(threads, |client| push(client, &half));
    }
}

/// Upper bound of a server's memory, as in `tailcut serve kv --help` and the documentation.
fn most_memory(threads: u32, clients: u64) -> u64 {
    (64 << 20)
        + SERVICE.most_client_memory(threads)
        + clients * (96 << 10)
        + u64::from(threads) * (16 << 20)
        + (32 << 20)
}

/// One process per number of threads, so that their memory is measured separately.
#[test]
fn the_process_takes_no_more_memory_than_the_formula_says() {
    for threads in [1, 2, 4] {
        let mut again = std::process::Command::new(std::env::current_exe().expect("it runs"));
        again.args(["kv::memory::hostile_clients_of_a_process", "--exact", "--ignored"]);
        let output = again.env("TAILCUT_THREADS", threads.to_string()).output().expect("it runs again");
        assert!(output.status.success(), "{threads} threads: {}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
#[ignore = "is run in a process of its own by another test"]
fn hostile_clients_of_a_process() {
    let threads = std::env::var("TAILCUT_THREADS").map_or(2, |count| count.parse().expect("a number"));
    let harness = harness(threads);
    let mut good = harness.client();
    good.say(set("big", &value(1, LARGE)), "STORED\r\n");
    let half = [&b"set half 0 0 1000000\r\n"[..], &vec![b'h'; 900_000]].concat();
    let (readers, senders) = (100, 100);
    let mut bad = Vec::new();
    for number in 0..readers + senders {
        bad.push(harness.client());
        let client = bad.last_mut().expect("it was put there");
        match number % 2 {
            0 => push(client, &b"get big\r\n".repeat(1000)),
            _ => push(client, &half),
        }
        good.say("mn\r\n", "MN\r\n");
        let most = most_memory(threads, number + 2);
        assert!(
            memory_of_process("VmHWM") <= most,
            "{} MiB instead of {}",
            memory_of_process("VmHWM") >> 20,
            most >> 20
        );
    }
    for _ in 0..3 {
        check_service(&mut good);
        let most = most_memory(threads, bad.len() as u64 + 1);
        assert!(
            memory_of_process("VmHWM") <= most,
            "{} MiB instead of {}",
            memory_of_process("VmHWM") >> 20,
            most >> 20
        );
    }
    harness.stop();
}

#[test]
fn who_reads_everything_gets_it_however_many_there_are() {
    // No client is disconnected, however long the machine delays its reads.
    let memory_patience = Nanos::secs(3600);
    let harness = with_limits(Limits { threads: 2, memory_patience, ..Limits::default() });
    let content = value(1, LARGE);
    harness.client().say(set("big", &content), "STORED\r\n");
    let answer = [&hit("big", &content)[..], b"END\r\n"].concat();
    std::thread::scope(|scope| {
        for _ in 0..40 {
            let mut client = harness.client();
            let answer = &answer;
            scope.spawn(move || {
                client.send(b"get big\r\n".repeat(8));
                (0..8).for_each(|_| client.hear(answer));
                client.say(set("other", &answer[..500_000]), "STORED\r\n");
            });
        }
    });
    harness.stop();
}
