//! Replies of the text protocol as those of the binary protocol.

use super::frame::Frame;
use super::{Awaited, Pending, Status};
use std::collections::VecDeque;
use tailcut_base::cast::{to_u16, to_u32, to_usize};

/// State of the translation of replies.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// The beginning of a line that is not complete.
    line: Vec<u8>,
    /// Bytes of a value to be passed on, with its line end.
    passing: usize,
    /// The digits of a count, while they arrive, with its CAS value.
    digits: Option<(Vec<u8>, u64)>,
    /// The reply to which the value belongs is complete with it.
    is_value: bool,
}

impl Output {
    /// Translates what follows of the replies; true if a login has succeeded.
    pub(super) fn translate(
        &mut self,
        pending: &mut VecDeque<Pending>,
        mut input: &[u8],
        out: &mut Vec<u8>,
    ) -> bool {
        let mut is_let_in = false;
        loop {
            if self.is_value {
                let count = input.len().min(self.passing);
                self.pass(&input[..count], out);
                input = &input[count..];
                if self.passing > 0 {
                    return is_let_in;
                }
                self.end_value(pending, out);
            }
            while let Some(Pending { awaited: Awaited::Ready(..), .. }) = pending.front() {
                let Some(Pending { opcode, opaque, is_quiet, awaited: Awaited::Ready(status, text) }) =
                    pending.pop_front()
                else {
                    break;
                };
                if status != Status::Success || !is_quiet {
                    head(out, (opcode, status, opaque), Sizes { value: text.len(), ..Sizes::default() }, 0);
                    out.extend_from_slice(&text);
                }
            }
            let Some(end) = input.iter().position(|&byte| byte == b'\n') else {
                self.line.extend_from_slice(input);
                return is_let_in;
            };
            self.line.extend_from_slice(&input[..end]);
            input = &input[end + 1..];
            let line = std::mem::take(&mut self.line);
            let line_text = line.strip_suffix(b"\r").unwrap_or(&line);
            is_let_in |= self.take_line(pending, line_text, out);
            self.line = line;
            self.line.clear();
        }
    }

    /// Passes on a piece of a value, without its line end.
    fn pass(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let of_value = piece.len().min(self.passing.saturating_sub(LINE_END));
        match &mut self.digits {
            Some((digits, _)) => digits.extend_from_slice(&piece[..of_value]),
            None => out.extend_from_slice(&piece[..of_value]),
        }
        self.passing -= piece.len();
    }

    fn end_value(&mut self, pending: &mut VecDeque<Pending>, out: &mut Vec<u8>) {
        self.is_value = false;
        let Some((digits, cas)) = self.digits.take() else { return };
        let Some(Pending { opcode, opaque, is_quiet, .. }) = pending.pop_front() else { return };
        if !is_quiet {
            let number = digits.iter().filter(|byte| byte.is_ascii_digit());
            let number = number
                .fold(0u64, |number, digit| number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')));
            head(out, (opcode, Status::Success, opaque), Sizes { value: 8, ..Sizes::default() }, cas);
            out.extend_from_slice(&number.to_be_bytes());
        }
    }

    /// Takes a line; true if it is the success of a login.
    fn take_line(&mut self, pending: &mut VecDeque<Pending>, line: &[u8], out: &mut Vec<u8>) -> bool {
        let Some(front) = pending.front() else { return false };
        let (opcode, opaque, is_quiet) = (front.opcode, front.opaque, front.is_quiet);
        let (word, rest) = first_word(line);
        let cas = flag(rest, b'c').unwrap_or(0);
        let plain = |out: &mut Vec<u8>, status: Status, text: &[u8]| {
            head(out, (opcode, status, opaque), Sizes { value: text.len(), ..Sizes::default() }, 0);
            out.extend_from_slice(text);
        };
        if let Awaited::Statistics = front.awaited {
            if let Some((name, value)) = (word == b"STAT").then(|| first_word(rest)) {
                let sizes = Sizes { key: name.len(), value: value.len(), ..Sizes::default() };
                head(out, (opcode, Status::Success, opaque), sizes, 0);
                out.extend_from_slice(name);
                out.extend_from_slice(value);
                return false;
            }
            pending.pop_front();
            match word {
                b"END" | b"RESET" | b"OK" => plain(out, Status::Success, b""),
                _ => plain(out, Status::NotFound, Status::NotFound.text()),
            }
            return false;
        }
        let begins_value = word == b"VA" && matches!(front.awaited, Awaited::Item { .. } | Awaited::Count);
        if begins_value {
            let length = to_usize(number(first_word(rest).0).unwrap_or(0));
            (self.is_value, self.passing) = (true, length + LINE_END);
            if let Awaited::Count = front.awaited {
                self.digits = Some((Vec::new(), cas));
                return false;
            }
        }
        let Some(Pending { awaited, .. }) = pending.pop_front() else { return false };
        let is_miss = matches!(word, b"EN" | b"NF");
        let status = match (&awaited, word) {
            (Awaited::Item { key, has_value }, b"VA" | b"HD") => {
                let length = if *has_value { self.passing.saturating_sub(LINE_END) } else { 0 };
                let key = key.as_deref().unwrap_or_default();
                let sizes = Sizes { extras: 4, key: key.len(), value: length };
                head(out, (opcode, Status::Success, opaque), sizes, cas);
                out.extend_from_slice(&to_u32(flag(rest, b'f').unwrap_or(0)).to_be_bytes());
                out.extend_from_slice(key);
                return false;
            }
            (Awaited::Item { key: Some(key), .. }, _) if is_miss && !is_quiet => {
                // memcached repeats the key of a miss.
                head(
                    out,
                    (opcode, Status::NotFound, opaque),
                    Sizes { key: key.len(), ..Sizes::default() },
                    0,
                );
                out.extend_from_slice(key);
                return false;
            }
            (Awaited::Item { .. }, _) if is_miss && is_quiet => return false,
            (Awaited::Store(_) | Awaited::Delete, b"HD") => {
                if !is_quiet {
                    head(out, (opcode, Status::Success, opaque), Sizes::default(), cas);
                }
                return false;
            }
            (Awaited::Store(otherwise), b"NS") => *otherwise,
            (Awaited::Done, b"MN" | b"OK") | (Awaited::Version, b"VERSION") => {
                let text: &[u8] = if word == b"VERSION" { rest } else { b"" };
                if !is_quiet {
                    plain(out, Status::Success, text);
                }
                return false;
            }
            (Awaited::Login, b"STORED") => {
                plain(out, Status::Success, b"Authenticated");
                return true;
            }
            (Awaited::Login, _) => Status::AuthenticationError,
            (_, b"EX") => Status::Exists,
            (_, b"NS") => Status::NotStored,
            _ if is_miss => Status::NotFound,
            _ => error(line),
        };
        plain(out, status, status.text());
        false
    }
}

/// Lengths of the parts of a body in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Sizes {
    extras: u8,
    key: usize,
    value: usize,
}

/// Appends the header of a reply.
fn head(out: &mut Vec<u8>, (opcode, status, opaque): (u8, Status, u32), sizes: Sizes, cas: u64) {
    let Sizes { extras, key, value } = sizes;
    let body = to_u32(usize::from(extras) + key + value);
    out.extend_from_slice(&[Frame::REPLY, opcode]);
    out.extend_from_slice(&to_u16(key).to_be_bytes());
    out.extend_from_slice(&[extras, 0]);
    out.extend_from_slice(&(status as u16).to_be_bytes());
    out.extend_from_slice(&body.to_be_bytes());
    out.extend_from_slice(&opaque.to_be_bytes());
    out.extend_from_slice(&cas.to_be_bytes());
}

/// The status of an error of the text protocol.
fn error(line: &[u8]) -> Status {
    let has = |part: &[u8]| line.windows(part.len()).any(|window| window == part);
    match first_word(line).0 {
        b"SERVER_ERROR" if has(b"too large") => Status::TooLarge,
        b"SERVER_ERROR" => Status::OutOfMemory,
        b"CLIENT_ERROR" if has(b"non-numeric") => Status::NotNumeric,
        b"CLIENT_ERROR" if has(b"unauthenticated") => Status::AuthenticationError,
        b"CLIENT_ERROR" => Status::Invalid,
        _ => Status::UnknownCommand,
    }
}

/// The first word, and what follows the space behind it.
fn first_word(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|&byte| byte == b' ') {
        Some(space) => (&line[..space], &line[space + 1..]),
        None => (line, &[]),
    }
}

/// The number of a flag among the words of a meta reply.
fn flag(words: &[u8], letter: u8) -> Option<u64> {
    let mut words = words.split(|&byte| byte == b' ');
    words.find_map(|word| word.strip_prefix(&[letter]).and_then(number))
}

fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Bytes of a line end behind a value.
const LINE_END: usize = 2;
