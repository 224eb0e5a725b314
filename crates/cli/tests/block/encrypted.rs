//! TLS with third-party programs: libnbd's and QEMU's, both over GnuTLS.

use crate::block::authority::Authority;
use crate::block::server::{Server, has, sample};
use crate::support::Place;

/// A temporary folder with the certificates of a server and of a client.
fn certificates() -> (Authority, Place, String) {
    let (authority, place) = (Authority::new(), Place::new());
    let folder = place.path("");
    authority.trust(&folder);
    authority.issue(&folder, "server", 1);
    authority.issue(&folder, "client", 2);
    let folder = folder.to_str().expect("a path of ours").trim_end_matches('/').to_string();
    (authority, place, folder)
}

fn with(uri: &str, certificates: &str) -> String {
    let separator = if uri.contains('?') { '&' } else { '?' };
    format!("{uri}{separator}tls-certificates={certificates}")
}

const LOOPBACK: [&str; 2] = ["--tcp", "127.0.0.1:0"];

#[test]
fn nbdinfo_sees_that_it_is_encrypted() {
    if !has(&["nbdinfo"]) {
        return;
    }
    let (_authority, _place, folder) = certificates();
    for address in [&LOOPBACK[..], &["--unix", "socket"]] {
        let server = Server::at(address, &["--size", "8MiB", "--tls-certificates", &folder]);
        assert!(server.uri.starts_with("nbds"), "{}", server.uri);
        let uri = with(&server.uri, &folder);
        server.run("nbdinfo", &["--is", "tls", &uri]);
        assert_eq!(server.run("nbdinfo", &["--size", &uri]).trim(), (8 << 20).to_string());
        let list = server.run("nbdinfo", &["--list", &uri]);
        assert!(list.contains("disk/background"), "{list}");
        // Without TLS the server offers nothing.
        let plain = server.attempt("nbdinfo", &[&server.uri.replacen("nbds", "nbd", 1)]);
        assert!(!plain.status.success());
        let (report, code) = server.stop();
        assert_eq!(code, Some(0));
        assert!(report.contains("TLS: "), "{report}");
    }
}

#[test]
fn who_may_choose_is_served_either_way() {
    if !has(&["nbdinfo"]) {
        return;
    }
    let (_authority, _place, folder) = certificates();
    let server = Server::at(&LOOPBACK, &["--size", "8MiB", "--tls-certificates", &folder, "--tls", "allow"]);
    server.run("nbdinfo", &["--is", "tls", &with(&server.uri, &folder)]);
    let plain = server.attempt("nbdinfo", &["--is", "tls", &server.uri.replacen("nbds", "nbd", 1)]);
    assert_eq!(plain.status.code(), Some(2), "it is not encrypted");
}

#[test]
fn who_shows_no_certificate_is_not_served_where_one_is_asked_for() {
    if !has(&["nbdinfo"]) {
        return;
    }
    let (authority, place, folder) = certificates();
    let more = ["--size", "8MiB", "--tls-certificates", &folder, "--tls-verify-peer"];
    let server = Server::at(&LOOPBACK, &more);
    server.run("nbdinfo", &[&with(&server.uri, &folder)]);
    std::fs::create_dir(place.path("anonymous")).expect("a folder of ours");
    let anonymous = place.path("anonymous");
    authority.trust(&anonymous);
    let uri = with(&server.uri, anonymous.to_str().expect("a path of ours"));
    assert!(!server.attempt("nbdinfo", &[&uri]).status.success());
    let (report, _) = server.stop();
    assert!(report.contains("1 failed (the last: "), "{report}");
}

#[test]
fn nbdcopy_there_and_back() {
    if !has(&["nbdcopy"]) {
        return;
    }
    let (_authority, _place, folder) = certificates();
    let server = Server::at(&LOOPBACK, &["--size", "12MiB", "--tls-certificates", &folder]);
    let content = sample(12 << 20);
    server.place.put("image", &content);
    let uri = with(&server.uri, &folder);
    server.run("nbdcopy", &["--flush", "image", &uri]);
    server.run("nbdcopy", &[&uri, "copy"]);
    assert!(std::fs::read(server.place.path("copy")).expect("it was written") == content);
}

#[test]
fn qemu_img_there_and_back() {
    if !has(&["qemu-img"]) {
        return;
    }
    let (_authority, _place, folder) = certificates();
    let more = ["--size", "12MiB", "--tls-certificates", &folder, "--tls-verify-peer"];
    let server = Server::at(&LOOPBACK, &more);
    server.place.put("image", &sample(12 << 20));
    let port = server.uri.trim_start_matches("nbds://127.0.0.1:").trim_end_matches("/disk");
    let credentials = format!("tls-creds-x509,id=tls0,dir={folder},endpoint=client");
    let target = format!(
        "driver=raw,file.driver=nbd,file.host=127.0.0.1,file.port={port},file.export=disk,file.tls-creds=tls0"
    );
    let local = "driver=raw,file.driver=file,file.filename=image";
    let object = ["--object", &credentials];
    let convert = ["--image-opts", "-n", "--target-image-opts", local, &target];
    server.run("qemu-img", &[&["convert"], &object[..], &convert].concat());
    server.run("qemu-img", &[&["compare"], &object[..], &["--image-opts", local, &target]].concat());
}

#[test]
fn what_is_wrong_is_said_with_what_would_be_right() {
    let (_authority, place, folder) = certificates();
    let serve = |more: &[&str]| {
        let first = ["serve", "block", "--size", "1MiB", "--tcp", "0.0.0.0:0", "--tls-certificates"];
        place.refused(2, &[&first[..], more].concat())
    };
    let error = serve(&["nowhere"]);
    assert!(error.contains("nowhere/server-cert.pem") && error.contains("server-key.pem"), "{error}");
    let error = serve(&[&folder]);
    assert!(error.contains("--allow-network") && error.contains("--tls-verify-peer"), "{error}");
    let error = serve(&[&folder, "--tls-verify-peer"]);
    assert!(error.contains("--allow-network") && error.contains("clients with certificates"), "{error}");
    let error = place.refused(2, &["serve", "block", "--tls-verify-peer"]);
    assert!(error.contains("--tls-certificates"), "{error}");
}
