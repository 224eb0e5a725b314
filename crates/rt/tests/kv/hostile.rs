//! Misbehaving clients, and clients that do not complete their commands.

use crate::kv::{Client, Harness, emulated, hit, memory_drive, set, value};
use std::io::Write;
use tailcut_base::Nanos;
use tailcut_base::random::Stream;
use tailcut_rt::kv::Limits;

/// Checks that the server still serves another client.
fn check_service(client: &mut Client) {
    client.say(set("check", b"good"), "STORED\r\n");
    client.say("get check\r\n", "VALUE check 0 4\r\ngood\r\nEND\r\n");
}

#[test]
fn who_does_not_read_is_not_served_and_nobody_else_notices() {
    let harness = Harness::on(memory_drive());
    let (mut slow, mut other) = (harness.client(), harness.client());
    let content = value(1, 50_000);
    slow.say(set("large", &content), "STORED\r\n");
    // 200 MB of replies.
    let gets = 4000;
    let mut writer = slow.0.try_clone().expect("a descriptor");
    std::thread::scope(|scope| {
        let asks = scope.spawn(move || {
            (0..gets).for_each(|_| writer.write_all(b"get large\r\n").expect("it takes them some day"));
        });
        (0..100).for_each(|_| check_service(&mut other));
        let answer = [&hit("large", &content)[..], b"END\r\n"].concat();
        (0..gets).for_each(|_| slow.hear(&answer));
        asks.join().expect("all was taken");
    });
    check_service(&mut slow);
}

#[test]
fn a_slow_client_of_a_drive_gets_all_in_its_order() {
    let harness = Harness::on(emulated());
    let mut client = harness.client();
    for number in 0..100 {
        client.say(set(&format!("key{number}"), &value(number, 20_000)), "STORED\r\n");
    }
    // More commands than may be pending, and more replies than may be left unread.
    let asked: Vec<usize> = (0..1000).map(|at| at * 37 % 100).collect();
    let gets: String = asked.iter().map(|number| format!("get key{number}\r\n")).collect();
    let mut writer = client.0.try_clone().expect("a descriptor");
    std::thread::scope(|scope| {
        scope.spawn(move || writer.write_all(gets.as_bytes()).expect("it takes them some day"));
        for number in asked {
            client.hear([&hit(&format!("key{number}"), &value(number, 20_000))[..], b"END\r\n"].concat());
        }
    });
}

#[test]
fn whatever_is_sent_others_are_served() {
    let harness = Harness::on(memory_drive());
    let mut good = harness.client();
    let mut random = Stream::new(5, "garbage");
    for round in 0..60 {
        let mut bad = harness.client();
        let mut bytes: Vec<u8> = (0..3000).map(|_| random.below(256) as u8).collect();
        if round % 3 == 0 {
            bytes.iter_mut().for_each(|byte| *byte = b"\r\n 0sgetcas"[usize::from(*byte) % 11]);
        }
        // The server may close the connection in the middle.
        let _ = bad.0.write_all(&bytes);
        let _ = bad.0.shutdown(std::net::Shutdown::Write);
        bad.rest();
        check_service(&mut good);
    }
    let mut endless = harness.client();
    let _ = endless.0.write_all(&[b'x'; 100_000]);
    endless.rest();
    check_service(&mut good);
}

#[test]
fn half_commands_wait_for_their_other_halves() {
    let harness = Harness::in_memory(Limits { connections: 400, ..Limits::default() });
    let mut clients: Vec<Client> = (0..300).map(|_| harness.client()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        let command = set(&format!("key{number}"), &value(number, 300));
        client.send(&command[..number % command.len()]);
    }
    check_service(&mut harness.client());
    for (number, client) in clients.iter_mut().enumerate() {
        let command = set(&format!("key{number}"), &value(number, 300));
        client.say(&command[number % command.len()..], "STORED\r\n");
    }
    drop(clients);
    assert_eq!(harness.stop().figures.sums.items, 301);
}

#[test]
fn who_goes_in_the_middle_leaves_nothing_behind() {
    let harness = Harness::on(emulated());
    let mut client = harness.client();
    for number in 0..100 {
        client.say(set(&format!("key{number}"), &value(number, 20_000)), "STORED\r\n");
    }
    for round in 0..200 {
        let mut other = harness.client();
        let keys: String = (0..round % 60 + 1).map(|number| format!(" key{number}")).collect();
        other.send(format!("get{keys}\r\nset new 0 0 100\r\nhalf"));
        drop(other);
    }
    // Connections are accepted in order, so all of them were.
    check_service(&mut harness.client());
    let served = harness.stop();
    assert_eq!((served.figures.sums.items, served.figures.traffic.connections), (101, 202));
}

#[test]
fn what_was_sent_before_somebody_goes_is_done() {
    let harness = Harness::on(memory_drive());
    let sets: Vec<u8> = (0..500)
        .flat_map(|number| {
            let text = format!("set key{number} 0 0 1000 noreply\r\n");
            [text.as_bytes(), &value(number, 1000), b"\r\n"].concat()
        })
        .collect();
    harness.client().send(&sets);
    let served = harness.stop_when(|glance| glance.sums.items == 500);
    assert_eq!(served.figures.sums.items, 500);
}

#[test]
fn one_too_many_is_told_so_and_may_come_later() {
    let harness = Harness::in_memory(Limits { connections: 2, ..Limits::default() });
    let (mut first, mut second) = (harness.client(), harness.client());
    check_service(&mut first);
    check_service(&mut second);
    assert_eq!(harness.client().rest(), b"ERROR Too many open connections\r\n");
    first.send("quit\r\n");
    assert!(first.rest().is_empty());
    check_service(&mut harness.client());
    assert_eq!(harness.stop().figures.traffic.turned_away, 1);
}

#[test]
fn who_says_nothing_goes_after_a_while() {
    let harness = Harness::in_memory(Limits { idle: Some(Nanos::millis(1)), ..Limits::default() });
    let mut silent = harness.client();
    assert!(silent.rest().is_empty());
    assert_eq!(harness.stop().figures.traffic.idle, 1);
}
