//! The server side of the handshake: fixed newstyle negotiation.

use super::offer::{Export, MOST_BYTES, Offer, Tls};
use super::option::{BadOption, ContextQuery, InfoRequest};
use super::standard::*;
use crate::disk::BLOCK_BYTES;
use tailcut_base::cast::to_u32;

/// Result of the negotiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Index of the selected export in the offer.
    pub export: usize,
    /// Whether the client has negotiated structured replies.
    pub has_structured_replies: bool,
    /// Whether the client has selected the metadata context `base:allocation`, and may request block status.
    pub has_allocation: bool,
}

/// Result of a handshake step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Needs more input, or needs the output to be sent.
    More,
    /// The output is the last of the handshake; further input belongs to the transmission phase.
    Go(Terms),
    /// The output is the last in cleartext. TLS begins then, and its decrypted stream is passed to the same
    /// handshake. A client sends nothing between its request for TLS and the server's consent, so input that
    /// is left was injected by an attacker to pass as encrypted: the connection must be closed.
    Encrypt,
    /// Close the connection once the output is sent.
    Close,
}

/// One client's handshake. It begins with [`Handshake::begin`]; then pass received bytes to
/// [`Handshake::receive`].
#[derive(Debug)]
pub struct Handshake {
    phase: Phase,
    /// The received part of the current unit.
    held: Vec<u8>,
    options: u32,
    /// The client accepts replies to its options, without which there is no TLS.
    is_fixed: bool,
    is_encrypted: bool,
    needs_zeroes: bool,
    has_structured_replies: bool,
    /// Export for which `base:allocation` was selected.
    allocation_of: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The client's flags.
    Flags,
    /// Magic, number and length of an option.
    Option,
    /// Its data.
    Data { option: u32, length: u32 },
    /// Data to be discarded, after which `error` is sent.
    Skip { option: u32, left: u32, error: u32 },
    /// No further input is accepted.
    Over,
}

impl Handshake {
    /// Starts a handshake and appends the server's greeting.
    pub fn begin(out: &mut Vec<u8>) -> Handshake {
        out.extend_from_slice(&NBDMAGIC.to_be_bytes());
        out.extend_from_slice(&IHAVEOPT.to_be_bytes());
        out.extend_from_slice(&(NBD_FLAG_FIXED_NEWSTYLE | NBD_FLAG_NO_ZEROES).to_be_bytes());
        Handshake {
            phase: Phase::Flags,
            held: Vec::new(),
            options: 0,
            is_fixed: false,
            is_encrypted: false,
            needs_zeroes: true,
            has_structured_replies: false,
            allocation_of: None,
        }
    }

    /// Consumes bytes from the front of `input` and appends output to `out`. Stops early at the end of the
    /// handshake, before TLS, and when `out` has become long: send it and call again with the rest.
    pub fn receive(&mut self, input: &mut &[u8], offer: &Offer, out: &mut Vec<u8>) -> Step {
        loop {
            if out.len() >= MOST_ANSWER {
                return Step::More;
            }
            if !self.fill(input) {
                return if self.phase == Phase::Over { Step::Close } else { Step::More };
            }
            let step = self.act(offer, out);
            self.held.clear();
            match step {
                Step::More => {}
                Step::Encrypt => return step,
                Step::Go(_) | Step::Close => {
                    self.phase = Phase::Over;
                    return step;
                }
            }
        }
    }

    /// Receives the missing bytes of the current unit; false if there are not enough.
    fn fill(&mut self, input: &mut &[u8]) -> bool {
        if let Phase::Skip { left, .. } = &mut self.phase {
            let skipped = input.len().min(*left as usize);
            *input = &input[skipped..];
            *left -= to_u32(skipped);
            return *left == 0;
        }
        let wanted = match self.phase {
            Phase::Flags => 4,
            Phase::Option => 16,
            Phase::Data { length, .. } => length as usize,
            Phase::Skip { .. } => 0,
            Phase::Over => return false,
        };
        let taken = input.len().min(wanted - self.held.len());
        let (bytes, rest) = input.split_at(taken);
        self.held.extend_from_slice(bytes);
        *input = rest;
        self.held.len() == wanted
    }

    fn act(&mut self, offer: &Offer, out: &mut Vec<u8>) -> Step {
        match self.phase {
            Phase::Flags => self.flags(offer.tls),
            Phase::Option => self.option(self.tls(offer), out),
            Phase::Data { option, .. } => {
                self.phase = Phase::Option;
                let data = std::mem::take(&mut self.held);
                let step = self.answer(option, &data, offer, out);
                self.held = data;
                step
            }
            Phase::Skip { option, error, .. } => {
                self.phase = Phase::Option;
                reply(out, OptionReply { option, kind: error }, &[]);
                Step::More
            }
            Phase::Over => Step::Close,
        }
    }

    /// The TLS policy for this client from here on.
    fn tls(&self, offer: &Offer) -> Tls {
        match offer.tls {
            _ if self.is_encrypted => Tls::Allowed,
            Tls::Allowed if !self.is_fixed => Tls::Absent,
            tls => tls,
        }
    }

    fn flags(&mut self, tls: Tls) -> Step {
        let flags = u32::from_be_bytes(self.held[..4].try_into().expect("four bytes"));
        if flags & !(NBD_FLAG_C_FIXED_NEWSTYLE | NBD_FLAG_C_NO_ZEROES) != 0 {
            return Step::Close;
        }
        self.is_fixed = flags & NBD_FLAG_C_FIXED_NEWSTYLE != 0;
        if tls == Tls::Required && !self.is_fixed {
            // Such a client can only name an export, which cannot be refused otherwise.
            return Step::Close;
        }
        self.needs_zeroes = flags & NBD_FLAG_C_NO_ZEROES == 0;
        self.phase = Phase::Option;
        Step::More
    }

    fn option(&mut self, tls: Tls, out: &mut Vec<u8>) -> Step {
        let magic = u64::from_be_bytes(self.held[..8].try_into().expect("eight bytes"));
        let option = u32::from_be_bytes(self.held[8..12].try_into().expect("four bytes"));
        let length = u32::from_be_bytes(self.held[12..16].try_into().expect("four bytes"));
        self.options += 1;
        if magic != IHAVEOPT || self.options > MOST_OPTIONS {
            return Step::Close;
        }
        let error = refusal(option, tls);
        self.phase = match (error, length) {
            (None, 0..=MOST_OPTION) => Phase::Data { option, length },
            // A name can only be refused by closing the connection.
            _ if option == NBD_OPT_EXPORT_NAME => return Step::Close,
            (_, MOST_SKIPPED..) => {
                reply(out, OptionReply { option, kind: NBD_REP_ERR_TOO_BIG }, b"the option is too long");
                return Step::Close;
            }
            (_, left) => Phase::Skip { option, left, error: error.unwrap_or(NBD_REP_ERR_TOO_BIG) },
        };
        Step::More
    }

    fn answer(&mut self, option: u32, data: &[u8], offer: &Offer, out: &mut Vec<u8>) -> Step {
        let answered = match option {
            NBD_OPT_EXPORT_NAME => return self.export_name(data, offer, out),
            NBD_OPT_ABORT => {
                acknowledge(out, option);
                return Step::Close;
            }
            NBD_OPT_STARTTLS if data.is_empty() && !self.is_encrypted => {
                acknowledge(out, option);
                return self.encrypt();
            }
            NBD_OPT_STARTTLS => Err(BadOption::Malformed),
            NBD_OPT_LIST => list(data, offer, out),
            NBD_OPT_STRUCTURED_REPLY if data.is_empty() => {
                self.has_structured_replies = true;
                Ok(Answer::Done)
            }
            NBD_OPT_STRUCTURED_REPLY => Err(BadOption::Malformed),
            NBD_OPT_INFO | NBD_OPT_GO => self.inform(option, data, offer, out),
            _ => self.contexts(option, data, offer, out),
        };
        match answered {
            Ok(Answer::Go(terms)) => {
                acknowledge(out, option);
                return Step::Go(terms);
            }
            Ok(Answer::Done) => acknowledge(out, option),
            Ok(Answer::Unknown) => {
                reply(out, OptionReply { option, kind: NBD_REP_ERR_UNKNOWN }, b"there is no such export")
            }
            Err(BadOption::Malformed) => {
                reply(out, OptionReply { option, kind: NBD_REP_ERR_INVALID }, b"the option is malformed")
            }
            Err(BadOption::TooBig) => {
                reply(out, OptionReply { option, kind: NBD_REP_ERR_TOO_BIG }, b"a string is too long")
            }
        }
        Step::More
    }

    /// Resets everything negotiated in cleartext, which an attacker could have injected.
    fn encrypt(&mut self) -> Step {
        self.is_encrypted = true;
        self.has_structured_replies = false;
        self.allocation_of = None;
        Step::Encrypt
    }

    fn terms(&self, export: usize) -> Terms {
        Terms {
            export,
            has_structured_replies: self.has_structured_replies,
            has_allocation: self.allocation_of == Some(export),
        }
    }

    fn export_name(&mut self, name: &[u8], offer: &Offer, out: &mut Vec<u8>) -> Step {
        let Some(export) = offer.find(name) else { return Step::Close };
        let chosen = &offer.exports[export];
        out.extend_from_slice(&chosen.bytes.to_be_bytes());
        out.extend_from_slice(&chosen.flags(self.has_structured_replies).to_be_bytes());
        if self.needs_zeroes {
            out.resize(out.len() + 124, 0);
        }
        Step::Go(self.terms(export))
    }

    fn inform(
        &mut self,
        option: u32,
        data: &[u8],
        offer: &Offer,
        out: &mut Vec<u8>,
    ) -> Result<Answer, BadOption> {
        let inquiry = InfoRequest::read(data)?;
        let Some(found) = offer.find(inquiry.name) else { return Ok(Answer::Unknown) };
        let export = &offer.exports[found];
        facts(option, export, &inquiry, export.flags(self.has_structured_replies), out);
        Ok(if option == NBD_OPT_GO { Answer::Go(self.terms(found)) } else { Answer::Done })
    }

    fn contexts(
        &mut self,
        option: u32,
        data: &[u8],
        offer: &Offer,
        out: &mut Vec<u8>,
    ) -> Result<Answer, BadOption> {
        let is_set = option == NBD_OPT_SET_META_CONTEXT;
        if is_set {
            self.allocation_of = None;
        }
        if !self.has_structured_replies {
            return Err(BadOption::Malformed);
        }
        let query = ContextQuery::read(data)?;
        let Some(export) = offer.find(query.name) else { return Ok(Answer::Unknown) };
        let lists_all = !is_set && (query.is_empty || query.names_base);
        if query.names_allocation || lists_all {
            let id = if is_set { ALLOCATION_ID } else { 0 };
            let fact = [&id.to_be_bytes(), BASE_ALLOCATION.as_bytes()].concat();
            reply(out, OptionReply { option, kind: NBD_REP_META_CONTEXT }, &fact);
        }
        if is_set && query.names_allocation {
            self.allocation_of = Some(export);
        }
        Ok(Answer::Done)
    }

    /// Bytes of memory that the handshake holds for unfinished input.
    pub fn held(&self) -> usize {
        self.held.capacity()
    }
}

enum Answer {
    Done,
    Unknown,
    Go(Terms),
}

/// Error for an option that is refused whatever its data.
fn refusal(option: u32, tls: Tls) -> Option<u32> {
    match option {
        NBD_OPT_ABORT => None,
        NBD_OPT_STARTTLS => (tls == Tls::Absent).then_some(NBD_REP_ERR_UNSUP),
        _ if tls == Tls::Required => Some(NBD_REP_ERR_TLS_REQD),
        NBD_OPT_EXPORT_NAME | NBD_OPT_LIST | NBD_OPT_INFO..=NBD_OPT_SET_META_CONTEXT => None,
        _ => Some(NBD_REP_ERR_UNSUP),
    }
}

fn list(data: &[u8], offer: &Offer, out: &mut Vec<u8>) -> Result<Answer, BadOption> {
    if !data.is_empty() {
        return Err(BadOption::Malformed);
    }
    for export in &offer.exports {
        let name = export.name.as_bytes();
        let entry = [&to_u32(name.len()).to_be_bytes(), name, export.description.as_bytes()].concat();
        reply(out, OptionReply { option: NBD_OPT_LIST, kind: NBD_REP_SERVER }, &entry);
    }
    Ok(Answer::Done)
}

fn facts(option: u32, export: &Export, inquiry: &InfoRequest<'_>, flags: u16, out: &mut Vec<u8>) {
    let mut fact = |number: u16, content: &[&[u8]]| {
        reply(
            out,
            OptionReply { option, kind: NBD_REP_INFO },
            &[&number.to_be_bytes(), content.concat().as_slice()].concat(),
        );
    };
    fact(NBD_INFO_EXPORT, &[&export.bytes.to_be_bytes(), &flags.to_be_bytes()]);
    if inquiry.wants_name {
        fact(NBD_INFO_NAME, &[export.name.as_bytes()]);
    }
    if inquiry.wants_description {
        fact(NBD_INFO_DESCRIPTION, &[export.description.as_bytes()]);
    }
    // Minimum, preferred, maximum. Any byte range is accepted: partial blocks use read-modify-write.
    let sizes = [1, to_u32(BLOCK_BYTES), MOST_BYTES].map(u32::to_be_bytes);
    fact(NBD_INFO_BLOCK_SIZE, &[&sizes[0], &sizes[1], &sizes[2]]);
}

/// What a reply to an option begins with.
#[derive(Clone, Copy)]
struct OptionReply {
    /// The option.
    option: u32,
    /// What the reply is: one of `NBD_REP_…`.
    kind: u32,
}

/// The option has succeeded, or all replies to it are sent.
fn acknowledge(out: &mut Vec<u8>, option: u32) {
    reply(out, OptionReply { option, kind: NBD_REP_ACK }, &[]);
}

fn reply(out: &mut Vec<u8>, reply: OptionReply, data: &[u8]) {
    let OptionReply { option, kind } = reply;
    out.extend_from_slice(&OPTION_REPLY_MAGIC.to_be_bytes());
    out.extend_from_slice(&option.to_be_bytes());
    out.extend_from_slice(&kind.to_be_bytes());
    out.extend_from_slice(&to_u32(data.len()).to_be_bytes());
    out.extend_from_slice(data);
}

/// Context ID of `base:allocation` in replies.
pub const ALLOCATION_ID: u32 = 1;

/// Most bytes of an option that are kept: a name and some queries.
const MOST_OPTION: u32 = 4 * MOST_STRING;

/// Length in bytes from which on an option counts as an attack.
const MOST_SKIPPED: u32 = 1 << 20;

/// Most options per client.
const MOST_OPTIONS: u32 = 256;

/// Bytes of unsent output at which input is no longer read.
const MOST_ANSWER: usize = 16 << 10;
