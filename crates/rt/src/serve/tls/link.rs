//! One client behind the relay: what comes encrypted leaves in the clear, and the other way round.

use super::side::Side;
use super::{Crossing, Passage};
use rustix::net::{Shutdown, shutdown};
use rustls::ServerConnection;
use std::io::{ErrorKind, Read, Write};

/// A client's two sockets and its session.
///
/// Memory is bounded by not reading: nothing is received from the client while the server has not taken all
/// that came before, and nothing from the server while the client has not. So a link keeps at most what one
/// receive yields in each direction ([`MOST_AT_ONCE`]), and what the session needs of a record or a message
/// of the handshake that is not whole yet (at most 64 KiB, by rustls).
#[derive(Debug)]
pub struct Link {
    /// Towards the client.
    pub outer: Side,
    /// Towards the server.
    pub inner: Side,
    session: ServerConnection,
    /// Decrypted, and not taken by the server yet.
    kept: Vec<u8>,
    /// Nothing more comes from the client.
    client_has_ended: bool,
    /// Nothing more is said to the server.
    is_passed_on: bool,
    /// The last that the server has said is with the session.
    is_parting: bool,
    _passage: Passage,
}

/// What comes next for a link.
#[derive(Debug, PartialEq, Eq)]
pub enum Fate {
    /// There may be more to be done at once.
    Busy,
    /// Nothing is to be done until something happens at one of its sockets.
    Rests,
    /// It is over.
    Ends,
    /// It is over before it has begun: the handshake has failed, and why.
    Fails(String),
}

/// Why nothing more is carried.
enum End {
    Done,
    Failed(String),
}

/// Memory for all links in turn: nothing is in it between two of them.
#[derive(Debug)]
pub struct Buffers {
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
    pub fn new(crossing: Crossing, session: ServerConnection) -> Link {
        let Crossing { outer, inner, passage } = crossing;
        Link {
            outer: Side::new(outer),
            inner: Side::new(inner),
            session,
            kept: Vec::new(),
            client_has_ended: false,
            is_passed_on: false,
            is_parting: false,
            _passage: passage,
        }
    }

    /// Keys are not agreed on yet.
    pub fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    /// The server has gone; some of what it has said may still be on its way.
    pub fn is_left(&self) -> bool {
        self.inner.is_hung
    }

    /// Carries what there is in both directions, but not for ever: others want their turn.
    pub fn pump(&mut self, buffers: &mut Buffers) -> Fate {
        for _ in 0..ROUNDS {
            match self.exchange(buffers) {
                Ok(true) => {}
                Ok(false) => return Fate::Rests,
                Err(End::Done) => return Fate::Ends,
                Err(End::Failed(why)) => return Fate::Fails(why),
            }
        }
        Fate::Busy
    }

    /// A piece in each direction; false when nothing could be moved.
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
        let Some(count) = self.outer.read(received) else { return Ok(false) };
        plain.clear();
        // Cut off or ended in good form makes no difference: requests say themselves how long they are.
        self.client_has_ended = count == 0 || self.decrypt(&received[..count], plain)?;
        if self.client_has_ended && self.is_handshaking() {
            return Err(End::Failed("the client has gone".into()));
        }
        let sent = self.pass_on(plain);
        self.kept.extend_from_slice(&plain[sent..]);
        self.deliver();
        Ok(true)
    }

    /// Adds what `received` says to `plain`; true when the client says that it is the last.
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

    /// Tells the client what is wrong, if it takes that at once.
    fn fail(&mut self, why: &str) -> End {
        let _ = self.flush();
        if self.is_handshaking() { End::Failed(why.into()) } else { End::Done }
    }

    /// Gives the server what is kept for it, and the end behind that; false when it does not take everything.
    fn deliver(&mut self) -> bool {
        if !self.kept.is_empty() && self.inner.has_room {
            let kept = std::mem::take(&mut self.kept);
            let sent = self.pass_on(&kept);
            // Who is idle keeps no memory.
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
            // Whoever is there reads an end; if nobody is, that is as well.
            let _ = shutdown(&self.inner.socket, Shutdown::Write);
        }
        true
    }

    /// How much of it the server takes, or would have taken if it were still there.
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
            let is_over = self.inner.is_hung;
            return if is_over {
                Err(End::Failed("the server did not wait for it".into()))
            } else {
                Ok(false)
            };
        }
        if !self.inner.is_readable {
            return Ok(false);
        }
        match self.inner.read(&mut buffers.received) {
            None => return Ok(false),
            Some(0) => {
                self.session.send_close_notify();
                self.is_parting = true;
            }
            Some(count) => {
                let taken = self.session.writer().write_all(&buffers.received[..count]);
                taken.expect("a session without a limit takes everything");
            }
        }
        self.flush()?;
        Ok(true)
    }

    /// Sends what the session has for the client; true when nothing is left.
    fn flush(&mut self) -> Result<bool, End> {
        while self.session.wants_write() {
            if !self.outer.has_room {
                return Ok(false);
            }
            match self.session.write_tls(&mut self.outer) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) if self.is_handshaking() => return Err(End::Failed("the client has gone".into())),
                Err(_) => return Err(End::Done),
            }
        }
        Ok(true)
    }
}

/// Most bytes of one receive: four full records, so that a large request costs few calls.
const MOST_AT_ONCE: usize = 64 << 10;
/// Pieces that one link is given before others.
const ROUNDS: usize = 4;
