//! One request at a time, of every kind, offset and length.

use crate::block::server::{Server, has};

/// Runs these commands of `qemu-io`, in order, on one connection.
fn io(server: &Server, commands: &[&str]) -> String {
    let mut arguments = vec!["-f", "raw"];
    commands.iter().for_each(|command| arguments.extend(["-c", command]));
    arguments.push(&server.uri);
    let text = server.run("qemu-io", &arguments);
    assert!(!text.contains("failed"), "{text}");
    text
}

#[test]
fn writes_zeros_and_discards_are_where_they_belong() {
    if !has(&["qemu-io"]) {
        return;
    }
    let server = Server::start(&["--size", "1MiB"]);
    io(
        &server,
        &[
            "write -P 1 0 1M",
            "write -f -P 2 4k 8k",
            "write -z 16k 8k",
            "write -z -u 32k 8k",
            "discard 48k 8k",
            "flush",
        ],
    );
    let reads = [
        "read -P 1 0 4k",
        "read -P 2 4k 8k",
        "read -P 1 12k 4k",
        "read -P 0 16k 8k",
        "read -P 1 24k 8k",
        "read -P 0 32k 8k",
        "read -P 1 40k 8k",
        "read -P 0 48k 8k",
        "read -P 1 56k 968k",
    ];
    io(&server, &reads);
}

#[test]
fn bytes_need_not_begin_and_end_on_blocks() {
    if !has(&["qemu-io"]) {
        return;
    }
    let server = Server::start(&["--size", "1MiB"]);
    io(
        &server,
        &[
            "write -P 1 0 64k",
            "write -P 2 1000 5000",
            "write -z 9000 1",
            "write -f -P 3 12287 2",
            "write -z -u 20000 9000",
        ],
    );
    let reads = [
        "read -P 1 0 1000",
        "read -P 2 1000 5000",
        "read -P 1 6000 3000",
        "read -P 0 9000 1",
        "read -P 1 9001 3286",
        "read -P 3 12287 2",
        "read -P 1 12289 7711",
        "read -P 0 20000 9000",
        "read -P 1 29000 36536",
    ];
    io(&server, &reads);
    let (report, _) = server.stop();
    assert!(report.contains("writes of parts of blocks"), "{report}");
}

#[test]
fn one_connection_sees_what_another_wrote() {
    if !has(&["qemu-io"]) {
        return;
    }
    let server = Server::start(&["--size", "1MiB"]);
    io(&server, &["write -P 9 100k 100k"]);
    let background = ["-f", "raw", "-c", "read -P 9 100k 100k", &server.uri_of("disk/background")];
    assert!(!server.run("qemu-io", &background).contains("failed"));
}
