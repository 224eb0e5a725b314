//! A drive whose flush fails once and drops its cache: acknowledged items must not be lost.

use crate::kv::{Client, Harness, SMALL, hit, set, value};
use crate::volatile::Volatile;
use std::io::{BufRead, BufReader};
use std::sync::atomic::Ordering;
use tailcut_base::Nanos;
use tailcut_rt::FailStop;
use tailcut_rt::kv::{Limits, ListenOptions};

const BLOCKS: u64 = 1024 * 24;
const ITEMS: usize = 200;

fn serve(drive: Volatile, is_durable: bool) -> Harness<FailStop<Volatile>> {
    let limits = Limits { threads: 2, patience: Nanos::secs(3600), ..Limits::default() };
    Harness::with(Some(FailStop::new(drive)), SMALL, ListenOptions::default(), limits, is_durable)
}

/// Reads the next line of a reply.
fn line(client: &Client) -> String {
    let mut text = String::new();
    let mut reader = BufReader::with_capacity(1, client.0.try_clone().expect("a descriptor"));
    // The server closes the connection after a drive error.
    let _ = reader.read_line(&mut text);
    text
}

fn statistics(harness: &Harness<FailStop<Volatile>>) -> Vec<String> {
    let mut client = harness.client();
    client.send("stats\r\n");
    let lines = BufReader::new(client.0).lines().map(|line| line.expect("it is text"));
    lines.take_while(|line| line != "END").collect()
}

#[test]
fn a_store_acknowledges_nothing_on_the_strength_of_a_later_flush() {
    let (drive, fails) = Volatile::new(BLOCKS);
    let harness = serve(drive, true);
    let mut stored = Vec::new();
    for number in 0..ITEMS {
        if number == ITEMS / 2 {
            fails.store(true, Ordering::SeqCst);
        }
        let mut client = harness.client();
        client.send(set(&format!("key{number}"), &value(number, 5000)));
        let answer = line(&client);
        assert!(answer == "STORED\r\n" || answer.starts_with("SERVER_ERROR"), "{answer:?}");
        if answer == "STORED\r\n" {
            stored.push(number);
        }
    }
    assert_eq!(stored, (0..ITEMS / 2).collect::<Vec<_>>(), "nothing after the flush that failed");
    // Reads continue.
    let mut client = harness.client();
    client.say("get key0\r\n", [&hit("key0", &value(0, 5000))[..], b"END\r\n"].concat());
    // The server checks its drive from time to time while it has work.
    while !statistics(&harness).contains(&String::from("STAT drive_failed 1")) {}
    let told = statistics(&harness);
    let why = told.iter().find_map(|line| line.strip_prefix("STAT drive_failed_because "));
    assert!(why.is_some_and(|why| why.starts_with("volatile: a flush failed")), "{told:?}");
    drop(client);
    let served = harness.stop();
    assert!(!served.figures.is_durable(), "{:?}", served.figures);
    let drive = served.drive.expect("it had one").inner().after_power_cut();
    let harness = serve(drive, true);
    let mut client = harness.client();
    for number in stored {
        let key = format!("key{number}");
        let found = [&hit(&key, &value(number, 5000))[..], b"END\r\n"].concat();
        client.say(format!("get {key}\r\n"), found);
    }
}
