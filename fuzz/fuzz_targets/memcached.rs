//! Anything as a client of a memcached, through the reference store of the tests. The first byte says how the
//! stream is cut, and whether data are put where they belong without coming by the receiver. What is answered
//! does not depend on it. What asks for passwords and what reads datagrams are given the same.

#![no_main]

#[path = "../../crates/host/tests/memcached/reference.rs"]
mod reference;
#[path = "../../crates/host/tests/memcached/session.rs"]
mod session;

use libfuzzer_sys::fuzz_target;
use session::Session;
use tailcut_host::wire::memcached::login::LOGIN_BYTES;
use tailcut_host::wire::memcached::udp::Frame;
use tailcut_host::wire::memcached::{Login, Attempt, Users};

fuzz_target!(|input: &[u8]| {
    let Some((&mode, stream)) = input.split_first() else { return };
    let cut = usize::from(mode >> 1) + 1;
    let whole = feed(stream, stream.len(), false);
    assert!(whole == feed(stream, cut, mode & 1 == 1));
    assert!(attempt(stream, stream.len()) == attempt(stream, cut));
    if let Some((frame, content)) = Frame::request(stream) {
        assert!(frame.total == 1 && content.len() + 8 == stream.len());
    }
});

/// Answers, and whether the connection has ended.
fn feed(stream: &[u8], cut: usize, is_direct: bool) -> (Vec<u8>, bool) {
    let mut session = Session::new(1_900_000_000, is_direct);
    stream.chunks(cut.max(1)).for_each(|piece| session.receive(piece));
    (session.sent, session.closed.is_some())
}

/// What a login says, until somebody is let in.
fn attempt(stream: &[u8], cut: usize) -> Vec<Attempt> {
    let users = Users::parse(b"a:b\nguest:secret").expect("they are users");
    let (mut login, mut buffer, mut attempts) = (Login::default(), Vec::new(), Vec::new());
    let mut rest = stream;
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(rest.len().min(cut).min(LOGIN_BYTES - buffer.len()));
        assert!(!piece.is_empty(), "a login wants more than it said");
        rest = behind;
        buffer.extend_from_slice(piece);
        let mut input = &buffer[..];
        loop {
            match login.next(&users, &mut input) {
                Attempt::More => break,
                attempt @ Attempt::Refused(_) => attempts.push(attempt),
                attempt => {
                    attempts.push(attempt);
                    return attempts;
                }
            }
        }
        buffer = input.to_vec();
    }
    attempts
}
