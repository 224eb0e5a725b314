//! Copies of whole drives, in both directions.

use crate::block::server::{Server, has, sample};

#[test]
fn nbdcopy_there_and_back() {
    if !has(&["nbdcopy"]) {
        return;
    }
    let server = Server::start(&["--size", "12MiB"]);
    let content = sample(12 << 20);
    server.place.put("image", &content);
    // Several connections and requests at a time, its default.
    server.run("nbdcopy", &["--flush", "image", &server.uri]);
    server.run("nbdcopy", &[&server.uri, "copy"]);
    assert!(std::fs::read(server.place.path("copy")).expect("it was written") == content);
    server.run("nbdcopy", &["--synchronous", &server.uri, "slowly"]);
    assert!(std::fs::read(server.place.path("slowly")).expect("it was written") == content);
    server.stop();
}

#[test]
fn nbdcopy_over_tcp() {
    if !has(&["nbdcopy"]) {
        return;
    }
    let server = Server::at(&["--tcp", "127.0.0.1:0"], &["--size", "12MiB"]);
    let content = sample(12 << 20);
    server.place.put("image", &content);
    server.run("nbdcopy", &["image", &server.uri]);
    server.run("nbdcopy", &[&server.uri, "copy"]);
    assert!(std::fs::read(server.place.path("copy")).expect("it was written") == content);
}

#[test]
fn qemu_img_there_and_back() {
    if !has(&["qemu-img"]) {
        return;
    }
    let server = Server::start(&["--size", "12MiB"]);
    server.place.put("image", &sample(12 << 20));
    server.run("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", "image", &server.uri]);
    server.run("qemu-img", &["compare", "-f", "raw", "-F", "raw", "image", &server.uri]);
    server.run("qemu-img", &["convert", "-f", "raw", "-O", "qcow2", &server.uri, "copy.qcow2"]);
    server.run("qemu-img", &["compare", "-f", "raw", "-F", "qcow2", "image", "copy.qcow2"]);
    let map = server.run("qemu-img", &["map", "-f", "raw", "--output=json", &server.uri]);
    let map = crate::support::json(&map);
    // The sample has a hole of 256 KiB after each 256 KiB of data.
    let extents = map.as_array().expect("a list");
    assert_eq!(extents.len(), 48);
    for (at, extent) in extents.iter().enumerate() {
        assert_eq!(
            (extent["length"].as_u64(), extent["zero"].as_bool()),
            (Some(256 << 10), Some(at % 2 == 1))
        );
    }
}
