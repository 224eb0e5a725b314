//! Clients of the binary protocol.

use crate::kv::{Client, Harness, SMALL, memory_drive, value};
use std::time::Duration;
use tailcut_host::kv::Settings;
use tailcut_host::wire::memcached::Users;
use tailcut_rt::MemoryDrive;
use tailcut_rt::kv::{Limits, ListenOptions};

const OPAQUE: u32 = 0x0102_0304;

/// A request.
fn request(opcode: u8, extras: &[u8], key: &[u8], value: &[u8], cas: u64) -> Vec<u8> {
    frame(0x80, (opcode, 0), (extras, key, value), cas)
}

/// A reply.
fn reply(opcode: u8, status: u16, extras: &[u8], key: &[u8], value: &[u8], cas: u64) -> Vec<u8> {
    frame(0x81, (opcode, status), (extras, key, value), cas)
}

fn frame(
    magic: u8,
    (opcode, status): (u8, u16),
    (extras, key, value): (&[u8], &[u8], &[u8]),
    cas: u64,
) -> Vec<u8> {
    let mut bytes = vec![magic, opcode];
    bytes.extend((key.len() as u16).to_be_bytes());
    bytes.extend([extras.len() as u8, 0]);
    bytes.extend(status.to_be_bytes());
    bytes.extend(((extras.len() + key.len() + value.len()) as u32).to_be_bytes());
    bytes.extend(OPAQUE.to_be_bytes());
    bytes.extend(cas.to_be_bytes());
    [&bytes[..], extras, key, value].concat()
}

fn set(opcode: u8, key: &[u8], value: &[u8], cas: u64) -> Vec<u8> {
    request(opcode, &[0, 0, 0, 7, 0, 0, 0, 0], key, value, cas)
}

fn count(opcode: u8, key: &[u8], (delta, initial): (u64, u64), expiry: u32) -> Vec<u8> {
    let extras = [&delta.to_be_bytes()[..], &initial.to_be_bytes(), &expiry.to_be_bytes()].concat();
    request(opcode, &extras, key, b"", 0)
}

/// A dialogue: each request with its reply, which may be none.
fn dialogue() -> Vec<(Vec<u8>, Vec<u8>)> {
    let flags = [0, 0, 0, 7];
    vec![
        (set(0x01, b"a", b"1", 0), reply(0x01, 0, b"", b"", b"", 1)),
        (request(0x00, b"", b"a", b"", 0), reply(0x00, 0, &flags, b"", b"1", 1)),
        (request(0x0c, b"", b"a", b"", 0), reply(0x0c, 0, &flags, b"a", b"1", 1)),
        (request(0x00, b"", b"b", b"", 0), reply(0x00, 1, b"", b"", b"Not found", 0)),
        // Quiet misses, stores and deletions have no replies; hits and errors do.
        (request(0x09, b"", b"b", b"", 0), Vec::new()),
        (request(0x0d, b"", b"a", b"", 0), reply(0x0d, 0, &flags, b"a", b"1", 1)),
        (set(0x11, b"q", b"2", 0), Vec::new()),
        (set(0x12, b"q", b"3", 0), reply(0x12, 2, b"", b"", b"Data exists for key.", 0)),
        (request(0x14, b"", b"q", b"", 0), Vec::new()),
        (request(0x04, b"", b"q", b"", 0), reply(0x04, 1, b"", b"", b"Not found", 0)),
        // CAS, of items in the form that they have.
        (set(0x01, b"a", b"2", 9), reply(0x01, 2, b"", b"", b"Data exists for key.", 0)),
        (set(0x01, b"a", b"2", 1), reply(0x01, 0, b"", b"", b"", 3)),
        (set(0x03, b"none", b"2", 0), reply(0x03, 1, b"", b"", b"Not found", 0)),
        (request(0x0e, b"", b"a", b"34", 0), reply(0x0e, 0, b"", b"", b"", 4)),
        (request(0x0f, b"", b"none", b"1", 0), reply(0x0f, 5, b"", b"", b"Not stored.", 0)),
        (count(0x05, b"a", (5, 0), u32::MAX), reply(0x05, 0, b"", b"", &239u64.to_be_bytes(), 5)),
        (count(0x06, b"n", (5, 0), u32::MAX), reply(0x06, 1, b"", b"", b"Not found", 0)),
        (count(0x06, b"n", (5, 12), 0), reply(0x06, 0, b"", b"", &12u64.to_be_bytes(), 6)),
        (count(0x06, b"n", (20, 0), 0), reply(0x06, 0, b"", b"", &0u64.to_be_bytes(), 7)),
        (set(0x01, b"text", b"x", 0), reply(0x01, 0, b"", b"", b"", 8)),
        (
            count(0x05, b"text", (1, 0), 0),
            reply(0x05, 6, b"", b"", b"Non-numeric server-side value for incr or decr", 0),
        ),
        (request(0x1d, &[0, 0, 1, 0], b"a", b"", 0), reply(0x1d, 0, &flags, b"", b"239", 5)),
        (request(0x1c, &[0, 0, 1, 0], b"a", b"", 0), reply(0x1c, 0, &flags, b"", b"", 5)),
        // Keys that the text protocol has in base64 only.
        (set(0x01, b"a b\r\n\0", b"", 0), reply(0x01, 0, b"", b"", b"", 9)),
        (request(0x00, b"", b"a b\r\n\0", b"", 0), reply(0x00, 0, &flags, b"", b"", 9)),
        (request(0x0a, b"", b"", b"", 0), reply(0x0a, 0, b"", b"", b"", 0)),
        (request(0x1b, &[0, 0, 0, 1], b"", b"", 0), reply(0x1b, 0, b"", b"", b"", 0)),
        (request(0x20, b"", b"", b"", 0), reply(0x20, 0x81, b"", b"", b"Unknown command", 0)),
        (request(0x77, b"", b"x", b"yz", 0), reply(0x77, 0x81, b"", b"", b"Unknown command", 0)),
        (request(0x10, b"", b"reset", b"", 0), reply(0x10, 0, b"", b"", b"", 0)),
        (request(0x10, b"", b"nothing", b"", 0), reply(0x10, 1, b"", b"", b"Not found", 0)),
        (request(0x18, b"", b"", b"", 0), Vec::new()),
        (request(0x00, b"", b"a", b"", 0), reply(0x00, 1, b"", b"", b"Not found", 0)),
        (request(0x07, b"", b"", b"", 0), reply(0x07, 0, b"", b"", b"", 0)),
    ]
}

#[test]
fn each_request_has_its_reply_however_the_stream_is_split() {
    for bytes in [1, 23, 25, usize::MAX] {
        let harness = Harness::in_memory(Limits::default());
        let mut client = harness.client();
        let (requests, replies): (Vec<_>, Vec<_>) = dialogue().into_iter().unzip();
        requests.concat().chunks(bytes.min(1 << 20)).for_each(|piece| client.send(piece));
        client.hear(replies.concat());
        assert!(client.rest().is_empty(), "it is closed after a quit");
    }
}

#[test]
fn large_values_come_through_and_too_large_ones_are_refused() {
    let harness = Harness::on(memory_drive());
    let mut client = harness.client();
    let of = |number: usize| (format!("key{number}").into_bytes(), value(number, 50_000));
    for number in 0..100 {
        let (key, value) = of(number);
        client.send(set(0x11, &key, &value, 0));
    }
    client.say(request(0x0a, b"", b"", b"", 0), reply(0x0a, 0, b"", b"", b"", 0));
    // Most of them are on flash.
    for first in (0..100).step_by(20) {
        (first..first + 20).for_each(|number| client.send(request(0x0d, b"", &of(number).0, b"", 0)));
        client.send(request(0x0a, b"", b"", b"", 0));
        for number in first..first + 20 {
            let (key, value) = of(number);
            let mut hit = vec![0; 24 + 4 + key.len() + value.len()];
            client.receive_exact(&mut hit);
            assert!(hit[28..] == [&key[..], &value].concat(), "{number}");
        }
        client.hear(reply(0x0a, 0, b"", b"", b"", 0));
    }
    let large = set(0x01, b"large", &vec![b'x'; 200_000], 0);
    client.say(large, reply(0x01, 3, b"", b"", b"Too large.", 0));
    client.say(request(0x0a, b"", b"", b"", 0), reply(0x0a, 0, b"", b"", b"", 0));
}

#[test]
fn statistics_are_name_and_value() {
    let harness = Harness::in_memory(Limits::default());
    let mut client = harness.client();
    client.send(request(0x10, b"", b"", b"", 0));
    let (mut names, mut head) = (Vec::new(), [0; 24]);
    loop {
        client.receive_exact(&mut head);
        let key = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let body = u32::from_be_bytes(head[8..12].try_into().expect("four bytes")) as usize;
        if body == 0 {
            break;
        }
        let mut content = vec![0; body];
        client.receive_exact(&mut content);
        names.push(String::from_utf8(content[..key].to_vec()).expect("text"));
    }
    assert!(
        ["pid", "curr_items", "rusage_user"].iter().all(|name| names.iter().any(|n| n == name)),
        "{names:?}"
    );
}

#[test]
fn a_login_is_that_of_sasl_and_comes_first() {
    let users = Users::parse(b"me:secret\n").expect("a user");
    let options = ListenOptions { users: Some(users), ..ListenOptions::default() };
    let settings = Settings { memory: 16 << 20, ..SMALL };
    let harness: Harness<MemoryDrive> = Harness::with(None, settings, options, Limits::default(), false);
    let failure = |opcode: u8| reply(opcode, 0x20, b"", b"", b"Auth failure.", 0);
    let mut client = harness.client();
    client.say(request(0x00, b"", b"a", b"", 0), failure(0x00));
    assert!(client.rest().is_empty(), "it is closed");
    let mut client = harness.client();
    client.say(request(0x20, b"", b"", b"", 0), reply(0x20, 0, b"", b"", b"PLAIN", 0));
    client.say(request(0x21, b"", b"PLAIN", b"\0me\0wrong", 0), failure(0x21));
    let welcome = reply(0x21, 0, b"", b"", b"Authenticated", 0);
    client.say(request(0x21, b"", b"PLAIN", b"\0me\0secret", 0), welcome);
    client.say(set(0x01, b"a", b"1", 0), reply(0x01, 0, b"", b"", b"", 1));
    client.say(request(0x21, b"", b"PLAIN", b"\0me\0secret", 0), failure(0x21));
    assert_eq!(harness.stop().figures.sums.items, 1, "a login is no item");
}

#[test]
fn garbage_behind_the_first_byte_ends_the_connection() {
    let harness = Harness::in_memory(Limits::default());
    for garbage in [
        &b"\x80\x0b"[..],
        &[0x80; 24],
        &[&request(0x0a, b"", b"", b"", 0)[..], b"get a\r\n and so on, for a header's length"].concat(),
        &request(0x00, b"12345678", b"a", b"", 0),
        &request(0x00, b"", &[b'k'; 251], b"", 0),
    ] {
        let mut client = harness.client();
        client.0.set_read_timeout(Some(Duration::from_secs(60))).expect("a good time");
        client.send(garbage);
        client.0.shutdown(std::net::Shutdown::Write).expect("it is open");
        client.rest();
    }
    harness.client().say("version\r\n", "VERSION ");
}

impl Client {
    fn receive_exact(&mut self, buffer: &mut [u8]) {
        std::io::Read::read_exact(&mut self.0, buffer).expect("the server answers");
    }
}
