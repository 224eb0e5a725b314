//! A drive of the array fails: clients notice nothing; the operator does.

use crate::kv::server::{Client, Server};
use crate::support::Place;
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

const FILE_BYTES: u64 = 64 << 20;
const PAGE: usize = 4096;
const ITEMS: usize = 200;

/// A store on four files with two copies of everything, and so little memory that most items are on the
/// files.
fn arguments(more: &[&'static str]) -> Vec<&'static str> {
    let mut words = vec!["-M", "-m", "2", "-I", "64k", "--control", "kv.ctl", "--set", "array.drives=4"];
    words.extend(["--set", "array.layout=epochs", "--set", "array.groups=2"]);
    words.extend(["--device", "a", "--device", "b", "--device", "c", "--device", "d"]);
    words.extend(more);
    words
}

fn value(number: usize) -> String {
    format!("{number},").repeat(30_000 / format!("{number},").len())
}

fn fill(client: &mut Client) {
    (0..ITEMS).for_each(|number| assert!(client.set(&format!("key{number}"), &value(number))));
}

fn check(client: &mut Client) {
    for number in 0..ITEMS {
        assert!(client.get(&format!("key{number}")).as_deref() == Some(&value(number)[..]), "{number}");
    }
}

fn start(more: &[&'static str]) -> Server {
    let place = Place::new();
    ["a", "b", "c", "d", "spare"].iter().for_each(|file| place.sparse(file, FILE_BYTES));
    let mut words = arguments(more);
    words.push("--create");
    Server::start_in(place, &words)
}

/// Overwrites `bytes` bytes of a file at each of these offsets, past the page cache as the server writes: a
/// direct write that meets a dirty page of the same file fails the file's next fsync with EIO (Linux, "Page
/// cache invalidation failure on direct I/O").
fn overwrite(path: &Path, offsets: impl Iterator<Item = u64>, bytes: usize) {
    let room = vec![0x5a; bytes + PAGE];
    let start = room.as_ptr().align_offset(PAGE);
    let content = &room[start..start + bytes];
    let open = |flags: OFlags| OpenOptions::new().write(true).custom_flags(flags.bits() as i32).open(path);
    // On a file system without direct I/O the server writes through the page cache as well.
    let file = open(OFlags::DIRECT).or_else(|_| open(OFlags::empty())).expect("a file that can be written");
    offsets.for_each(|offset| file.write_all_at(content, offset).expect("room for the content"));
}

/// Polls until `stats` reports this value: the server checks its drives ten times a second.
fn wait_for(server: &Server, name: &str, value: &str) {
    wait_until(&format!("{name} {value}"), || server.stats().get(name).map(String::as_str) == Some(value));
}

/// Waits until something is so, which takes far less than a minute.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn a_drive_that_is_gone_is_made_up_for_and_rebuilt() {
    let mut server = start(&[]);
    let mut client = server.client();
    fill(&mut client);
    assert_eq!(server.stats()["array_condition"], "optimal");
    assert_eq!(server.stats()["drive_1_state"], "serves");
    assert_eq!(server.tell(&["ctl", "kv.ctl", "remove", "1"]), "done\n");
    wait_for(&server, "drive_1_state", "missing");
    assert_eq!(server.stats()["array_condition"], "degraded");
    assert!(server.tell(&["status", "kv.ctl"]).contains("\ncondition degraded; missing [1]"));
    check(&mut client);
    let metrics = server.tell(&["ctl", "kv.ctl", "metrics"]);
    assert!(metrics.contains("tailcut_array_member_in_sync{member=\"1\",store=\"kv\"} 0\n"), "{metrics}");
    let refused = server.place.refused(2, &["ctl", "kv.ctl", "replace", "1", "no-such-file"]);
    assert!(refused.contains("no-such-file"), "{refused}");
    assert_eq!(server.tell(&["ctl", "kv.ctl", "replace", "1", "spare"]), "done\n");
    wait_for(&server, "array_condition", "optimal");
    assert_eq!(server.stats()["drive_1_state"], "serves");
    check(&mut client);
    assert_eq!(server.stop().1, Some(0));
}

/// A replaced drive is passed again in the place of its successor: no write acknowledged since reverts to
/// older data.
#[test]
fn a_replaced_drive_that_returns_serves_nobody() {
    let mut server = start(&["--durable"]);
    let mut client = server.client();
    fill(&mut client);
    server.tell(&["ctl", "kv.ctl", "remove", "1"]);
    let newer = |number: usize| value(number + ITEMS);
    (0..ITEMS).for_each(|number| assert!(client.set(&format!("key{number}"), &newer(number))));
    server.tell(&["ctl", "kv.ctl", "replace", "1", "spare"]);
    wait_for(&server, "array_condition", "optimal");
    assert_eq!(server.stop().1, Some(0));
    let mut server = server.start_again(&arguments(&["--durable"]));
    let status = server.tell(&["status", "kv.ctl"]);
    assert!(status.contains("\ncondition degraded; missing [1]"), "{status}");
    assert!(status.contains("\nwarning: b is left out: it was member 1, and it was replaced"), "{status}");
    assert!(status.contains(". The drive that took its place has identity "), "{status}");
    let mut client = server.client();
    client.wait_for_recovery();
    for number in 0..ITEMS {
        assert!(client.get(&format!("key{number}")) == Some(newer(number)), "{number}");
    }
    server.tell(&["ctl", "kv.ctl", "replace", "1", "b"]);
    wait_for(&server, "array_condition", "optimal");
    assert_eq!(server.stop().1, Some(0));
}

#[test]
fn the_result_of_a_scrub_is_in_the_log() {
    let place = Place::new();
    ["a", "b", "c", "d"].iter().for_each(|file| place.sparse(file, FILE_BYTES));
    let (path, words) = (place.path("log"), arguments(&["--create", "--log", "json"]));
    let log = File::create(&path).expect("a new file");
    let server = Server::start_as(place, &words, |command| {
        command.stderr(log);
    });
    fill(&mut server.client());
    assert_eq!(server.tell(&["ctl", "kv.ctl", "scrub"]), "done\n");
    wait_until("the result of the scrub", || {
        let text = std::fs::read_to_string(&path).expect("the log");
        let line = text.lines().find(|line| line.contains("\"event\":\"scrub\""));
        let result = "the scrub is complete: 0 damaged blocks rewritten, 0 beyond repair, 0 mismatches";
        let is_right = |line: &str| line.contains(result) && line.contains("\"level\":\"info\"");
        assert!(line.is_none_or(is_right), "{text}");
        line.is_some()
    });
}

/// At 16 KiB/s the rebuild would take longer than the test.
#[test]
fn rebuilding_takes_no_more_of_the_drives_than_it_may() {
    let server = start(&["--set", "array.background_rate=16384B/s"]);
    let mut client = server.client();
    fill(&mut client);
    server.tell(&["ctl", "kv.ctl", "remove", "2"]);
    server.tell(&["ctl", "kv.ctl", "replace", "2", "spare"]);
    wait_for(&server, "drive_2_state", "rebuilding");
    check(&mut client);
    let stats = server.stats();
    assert_eq!((&*stats["array_condition"], &*stats["drive_2_state"]), ("degraded", "rebuilding"));
    let percent: f64 = stats["array_rebuild_percent"].parse().expect("a number");
    assert!(percent < 50.0, "{percent}");
}

/// Files store no protection information beside their blocks, so the array trusts them; records have
/// checksums of their own, and a corrupt record is never returned to a client.
#[test]
fn what_drives_make_up_is_noticed() {
    let mut server = start(&[]);
    fill(&mut server.client());
    // After this everything is on the drives.
    assert_eq!(server.stop().1, Some(0));
    let server = server.start_again(&arguments(&[]));
    let mut client = server.client();
    // One drive of each group, as reads avoid the group that is written; everything but the array's
    // superblock. Each block has another copy, though a record may have no copy that is intact as a whole.
    let damage = |name: &str, step| {
        let places = (0..FILE_BYTES >> 20).step_by(step).map(|part| (part << 20) + (1 << 16));
        overwrite(&server.place.path(name), places, (1 << 20) - (1 << 16));
    };
    ["a", "c"].iter().for_each(|name| damage(name, 1));
    check(&mut client);
    ["a", "b", "c", "d"].iter().for_each(|name| damage(name, 2));
    let mut lost = 0;
    for number in 0..ITEMS {
        match client.get(&format!("key{number}")) {
            Some(told) => assert!(told == value(number), "{number}"),
            None => lost += 1,
        }
    }
    assert!(lost > 0 && lost < ITEMS, "{lost}");
    let stats = server.stats();
    assert!(stats["badcrc_from_extstore"].parse::<usize>().is_ok_and(|count| count >= lost), "{stats:?}");
    let status = server.tell(&["status", "kv.ctl"]);
    assert!(status.contains("\nwarning: ") && status.contains("items could not be read"), "{status}");
}
