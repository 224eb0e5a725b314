//! TLS: accepted clients, rejected clients, and clients that try to bypass it.

use crate::serving::authority::Authority;
use crate::serving::many::step;
use crate::serving::{BLOCKS, Harness, header, patient, use_it};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion};
use std::fs::Permissions;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tailcut_base::Nanos;
use tailcut_base::random::Stream;
use tailcut_host::wire::nbd::standard::*;
use tailcut_rt::Client;
use tailcut_rt::serve::tls::BadCertificates;
use tailcut_rt::serve::{Access, Address, Certificates, Encryption, Limits};
use tempfile::TempDir;

/// A server, and certificates for it and its clients.
struct Secure {
    harness: Harness,
    folder: TempDir,
}

type Tls = StreamOwned<ClientConnection, UnixStream>;

impl Secure {
    fn new(limits: Limits, is_required: bool) -> Secure {
        let folder = certified(&Authority::new());
        Secure::of(folder, limits, is_required, false)
    }

    fn of(folder: TempDir, limits: Limits, is_required: bool, verify_peer: bool) -> Secure {
        let certificates = Certificates::load(folder.path(), verify_peer).expect("they are there");
        let encryption = Some(Encryption { certificates, is_required });
        let harness = Harness::with(limits, Access { encryption, ..Access::default() });
        Secure { harness, folder }
    }

    /// A connection after the exchange of flags.
    fn raw(&self) -> UnixStream {
        self.try_raw().expect("it takes connections")
    }

    fn try_raw(&self) -> io::Result<UnixStream> {
        let Address::Unix(path) = self.harness.server.address() else {
            panic!("it listens on a unix socket")
        };
        let mut socket = UnixStream::connect(path)?;
        socket.read_exact(&mut [0; 18])?;
        socket.write_all(&3u32.to_be_bytes())?;
        Ok(socket)
    }

    /// A client; fails if the server has no slot for it.
    fn try_client(&self) -> io::Result<Client<Tls>> {
        let mut socket = self.try_raw()?;
        socket.write_all(&option(NBD_OPT_STARTTLS, &[]))?;
        socket.read_exact(&mut [0; 20])?;
        let mut client =
            Client::choose(StreamOwned::new(session(&self.folder, &TLS13, false), socket), "disk", true)?;
        // The server confirms the export before it assigns a slot.
        client.call(&header(0, 0, 1), &[]).map(|_| client)
    }

    /// A connection with TLS requested and granted, but not begun.
    fn consented(&self) -> UnixStream {
        let mut socket = self.raw();
        assert_eq!(ask(&mut socket, NBD_OPT_STARTTLS, &[]), NBD_REP_ACK);
        socket
    }

    /// A connection under TLS, in the negotiation phase.
    fn negotiating(&self) -> Tls {
        StreamOwned::new(session(&self.folder, &TLS13, false), self.consented())
    }

    fn client(&self) -> Client<Tls> {
        self.client_by(&TLS13)
    }

    fn client_by(&self, version: &'static SupportedProtocolVersion) -> Client<Tls> {
        let stream = StreamOwned::new(session(&self.folder, version, false), self.consented());
        Client::choose(stream, "disk", true).expect("the export is there")
    }

    /// A connection in the transmission phase, without buffering.
    fn transmitting(&self) -> Tls {
        let mut stream = self.negotiating();
        stream.write_all(&option(NBD_OPT_EXPORT_NAME, b"disk")).expect("it listens");
        stream.read_exact(&mut [0; 10]).expect("an answer");
        stream
    }
}

/// Clients that connect after certificates were replaced see the new ones; others go on.
#[test]
fn renewed_certificates_are_those_of_the_next_handshake() {
    let secure = Secure::new(patient(), true);
    let mut before = secure.client();
    let renewed = certified(&Authority::new());
    let certificates = Certificates::load(renewed.path(), false).expect("they are there");
    secure.harness.server.set_certificates(certificates);
    let attempt = |folder: &TempDir| {
        let mut stream = StreamOwned::new(session(folder, &TLS13, false), secure.consented());
        stream.write_all(&option(NBD_OPT_LIST, &[])).and_then(|()| stream.flush()).is_ok()
            && stream.read_exact(&mut [0; 20]).is_ok()
    };
    assert!(!attempt(&secure.folder), "the authority of before has not signed it");
    assert!(attempt(&renewed));
    assert_eq!(before.call(&header(0, 0, 4096), &[]).expect("a reply").0, 0);
}

/// A folder with the files of server and client.
pub(crate) fn certified(authority: &Authority) -> TempDir {
    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    authority.trust(folder.path());
    authority.issue(folder.path(), "server", 1);
    authority.issue(folder.path(), "client", 2);
    folder
}

/// A client session that trusts the authority of `folder`, and presents its own certificate if told to.
pub(crate) fn session(
    folder: &TempDir,
    version: &'static SupportedProtocolVersion,
    shows_certificate: bool,
) -> ClientConnection {
    let path = |name| folder.path().join(name);
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_file(path("ca-cert.pem")).expect("a certificate");
    roots.add(authority).expect("an authority");
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[version])
        .expect("it is there")
        .with_root_certificates(roots);
    let config = if shows_certificate {
        let certificate = CertificateDer::from_pem_file(path("client-cert.pem")).expect("a certificate");
        let key = PrivateKeyDer::from_pem_file(path("client-key.pem")).expect("a key");
        builder.with_client_auth_cert(vec![certificate], key).expect("its key")
    } else {
        builder.with_no_client_auth()
    };
    let name = ServerName::try_from("localhost").expect("a name");
    ClientConnection::new(Arc::new(config), name).expect("a session")
}

fn option(number: u32, data: &[u8]) -> Vec<u8> {
    [&IHAVEOPT.to_be_bytes()[..], &number.to_be_bytes(), &(data.len() as u32).to_be_bytes(), data].concat()
}

/// Sends an option and returns the type of the first reply.
fn ask(socket: &mut (impl Read + Write), number: u32, data: &[u8]) -> u32 {
    socket.write_all(&option(number, data)).expect("it listens");
    let mut answer = [0; 20];
    socket.read_exact(&mut answer).expect("an answer");
    let word = |at: usize| u32::from_be_bytes(answer[at..at + 4].try_into().expect("four bytes"));
    assert_eq!(word(8), number);
    socket.read_exact(&mut vec![0; word(16) as usize]).expect("its data");
    word(12)
}

/// All data received until the server closes the connection.
fn rest(socket: &mut impl Read) -> Vec<u8> {
    let mut rest = Vec::new();
    match socket.read_to_end(&mut rest) {
        Err(error) if !matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof) => {
            panic!("it does not end: {error}")
        }
        _ => rest,
    }
}

#[test]
fn each_finds_what_it_wrote() {
    let secure = Secure::new(Limits { busy_poll: Nanos::micros(20), ..patient() }, true);
    std::thread::scope(|scope| {
        for (number, version) in [&TLS13, &TLS12, &TLS13].into_iter().enumerate() {
            let mut client = secure.client_by(version);
            scope.spawn(move || {
                let mut random = Stream::new(number as u64, "encrypted client");
                let base = (number * 300_777) as u64;
                let mut bytes = vec![0u8; 300_000];
                for _ in 0..150 {
                    step(&mut client, base, &mut bytes, &mut random);
                }
                let all = client.call(&header(0, base, 200_000), &[]).expect("a reply");
                assert!(all == (0, bytes[..200_000].to_vec()), "client {number}");
            });
        }
    });
    let served = secure.harness.server.stop();
    assert_eq!(served.drives[0].1.connections, 3);
    let handshakes = served.handshakes.expect("there was TLS");
    assert_eq!((handshakes.done, handshakes.failed), (3, 0));
}

#[test]
fn large_requests_come_through_whole() {
    let secure = Secure::new(patient(), true);
    let mut random = Stream::new(7, "content");
    let content: Vec<u8> = (0..8 << 17).flat_map(|_| random.bits().to_le_bytes()).collect();
    let mut client = secure.client();
    let length = content.len() as u32;
    assert_eq!(client.call(&header(1, 4096, length), &content).expect("a reply").0, 0);
    let mut stream = secure.transmitting();
    stream.write_all(&header(0, 4096, length).encode()).expect("it listens");
    let mut reply = vec![0; 16 + content.len()];
    stream.read_exact(&mut reply).expect("a reply");
    assert!(reply[16..] == content);
}

#[test]
fn where_it_is_required_nothing_is_served_before() {
    let secure = Secure::new(patient(), true);
    let mut socket = secure.raw();
    for number in [NBD_OPT_LIST, NBD_OPT_STRUCTURED_REPLY, NBD_OPT_GO, NBD_OPT_INFO, 12_345] {
        assert_eq!(ask(&mut socket, number, &[]), NBD_REP_ERR_TLS_REQD);
    }
    // TLS can still begin afterwards.
    assert_eq!(ask(&mut socket, NBD_OPT_STARTTLS, &[]), NBD_REP_ACK);
    let stream = StreamOwned::new(session(&secure.folder, &TLS13, false), socket);
    use_it(&mut Client::choose(stream, "disk", true).expect("the export is there"), 0, 1);
    let refused = Client::connect(secure.harness.server.address(), "disk").err();
    assert_eq!(refused.map(|error| error.kind()), Some(ErrorKind::InvalidData), "a name alone ends it");
    let mut socket = secure.raw();
    assert_eq!(ask(&mut socket, NBD_OPT_ABORT, &[]), NBD_REP_ACK);
    assert_eq!(rest(&mut socket), []);
}

#[test]
fn where_it_is_allowed_both_are_served() {
    let secure = Secure::new(patient(), false);
    let (mut open, mut closed) = (secure.harness.client(), secure.client());
    use_it(&mut open, 0, 1);
    use_it(&mut closed, 20_000, 2);
    assert_eq!(closed.call(&header(0, 0, 10_000), &[]).expect("a reply"), (0, vec![1; 10_000]));
    assert_eq!(open.call(&header(0, 20_000, 10_000), &[]).expect("a reply"), (0, vec![2; 10_000]));
}

#[test]
fn what_was_agreed_on_in_the_clear_does_not_hold() {
    let secure = Secure::new(patient(), false);
    let mut socket = secure.raw();
    assert_eq!(ask(&mut socket, NBD_OPT_STRUCTURED_REPLY, &[]), NBD_REP_ACK);
    assert_eq!(ask(&mut socket, NBD_OPT_STARTTLS, &[]), NBD_REP_ACK);
    let mut stream = StreamOwned::new(session(&secure.folder, &TLS13, false), socket);
    assert_eq!(ask(&mut stream, NBD_OPT_STARTTLS, &[]), NBD_REP_ERR_INVALID, "it begins once");
    let mut client = Client::choose(stream, "disk", true).expect("the export is there");
    // The client would not understand a structured reply.
    use_it(&mut client, 0, 1);
}

/// An attacker on the path could inject the option, and have it taken for the client's own.
#[test]
fn words_slipped_in_behind_the_wish_are_not_heard() {
    let secure = Secure::new(patient(), false);
    let slipped = option(NBD_OPT_EXPORT_NAME, b"disk");
    // In the same packet, or in one that precedes TLS.
    let mut socket = secure.raw();
    socket.write_all(&[option(NBD_OPT_STARTTLS, &[]), slipped.clone()].concat()).expect("it listens");
    assert!(rest(&mut socket).len() <= 20, "consent at most");
    let mut socket = secure.consented();
    socket.write_all(&slipped).expect("it listens");
    let answer = rest(&mut socket);
    assert!(answer.is_empty() || (answer[0] == 21 && answer.len() == 7), "an alert at most: {answer:?}");
    use_it(&mut secure.client(), 0, 1);
    assert_eq!(secure.harness.server.stop().drives[0].1.connections, 1);
}

#[test]
fn garbage_in_place_of_a_handshake_ends_it() {
    let secure = Secure::new(patient(), true);
    let mut good = secure.client();
    let too_long = [&[22, 3, 1, 0x40, 0][..], &[1; 20_000]].concat();
    let hello_without_end = [&[22, 3, 1, 0, 4, 1, 0xFF, 0xFF, 0xFF][..], &[0; 100]].concat();
    let cases: [&[u8]; 5] =
        [b"GET / HTTP/1.1\r\n\r\n", &[0xFF; 1000], &[0; 64], &too_long, &hello_without_end];
    for (number, garbage) in cases.into_iter().enumerate() {
        let mut socket = secure.consented();
        // The server may close the connection before everything is written.
        let _ = socket.write_all(garbage);
        let _ = socket.shutdown(Shutdown::Write);
        rest(&mut socket);
        use_it(&mut good, 5000, number as u8);
    }
    drop(secure.consented());
    let handshakes = secure.harness.server.stop().handshakes.expect("there was TLS");
    assert!(handshakes.failed >= 5 && handshakes.last_failure.is_some(), "{handshakes:?}");
}

#[test]
fn half_a_handshake_holds_up_nobody() {
    let secure = Secure::new(Limits { handshakes: 16, ..patient() }, true);
    let mut good = secure.client();
    let mut hello = Vec::new();
    session(&secure.folder, &TLS13, false).write_tls(&mut hello).expect("a hello");
    let waiting: Vec<UnixStream> = (0..100)
        .map(|number| {
            let mut socket = secure.consented();
            let _ = socket.write_all(&hello[..number * 7 % hello.len()]);
            socket
        })
        .collect();
    use_it(&mut good, 0, 1);
    use_it(&mut secure.client(), 10_000, 2);
    drop(waiting);
}

#[test]
fn late_handshakes_are_ended() {
    let secure = Secure::new(Limits { handshake: Nanos::millis(1), ..patient() }, true);
    // How far it gets depends on the machine; that it ends does not.
    if let Ok(mut socket) = secure.try_raw() {
        let _ = socket.write_all(&option(NBD_OPT_STARTTLS, &[]));
        rest(&mut socket);
    }
}

#[test]
fn what_is_changed_on_its_way_ends_the_connection() {
    let secure = Secure::new(patient(), true);
    let mut good = secure.client();
    use_it(&mut good, 0, 7);
    let mut stream = secure.transmitting();
    let mut records = Vec::new();
    let words = [&header(1, 0, 10_000).encode()[..], &[9; 10_000]].concat();
    stream.conn.writer().write_all(&words).expect("it takes that");
    while stream.conn.wants_write() {
        stream.conn.write_tls(&mut records).expect("memory takes everything");
    }
    *records.last_mut().expect("a record") ^= 1;
    stream.sock.write_all(&records).expect("it listens");
    rest(&mut stream.sock);
    assert_eq!(good.call(&header(0, 0, 10_000), &[]).expect("a reply"), (0, vec![7; 10_000]));
}

#[test]
fn a_write_that_ends_half_way_does_not_happen() {
    let secure = Secure::new(patient(), true);
    let mut good = secure.client();
    use_it(&mut good, 0, 7);
    for (part, says_so) in [(0, true), (1, false), (9999, true), (100_000, true), (100_000, false)] {
        let mut stream = secure.transmitting();
        stream.write_all(&header(1, 0, 200_000).encode()).expect("it listens");
        stream.write_all(&vec![9; part]).expect("it listens");
        if says_so {
            stream.conn.send_close_notify();
            stream.flush().expect("it listens");
        }
        stream.sock.shutdown(Shutdown::Write).expect("a socket of ours");
        assert_eq!(rest(&mut stream), []);
        assert_eq!(good.call(&header(0, 0, 10_000), &[]).expect("a reply"), (0, vec![7; 10_000]));
    }
}

/// A client that has sent all its requests and closes its side gets all replies, and then an orderly close.
#[test]
fn who_says_no_more_still_hears_the_rest() {
    let secure = Secure::new(patient(), true);
    use_it(&mut secure.client(), 0, 3);
    let mut stream = secure.transmitting();
    for _ in 0..30 {
        stream.write_all(&header(0, 0, 1 << 20).encode()).expect("it listens");
    }
    stream.conn.send_close_notify();
    stream.flush().expect("it listens");
    stream.sock.shutdown(Shutdown::Write).expect("a socket of ours");
    let mut replies = Vec::new();
    stream.read_to_end(&mut replies).expect("an end that TLS has announced");
    assert_eq!(replies.len(), 30 * (16 + (1 << 20)));
    assert_eq!(replies[29 * (16 + (1 << 20)) + 16..][..10_000], [3; 10_000]);
}

/// Reads `bytes` bytes, and leaves the unsent rest: a stream would first send that, and block on a server
/// that waits for this client to read.
fn hear(stream: &mut Tls, bytes: usize) {
    let (mut room, mut heard) = (vec![0; 64 << 10], 0);
    while heard < bytes {
        match stream.conn.reader().read(&mut room) {
            Ok(count) => {
                assert!(count > 0, "the server has closed");
                heard += count;
            }
            Err(none) => {
                assert_eq!(none.kind(), ErrorKind::WouldBlock);
                stream.conn.read_tls(&mut stream.sock).expect("it answers");
                stream.conn.process_new_packets().expect("it speaks TLS");
            }
        }
    }
}

/// Each client sends as many requests as the server accepts, and reads no replies.
#[test]
fn who_reads_nothing_back_is_not_read_from() {
    let secure = Secure::new(Limits { memory: 128 << 20, ..patient() }, true);
    let mut good = secure.client();
    use_it(&mut good, 0, 1);
    let mut hogs: Vec<Tls> = (0..10).map(|_| secure.transmitting()).collect();
    let asks: Vec<u8> = (0..500).flat_map(|_| header(0, 0, 1 << 20).encode()).collect();
    for hog in &mut hogs {
        hog.sock.set_nonblocking(true).expect("a socket of ours");
        let mut sent = 0;
        // Sends until the server stops reading.
        while hog.write_all(&asks).is_ok() {
            sent += asks.len();
            assert!(sent < 64 << 20, "the server reads on and on");
        }
        use_it(&mut good, 20_000, 2);
    }
    // A client that reads again is served again.
    let mut back = hogs.remove(0);
    back.sock.set_nonblocking(false).expect("a socket of ours");
    hear(&mut back, 3 << 20);
    drop(hogs);
    use_it(&mut good, 40_000, 3);
    drop(back);
    assert_eq!(secure.harness.server.stop().drives[0].1.expelled, 0);
}

#[test]
fn many_connections_come_and_go() {
    let secure = Secure::new(Limits { connections: 20, handshakes: 10, ..patient() }, true);
    let mut good = secure.client();
    for round in 0..200u32 {
        match round % 4 {
            0 => drop(secure.try_raw()),
            1 => drop(secure.try_raw().map(|mut socket| socket.write_all(&option(NBD_OPT_STARTTLS, &[])))),
            2 => drop(secure.try_client()),
            _ => {
                // The client sends a request, and does not wait for the reply.
                let Ok(mut client) = secure.try_client() else { continue };
                client.ask(&header(0, 0, 4 << 20), &[]);
                client.send().expect("it listens");
            }
        }
        if round % 30 == 0 {
            use_it(&mut good, 0, round as u8);
        }
    }
    // All slots are free again, and no more than the limit.
    let mut clients = Vec::new();
    while clients.len() < 19 {
        clients.extend(secure.try_client().ok());
    }
    assert!(secure.try_client().is_err(), "there is no slot");
    use_it(&mut good, 0, 77);
}

#[test]
fn a_stop_ends_encrypted_connections_too() {
    let secure = Secure::new(Limits { patience: Nanos::millis(20), ..patient() }, true);
    let (idle, consented) = (secure.transmitting(), secure.consented());
    let mut greeted = secure.consented();
    greeted.write_all(&[22, 3, 1, 1, 0]).expect("it listens");
    let mut hog = secure.transmitting();
    for _ in 0..40 {
        hog.write_all(&header(0, 0, 1 << 20).encode()).expect("it listens");
    }
    let mut writer = secure.client();
    let data = vec![4; 1 << 20];
    assert_eq!(writer.call(&header(1, 0, 1 << 20), &data).expect("a reply").0, 0);
    let served = secure.harness.server.stop();
    let (_, figures, drive) = &served.drives[0];
    assert_eq!(figures.connections, 3);
    assert!(tailcut_rt::Drive::extent(drive, 0, 256).is_allocated, "what was acknowledged is there");
    assert_eq!(tailcut_rt::Drive::bytes(drive), BLOCKS * 4096);
    for mut socket in [idle.sock, consented, greeted, hog.sock] {
        rest(&mut socket);
    }
}

/// Clients that read no replies delay the end by half a second, not by the patience of the server.
#[test]
fn a_stop_does_not_wait_for_clients_that_read_nothing() {
    let secure = Secure::new(Limits { patience: Nanos::secs(3600), ..patient() }, true);
    let mut hogs: Vec<Tls> = (0..3).map(|_| secure.transmitting()).collect();
    for hog in &mut hogs {
        for _ in 0..20 {
            hog.write_all(&header(0, 0, 1 << 20).encode()).expect("it listens");
        }
    }
    let (ended, end) = mpsc::channel();
    let server = secure.harness.server;
    std::thread::spawn(move || ended.send(server.stop().handshakes.map(|handshakes| handshakes.done)));
    let done = end.recv_timeout(Duration::from_secs(60)).expect("the server does not stop");
    assert_eq!(done, Some(3));
}

#[test]
fn clients_show_who_they_are_where_that_is_asked() {
    for version in [&TLS12, &TLS13] {
        let authority = Authority::new();
        let secure = Secure::of(certified(&authority), patient(), true, true);
        let attempt = |folder: &TempDir, shows: bool| {
            let stream = StreamOwned::new(session(folder, version, shows), secure.consented());
            let mut client = Client::choose(stream, "disk", true)?;
            client.call(&header(0, 0, 4096), &[]).map(|(error, _)| error)
        };
        assert_eq!(attempt(&secure.folder, true).ok(), Some(0));
        assert!(attempt(&secure.folder, false).is_err(), "nobody is anonymous");
        // Signed by another authority, while the client trusts the server.
        let stranger = certified(&Authority::new());
        authority.trust(stranger.path());
        assert!(attempt(&stranger, true).is_err());
        let handshakes = secure.harness.server.stop().handshakes.expect("there was TLS");
        assert_eq!((handshakes.done, handshakes.failed), (1, 2));
    }
}

#[test]
fn who_was_revoked_is_not_let_in() {
    let authority = Authority::new();
    let folder = certified(&authority);
    authority.revoke(folder.path(), 2);
    let secure = Secure::of(folder, patient(), true, true);
    let stream = StreamOwned::new(session(&secure.folder, &TLS12, true), secure.consented());
    assert!(Client::choose(stream, "disk", true).is_err());
    // Another certificate of the same authority is accepted.
    authority.issue(secure.folder.path(), "client", 3);
    let stream = StreamOwned::new(session(&secure.folder, &TLS12, true), secure.consented());
    use_it(&mut Client::choose(stream, "disk", true).expect("it is let in"), 0, 1);
}

#[test]
fn certificates_that_cannot_be_used_are_named() {
    let folder = certified(&Authority::new());
    let path = |name| folder.path().join(name);
    let why = |verify_peer| {
        let error = Certificates::load(folder.path(), verify_peer).expect_err("something is wrong");
        (matches!(error, BadCertificates::Unreadable { .. }), error.to_string())
    };
    let key = std::fs::read(path("server-key.pem")).expect("it is there");
    let other = std::fs::read(path("client-key.pem")).expect("it is there");
    std::fs::write(path("server-key.pem"), &other).expect("it can be written");
    assert!(why(false).1.contains("does not go with server-cert.pem"), "{}", why(false).1);
    std::fs::write(path("server-key.pem"), b"nothing").expect("it can be written");
    assert!(why(false).1.contains("server-key.pem: nothing of its kind"), "{}", why(false).1);
    std::fs::write(path("server-key.pem"), &key).expect("it can be written");
    let permit = |mode| std::fs::set_permissions(path("server-key.pem"), Permissions::from_mode(mode));
    permit(0o644).expect("it is ours");
    assert!(why(false).1.contains("server-key.pem: it is no secret"), "{}", why(false).1);
    permit(0o640).expect("it is ours");
    std::fs::write(path("ca-crl.pem"), b"nothing").expect("it can be written");
    assert!(why(true).1.contains("ca-crl.pem"), "a list that cannot be read is not passed over");
    std::fs::remove_file(path("ca-cert.pem")).expect("it is there");
    Certificates::load(folder.path(), false).expect("it is not needed");
    assert!(why(true).0 && why(true).1.contains("ca-cert.pem"), "{}", why(true).1);
    std::fs::remove_file(path("server-cert.pem")).expect("it is there");
    assert!(why(false).0 && why(false).1.contains("server-cert.pem"), "{}", why(false).1);
}
