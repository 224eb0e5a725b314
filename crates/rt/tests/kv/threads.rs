//! Several threads serve one store.

use crate::kv::{Client, Harness, SMALL, emulated, hit, memory_drive, set, value};
use std::collections::HashMap;
use tailcut_base::Nanos;
use tailcut_base::random::Stream;
use tailcut_rt::MemoryDrive;
use tailcut_rt::ctl::Steered;
use tailcut_rt::kv::{Limits, ListenOptions};

fn limits(threads: u32) -> Limits {
    Limits { threads, pinned: true, patience: Nanos::secs(3600), ..Limits::default() }
}

fn harness<D: Steered + Send + 'static>(drive: Option<D>, threads: u32, is_durable: bool) -> Harness<D> {
    Harness::with(drive, SMALL, ListenOptions::default(), limits(threads), is_durable)
}

/// A client with its own keys sends many commands at once, and checks all replies.
fn converse(mut client: Client, number: u64, rounds: u64) {
    let mut random = Stream::new(number, "client");
    let mut held: HashMap<u64, Vec<u8>> = HashMap::new();
    for round in 0..rounds {
        let (mut said, mut answers) = (Vec::new(), Vec::new());
        for at in 0..random.below(40) {
            let key = random.below(150);
            let name = format!("client{number}key{key}");
            match random.below(8) {
                0..3 => {
                    let content = value((round * 64 + at) as usize, random.below(20_000) as usize);
                    said.extend(set(&name, &content));
                    answers.extend(b"STORED\r\n");
                    held.insert(key, content);
                }
                3 => {
                    said.extend(format!("delete {name}\r\n").bytes());
                    let was_there = held.remove(&key).is_some();
                    answers.extend(if was_there { &b"DELETED\r\n"[..] } else { b"NOT_FOUND\r\n" });
                }
                4 => {
                    said.extend(format!("append {name} 0 0 3\r\nend\r\n").bytes());
                    let there = held.get_mut(&key);
                    answers.extend(if there.is_some() { &b"STORED\r\n"[..] } else { b"NOT_STORED\r\n" });
                    there.into_iter().for_each(|there| there.extend(b"end"));
                }
                5 => {
                    // All clients increment this counter, so its value is unknown: no reply is requested.
                    said.extend(b"incr all 1 noreply\r\n");
                }
                _ => {
                    said.extend(format!("get {name}\r\n").bytes());
                    answers.extend(held.get(&key).map_or_else(Vec::new, |content| hit(&name, content)));
                    answers.extend(b"END\r\n");
                }
            }
        }
        let mut writer = Client(client.0.try_clone().expect("a second handle"));
        std::thread::scope(|scope| {
            scope.spawn(move || writer.send(said));
            client.hear(answers);
        });
    }
}

fn all_converse<D: Steered + Send + 'static>(harness: &Harness<D>, clients: u64, rounds: u64) {
    harness.client().say("set all 0 0 1\r\n0\r\n", "STORED\r\n");
    std::thread::scope(|scope| {
        for number in 0..clients {
            let client = harness.client();
            scope.spawn(move || converse(client, number, rounds));
        }
    });
}

#[test]
fn every_client_is_told_what_it_has_said_before() {
    let harness = harness(Some(memory_drive()), 3, false);
    all_converse(&harness, 7, 60);
    let served = harness.stop();
    assert!(served.figures.is_durable());
    // The number depends on timing: items on their way to the drive are still in memory.
    assert!(served.figures.sums.engine.hits_on_flash > 0, "{:?}", served.figures.sums.engine);
}

#[test]
fn the_same_over_an_emulated_drive_and_durably() {
    let harness = harness(Some(emulated()), 4, true);
    all_converse(&harness, 5, 12);
    assert!(harness.stop().figures.is_durable());
}

#[test]
fn the_same_in_memory_with_more_threads_than_cores() {
    let mut settings = SMALL;
    settings.memory = 16 << 20;
    let harness: Harness<MemoryDrive> =
        Harness::with(None, settings, ListenOptions::default(), limits(8), false);
    all_converse(&harness, 12, 40);
    harness.stop();
}

#[test]
fn nothing_that_is_counted_is_lost() {
    let harness = harness(Some(memory_drive()), 4, false);
    harness.client().say("set all 0 0 1\r\n0\r\n", "STORED\r\n");
    let (clients, times) = (6, 3000);
    std::thread::scope(|scope| {
        for _ in 0..clients {
            let mut client = harness.client();
            scope.spawn(move || client.say("incr all 1 noreply\r\n".repeat(times) + "mn\r\n", "MN\r\n"));
        }
    });
    let all = (clients * times).to_string();
    harness.client().say("get all\r\n", format!("VALUE all 0 {}\r\n{all}\r\nEND\r\n", all.len()));
    let statistics = harness.stop().figures.sums.statistics;
    assert_eq!(statistics.incr_hits, (clients * times) as u64);
}

#[test]
fn what_concerns_all_parts_reaches_them() {
    let harness = harness(Some(memory_drive()), 3, false);
    let mut clients: Vec<_> = (0..5).map(|_| harness.client()).collect();
    for number in 0..60 {
        clients[number % 5].say(set(&format!("key{number}"), b"x"), "STORED\r\n");
    }
    clients[3].send("stats\r\n");
    let told = told(&mut clients[3]);
    let wanted = [("curr_items", "60"), ("cmd_set", "60"), ("threads", "3"), ("curr_connections", "5")];
    for (name, value) in wanted {
        assert_eq!(told.get(name).map(String::as_str), Some(value), "{name}");
    }
    clients[4].say("flush_all\r\nstats reset\r\n", "OK\r\nRESET\r\n");
    for number in 0..60 {
        clients[number % 5].say(format!("get key{number}\r\n"), "END\r\n");
    }
    let sums = harness.stop().figures.sums;
    assert_eq!((sums.items, sums.statistics.cmd_set, sums.statistics.get_misses), (0, 0, 60));
}

/// The counters of `stats`.
pub(super) fn told(client: &mut Client) -> HashMap<String, String> {
    let mut text = Vec::new();
    while !text.ends_with(b"END\r\n") {
        let mut byte = [0];
        std::io::Read::read_exact(&mut client.0, &mut byte).expect("it tells");
        text.extend(byte);
    }
    let text = String::from_utf8(text).expect("it tells in letters");
    let lines = text.lines().filter_map(|line| line.strip_prefix("STAT ")?.split_once(' '));
    lines.map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

#[test]
fn other_numbers_of_threads_find_the_same_items() {
    let first = harness(Some(memory_drive()), 3, false);
    let mut client = first.client();
    (0..200).for_each(|number| client.say(set(&format!("key{number}"), &value(number, 3000)), "STORED\r\n"));
    drop(client);
    let mut drive = first.stop().drive;
    for threads in [1, 5] {
        let again = harness(drive, threads, false);
        let mut client = again.client();
        for number in 0..200 {
            let there = hit(&format!("key{number}"), &value(number, 3000));
            client.say(format!("get key{number}\r\n"), [&there[..], b"END\r\n"].concat());
        }
        drop(client);
        drive = again.stop().drive;
    }
}
