//! TLS in front of the key-value server.

use crate::kv::{Harness, SMALL, set};
use crate::serving::authority::Authority;
use crate::serving::encrypted::{certified, session};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConnection, StreamOwned, SupportedProtocolVersion};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;
use tailcut_host::kv::Settings;
use tailcut_host::wire::memcached::Users;
use tailcut_rt::MemoryDrive;
use tailcut_rt::kv::{Limits, ListenOptions, StreamTls};
use tailcut_rt::serve::{Address, Certificates};
use tempfile::TempDir;

type Tls = StreamOwned<ClientConnection, TcpStream>;

/// A server with TLS on a port, without it on another and on a unix socket.
fn harness(folder: &TempDir, verify_peer: bool, users: Option<Users>) -> Harness<MemoryDrive> {
    let certificates = Certificates::load(folder.path(), verify_peer).expect("they are there");
    let at = |last: u8| Address::Tcp(SocketAddr::from(([127, 0, 0, last], 0)));
    let options = ListenOptions {
        streams: vec![at(1), at(2)],
        tls: Some(StreamTls::new(certificates, vec![at(2)])),
        users,
        ..ListenOptions::default()
    };
    let settings = Settings { memory: 16 << 20, ..SMALL };
    let limits = Limits { threads: 2, ..Limits::default() };
    Harness::with(None, settings, options, limits, false)
}

fn connect(harness: &Harness<MemoryDrive>, number: usize) -> TcpStream {
    let Address::Tcp(at) = harness.server.addresses()[number] else { panic!("it is a port") };
    let stream = TcpStream::connect(at).expect("it listens");
    // A test that would hang fails instead.
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a good time");
    stream
}

fn client(
    harness: &Harness<MemoryDrive>,
    folder: &TempDir,
    version: &'static SupportedProtocolVersion,
    shows_certificate: bool,
) -> Tls {
    StreamOwned::new(session(folder, version, shows_certificate), connect(harness, 0))
}

/// True if this is the reply.
fn says(stream: &mut (impl Read + Write), request: &[u8], answer: &[u8]) -> bool {
    let mut heard = vec![0; answer.len()];
    let sent = stream.write_all(request).and_then(|()| stream.flush());
    sent.is_ok() && stream.read_exact(&mut heard).is_ok() && heard == answer
}

#[test]
fn clients_with_tls_and_without_share_the_items() {
    let folder = certified(&Authority::new());
    let harness = harness(&folder, false, None);
    let value = vec![b'x'; 50_000];
    for (version, key) in [(&TLS12, "a"), (&TLS13, "b")] {
        let mut client = client(&harness, &folder, version, false);
        assert!(says(&mut client, &set(key, &value), b"STORED\r\n"));
        let hit = [format!("VALUE {key} 0 50000\r\n").as_bytes(), &value, b"\r\nEND\r\n"].concat();
        let get = format!("get {key}\r\n");
        assert!(says(&mut client, get.as_bytes(), &hit));
        assert!(says(&mut connect(&harness, 1), get.as_bytes(), &hit), "a port without TLS");
        harness.client().say(get, hit);
    }
    // Plaintext at the port with TLS is not answered.
    let mut stream = connect(&harness, 0);
    stream.write_all(b"get a\r\n").and_then(|()| stream.shutdown(Shutdown::Write)).expect("it listens");
    let mut heard = Vec::new();
    let _ = stream.read_to_end(&mut heard);
    assert!(!heard.windows(3).any(|part| part == b"VAL"), "{}", heard.escape_ascii());
    let served = harness.stop();
    assert_eq!(served.figures.sums.items, 2);
}

#[test]
fn only_clients_with_a_certificate_and_a_password_are_served() {
    let folder = certified(&Authority::new());
    let harness = harness(&folder, true, Some(Users::parse(b"me:secret\n").expect("a user")));
    assert!(!says(&mut client(&harness, &folder, &TLS13, false), b"version\r\n", b"VERSION"));
    let mut client = client(&harness, &folder, &TLS13, true);
    let wrong = b"CLIENT_ERROR authentication failure\r\n";
    assert!(says(&mut client, b"set x 0 0 8\r\nme wrong\r\n", wrong));
    assert!(says(&mut client, b"set x 0 0 9\r\nme secret\r\n", b"STORED\r\n"));
    assert!(says(&mut client, b"mn\r\n", b"MN\r\n"));
}

#[test]
fn renewed_certificates_and_users_are_those_of_the_next_client() {
    let folder = certified(&Authority::new());
    let harness = harness(&folder, false, Some(Users::parse(b"me:old\n").expect("a user")));
    let login = |client: &mut Tls, password: &str| {
        let token = format!("set x 0 0 {}\r\nme {password}\r\n", password.len() + 3);
        says(client, token.as_bytes(), b"STORED\r\n")
    };
    let mut before = client(&harness, &folder, &TLS13, false);
    assert!(login(&mut before, "old"));
    let renewed = certified(&Authority::new());
    harness.server.set_certificates(Certificates::load(renewed.path(), false).expect("they are there"));
    harness.server.set_users(&Users::parse(b"me:new\n").expect("a user"));
    assert!(!login(&mut client(&harness, &folder, &TLS13, false), "new"));
    assert!(login(&mut client(&harness, &renewed, &TLS13, false), "new"));
    assert!(!login(&mut client(&harness, &renewed, &TLS13, false), "old"));
    assert!(says(&mut before, b"mn\r\n", b"MN\r\n"), "it has logged in already");
}
