//! Operation of a server.

use crate::kv::server::Server;
use crate::support::{Place, json, uninterrupted};
use std::io::{Read, Write};
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

#[test]
fn without_any_option_it_serves_from_emulated_drives() {
    let mut server = Server::start(&["--json", "figures.json"]);
    assert!(server.greeting.contains("a cache on epochs over 4 emulated SSDs"), "{}", server.greeting);
    let mut client = server.client();
    let large = "x".repeat(900_000);
    (0..120).for_each(|number| assert!(client.set(&format!("key{number}"), &large)));
    (0..120).for_each(|number| assert_eq!(client.get(&format!("key{number}")).as_deref(), Some(&large[..])));
    let (words, code) = server.stop();
    assert_eq!(code, Some(0));
    assert!(words.contains("served") && words.contains("of them on flash"), "{words}");
    // How late emulated drives were is part of the figures.
    assert!(
        (0..4).all(|drive| words.contains(&format!("\nemulated drive {drive}: late by p50 "))),
        "{words}"
    );
    let late = server.place.json("figures.json")["late"].as_array().expect("a list").clone();
    assert!(late.len() == 4 && late.iter().all(|of| of["answers"].as_u64() > Some(0)), "{late:?}");
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
fn the_memory_limit_moves_below_the_one_it_was_started_with() {
    let mut server = Server::start(&["--memory-only", "-m", "48", "-t", "2", "-I", "2m"]);
    let mut client = server.client();
    let refused = "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust";
    // Each of two threads needs room for four of the largest items.
    for (command, answer, mebibytes) in
        [("49", refused, 48), ("15", refused, 48), ("16", "OK", 16), ("48", "OK", 48)]
    {
        let heard = client.say(&format!("cache_memlimit {command}"));
        assert_eq!(heard.as_deref(), Some(answer), "{command}");
        assert_eq!(client.stats()["limit_maxbytes"], (mebibytes << 20).to_string(), "after {command}");
    }
    server.stop();
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
    let bytes = uninterrupted(|| socket.recv(&mut answer)).expect("an answer");
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
        (&["-o", "ext_path=/tmp/x:1G"][..], "truncate -s 1G /tmp/x && tailcut serve kv --device /tmp/x"),
        (&["-o", "idle_timeout=soon"], "idle_timeout=60"),
        (&["-o", "ext_item_size=large"], "ext_item_size=512"),
        (&["--flash-writes", "500"], "from 1m to 1048576g"),
        (&["--flash-item-size", "512", "--memory-only"], "--flash-item-size: --memory-only has no flash"),
        (&["--flash-ttl", "60", "-M"], "--flash-ttl: -M and --durable write every item"),
        (&["--durable", "--memory-only"], "cannot be used with"),
        (&["-I", "33m"], "need -m 66 at least"),
        (&["-m", "2", "-I", "1025k"], "need -m 3 at least"),
        (&["-I", "8x"], "512k or 2m"),
        (&["-S"], "clients would not have to authenticate"),
        (&["-p", "0"], "nobody could connect"),
        (&["-l", "0.0.0.0"], "--allow-network"),
        (&["-l", "example.org"], "127.0.0.1 or [::1]:11212"),
        (&["-U", "1", "-Y", "users"], "cannot be used with"),
        (&["--set", "array.drivse=4"], "did you mean 'drives'"),
        (&["-m", "99999999"], "this machine has"),
        (&["--set", "kv.segment=256KiB"], "kv.segment has no effect: a server takes nothing"),
        (
            &["--device", "tiny", "--set", "device.preset=z-ssd"],
            "device.preset has no effect: files and devices",
        ),
    ] {
        let text = refused(arguments);
        assert!(text.contains(says), "{arguments:?}: {text}");
    }
    let both = refused(&["-d", "-S", "-Z"]);
    assert!(both.contains("-S:") && both.contains("-Z:"), "{both}");
    place.put("users", b"me:secret\n");
    let mut command = place.command(&["serve", "kv", "--memory-only", "-s", "no/such/folder/socket"]);
    command.args([
        "-t",
        "4",
        "-v",
        "-R",
        "20",
        "-o",
        "modern,no_lru_crawler,no_such",
        "-S",
        "-Y",
        "users",
        "-B",
        "binary",
    ]);
    let output = command.output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        ["-R changes", "-o modern", "-o no_such", "-B changes"].iter().all(|part| told.contains(part)),
        "{told}"
    );
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

/// The number in a PID file.
fn process_of(path: &std::path::Path) -> u32 {
    std::fs::read_to_string(path).expect("it is there").trim().parse().expect("a number")
}

/// A `say` for a unix socket: everything that comes back until the server closes the connection.
fn said(socket: &std::path::Path, request: &[u8]) -> String {
    let mut stream = UnixStream::connect(socket).expect("it listens");
    stream.write_all(request).expect("it listens");
    let mut told = String::new();
    stream.read_to_string(&mut told).expect("text");
    told
}

#[test]
fn in_the_background_it_serves_until_a_client_stops_it() {
    let place = Place::new();
    let arguments = ["serve", "kv", "--memory-only", "-d", "-A", "-P", "pid", "-s", "socket", "-U", "0"];
    let output = place.command(&arguments).output().expect("the binary starts");
    let greeting = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && greeting.starts_with("serving a cache"), "{output:?}");
    let pid = process_of(&place.path("pid"));
    assert_ne!(pid, std::process::id());
    let told = said(&place.path("socket"), b"set a 0 0 1\r\n1\r\nshutdown now\r\nshutdown graceful\r\n");
    assert_eq!(told, "STORED\r\nCLIENT_ERROR invalid shutdown mode\r\n");
    let gone = || !place.path("pid").exists() && !std::path::Path::new(&format!("/proc/{pid}/fd/0")).exists();
    let mut turns = 0;
    while !gone() {
        std::thread::sleep(std::time::Duration::from_millis(20));
        turns += 1;
        assert!(turns < 1000, "it does not end");
    }
    let refused = place.refused(2, &["serve", "kv", "-d", "-p", "-1", "--memory-only", "-m", "99999999"]);
    assert!(refused.contains("this machine has") && refused.contains("did not start"), "{refused}");
}

#[test]
fn the_arguments_of_debians_configuration_start_it() {
    // Debian's user, where its package is installed. Its scripts leave out `-d` and lines without a dash.
    let user = if is_user("memcache") { "memcache" } else { "root" };
    let configuration = "-d\nlogfile /var/log/memcached.log\n-m 64\n-u USER\n-l 127.0.0.1\n-P no/pid\n";
    let lines = configuration.lines().filter(|line| line.starts_with('-') && !line.starts_with("-d"));
    let words = lines.flat_map(|line| line.split(' ')).map(|word| if word == "USER" { user } else { word });
    let arguments: Vec<&str> = words.chain(["--memory-only"]).collect();
    let server = Server::start(&arguments);
    assert!(server.client().set("a", "1"));
    assert_eq!(server.stats()["limit_maxbytes"], "67108864");
}

/// True if the system has this user.
fn is_user(name: &str) -> bool {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    users.lines().any(|line| line.split(':').next() == Some(name))
}

#[test]
fn small_memory_serves_large_items_and_what_is_disabled_is_refused() {
    let server = Server::start(&["--memory-only", "-m", "2", "-I", "1m", "-F", "-C"]);
    let mut client = server.client();
    assert!(client.set("a", &"x".repeat(1_000_000)) && client.set("b", "1"));
    assert_eq!(client.say("flush_all").as_deref(), Some("CLIENT_ERROR flush_all not allowed"));
    assert_eq!(client.say("gets b").as_deref(), Some("VALUE b 0 1 0"));
    client.hear();
    client.hear();
    assert_eq!(client.say("cas b 0 0 1 1\r\n2").as_deref(), Some("EXISTS"));
    assert_eq!(client.say("shutdown").as_deref(), Some("SERVER_ERROR: shutdown not enabled"));
    assert_eq!(client.say("mg b c").as_deref(), Some("HD c0"));
}

#[test]
fn statistics_of_sockets_logins_and_memory_are_those_of_memcached() {
    let place = Place::new();
    place.put("users", b"me:secret\n");
    let server = Server::start_in(place, &["--memory-only", "-c", "2", "-Y", "users"]);
    let mut client = server.client();
    assert_eq!(client.say("set x 0 0 8\r\nme wrong").as_deref(), Some("CLIENT_ERROR authentication failure"));
    assert!(client.set("x", "me secret") && client.set("a", &"y".repeat(1000)));
    let _second = server.client();
    let mut third = server.client();
    assert_eq!(third.hear().as_deref(), Some("ERROR Too many open connections"));
    let mut stats = std::collections::BTreeMap::new();
    // Another thread may have accepted the connection; its counters follow within its iteration.
    for _ in 0..100 {
        stats = client.stats();
        if stats["rejected_connections"] == "1" && stats["auth_cmds"] == "2" {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    for (name, value) in [
        ("max_connections", "2"),
        ("curr_connections", "2"),
        ("rejected_connections", "1"),
        ("auth_cmds", "2"),
        ("auth_errors", "1"),
        ("listen_disabled_num", "0"),
        ("reclaimed", "0"),
        ("expired_unfetched", "0"),
        ("evicted_unfetched", "0"),
    ] {
        assert_eq!(stats.get(name).map(String::as_str), Some(value), "{name}");
    }
    let mut conns = Vec::new();
    let mut line = client.say("stats conns").expect("it answers");
    while line != "END" {
        conns.push(line);
        line = client.hear().expect("it answers to the end");
    }
    let has = |end: &str| conns.iter().filter(|line| line.ends_with(end)).count();
    assert_eq!((has(":state conn_listening"), has(":state conn_read")), (1, 2), "{conns:?}");
    assert_eq!(has(&format!(":listen_addr tcp:{}", server.at)), 2, "{conns:?}");
    // The reply to `stats` itself counts from the next on.
    let stats = client.stats();
    let number = |name: &str| stats[name].parse::<f64>().expect("a number");
    assert!((1000.0..3000.0).contains(&number("bytes")), "{}", stats["bytes"]);
    assert!(number("bytes_read") > 1000.0 && number("bytes_written") > 100.0);
    assert!(number("rusage_user") + number("rusage_system") > 0.0);
    assert!(!stats.contains_key("extstore_limit_maxbytes"));
}
