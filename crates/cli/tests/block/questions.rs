//! What a client can query.

use crate::block::server::{Server, has};
use crate::support::json;

#[test]
fn nbdinfo_finds_what_the_server_can() {
    if !has(&["nbdinfo"]) {
        return;
    }
    let server = Server::start(&["--size", "8MiB"]);
    let can = [
        "connect",
        "read",
        "write",
        "trim",
        "zero",
        "fast-zero",
        "flush",
        "fua",
        "multi-conn",
        "cache",
        "df",
        "structured-reply",
    ];
    for what in can {
        server.run("nbdinfo", &["--can", what, &server.uri]);
    }
    for what in ["read-only", "rotational", "tls"] {
        let output = server.attempt("nbdinfo", &["--is", what, &server.uri]);
        assert_eq!(output.status.code(), Some(2), "it is not {what}");
    }
    assert_eq!(server.run("nbdinfo", &["--size", &server.uri]).trim(), (8 << 20).to_string());
    let about = json(&server.run("nbdinfo", &["--json", &server.uri]));
    let export = &about["exports"][0];
    let sizes = ["block_size_minimum", "block_size_preferred", "block_size_maximum"]
        .map(|size| export[size].as_u64());
    assert_eq!(sizes, [Some(1), Some(4096), Some(32 << 20)]);
    assert_eq!(export["contexts"][0], "base:allocation");
}

#[test]
fn exports_are_listed() {
    if !has(&["nbdinfo"]) {
        return;
    }
    let server = Server::start(&["--size", "8MiB", "--export", "disk"]);
    let list = json(&server.run("nbdinfo", &["--list", "--json", &server.uri]));
    let names = list["exports"].as_array().expect("a list").iter().map(|export| &export["export-name"]);
    assert_eq!(names.collect::<Vec<_>>(), ["disk", "disk/fast", "disk/background"]);
    server.run("nbdinfo", &[&server.uri_of("disk/fast")]);
    let missing = server.attempt("nbdinfo", &[&server.uri_of("tape")]);
    assert!(!missing.status.success());
}

#[test]
fn a_map_shows_what_was_written() {
    if !has(&["nbdinfo", "qemu-io"]) {
        return;
    }
    let server = Server::start(&["--size", "1MiB"]);
    let write = ["-f", "raw", "-c", "write -P 7 64k 128k", "-c", "discard 96k 8k", &server.uri];
    server.run("qemu-io", &write);
    let map = json(&server.run("nbdinfo", &["--map", "--json", &server.uri]));
    let extents = map.as_array().expect("a list").iter();
    let extents: Vec<(u64, u64, u64)> = extents
        .map(|extent| ["offset", "length", "type"].map(|key| extent[key].as_u64().expect("a number")).into())
        .collect();
    let k = 1024;
    let want = [
        (0, 64 * k, 3),
        (64 * k, 32 * k, 0),
        (96 * k, 8 * k, 3),
        (104 * k, 88 * k, 0),
        (192 * k, 832 * k, 3),
    ];
    assert_eq!(extents, want);
}

#[test]
fn what_is_read_only_is_not_written() {
    if !has(&["nbdinfo", "qemu-io"]) {
        return;
    }
    let server = Server::start(&["--size", "1MiB", "--read-only"]);
    server.run("nbdinfo", &["--is", "read-only", &server.uri]);
    let output = server.attempt("qemu-io", &["-f", "raw", "-c", "write 0 4k", &server.uri]);
    assert!(!output.status.success());
    server.run("qemu-io", &["-r", "-f", "raw", "-c", "read -P 0 0 1M", &server.uri]);
}
