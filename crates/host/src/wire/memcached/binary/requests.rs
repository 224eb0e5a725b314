//! Requests as lines of the text protocol.

use super::frame::{Frame, MOST_KEY, MOST_LOGIN, Opcode};
use super::{Awaited, Status, Translator};
use std::io::Write;

impl Translator {
    /// Takes the request whose header, extras and key have arrived, if they have.
    pub(super) fn take_head(&mut self, lines: &mut Vec<u8>) {
        if self.head.len() < Frame::head_bytes(&self.head) {
            return;
        }
        let head = std::mem::take(&mut self.head);
        self.take(&Frame::new(&head), lines);
        self.head = head;
        self.head.clear();
    }

    fn take(&mut self, frame: &Frame<'_>, lines: &mut Vec<u8>) {
        if !frame.is_request() {
            return self.close(lines);
        }
        let Some(value) = frame.value_bytes() else {
            return self.refuse_and_close(frame, Status::UnknownCommand, lines);
        };
        let kind = frame.kind();
        if value > MOST_VALUE || frame.key_bytes() > MOST_KEY {
            return self.refuse_and_close(frame, Status::Invalid, lines);
        }
        let is_for_all = matches!(
            kind,
            Some(Opcode::ListMechanisms | Opcode::Login | Opcode::LoginStep | Opcode::Version)
        );
        if self.needs_login && !is_for_all {
            return self.refuse_and_close(frame, Status::AuthenticationError, lines);
        }
        let Some(kind) = kind else { return self.refuse(frame, Status::UnknownCommand) };
        if !frame.is_valid(kind) {
            return self.refuse_and_close(frame, Status::Invalid, lines);
        }
        self.dispatch(frame, kind, lines);
    }

    fn dispatch(&mut self, frame: &Frame<'_>, kind: Opcode, lines: &mut Vec<u8>) {
        match kind {
            Opcode::Get | Opcode::GetWithKey => self.get(frame, " f c v", lines),
            Opcode::Touch | Opcode::GetAndTouch | Opcode::GetAndTouchWithKey => {
                let value = if kind == Opcode::Touch { "" } else { " v" };
                let flags = format!(" f c{value} T{}", frame.extra(0).cast_signed());
                self.get(frame, &flags, lines);
            }
            Opcode::Set => self.store(frame, ("MS", Status::NotStored), lines),
            Opcode::Add => self.store(frame, ("ME", Status::Exists), lines),
            Opcode::Replace => self.store(frame, ("MR", Status::NotFound), lines),
            Opcode::Append => self.store(frame, ("MA", Status::NotStored), lines),
            Opcode::Prepend => self.store(frame, ("MP", Status::NotStored), lines),
            Opcode::Delete => {
                self.meta(frame, ("md", ""), &condition(frame), Awaited::Delete, lines);
            }
            Opcode::Increment => self.count(frame, "MI", lines),
            Opcode::Decrement => self.count(frame, "MD", lines),
            Opcode::Noop => self.line(frame, "mn", Awaited::Done, lines),
            Opcode::Version => self.version(frame, lines),
            Opcode::Flush if frame.extras_bytes() == 4 => {
                let line = format!("flush_all {}", frame.extra(0).cast_signed());
                self.line(frame, &line, Awaited::Done, lines);
            }
            Opcode::Flush => self.line(frame, "flush_all", Awaited::Done, lines),
            Opcode::Verbosity => {
                self.line(frame, &format!("verbosity {}", frame.extra(0)), Awaited::Done, lines);
            }
            Opcode::Statistics => {
                if frame.key().iter().any(|&byte| byte < b' ') {
                    return self.refuse(frame, Status::NotFound);
                }
                let line = [&b"stats "[..], frame.key()].concat();
                lines.extend_from_slice(line.trim_ascii_end());
                lines.extend_from_slice(b"\r\n");
                self.wait_for(frame, Awaited::Statistics);
            }
            Opcode::Quit => {
                self.wait_for(frame, Awaited::Ready(Status::Success, Vec::new()));
                self.close(lines);
            }
            Opcode::ListMechanisms if self.has_users => {
                self.wait_for(frame, Awaited::Ready(Status::Success, b"PLAIN".to_vec()));
            }
            Opcode::ListMechanisms => self.refuse(frame, Status::UnknownCommand),
            Opcode::Login => self.login(frame, lines),
            Opcode::LoginStep => self.refuse_login(frame),
        }
    }

    /// Before a login the text protocol has no `version`.
    fn version(&mut self, frame: &Frame<'_>, lines: &mut Vec<u8>) {
        if self.needs_login {
            let version = self.version.into();
            return self.wait_for(frame, Awaited::Ready(Status::Success, version));
        }
        self.line(frame, "version", Awaited::Version, lines);
    }

    fn get(&mut self, frame: &Frame<'_>, flags: &str, lines: &mut Vec<u8>) {
        let returns_key = matches!(frame.kind(), Some(Opcode::GetWithKey | Opcode::GetAndTouchWithKey));
        let key = returns_key.then(|| frame.key().to_vec());
        let awaited = Awaited::Item { key, has_value: frame.kind() != Some(Opcode::Touch) };
        self.meta(frame, ("mg", ""), flags, awaited, lines);
    }

    fn store(&mut self, frame: &Frame<'_>, (mode, otherwise): (&str, Status), lines: &mut Vec<u8>) {
        let value = frame.value_bytes().expect("it was checked");
        // With a CAS value each of them is one of `cas`.
        let is_compared = frame.cas() > 0 && frame.extras_bytes() == 8;
        let mode = if is_compared { "MS" } else { mode };
        let attributes = match frame.extras_bytes() {
            8 => format!(" F{} T{}", frame.extra(0), frame.extra(4).cast_signed()),
            _ => String::new(),
        };
        let flags = format!(" {mode} c{attributes}{}", condition(frame));
        if !self.meta(frame, ("ms", &format!(" {value}")), &flags, Awaited::Store(otherwise), lines) {
            self.skipping = value;
            return;
        }
        self.passing = value;
        if value == 0 {
            lines.extend_from_slice(b"\r\n");
        }
    }

    fn count(&mut self, frame: &Frame<'_>, mode: &str, lines: &mut Vec<u8>) {
        let (delta, initial, expiry) = (frame.long_extra(0), frame.long_extra(8), frame.extra(16));
        let create = match expiry {
            NO_CREATION => String::new(),
            expiry => format!(" N{} J{initial}", expiry.cast_signed()),
        };
        let flags = format!(" v c {mode} D{delta}{create}{}", condition(frame));
        self.meta(frame, ("ma", ""), &flags, Awaited::Count, lines);
    }

    fn login(&mut self, frame: &Frame<'_>, lines: &mut Vec<u8>) {
        // PLAIN (RFC 4616): an identity to act as, the name and the password, each after a zero byte.
        let mut parts = frame.value().splitn(3, |&byte| byte == 0).skip(1);
        let (name, password) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let is_sound = !name.is_empty() && !name.contains(&b' ') && frame.value().len() <= MOST_LOGIN;
        if frame.key() != b"PLAIN" || !self.needs_login || !is_sound {
            return self.refuse_login(frame);
        }
        // Ignored: a buffer in memory takes everything.
        let _ = write!(lines, "set login 0 0 {}\r\n", name.len() + 1 + password.len());
        lines.extend_from_slice(name);
        lines.push(b' ');
        lines.extend_from_slice(password);
        lines.extend_from_slice(b"\r\n");
        self.wait_for(frame, Awaited::Login);
    }

    /// The value of a login was taken with its head, unless it is too long.
    fn refuse_login(&mut self, frame: &Frame<'_>) {
        self.refuse(frame, Status::AuthenticationError);
        if frame.body_bytes() as usize <= MOST_LOGIN {
            self.skipping = 0;
        }
    }

    fn line(&mut self, frame: &Frame<'_>, line: &str, awaited: Awaited, lines: &mut Vec<u8>) {
        lines.extend_from_slice(line.as_bytes());
        lines.extend_from_slice(b"\r\n");
        self.wait_for(frame, awaited);
    }

    /// Appends a meta command: its name, the key, what follows it, and flags. False if the text protocol has
    /// no form for the key.
    fn meta(
        &mut self,
        frame: &Frame<'_>,
        (name, behind): (&str, &str),
        flags: &str,
        awaited: Awaited,
        lines: &mut Vec<u8>,
    ) -> bool {
        let key = frame.key();
        let is_plain = !key.iter().any(|&byte| byte <= b' ' || byte == 0x7f);
        if !is_plain && key.len() > MOST_ENCODED_KEY {
            self.refuse(frame, Status::Invalid);
            self.skipping = 0;
            return false;
        }
        lines.extend_from_slice(name.as_bytes());
        lines.push(b' ');
        let encoding = if is_plain {
            lines.extend_from_slice(key);
            ""
        } else {
            encode(key, lines);
            " b"
        };
        // Ignored: a buffer in memory takes everything.
        let _ = write!(lines, "{behind}{flags}{encoding}\r\n");
        self.wait_for(frame, awaited);
        true
    }

    /// Answers with an error, and skips the value.
    fn refuse(&mut self, frame: &Frame<'_>, status: Status) {
        self.skipping = frame.value_bytes().unwrap_or(0);
        self.wait_for(frame, Awaited::Ready(status, status.text().to_vec()));
    }

    fn refuse_and_close(&mut self, frame: &Frame<'_>, status: Status, lines: &mut Vec<u8>) {
        self.wait_for(frame, Awaited::Ready(status, status.text().to_vec()));
        self.close(lines);
    }

    /// Takes no further request. The session closes once all replies are sent.
    fn close(&mut self, lines: &mut Vec<u8>) {
        self.is_closed = true;
        lines.extend_from_slice(b"quit\r\n");
    }
}

/// The flag that compares the CAS value, if the request has one.
fn condition(frame: &Frame<'_>) -> String {
    match frame.cas() {
        0 => String::new(),
        cas => format!(" C{cas}"),
    }
}

/// Appends base64 (RFC 4648).
fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for group in bytes.chunks(3) {
        let bits =
            group.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            out.push(if place <= group.len() { letter } else { b'=' });
        }
    }
}

/// Expiry time with which a count does not create an item.
const NO_CREATION: u32 = u32::MAX;
/// Longest value in bytes that a request may announce.
const MOST_VALUE: u32 = 1 << 30;
/// Longest key in bytes whose base64 is a key of the text protocol.
const MOST_ENCODED_KEY: usize = 186;
