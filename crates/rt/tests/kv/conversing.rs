//! Well-behaved clients.

use crate::kv::{Client, Harness, MOST_ITEM, SMALL, emulated, hit, memory_drive, set, uninterrupted, value};
use std::net::UdpSocket;
use std::time::Duration;
use tailcut_base::Nanos;
use tailcut_host::kv::Settings;
use tailcut_host::wire::memcached::Users;
use tailcut_host::wire::memcached::udp::Frame;
use tailcut_rt::MemoryDrive;
use tailcut_rt::ctl::Steered;
use tailcut_rt::kv::{Limits, ListenOptions};

#[test]
fn commands_in_one_piece_are_answered_in_their_order() {
    let harness = Harness::in_memory(Limits::default());
    let mut client = harness.client();
    client.say(
        "set a 1 0 3\r\nabc\r\nget a b\r\nset n 0 0 1\r\n9\r\nincr n 3\r\ndelete a\r\nget \
            a\r\nnonsense\r\nmn\r\n",
        "STORED\r\nVALUE a 1 3\r\nabc\r\nEND\r\nSTORED\r\n12\r\nDELETED\r\nEND\r\nERROR\r\nMN\r\n",
    );
    client.send("quit\r\n");
    assert!(client.rest().is_empty());
    let served = harness.stop();
    assert_eq!((served.figures.traffic.connections, served.figures.sums.items), (1, 1));
    assert!(served.figures.is_durable() && served.drive.is_none());
}

/// Stores `items` items of 16 KiB, and reads them all back with 50 keys per command.
fn check_items(client: &mut Client, items: usize) {
    let of = |number: usize| (format!("key{number}"), value(number, 16 << 10));
    for (key, value) in (0..items).map(of) {
        client.say(set(&key, &value), "STORED\r\n");
    }
    check_present(client, items);
}

fn check_present(client: &mut Client, items: usize) {
    let of = |number: usize| (format!("key{number}"), value(number, 16 << 10));
    for first in (0..items).step_by(50) {
        let line: String = (first..first + 50).map(|number| format!(" key{number}")).collect();
        let hits: Vec<u8> = (first..first + 50).map(of).flat_map(|(key, value)| hit(&key, &value)).collect();
        client.say(format!("get{line}\r\n"), [&hits[..], b"END\r\n"].concat());
    }
}

fn check_flash<D: Steered + Send + 'static>(drive: D, is_durable: bool) {
    let limits = Limits { patience: Nanos::secs(3600), ..Limits::default() };
    let harness = Harness::with(Some(drive), SMALL, ListenOptions::default(), limits, is_durable);
    check_items(&mut harness.client(), 300);
    let served = harness.stop();
    assert!(served.figures.sums.engine.hits_on_flash > 0, "{:?}", served.figures.sums.engine);
    // Stored items survive a restart.
    let harness = Harness::with(served.drive, SMALL, ListenOptions::default(), limits, is_durable);
    let mut client = harness.client();
    check_present(&mut client, 300);
    let sums = harness.stop().figures.sums;
    assert_eq!((sums.items, sums.engine.hits_on_flash), (300, 300), "nothing is in memory yet");
}

#[test]
fn many_items_of_a_drive_in_one_line_also_after_a_restart() {
    check_flash(memory_drive(), false);
}

#[test]
fn many_items_of_an_emulated_drive_in_one_line_also_after_a_restart() {
    check_flash(emulated(), false);
}

#[test]
fn many_items_that_are_durable_when_they_are_acknowledged() {
    check_flash(memory_drive(), true);
}

#[test]
fn many_clients_at_a_time() {
    let harness = Harness::on(memory_drive());
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let mut client = harness.client();
            scope.spawn(move || {
                for round in 0..200 {
                    let (key, value) = (format!("key{worker}.{}", round % 20), value(round, 3000));
                    client.say(set(&key, &value), "STORED\r\n");
                    let answer = [&hit(&key, &value)[..], b"END\r\n"].concat();
                    client.say(format!("get {key}\r\n"), answer);
                }
            });
        }
    });
    assert_eq!(harness.stop().figures.sums.items, 160);
}

#[test]
fn a_client_that_says_nothing_more_is_told_the_rest() {
    let harness = Harness::on(emulated());
    let mut client = harness.client();
    check_items(&mut client, 100);
    client.send("get key0 key1 key2\r\nget key3\r\nhalf a comm");
    client.0.shutdown(std::net::Shutdown::Write).expect("it is open");
    let hits = |numbers: std::ops::Range<usize>| -> Vec<u8> {
        numbers.flat_map(|number| hit(&format!("key{number}"), &value(number, 16 << 10))).collect()
    };
    assert!(client.rest() == [&hits(0..3)[..], b"END\r\n", &hits(3..4), b"END\r\n"].concat());
}

#[test]
fn who_has_to_say_a_password_says_it_first() {
    let users = Users::parse(b"me:secret\n").expect("a user");
    let options = ListenOptions { users: Some(users), ..ListenOptions::default() };
    let settings = Settings { memory: 16 << 20, ..SMALL };
    let harness: Harness<MemoryDrive> = Harness::with(None, settings, options, Limits::default(), false);
    let mut client = harness.client();
    client.say("get a\r\n", "CLIENT_ERROR unauthenticated\r\n");
    client.say("set x 0 0 8\r\nme wrong\r\n", "CLIENT_ERROR authentication failure\r\n");
    client.say(
        "set x 0 0 9\r\nme secret\r\nset a 0 0 1\r\n1\r\nget a\r\n",
        "STORED\r\nSTORED\r\nVALUE a 0 1\r\n1\r\nEND\r\n",
    );
    assert_eq!(harness.stop().figures.traffic.not_let_in, 2);
}

#[test]
fn who_guesses_passwords_is_slowed_down() {
    let users = Users::parse(b"me:secret\n").expect("a user");
    let options = ListenOptions { users: Some(users), ..ListenOptions::default() };
    let settings = Settings { memory: 16 << 20, ..SMALL };
    let harness: Harness<MemoryDrive> = Harness::with(None, settings, options, Limits::default(), false);
    let mut guesser = harness.client();
    guesser.send("set x 0 0 8\r\nme wrong\r\n".repeat(1000));
    guesser.say("", "CLIENT_ERROR authentication failure\r\n".repeat(5));
    // Far fewer than were sent, however long this test was preempted.
    let looked_at = harness.stop().figures.traffic.not_let_in;
    assert!((5..500).contains(&looked_at), "{looked_at}");
}

#[test]
fn datagrams_are_answered_by_datagrams() {
    let any = "127.0.0.1:0".parse().expect("an address");
    let options = ListenOptions { datagrams: vec![any], ..ListenOptions::default() };
    let limits = Limits { patience: Nanos::secs(3600), ..Limits::default() };
    let harness = Harness::with(Some(emulated()), SMALL, options, limits, false);
    check_items(&mut harness.client(), 100);
    harness.client().say(set("small", &value(1, 1000)), "STORED\r\n");
    let socket = UdpSocket::bind(any).expect("there is a port");
    socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a good time");
    socket.connect(harness.server.datagrams()[0]).expect("loopback");
    socket.send(&[0; 5]).expect("no request");
    let frame = Frame { request: 7, sequence: 0, total: 1 };
    let ask = |request: &[u8]| {
        socket.send(&[&frame.encode()[..], request].concat()).expect("a request");
        let mut datagram = [0; 2000];
        let bytes = uninterrupted(|| socket.recv(&mut datagram)).expect("an answer");
        assert!(bytes <= 1400, "{bytes} bytes");
        let (said, content) = datagram[..bytes].split_first_chunk().expect("a frame");
        assert_eq!(Frame::decode(said), frame, "one datagram answers it");
        content.to_vec()
    };
    assert_eq!(ask(b"get small\r\n"), [&hit("small", &value(1, 1000))[..], b"END\r\n"].concat());
    // A client that forges the sender's address must not make the server send more than one datagram there,
    // whatever the request.
    let too_long = b"SERVER_ERROR reply too large for UDP, use TCP\r\n";
    let many = b"get key0 key1 key2\r\n".repeat(70);
    for request in [&b"get key0\r\n"[..], &b"get small small\r\n"[..], &many] {
        assert_eq!(ask(request), too_long, "{}", request.escape_ascii());
    }
    assert_eq!(ask(b"mn\r\n"), b"MN\r\n", "nothing more has come");
    let traffic = harness.stop().figures.traffic;
    assert_eq!((traffic.datagrams, traffic.dropped, traffic.too_long_for_udp), (5, 1, 3));
}

#[test]
fn an_item_that_is_too_large_is_refused_and_the_next_one_is_not() {
    let harness = Harness::on(memory_drive());
    let mut client = harness.client();
    let large = value(1, MOST_ITEM as usize);
    client.say(set("a", &large), "SERVER_ERROR object too large for cache\r\n");
    client.say(set("b", &large[..50_000]), "STORED\r\n");
    client.say("get a b\r\n", [&hit("b", &large[..50_000])[..], b"END\r\n"].concat());
}
