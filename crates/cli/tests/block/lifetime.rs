//! Start and end of a server.

use crate::block::server::{Server, has};
use crate::support::{Place, json};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

#[test]
fn a_signal_ends_it_and_it_says_what_it_did() {
    let server = Server::start(&["--size", "1MiB"]);
    let socket = server.place.path("socket");
    assert!(socket.exists());
    let (report, code) = server.stop();
    assert_eq!(code, Some(0));
    assert!(report.contains("served 'disk'") && report.contains("no requests"), "{report}");
}

/// Where the tests themselves run under nohup(1), servers ignore the signal as well.
#[test]
fn the_end_of_its_terminal_stops_it_in_order() {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs is mounted");
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("proc_pid_status(5)");
    if u64::from_str_radix(ignored.trim(), 16).expect("a mask") & 1 != 0 {
        return;
    }
    let mut server = Server::start(&["--size", "1MiB"]);
    let (socket, control) = (server.place.path("socket"), server.place.path("socket.ctl"));
    assert!(socket.exists() && control.exists());
    server.signal("-HUP");
    let (report, code) = server.last_words();
    assert_eq!(code, Some(0), "{report}");
    assert!(report.contains("served 'disk'") && !socket.exists() && !control.exists(), "{report}");
}

#[test]
fn the_socket_goes_with_it_and_one_left_behind_is_replaced() {
    let server = Server::start(&["--size", "1MiB"]);
    let again = server.place.refused(2, &["serve", "block", "--unix", "socket"]);
    assert!(again.contains("in use by a server that answers"), "{again}");
    server.signal("-KILL");
    let socket = server.place.path("socket");
    let mut second = server;
    second.last_words();
    assert!(socket.exists(), "who was killed cannot tidy up");
    let mut child = second.place.command(&["serve", "block", "--unix", "socket", "--quiet"]);
    let mut child = child.stdout(std::process::Stdio::piped()).spawn().expect("the binary starts");
    let mut first = [0; 7];
    child.stdout.as_mut().expect("its output").read_exact(&mut first).expect("it serves");
    assert_eq!(&first, b"serving");
    UnixStream::connect(&socket).expect("it listens");
    let id = child.id().to_string();
    std::process::Command::new("kill").args(["-INT", &id]).status().expect("kill is everywhere");
    assert_eq!(child.wait().expect("our child").code(), Some(0));
    assert!(!socket.exists());
}

#[test]
fn what_is_wrong_is_said_with_what_would_be_right() {
    let place = Place::new();
    place.put("file", b"content");
    let error = place.refused(2, &["serve", "block", "--unix", "file"]);
    assert!(error.contains("no socket"), "{error}");
    assert_eq!(std::fs::read(place.path("file")).expect("it is still there"), b"content");
    let error = place.refused(2, &["serve", "block", "--tcp", "0.0.0.0:0"]);
    assert!(error.contains("127.0.0.1") && error.contains("--allow-network"), "{error}");
    let error = place.refused(2, &["serve", "block", "--size", "1000"]);
    assert!(error.contains("multiple of 4 KiB"), "{error}");
    let error = place.refused(2, &["serve", "block", "--unix", "no/such/folder/socket"]);
    assert!(error.contains("--unix: ") && error.contains("there is no folder no/such/folder;"), "{error}");
    // An address for documentation, which no machine has.
    let elsewhere = ["serve", "block", "--allow-network", "--tcp", "192.0.2.1:10809"];
    assert!(place.refused(2, &elsewhere).contains("--tcp: cannot listen on 192.0.2.1:10809"));
}

#[test]
fn its_figures_can_be_read_by_programs() {
    if !has(&["qemu-io"]) {
        return;
    }
    let server = Server::start(&["--size", "1MiB", "--json", "figures.json"]);
    server.run("qemu-io", &["-f", "raw", "-c", "write 0 64k", "-c", "read 0 4k", &server.uri]);
    let path = server.place.path("figures.json");
    let keeps = server.place.path("");
    assert!(keeps.exists());
    server.signal("-TERM");
    let mut server = server;
    server.last_words();
    let figures = json(&std::fs::read_to_string(path).expect("it was written"));
    let kinds = figures["exports"][0]["kinds"].as_array().expect("a list");
    let write = kinds.iter().find(|kind| kind["kind"] == "write").expect("writes");
    assert_eq!((write["requests"].as_u64(), write["bytes"].as_u64()), (Some(1), Some(65536)));
}

#[test]
fn who_says_nothing_holds_up_nobody_at_the_end() {
    let server = Server::start(&["--size", "1MiB"]);
    let mut silent = UnixStream::connect(server.place.path("socket")).expect("it listens");
    let mut greeting = [0; 18];
    silent.read_exact(&mut greeting).expect("a greeting");
    silent.write_all(&[0, 0, 0]).expect("half of an answer");
    let (_, code) = server.stop();
    assert_eq!(code, Some(0));
}
