//! The metrics of a running server.

use crate::kv::exposition::Exposition;
use crate::kv::server::Server;
use std::io::{Read, Write};
use std::net::TcpStream;

/// The metrics page of a server started with `--metrics`, whose second line of output is its address.
fn page(address: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n").expect("it listens");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("text until its end");
    let (head, body) = page.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    body.to_string()
}

fn address(server: &mut Server) -> String {
    let line = server.next_line();
    let address =
        line.strip_prefix("metrics at http://").and_then(|rest| rest.trim().strip_suffix("/metrics"));
    address.expect("an address").to_string()
}

#[test]
fn prometheus_understands_every_line() {
    for threads in ["1", "3"] {
        let mut server = Server::start(&["-m", "16", "-t", threads, "-c", "5", "--metrics", "127.0.0.1:0"]);
        let at = address(&mut server);
        let before = Exposition::parse(&page(&at));
        assert_eq!(before.sum("tailcut_kv_items", &[]), 0.0);
        let mut client = server.client();
        let large = "x".repeat(500_000);
        (0..60).for_each(|number| assert!(client.set(&format!("key{number}"), &large)));
        (0..60).for_each(|number| assert!(client.get(&format!("key{number}")).is_some()));
        assert!(client.get("nothing").is_none());
        assert_eq!(client.say("delete key1").as_deref(), Some("DELETED"));
        assert_eq!(client.say("incr key1 1").as_deref(), Some("NOT_FOUND"));
        let after = Exposition::parse(&page(&at));
        let sum = |name: &str, labels: &[(&str, &str)]| after.sum(&format!("tailcut_{name}"), labels);
        for (kind, count) in [("get", 61.0), ("store", 60.0), ("delete", 1.0), ("incr", 1.0), ("touch", 0.0)]
        {
            assert_eq!(sum("kv_commands_total", &[("kind", kind)]), count, "{kind}");
        }
        assert_eq!(sum("kv_hits_total", &[]), 60.0);
        assert!(sum("kv_hits_total", &[("source", "flash")]) > 0.0);
        assert_eq!((sum("kv_misses_total", &[]), sum("kv_items", &[])), (1.0, 59.0));
        assert!(sum("kv_flash_written_bytes_total", &[]) > 1e6);
        assert_eq!((sum("connections", &[]), sum("connections_total", &[])), (1.0, 1.0));
        let timed = |kind, source| sum("kv_command_seconds_count", &[("kind", kind), ("source", source)]);
        let flash = sum("kv_hits_total", &[("source", "flash")]);
        assert_eq!((timed("get", "flash"), timed("get", "dram")), (flash, 60.0 - flash));
        assert_eq!((timed("get", "miss"), timed("store", "dram")), (1.0, 60.0));
        assert_eq!((timed("delete", "dram") + timed("delete", "flash"), timed("count", "miss")), (1.0, 1.0));
        // Metrics reported once are reported again: counters grow.
        let again = Exposition::parse(&page(&at));
        assert_eq!(again.sum("tailcut_kv_command_seconds_count", &[]), sum("kv_command_seconds_count", &[]));
        // As for any array.
        assert_eq!(sum("array_condition", &[("condition", "optimal")]), 1.0);
        assert_eq!(sum("array_member_in_sync", &[]), 4.0);
        assert!(sum("host_writes_total", &[("member", "2")]) > 0.0 && sum("array_epochs_total", &[]) > 0.0);
    }
}

#[test]
fn it_says_how_it_is() {
    let server = Server::start(&["--memory-only", "--control", "here.ctl"]);
    let mut client = server.client();
    assert!(client.set("a", "1") && client.get("a").is_some());
    let status = server.tell(&["status", "here.ctl"]);
    assert!(status.starts_with("store kv\nconnections 1\nitems 1\n"), "{status}");
    assert!(status.contains("\nget dram 1; p50 ") && status.contains("\nstore dram 1; p50 "), "{status}");
    let refused = server.place.refused(2, &["ctl", "here.ctl", "scrub"]);
    assert!(refused.contains("everything is in memory"), "{refused}");
    Exposition::parse(&server.tell(&["ctl", "here.ctl", "metrics"]));
    assert!(server.tell(&["ctl", "here.ctl", "help"]).contains("replace MEMBER"));
}

#[test]
fn the_final_figures_have_latencies() {
    let mut server = Server::start(&["--memory-only", "--json", "figures.json", "--control", "here.ctl"]);
    let mut client = server.client();
    assert!(client.set("a", "1") && client.get("a").is_some() && client.get("b").is_none());
    assert_eq!(client.say("gat 0 nothing").as_deref(), Some("END"));
    assert_eq!(client.say("touch a 0").as_deref(), Some("TOUCHED"));
    let status = server.tell(&["status", "here.ctl"]);
    assert!(status.contains("\ngets 3 (1 found)\n"), "{status}");
    let metrics = Exposition::parse(&server.tell(&["ctl", "here.ctl", "metrics"]));
    let sum = |kind| metrics.sum("tailcut_kv_commands_total", &[("kind", kind)]);
    assert_eq!((sum("get"), sum("touch"), metrics.sum("tailcut_kv_misses_total", &[])), (3.0, 1.0, 2.0));
    server.stop();
    let figures = server.place.json("figures.json");
    let rows = figures["latencies"].as_array().expect("a list");
    let named: Vec<_> = rows.iter().map(|row| (row["kind"].as_str(), row["source"].as_str())).collect();
    let all = [("get", "dram"), ("get", "miss"), ("store", "dram"), ("touch", "dram")];
    assert_eq!(named, all.map(|(kind, source)| (Some(kind), Some(source))));
    assert!(rows.iter().all(|row| row["max_ns"].as_u64() > Some(0)), "{rows:?}");
    let counts: Vec<_> = rows.iter().map(|row| row["count"].as_u64()).collect();
    assert_eq!(counts, [1, 2, 1, 1].map(Some));
    // A `gat` is a get everywhere.
    assert_eq!((&figures["gets"], &figures["hits"]), (&3.into(), &1.into()));
}

#[test]
fn a_control_socket_that_was_asked_for_is_there_or_nothing_is() {
    let server = Server::start(&["--memory-only"]);
    assert!(server.tell(&["status", "tailcut-kv.ctl"]).starts_with("store kv\n"));
    let refused =
        server.place.refused(2, &["serve", "kv", "--memory-only", "-p", "-1", "--control", "tailcut-kv.ctl"]);
    assert!(refused.contains("is in use by a server that answers"), "{refused}");
    let refused =
        server.place.refused(2, &["serve", "kv", "--memory-only", "-p", "-1", "--metrics", "0.0.0.0:0"]);
    assert!(refused.contains("--allow-network"), "{refused}");
}
