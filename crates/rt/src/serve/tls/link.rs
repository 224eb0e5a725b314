//! A client behind the relay: decrypts its input, and encrypts the server's output.

use super::{Crossing, Passage};
use crate::reactor::{Received, Socket};
use rustix::net::{Shutdown, shutdown};
use rustls::ServerConnection;
use std::io::{self, ErrorKind, IoSlice, Read, Write};

/// A client's two sockets and its session.
///
/// Memory is bounded by backpressure: nothing is received from the client until the server has taken all
/// earlier input, and nothing from the server until the client has. So a link holds at most the result of one
/// receive in each direction ([`MOST_AT_ONCE`]), and what the session needs for an incomplete record or
/// handshake message (at most 64 KiB, by rustls).
#[derive(Debug)]
pub(super) struct Link {
    /// The encrypted connection with the client.
    pub outer: Socket,
    /// The unencrypted connection with the server.
    pub inner: Socket,
    session: ServerConnection,
    /// Decrypted bytes that the server has not taken yet.
    kept: Vec<u8>,
    /// End of the client's input was reached.
    client_has_ended: bool,
    /// The server's socket was shut down for writes.
    is_passed_on: bool,
    /// The last output of the server has been passed to the session.
    is_parting: bool,
    /// Bytes that the client's socket has taken.
    sent: u64,
    _passage: Passage,
}

/// State of a link after some work.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LinkState {
    /// There may be more work at once.
    Busy,
    /// No work until an event at one of its sockets.
    Rests,
    /// The link has ended.
    Ends,
    /// The handshake has failed, with this reason.
    Fails(String),
}

/// Why a link ends.
enum End {
    Done,
    Failed(String),
}

/// Buffers that all links share in turn: empty between two of them.
#[derive(Debug)]
pub(super) struct Buffers {
    received: Vec<u8>,
    plain: Vec<u8>,
}

impl Default for Buffers {
    fn default() -> Buffers {
        Buffers { received: vec![0; MOST_AT_ONCE], plain: Vec::with_capacity(MOST_AT_ONCE) }
    }
}

impl Link {
    /// A link whose handshake begins.
    pub(super) fn new(crossing: Crossing, session: ServerConnection) -> Link {
        let Crossing { outer, inner, passage } = crossing;
        Link {
            outer: Socket::new(outer),
            inner: Socket::new(inner),
            session,
            kept: Vec::new(),
            client_has_ended: false,
            is_passed_on: false,
            is_parting: false,
            sent: 0,
            _passage: passage,
        }
    }

    /// True during the handshake.
    pub(super) fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    /// True if the server has closed its socket; some of its output may still be on its way.
    pub(super) fn is_left(&self) -> bool {
        self.inner.is_hung()
    }

    /// True if the client's socket has no room for output.
    pub(super) fn is_stuck(&self) -> bool {
        !self.outer.has_room
    }

    /// How many bytes the client's socket has taken.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    /// Transfers data in both directions, but only a bounded amount, so that others have their turn.
    pub(super) fn pump(&mut self, buffers: &mut Buffers) -> LinkState {
        for _ in 0..ROUNDS {
            match self.exchange(buffers) {
                Ok(true) => {}
                Ok(false) => return LinkState::Rests,
                Err(End::Done) => return LinkState::Ends,
                Err(End::Failed(why)) => return LinkState::Fails(why),
            }
        }
        LinkState::Busy
    }

    /// Transfers a piece in each direction; false if nothing could be moved.
    fn exchange(&mut self, buffers: &mut Buffers) -> Result<bool, End> {
        let inwards = self.carry_in(buffers)?;
        let outwards = self.carry_out(buffers)?;
        Ok(inwards || outwards)
    }

    /// From the client to the server.
    fn carry_in(&mut self, buffers: &mut Buffers) -> Result<bool, End> {
        if !self.deliver() || self.client_has_ended || self.is_parting || !self.outer.is_readable {
            return Ok(false);
        }
        let Buffers { received, plain } = buffers;
        let count = match self.outer.receive(received) {
            Received::Bytes(count) => count,
            Received::Nothing => return Ok(false),
            Received::End | Received::Failed => 0,
        };
        plain.clear();
        // A truncated stream and an orderly close need no distinction: requests carry their length.
        self.client_has_ended = count == 0 || self.decrypt(&received[..count], plain)?;
        if self.client_has_ended && self.is_handshaking() {
            return Err(End::Failed("the client has gone".into()));
        }
        let sent = self.pass_on(plain);
        self.kept.extend_from_slice(&plain[sent..]);
        self.deliver();
        Ok(true)
    }

    /// Appends the plaintext of `received` to `plain`; true if the client has announced the end.
    fn decrypt(&mut self, mut received: &[u8], plain: &mut Vec<u8>) -> Result<bool, End> {
        while !received.is_empty() {
            match self.session.read_tls(&mut received) {
                Ok(0) => return Ok(true),
                Ok(_) => {}
                Err(error) => return Err(self.fail(&error.to_string())),
            }
            let state = match self.session.process_new_packets() {
                Ok(state) => state,
                Err(error) => return Err(self.fail(&error.to_string())),
            };
            let from = plain.len();
            plain.resize(from + state.plaintext_bytes_to_read(), 0);
            self.session.reader().read_exact(&mut plain[from..]).expect("as much as it has said is there");
            if state.peer_has_closed() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Sends the client an alert, if its socket takes it at once.
    fn fail(&mut self, why: &str) -> End {
        let _ = self.flush();
        if self.is_handshaking() { End::Failed(why.into()) } else { End::Done }
    }

    /// Passes kept bytes to the server, and the end after them; false if the server does not take all of
    /// them.
    fn deliver(&mut self) -> bool {
        if !self.kept.is_empty() && self.inner.has_room {
            let kept = std::mem::take(&mut self.kept);
            let sent = self.pass_on(&kept);
            // An idle link keeps no memory.
            if sent < kept.len() {
                self.kept = kept;
                self.kept.drain(..sent);
            }
        }
        if !self.kept.is_empty() {
            return false;
        }
        if self.client_has_ended && !self.is_passed_on {
            self.is_passed_on = true;
            // The server reads the end, if it is still there.
            let _ = shutdown(&self.inner, Shutdown::Write);
        }
        true
    }

    /// Returns how many bytes the server takes; all of them if it is gone.
    fn pass_on(&mut self, plain: &[u8]) -> usize {
        let mut sent = 0;
        while sent < plain.len() {
            match self.inner.write(&plain[sent..]) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return sent,
                Err(_) => {
                    self.client_has_ended = true;
                    return plain.len();
                }
            }
        }
        sent
    }

    /// From the server to the client.
    fn carry_out(&mut self, buffers: &mut Buffers) -> Result<bool, End> {
        if !self.flush()? {
            return Ok(false);
        }
        if self.is_parting {
            return Err(End::Done);
        }
        if self.is_handshaking() {
            let is_over = self.inner.is_hung();
            return if is_over {
                Err(End::Failed("the server did not wait for it".into()))
            } else {
                Ok(false)
            };
        }
        if !self.inner.is_readable {
            return Ok(false);
        }
        match self.inner.receive(&mut buffers.received) {
            Received::Nothing => return Ok(false),
            Received::End | Received::Failed => {
                self.session.send_close_notify();
                self.is_parting = true;
            }
            Received::Bytes(count) => {
                let taken = self.session.writer().write_all(&buffers.received[..count]);
                taken.expect("a session without a limit takes everything");
            }
        }
        self.flush()?;
        Ok(true)
    }

    /// Sends the session's output to the client; true if nothing is left.
    fn flush(&mut self) -> Result<bool, End> {
        while self.session.wants_write() {
            if !self.outer.has_room {
                return Ok(false);
            }
            match self.session.write_tls(&mut self.outer) {
                Ok(count) => self.sent += count as u64,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) if self.is_handshaking() => return Err(End::Failed("the client has gone".into())),
                Err(_) => return Err(End::Done),
            }
        }
        Ok(true)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.send(slices)? {
            0 if !self.has_room => Err(ErrorKind::WouldBlock.into()),
            sent => Ok(sent),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Maximum bytes of one receive: four full records, so that a large request takes few calls.
const MOST_AT_ONCE: usize = 64 << 10;
/// Number of pieces per link before others have their turn.
const ROUNDS: usize = 4;
