//! A client of the binary protocol: its input becomes that of the text protocol, and its replies are
//! translated back.

use crate::reactor::Socket;
use rustix::io::Errno;
use std::io::IoSlice;
use tailcut_host::kv::session::VERSION;
use tailcut_host::kv::session::send_queue::SendQueue;
use tailcut_host::wire::memcached::binary::Translator;

/// The translation of one connection.
#[derive(Debug)]
pub(super) struct Binary {
    translator: Translator,
    /// Replies of the binary protocol; the first `sent` bytes are sent.
    out: Vec<u8>,
    sent: usize,
}

impl Binary {
    /// The translation of a connection, if that begins with these bytes of the binary protocol. `has_users`
    /// if clients have to log in.
    pub(super) fn detect(first: &[u8], has_users: bool) -> Option<Box<Binary>> {
        let is_binary = first.first().is_some_and(|&first| Translator::is_binary(first));
        let translator = || Translator::new(has_users, VERSION);
        is_binary.then(|| Box::new(Binary { translator: translator(), out: Vec::new(), sent: 0 }))
    }

    /// Appends received bytes to the input of the text protocol.
    pub(super) fn receive(&mut self, bytes: &[u8], input: &mut Vec<u8>) {
        self.translator.receive(bytes, input);
    }

    /// True if nothing is left to be sent.
    pub(super) fn is_sent(&self) -> bool {
        self.sent == self.out.len()
    }

    /// Translates replies and sends them, as far as the socket takes them. Returns how many bytes of the
    /// queue are translated.
    ///
    /// # Errors
    /// If the peer has disconnected.
    pub(super) fn send(&mut self, socket: &mut Socket, send_queue: &SendQueue) -> Result<usize, Errno> {
        let mut translated = 0;
        for piece in send_queue.pieces().flat_map(|piece| piece.chunks(PIECE)) {
            if self.out.len() >= MOST_OUT || !self.flush(socket)? {
                return Ok(translated);
            }
            self.translator.reply(piece, &mut self.out);
            translated += piece.len();
        }
        // Replies that do not depend on the server.
        self.translator.reply(&[], &mut self.out);
        self.flush(socket)?;
        Ok(translated)
    }

    /// Sends translated replies if there are many; false if the socket takes no more.
    fn flush(&mut self, socket: &mut Socket) -> Result<bool, Errno> {
        while socket.has_room && !self.is_sent() {
            self.sent += socket.send(&[IoSlice::new(&self.out[self.sent..])])?;
        }
        if self.is_sent() {
            self.sent = 0;
            self.out.clear();
            self.out.shrink_to(PIECE);
        }
        Ok(self.out.is_empty())
    }
}

/// Bytes of replies that are translated at a time: each byte becomes at most nine.
const PIECE: usize = 8 << 10;
/// Bytes of translated replies from which on no more are translated.
const MOST_OUT: usize = 64 << 10;
