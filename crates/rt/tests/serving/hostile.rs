//! Misbehaving clients: others are not affected, and acknowledged writes are kept.

use crate::memory_of_process;
use crate::serving::{Harness, header, patient, use_it};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use tailcut_base::Nanos;
use tailcut_rt::Client;
use tailcut_rt::serve::{Address, Limits};

fn raw(harness: &Harness) -> UnixStream {
    let Address::Unix(path) = harness.server.address() else { panic!("it listens on a unix socket") };
    UnixStream::connect(path).expect("it listens")
}

/// A raw socket in the transmission phase of an export with simple replies.
fn transmitting(harness: &Harness) -> UnixStream {
    let mut socket = raw(harness);
    socket.read_exact(&mut [0; 18]).expect("a greeting");
    let words =
        [&3u32.to_be_bytes()[..], b"IHAVEOPT", &1u32.to_be_bytes(), &4u32.to_be_bytes(), b"disk"].concat();
    socket.write_all(&words).expect("it listens");
    socket.read_exact(&mut [0; 10]).expect("an answer");
    socket
}

/// True once the server has closed the connection.
fn is_hung_up(mut socket: UnixStream) -> bool {
    let mut rest = Vec::new();
    socket.read_to_end(&mut rest).is_ok() || rest.is_empty()
}

#[test]
fn garbage_ends_the_connection_that_sends_it() {
    let harness = Harness::new(patient());
    let mut good = harness.client();
    for garbage in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xFF; 1000], &[0; 64]] {
        let mut socket = raw(&harness);
        socket.write_all(garbage).expect("it listens");
        assert!(is_hung_up(socket));
        let mut socket = transmitting(&harness);
        socket.write_all(garbage).expect("it listens");
        assert!(is_hung_up(socket));
        use_it(&mut good, 5000, 1);
    }
}

#[test]
fn a_write_that_ends_half_way_does_not_happen() {
    let harness = Harness::new(patient());
    let mut good = harness.client();
    use_it(&mut good, 0, 7);
    for part in [0, 1, 4096, 9999, 100_000] {
        let mut socket = transmitting(&harness);
        socket.write_all(&header(1, 0, 200_000).encode()).expect("it listens");
        socket.write_all(&vec![9; part]).expect("it listens");
        drop(socket);
        assert_eq!(good.call(&header(0, 0, 10_000), &[]).expect("a reply"), (0, vec![7; 10_000]));
    }
    // Writes acknowledged to a disconnected client are kept.
    let mut other = harness.client();
    use_it(&mut other, 400_000, 8);
    drop(other);
    assert_eq!(good.call(&header(0, 400_000, 10_000), &[]).expect("a reply"), (0, vec![8; 10_000]));
}

/// The end of a connection may arrive together with its last bytes, and then no event announces it again.
#[test]
fn who_goes_in_the_middle_of_a_request_leaves_no_slot_taken() {
    let harness = Harness::new(Limits { connections: 8, ..patient() });
    for _ in 0..2000 {
        let Ok(mut client) = Client::connect(harness.server.address(), "disk") else { continue };
        client.ask(&header(1, 0, 100_000), &[1; 10]);
        client.send().expect("it listens");
    }
    // The slots are free as soon as the server has polled.
    let mut clients = Vec::new();
    for _ in 0..100_000 {
        clients.extend(Client::connect(harness.server.address(), "disk").ok());
        if clients.len() == 8 {
            return;
        }
    }
    panic!("{} of 8 slots are free", clients.len());
}

#[test]
fn requests_out_of_range_are_refused_and_the_connection_goes_on() {
    let harness = Harness::new(patient());
    let mut client = harness.client();
    let end = client.bytes();
    let error = |client: &mut Client, command, offset, length| {
        client.call(&header(command, offset, length), &[]).expect("a reply").0
    };
    assert_eq!(error(&mut client, 0, end, 1), 22);
    assert_eq!(error(&mut client, 0, u64::MAX, u32::MAX), 22);
    assert_eq!(error(&mut client, 0, 0, u32::MAX), 22);
    assert_eq!(error(&mut client, 4, end - 1, 2), 22);
    assert_eq!(error(&mut client, 6, end - 1, 2), 28);
    assert_eq!(error(&mut client, 77, 0, 1), 22);
    let beyond = client.call(&header(1, end - 4096, 8192), &[1; 8192]).expect("a reply");
    assert_eq!(beyond.0, 28, "its data is skipped");
    let over_long = (33 << 20) as u32;
    let refused = client.call(&header(1, 0, over_long), &vec![1; over_long as usize]).expect("a reply");
    assert_eq!(refused.0, 22);
    use_it(&mut client, end - 10_000, 3);
    let served = harness.server.stop();
    assert_eq!(served.drives[0].1.refused, 8);
}

/// Each client sends as many requests as the server accepts, and reads no replies.
#[test]
fn who_reads_nothing_back_is_not_read_from() {
    let harness = Harness::new(Limits { memory: 128 << 20, ..patient() });
    let mut good = harness.client();
    use_it(&mut good, 0, 1);
    let mut hogs: Vec<UnixStream> = (0..20).map(|_| transmitting(&harness)).collect();
    for hog in &mut hogs {
        hog.set_nonblocking(true).expect("a socket of ours");
        let asks: Vec<u8> = (0..2000).flat_map(|_| header(0, 0, 1 << 20).encode()).collect();
        // Sends until the server stops reading.
        let mut sent = 0;
        while let Ok(count) = hog.write(&asks[sent % 28..]) {
            sent += count;
            assert!(sent < 64 << 20, "the server reads on and on");
        }
        use_it(&mut good, 20_000, 2);
    }
    // A client that reads again is served again.
    let mut back = hogs.remove(0);
    back.set_nonblocking(false).expect("a socket of ours");
    back.read_exact(&mut vec![0; 3 << 20]).expect("three replies");
    drop(hogs);
    use_it(&mut good, 40_000, 3);
    drop(back);
    let served = harness.server.stop();
    assert_eq!(served.drives[0].1.expelled, 0);
}

/// Without patience, clients that hold memory that others need are disconnected.
#[test]
fn who_stands_in_the_way_is_expelled() {
    let harness = Harness::new(Limits { memory: 128 << 20, patience: Nanos(1), ..patient() });
    let hogs: Vec<UnixStream> = (0..8)
        .map(|_| {
            let mut hog = transmitting(&harness);
            // The beginning of a write of most of the memory, which never completes.
            let start = header(1, 0, 30 << 20).encode();
            hog.write_all(&start).expect("it listens");
            hog
        })
        .collect();
    let mut good = harness.client();
    use_it(&mut good, 20_000, 2);
    // A write as large as theirs is admitted once one of them is gone.
    let data = vec![5; 30 << 20];
    assert_eq!(good.call(&header(1, 0, 30 << 20), &data).expect("a reply").0, 0);
    drop(hogs);
}

#[test]
fn half_a_handshake_holds_up_nobody() {
    let harness = Harness::new(Limits { handshakes: 16, ..patient() });
    let mut good = harness.client();
    // More than the limit: the oldest are disconnected.
    let waiting: Vec<UnixStream> = (0..100)
        .map(|number: usize| {
            let mut socket = raw(&harness);
            let words = [&3u32.to_be_bytes()[..], b"IHAVEOPT"].concat();
            let _ = socket.write_all(&words[..number % words.len()]);
            socket
        })
        .collect();
    use_it(&mut good, 0, 1);
    use_it(&mut harness.client(), 10_000, 2);
    drop(waiting);
    let served = harness.server.stop();
    assert!(served.turned_away >= 80, "{}", served.turned_away);
}

#[test]
fn late_handshakes_are_ended() {
    let harness = Harness::new(Limits { handshake: Nanos::millis(1), ..patient() });
    let late = raw(&harness);
    assert!(is_hung_up(late), "it does not wait for ever");
}

#[test]
fn ten_thousand_connections() {
    let harness = Harness::new(Limits { connections: 50, handshakes: 20, ..patient() });
    let mut good = harness.client();
    let Address::Unix(path) = harness.server.address() else { panic!("it listens on a unix socket") };
    let mut open = std::collections::VecDeque::new();
    for number in 0..10_000 {
        open.push_back(UnixStream::connect(path).expect("it listens"));
        if open.len() > 500 {
            open.pop_front();
        }
        if number % 1000 == 0 {
            use_it(&mut good, 0, number as u8);
        }
    }
    drop(open);
    // Connections that complete their handshake, beyond the limit.
    let clients: Vec<Client> =
        (0..200).filter_map(|_| Client::connect(harness.server.address(), "disk").ok()).collect();
    assert!(clients.len() < 50, "{} have a slot", clients.len());
    use_it(&mut good, 0, 77);
    drop(clients);
    // The slots of disconnected clients are free again.
    while Client::connect(harness.server.address(), "disk").is_err() {}
}

/// In a process of its own, because other tests use the heap as well.
#[cfg(target_env = "gnu")]
#[test]
fn memory_of_clients_that_have_left_goes_back_to_the_system() {
    let mut again = std::process::Command::new(std::env::current_exe().expect("it runs"));
    again.args(["serving::hostile::clients_of_a_process_leave", "--exact", "--ignored"]);
    let output = again.output().expect("it runs again");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
#[ignore = "is run in a process of its own by another test"]
fn clients_of_a_process_leave() {
    let harness = Harness::new(Limits { memory: 512 << 20, ..patient() });
    drop(harness.client());
    let before = memory_of_process("VmRSS");
    let mut hogs: Vec<UnixStream> = (0..8).map(|_| transmitting(&harness)).collect();
    let mut good = harness.client();
    for hog in &mut hogs {
        hog.write_all(&header(1, 0, 30 << 20).encode()).expect("it listens");
        hog.set_nonblocking(true).expect("a socket of ours");
        // Half of the data of a write. The server takes in what fits, while it serves others.
        let mut left = 15 << 20;
        for _ in 0..2000 {
            match hog.write(&vec![1; left.min(1 << 20)]) {
                Ok(count) => left -= count,
                Err(_) => use_it(&mut good, 0, 1),
            }
            if left == 0 {
                break;
            }
        }
    }
    drop(good);
    let held = memory_of_process("VmRSS");
    assert!(held > before + (64 << 20), "{} MiB are held after {}", held >> 20, before >> 20);
    drop(hogs);
    for _ in 0..100_000 {
        // The server has noticed by then that the others are gone, and this one leaves last.
        drop(harness.client());
        if memory_of_process("VmRSS") < before + (32 << 20) {
            return;
        }
    }
    panic!("{} MiB are left of {}, after {}", memory_of_process("VmRSS") >> 20, held >> 20, before >> 20);
}
