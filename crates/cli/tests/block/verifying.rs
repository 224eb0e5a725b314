//! fio writes and verifies.

use crate::block::server::Server;
use crate::support::has_fio;

fn verify(server: &Server, more: &[&str]) {
    let uri = format!("--uri={}", server.uri);
    let mut arguments = vec!["--name=verify", "--ioengine=nbd", &uri, "--verify=crc32c", "--do_verify=1"];
    arguments.extend(["--verify_fatal=1", "--randrepeat=1", "--minimal"]);
    arguments.extend(more);
    server.run("fio", &arguments);
}

#[test]
fn fio_finds_what_it_wrote() {
    if !has_fio() {
        return;
    }
    let server = Server::start(&["--size", "32MiB"]);
    verify(&server, &["--rw=randwrite", "--bs=4k", "--iodepth=32", "--size=16m"]);
    verify(&server, &["--rw=randrw", "--bsrange=4k-256k", "--iodepth=16", "--size=16m"]);
    let (report, code) = server.stop();
    assert_eq!(code, Some(0), "{report}");
    assert!(report.contains("write"), "{report}");
}

#[test]
fn fio_finds_what_is_not_aligned() {
    if !has_fio() {
        return;
    }
    let server = Server::start(&["--size", "32MiB"]);
    verify(
        &server,
        &["--rw=randwrite", "--bsrange=512-20k", "--bs_unaligned=1", "--iodepth=16", "--size=4m"],
    );
    verify(&server, &["--rw=randwrite", "--bs=512", "--iodepth=32", "--size=1m"]);
}

#[test]
fn fio_trims_and_several_of_it_share_a_drive() {
    if !has_fio() {
        return;
    }
    let server = Server::start(&["--size", "32MiB"]);
    let jobs =
        ["--rw=randwrite", "--bs=4k", "--iodepth=8", "--size=4m", "--numjobs=4", "--offset_increment=4m"];
    verify(&server, &jobs);
    let uri = format!("--uri={}", server.uri);
    server.run("fio", &["--name=trim", "--ioengine=nbd", &uri, "--rw=randtrim", "--bs=64k", "--size=8m"]);
}
