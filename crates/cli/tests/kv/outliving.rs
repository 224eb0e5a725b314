//! What survives the end of a server.

use crate::kv::server::Server;
use crate::support::Place;
use std::sync::mpsc::channel;

fn value(number: usize) -> String {
    format!("{number},").repeat(number % 400 + 1)
}

fn check_all(server: &Server, items: usize) {
    let mut client = server.client();
    for number in 0..items {
        assert_eq!(client.get(&format!("key{number}")), Some(value(number)), "key{number} of {items}");
    }
}

/// Acknowledged writes survive `kill -9` in the middle of further writes.
#[test]
fn what_is_durable_outlives_a_kill() {
    is_there_after_kills(&["-M", "--durable", "--device", "file"]);
}

/// In a cache as well, while there is room.
#[test]
fn what_is_durable_in_a_cache_outlives_a_kill() {
    is_there_after_kills(&["--durable", "--device", "file"]);
}

fn is_there_after_kills(arguments: &[&str]) {
    let place = Place::new();
    place.sparse("file", 256 << 20);
    let mut server = Server::start_in(place, arguments);
    let mut acknowledged = 0;
    for round in 1..4 {
        let (tells, hears) = channel();
        let (mut client, first) = (server.client(), acknowledged);
        let writer = std::thread::spawn(move || {
            (first..)
                .take_while(|&number| {
                    let is_stored = client.set(&format!("key{number}"), &value(number));
                    // The receiver is gone when the server is killed.
                    let _ = tells.send(());
                    is_stored
                })
                .count()
        });
        hears.iter().take(150 * round).for_each(|()| {});
        server.kill();
        acknowledged += writer.join().expect("it ends when the server does");
        server = server.start_again(arguments);
        if !arguments.contains(&"-M") {
            server.client().wait_for_recovery();
        }
        check_all(&server, acknowledged);
    }
}

#[test]
fn a_store_on_an_array_outlives_its_server_and_a_drive() {
    let place = Place::new();
    ["a", "b", "c", "d"].iter().for_each(|file| place.sparse(file, 128 << 20));
    let on = |files: &[&'static str], more: &[&'static str]| {
        let mut words = vec!["-M", "--set", "array.drives=4", "--set", "array.layout=epochs"];
        words.extend(["--set", "array.groups=2"]);
        files.iter().for_each(|file| words.extend(["--device", file]));
        words.extend(more);
        words
    };
    let mut server = Server::start_in(place, &on(&["a", "b", "c", "d"], &["--create"]));
    assert!(server.greeting.contains("a store on epochs over 4 devices"), "{}", server.greeting);
    let mut client = server.client();
    (0..1000).for_each(|number| assert!(client.set(&format!("key{number}"), &value(number))));
    let (words, code) = server.stop();
    assert_eq!(code, Some(0), "{words}");
    let mut server = server.start_again(&on(&["d", "a", "b"], &[]));
    check_all(&server, 1000);
    server.stop();
    let taken =
        server.place.refused(2, &[&["serve", "kv"][..], &on(&["a", "b", "c", "d"], &["--create"])].concat());
    assert!(taken.contains("belongs to an array already"), "{taken}");
    // A block server does not overwrite a store on an array either.
    let block = ["serve", "block", "-q", "--set", "array.drives=4", "--device", "a", "--device", "b"];
    let refused = server.place.refused(2, &[&block[..], &["--device", "c", "--device", "d"]].concat());
    assert!(refused.contains("holds a tailcut key-value store"), "{refused}");
}

#[test]
fn two_devices_are_a_mirror_and_three_are_a_choice() {
    let place = Place::new();
    ["a", "b", "c"].iter().for_each(|file| place.sparse(file, 64 << 20));
    let both = ["-M", "--device", "a", "--device", "b"];
    let mut server = Server::start_in(place, &both);
    assert!(server.greeting.contains("a store on a mirror over 2 devices"), "{}", server.greeting);
    let mut client = server.client();
    (0..100).for_each(|number| assert!(client.set(&format!("key{number}"), &value(number))));
    server.stop();
    let mut server = server.start_again(&["-M", "--device", "b", "--device", "a"]);
    check_all(&server, 100);
    server.stop();
    let mut server = server.start_again(&["-M", "--device", "b", "--degraded"]);
    check_all(&server, 100);
    server.stop();
    let kv = ["serve", "kv", "-q", "-p", "-1", "--device"];
    let choice = server.place.refused(2, &[&kv[..], &["c", "--device", "d", "--device", "e"]].concat());
    let command = "tailcut serve kv --set array.layout=raid5 --create --device c --device d --device e";
    assert!(choice.contains(command), "{choice}");
    server.place.put("full", b"photographs");
    let full = server.place.refused(2, &[&kv[..], &["c", "--device", "full"]].concat());
    assert!(full.contains("--set array.layout=mirror --create"), "{full}");
}

#[test]
fn what_is_something_else_is_not_overwritten() {
    let place = Place::new();
    place.put("photographs", &vec![7; 64 << 20]);
    let refused = place.refused(2, &["serve", "kv", "--device", "photographs"]);
    assert!(
        refused.contains("photographs: there is no key-value store") && refused.contains("--create"),
        "{refused}"
    );
    assert!(std::fs::read(place.path("photographs")).expect("it is there").iter().all(|&byte| byte == 7));
    let mut server = Server::start_in(place, &["-M", "--device", "photographs", "--create"]);
    assert!(server.client().set("a", "1"));
    server.stop();
    let taken = server.place.refused(2, &["serve", "kv", "--device", "photographs", "--create"]);
    assert!(taken.contains("there is a key-value store on it already"), "{taken}");
    let server = server.start_again(&["-M", "--device", "photographs"]);
    assert_eq!(server.client().get("a").as_deref(), Some("1"));
    // Not while it is in use, and not a device that does not exist.
    let missing = server.place.refused(2, &["serve", "kv", "--device", "nothing"]);
    assert!(missing.contains("nothing"), "{missing}");
}
