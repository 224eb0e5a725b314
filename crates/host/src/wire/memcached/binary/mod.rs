//! memcached's binary protocol, as a translation: requests to lines of the text protocol, and its replies
//! back.
//!
//! The protocol is deprecated, and some clients speak nothing else. Each request has one counterpart among
//! the meta and classic commands, and replies come in the order of requests, so a client of the binary
//! protocol is one of the text protocol behind a [`Translator`]: it has no code of its own in sessions.
//! Values pass through in pieces. The reference is the behaviour of memcached 1.6.45 (`proto_bin.c`).

mod frame;
mod replies;
mod requests;

use frame::Frame;
use replies::Output;
use std::collections::VecDeque;
use tailcut_base::cast::to_u32;

/// Translates the requests and replies of one connection.
///
/// # Examples
/// ```
/// use tailcut_host::wire::memcached::binary::Translator;
///
/// let mut translator = Translator::new(false, "1.6");
/// let noop = [&[0x80, 0x0a][..], &[0; 22]].concat();
/// let (mut lines, mut replies) = (Vec::new(), Vec::new());
/// translator.receive(&noop, &mut lines);
/// assert_eq!(lines, b"mn\r\n");
/// translator.reply(b"MN\r\n", &mut replies);
/// assert_eq!(replies, [&[0x81, 0x0a][..], &[0; 22]].concat());
/// ```
#[derive(Debug)]
pub struct Translator {
    /// The header of a request that is not complete, with what follows it up to the value.
    head: Vec<u8>,
    /// Bytes of a value to be passed on as they are, or to be skipped.
    passing: u32,
    skipping: u32,
    /// Clients have to log in first (SASL PLAIN).
    needs_login: bool,
    /// A login is required of clients.
    has_users: bool,
    /// The version that clients see before they have logged in.
    version: &'static str,
    /// No request is taken any more.
    is_closed: bool,
    /// Requests without a complete reply, in order.
    pending: VecDeque<Pending>,
    output: Output,
}

/// A request without a complete reply.
#[derive(Debug)]
struct Pending {
    /// Its opcode, as it is repeated in the reply.
    opcode: u8,
    opaque: u32,
    /// Success, or a miss of a retrieval, is not reported.
    is_quiet: bool,
    awaited: Awaited,
}

/// The reply that is awaited of the text protocol.
#[derive(Debug)]
enum Awaited {
    /// Nothing: the reply is this.
    Ready(Status, Vec<u8>),
    /// Of `mg`. With the key if it is to be returned.
    Item { key: Option<Vec<u8>>, has_value: bool },
    /// Of `ms`; the status if the item is not in the required state.
    Store(Status),
    /// Of `md`.
    Delete,
    /// Of `ma`.
    Count,
    /// A line that reports success.
    Done,
    /// Of `version`.
    Version,
    /// Of `stats`: lines up to an end.
    Statistics,
    /// Of a login.
    Login,
}

/// Status of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Success = 0x00,
    NotFound = 0x01,
    Exists = 0x02,
    TooLarge = 0x03,
    Invalid = 0x04,
    NotStored = 0x05,
    NotNumeric = 0x06,
    AuthenticationError = 0x20,
    UnknownCommand = 0x81,
    OutOfMemory = 0x82,
}

impl Status {
    /// The text behind an error.
    fn text(self) -> &'static [u8] {
        match self {
            Status::Success => b"",
            Status::NotFound => b"Not found",
            Status::Exists => b"Data exists for key.",
            Status::TooLarge => b"Too large.",
            Status::Invalid => b"Invalid arguments",
            Status::NotStored => b"Not stored.",
            Status::NotNumeric => b"Non-numeric server-side value for incr or decr",
            Status::AuthenticationError => b"Auth failure.",
            Status::UnknownCommand => b"Unknown command",
            Status::OutOfMemory => b"Out of memory",
        }
    }
}

impl Translator {
    /// The translator of a new connection to a server of this version, whose client has to log in if there
    /// are users.
    pub fn new(has_users: bool, version: &'static str) -> Translator {
        Translator {
            head: Vec::new(),
            passing: 0,
            skipping: 0,
            needs_login: has_users,
            has_users,
            version,
            is_closed: false,
            pending: VecDeque::new(),
            output: Output::default(),
        }
    }

    /// True if a connection whose first byte is this is one of the binary protocol.
    pub fn is_binary(first: u8) -> bool {
        first == Frame::REQUEST
    }

    /// Translates received bytes, and appends lines of the text protocol to `lines`.
    pub fn receive(&mut self, mut input: &[u8], lines: &mut Vec<u8>) {
        while !input.is_empty() && !self.is_closed {
            if self.passing > 0 {
                let count = input.len().min(self.passing as usize);
                lines.extend_from_slice(&input[..count]);
                self.passing -= to_u32(count);
                input = &input[count..];
                if self.passing == 0 {
                    lines.extend_from_slice(b"\r\n");
                }
            } else if self.skipping > 0 {
                let count = input.len().min(self.skipping as usize);
                self.skipping -= to_u32(count);
                input = &input[count..];
            } else {
                let wanted = Frame::head_bytes(&self.head);
                let count = input.len().min(wanted - self.head.len());
                self.head.extend_from_slice(&input[..count]);
                input = &input[count..];
                self.take_head(lines);
            }
        }
    }

    /// Translates replies of the text protocol, in any pieces, and appends those of the binary protocol to
    /// `out`.
    pub fn reply(&mut self, input: &[u8], out: &mut Vec<u8>) {
        let Translator { pending, output, needs_login, .. } = self;
        *needs_login &= !output.translate(pending, input, out);
    }

    fn wait_for(&mut self, frame: &Frame, awaited: Awaited) {
        let (opcode, opaque, is_quiet) = (frame.opcode(), frame.opaque(), frame.is_quiet());
        self.pending.push_back(Pending { opcode, opaque, is_quiet, awaited });
    }
}
