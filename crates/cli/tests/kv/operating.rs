//! Operation of a server.

use crate::server::Server;
use crate::support::{Place, json};
use std::io::{Read, Write};
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

#[test]
fn without_any_option_it_serves_from_emulated_drives() {
    let mut server = Server::start(&[]);
    assert!(server.greeting.contains("a cache on epochs over 4 emulated SSDs"), "{}", server.greeting);
    let mut client = server.client();
    let large = "x".repeat(900_000);
    (0..120).for_each(|number| assert!(client.set(&format!("key{number}"), &large)));
    (0..120).for_each(|number| assert_eq!(client.get(&format!("key{number}")).as_deref(), Some(&large[..])));
    let (words, code) = server.stop();
    assert_eq!(code, Some(0));
    assert!(words.contains("served") && words.contains("of them on flash"), "{words}");
}

#[test]
fn its_figures_can_be_read_by_programs() {
    let mut server = Server::start(&["-m", "32", "-M", "--json", "figures.json"]);
    let mut client = server.client();
    assert!(client.set("a", "1") && client.get("a").is_some() && client.get("b").is_none());
    server.stop();
    let figures = server.place.json("figures.json");
    let of = |name: &str| figures[name].as_u64();
    assert_eq!((of("gets"), of("hits"), of("sets"), of("items")), (Some(2), Some(1), Some(1), Some(1)));
    assert_eq!(figures["drive_writes_completed"], true);
}

#[test]
fn a_server_without_a_drive_claims_nothing_about_writes_to_one() {
    let mut server = Server::start(&["--memory-only", "--json", "figures.json", "--log", "json"]);
    assert!(server.client().set("a", "1"));
    let (words, _) = server.stop();
    let figures = server.place.json("figures.json");
    assert!(figures["drive_writes_completed"].is_null() && figures["is_durable"].is_null(), "{figures}");
    assert!(!words.contains("durable"), "{words}");
}

#[test]
fn a_unix_socket_is_for_whom_it_is_meant() {
    let place = Place::new();
    let mut server = Server::start_in(place, &["--memory-only", "-s", "socket", "-a", "770"]);
    let socket = server.place.path("socket");
    let mode = std::fs::metadata(&socket).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o770);
    let mut stream = UnixStream::connect(&socket).expect("it listens");
    stream.write_all(b"set a 0 0 1\r\n1\r\nquit\r\n").expect("it listens");
    let mut told = String::new();
    stream.read_to_string(&mut told).expect("text");
    assert_eq!(told, "STORED\r\n");
    server.stop();
    assert!(!socket.exists());
}

#[test]
fn passwords_and_datagrams() {
    let place = Place::new();
    place.put("users", b"me:secret\n");
    let server = Server::start_in(place, &["--memory-only", "-Y", "users"]);
    let mut client = server.client();
    assert_eq!(client.say("get a").as_deref(), Some("CLIENT_ERROR unauthenticated"));
    assert!(client.set("any", "me secret"));
    assert_eq!(client.get("a"), None);
    server.place.put("wrong", b"me\n");
    let refused = server.place.refused(2, &["serve", "kv", "--memory-only", "-Y", "wrong"]);
    assert!(refused.contains("wrong: line 1"), "{refused}");

    // A port that was free a moment ago.
    let port = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
    let server = Server::start(&["--memory-only", "-U", &port.to_string()]);
    assert!(server.greeting.contains("(UDP)"), "{}", server.greeting);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.set_read_timeout(Some(std::time::Duration::from_secs(60))).expect("a good time");
    socket.send_to(b"\0\x05\0\0\0\x01\0\0mn\r\n", ("127.0.0.1", port)).expect("loopback");
    let mut answer = [0; 100];
    let bytes = socket.recv(&mut answer).expect("an answer");
    assert_eq!(&answer[..bytes], b"\0\x05\0\0\0\x01\0\0MN\r\n");
}

#[test]
fn what_would_mean_something_else_is_refused_and_what_means_nothing_is_said() {
    let place = Place::new();
    place.put("tiny", &[0; 4096]);
    let tiny = place.refused(2, &["serve", "kv", "-p", "-1", "--device", "tiny"]);
    assert!(tiny.contains("KiB are needed"), "{tiny}");
    let refused = |arguments: &[&str]| place.refused(2, &[&["serve", "kv"], arguments].concat());
    for (arguments, says) in [
        (&["-d"][..], "stays in the foreground"),
        (&["-B", "binary"], "binary protocol is not spoken"),
        (&["-o", "no_such"], "there are idle_timeout=SECONDS"),
        (&["-o", "ext_path=/tmp/x:1G"], "--device PATH"),
        (&["-o", "idle_timeout=soon"], "idle_timeout=60"),
        (&["--durable", "--memory-only"], "cannot be used with"),
        (&["-I", "8m"], "need -m 128 at least"),
        (&["-I", "8x"], "512k or 2m"),
        (&["-F"], "flush_all is always understood"),
        (&["-p", "0"], "nobody could connect"),
        (&["-l", "0.0.0.0"], "--allow-network"),
        (&["-l", "example.org"], "127.0.0.1 or [::1]:11212"),
        (&["-U", "1", "-Y", "users"], "cannot be used with"),
        (&["--set", "array.drivse=4"], "did you mean 'drives'"),
        (&["-m", "99999999"], "the system does not give so much memory"),
        (&["--set", "kv.segment=256KiB"], "kv.segment has no effect: a server takes nothing"),
        (
            &["--device", "tiny", "--set", "device.preset=z-ssd"],
            "device.preset has no effect: files and devices",
        ),
    ] {
        let text = refused(arguments);
        assert!(text.contains(says), "{arguments:?}: {text}");
    }
    let both = refused(&["-d", "-S"]);
    assert!(both.contains("-d:") && both.contains("-S:"), "{both}");
    let mut command = place.command(&["serve", "kv", "--memory-only", "-s", "no/such/folder/socket"]);
    command.args(["-t", "4", "-v", "-R", "20", "-o", "modern,no_lru_crawler", "-P", "pid"]);
    let output = command.output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(["-R changes", "-o modern", "-P changes"].iter().all(|part| told.contains(part)), "{told}");
    assert!(told.contains("no/such/folder/socket"), "{told}");
}

#[test]
fn one_too_many_is_told_so() {
    let mut server = Server::start(&["--memory-only", "-c", "1", "--json", "figures"]);
    let mut first = server.client();
    assert!(first.set("a", "1"));
    assert_eq!(server.client().hear().as_deref(), Some("ERROR Too many open connections"));
    server.stop();
    let figures = std::fs::read_to_string(server.place.path("figures")).expect("it was written");
    assert_eq!(json(&figures)["turned_away"], 1);
}

/// Standard error of a server with passwords in a file with these permissions, after a failed login.
fn after_a_failed_login(permissions: u32) -> String {
    let place = Place::new();
    place.put("users", b"me:secret\n");
    let path = place.path("users");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(permissions)).expect("it is ours");
    let mut command = place.command(&["serve", "kv", "-q", "--memory-only", "-s", "kv.sock", "-Y", "users"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let mut first = [0; 1];
    child.stdout.as_mut().expect("its output").read_exact(&mut first).expect("it serves");
    let mut stream = UnixStream::connect(place.path("kv.sock")).expect("it listens");
    stream.write_all(b"set x 0 0 8\r\nme wrong\r\n").expect("it listens");
    let mut told = [0; 38];
    stream.read_exact(&mut told[..37]).expect("an answer");
    assert!(told.starts_with(b"CLIENT_ERROR authentication failure\r\n"), "{told:?}");
    let id = child.id().to_string();
    Command::new("kill").args(["-TERM", &id]).status().expect("kill is everywhere");
    String::from_utf8(child.wait_with_output().expect("our child").stderr).expect("text")
}

#[test]
fn a_failed_login_and_passwords_for_everybody_are_told() {
    let own = format!("process {} of user ", std::process::id());
    let told = after_a_failed_login(0o600);
    assert!(told.contains("wrong name or password from") && told.contains(&own), "{told}");
    assert!(!told.contains("chmod"), "{told}");
    let told = after_a_failed_login(0o644);
    assert!(told.contains("users") && told.contains("chmod 600"), "{told}");
}
