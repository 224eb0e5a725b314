//! Operation of a server: queries, control, kill, and restart.

use crate::block::server::{Server, has, sample};
use crate::support::{Place, stderr, stdout};
use std::io::{Read, Write};
use std::net::TcpStream;
use tailcut_host::wire::nbd::Header;
use tailcut_rt::Client;
use tailcut_rt::serve::Address;

const BINARY: &str = env!("CARGO_BIN_EXE_tailcut");

/// A small emulated drive that supports the control interface.
const SMALL: [&str; 3] = ["small.toml", "--set", "device.control_api=true"];

fn tell(server: &Server, arguments: &[&str]) -> String {
    server.run(BINARY, arguments)
}

#[test]
fn it_says_how_it_is_and_does_as_it_is_told() {
    let server = Server::start(&SMALL);
    let status = tell(&server, &["status", "socket.ctl"]);
    assert!(
        status.starts_with("export disk\ndrive g-1g (11.5 MiB)\n") && status.contains("\nrequests 0\n"),
        "{status}"
    );
    assert!(tell(&server, &["ctl", "socket.ctl", "free-blocks"]).ends_with(" blocks\n"));
    assert_eq!(tell(&server, &["ctl", "socket.ctl", "run-gc", "1ms"]), "done\n");
    let refused = server.attempt(BINARY, &["ctl", "socket.ctl", "run-gc", "soon"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("'soon' is no time such as 10ms"));
    let control = server.place.path("socket.ctl");
    server.stop();
    assert!(!control.exists());
}

/// A small drive with two handles.
const TWO_HANDLES: [&str; 16] = [
    "--set",
    "device.preset=pm9a3-960",
    "--set",
    "device.geometry.channels=2",
    "--set",
    "device.geometry.chips=1",
    "--set",
    "device.geometry.blocks=64",
    "--set",
    "device.geometry.pages=96",
    "--set",
    "device.buffer.size=4MiB",
    "--set",
    "device.ftl.spare=40%",
    "--set",
    "device.fdp.handles=2",
];

#[test]
fn writes_of_clients_are_placed_by_the_policy_that_was_simulated() {
    let server = Server::start(&[&TWO_HANDLES[..], &["--set", "placement.policy=size"]].concat());
    let mut client =
        Client::connect(&Address::Unix(server.place.path("socket")), "disk").expect("it is served");
    let long = vec![7; 64 << 10];
    for cookie in 0..256 {
        let header = Header { flags: 0, command: 1, cookie, offset: cookie * (64 << 10), length: 64 << 10 };
        assert_eq!(client.call(&header, &long).expect("a reply"), (0, Vec::new()));
    }
    let status = tell(&server, &["status", "socket.ctl"]);
    assert!(status.contains("\nhandle 0: 0 B written"), "{status}");
    assert!(status.contains("\nhandle 1: ") && !status.contains("\nhandle 1: 0 B"), "{status}");
    let handle = tell(&server, &["ctl", "socket.ctl", "handle-status", "1"]);
    assert!(handle.starts_with("available ") && handle.contains(" of "), "{handle}");
    // No reclaim unit may be free on so small a drive.
    let update = server.attempt(BINARY, &["ctl", "socket.ctl", "update-handle", "1"]);
    let (said, refused) = (stdout(&update), stderr(&update));
    assert!(said == "done\n" || refused.contains("no reclaim unit is free"), "{said}{refused}");
    server.stop();
}

#[test]
fn handles_that_no_write_names_are_warned_about() {
    let place = Place::new();
    let words = [&["serve", "block", "--unix", "s", "--run", "true"][..], &TWO_HANDLES].concat();
    let said = stderr(&place.attempt(BINARY, &words));
    assert!(said.contains("name no reclaim unit handle") && said.contains("placement.policy"), "{said}");
    let idle = ["serve", "block", "--unix", "s", "--set", "placement.policy=size"];
    let refused = place.refused(2, &idle);
    assert!(refused.contains("placement.policy has no effect: the drive has one handle"), "{refused}");
}

#[test]
fn drives_of_an_array_are_called_by_their_member_numbers() {
    let mut words = vec!["--set", "array.drives=2", "--set", "array.layout=raid0"];
    words.extend(SMALL);
    let server = Server::start(&words);
    let call = |words: &[&str]| server.attempt(BINARY, &[&["ctl", "socket.ctl"], words].concat());
    assert!(stdout(&call(&["member", "1", "free-blocks"])).ends_with(" blocks\n"));
    let refused = stderr(&call(&["free-blocks"]));
    assert!(refused.contains("'member 0 REQUEST' calls the first"), "{refused}");
    let refused = stderr(&call(&["member", "2", "free-blocks"]));
    assert!(refused.contains("there is no such drive"), "{refused}");
    server.stop();
}

#[test]
fn several_drives_are_served_each_for_itself() {
    let mut arguments = vec!["--drives", "3"];
    arguments.extend(SMALL);
    let server = Server::start(&arguments);
    let status = tell(&server, &["status", "socket.ctl"]);
    assert_eq!(status.matches("export disk").count(), 3, "{status}");
    assert!(status.contains("export disk2\n"), "{status}");
    if has(&["nbdinfo"]) {
        let list = server.run("nbdinfo", &["--list", &server.uri.replace("/disk0", "/")]);
        assert!(
            ["disk0", "disk1/fast", "disk2"].iter().all(|name| list.contains(&format!("\"{name}\""))),
            "{list}"
        );
    }
    server.stop();
}

#[test]
fn two_devices_are_a_mirror_unless_they_are_to_be_separate() {
    let place = Place::new();
    ["a", "b"].iter().for_each(|file| place.sparse(file, 64 << 20));
    let both = ["--device", "a", "--device", "b"];
    let mut server = Server::start_in(place, &both);
    let status = tell(&server, &["status", "socket.ctl"]);
    assert!(status.contains("\ncondition optimal") && status.matches("export ").count() == 1, "{status}");
    server.signal("-TERM");
    assert_eq!(server.last_words().1, Some(0));
    server.start_again(&both);
    assert!(tell(&server, &["status", "socket.ctl"]).contains("\ncondition optimal"));
    server.signal("-TERM");
    server.last_words();
    let separate = ["serve", "block", "-q", "--unix", "s", "--separate", "--device", "a", "--device", "b"];
    let refused = server.place.refused(2, &separate);
    assert!(
        refused.contains("a is not opened for writing: it holds drive 0 of a tailcut array"),
        "{refused}"
    );
    ["c", "d"].iter().for_each(|file| server.place.sparse(file, 64 << 20));
    server.start_again(&["--separate", "--device", "c", "--device", "d"]);
    assert_eq!(tell(&server, &["status", "socket.ctl"]).matches("export disk").count(), 2);
    server.stop();
}

#[test]
fn prometheus_reads_its_page() {
    let mut arguments = vec!["--metrics", "127.0.0.1:0"];
    arguments.extend(SMALL);
    let mut server = Server::start(&arguments);
    let line = server.next_line();
    let address =
        line.strip_prefix("metrics at http://").and_then(|rest| rest.trim().strip_suffix("/metrics"));
    let mut stream = TcpStream::connect(address.expect("an address")).expect("it listens");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n").expect("it listens");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("text until its end");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    assert!(page.contains("\ntailcut_request_seconds_count{kind=\"read\",export=\"disk\"} 0\n"), "{page}");
    server.stop();
}

/// A client's flushed writes survive `kill -9`, with a drive missing, and after the drive is back.
#[test]
fn an_array_of_files_outlives_its_server() {
    if !has(&["qemu-io", "nbdcopy"]) {
        return;
    }
    for (layout, groups) in [("raid5", "1"), ("log-raid5", "1"), ("epochs", "2")] {
        let place = Place::new();
        let content = sample(1 << 20);
        place.put("content", &content);
        let (layout, groups) = (format!("array.layout={layout}"), format!("array.groups={groups}"));
        let on = |files: &[&'static str]| {
            let mut words = vec!["--set", "array.drives=4", "--set", &layout, "--set", &groups];
            files.iter().for_each(|file| words.extend(["--device", file]));
            words.into_iter().map(String::from).collect::<Vec<_>>()
        };
        let all = on(&["a", "b", "c", "d"]);
        ["a", "b", "c", "d"].iter().for_each(|file| place.sparse(file, 64 << 20));
        let mut words: Vec<&str> = all.iter().map(String::as_str).collect();
        words.push("--create");
        let mut server = Server::start_in(place, &words);
        server.run("qemu-io", &["-f", "raw", "-c", "write -s content 1M 1M", "-c", "flush", &server.uri]);
        let check = |server: &mut Server, words: &[String], condition: &str| {
            server.kill();
            server.start_again(&words.iter().map(String::as_str).collect::<Vec<_>>());
            let status = tell(server, &["status", "socket.ctl"]);
            assert!(status.contains(&format!("\ncondition {condition}")), "{layout}: {status}");
            server.run("nbdcopy", &[&server.uri, "copy"]);
            let copy = std::fs::read(server.place.path("copy")).expect("it was made");
            assert!(copy[1 << 20..2 << 20] == content[..], "{layout}");
        };
        check(&mut server, &all, "optimal");
        check(&mut server, &on(&["d", "a", "b"]), "degraded; missing [2]");
        // The drive is stale, and is not used as it is.
        check(&mut server, &all, "degraded; missing [2]");
        let status = tell(&server, &["status", "socket.ctl"]);
        assert!(
            status.contains("\nwarning: c is left out: it was member 2, and the array has gone on"),
            "{status}"
        );
        tell(&server, &["ctl", "socket.ctl", "replace", "2", "c"]);
        while !tell(&server, &["status", "socket.ctl"]).contains("\ncondition optimal") {
            std::thread::yield_now();
        }
        check(&mut server, &on(&["d", "c", "b"]), "degraded; missing [0]");
    }
}

#[test]
fn what_does_not_fit_together_is_told() {
    let place = Place::new();
    let refused = |arguments: &[&str]| place.refused(2, &[&["serve", "block"], arguments].concat());
    let both = refused(&["--drives", "2", "--set", "array.drives=4"]);
    assert!(both.contains("leave out one"), "{both}");
    let open = refused(&["--metrics", "0.0.0.0:0"]);
    assert!(open.contains("--allow-network"), "{open}");
    let missing = refused(&["--device", "no-such-file"]);
    assert!(missing.contains("no-such-file"), "{missing}");
}
