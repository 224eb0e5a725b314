//! Parses a byte stream into commands and their data.

use super::base64::Decoded;
use super::command::{Command, Get};
use super::key::{KEY_BYTES, Key};
use super::line::Line;
use super::number;
use super::refusal::Refusal;
use super::words::split;
use memchr::{memchr, memchr2};
use tailcut_base::cast::{to_u8, to_u32, to_usize};

/// Parses the commands of one connection.
///
/// The owner of the socket buffers received input that is not consumed yet, in a buffer of at least
/// [`BUFFER_BYTES`], and calls [`Receiver::next`] until it returns [`Step::More`]. Data to be stored arrive
/// in pieces ([`Step::Data`]), or are read directly to their destination: [`Receiver::outstanding`] bytes,
/// reported with [`Receiver::received`]. [`Step::End`] follows and reports whether they were properly
/// terminated.
///
/// Results do not depend on how the stream is split, and no input makes the receiver grow.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    phase: Phase,
    has_begun: bool,
    /// The last command's key, if it was in base64.
    decoded: Decoded,
}

/// Result of a parsing step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// More input is needed. Pass the rest of the input again then.
    More,
    /// A complete command line.
    Command(Command<'a>),
    /// A piece of the data to be stored.
    Data(&'a [u8]),
    /// The end of the data. If the terminator is missing, nothing is stored
    /// ([`super::reply::Stored::Unsound`]).
    End {
        /// The terminator was where it had to be.
        is_sound: bool,
    },
    /// An invalid line: reply with [`Refusal::line`].
    Refused(Refusal),
    /// Close the connection once all replies are sent. No further step follows.
    Close(Reason),
}

/// Reason for closing a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The client sent `quit`.
    Quit,
    /// `shutdown`: the server is to stop.
    Shutdown,
    /// A line without end.
    LongLine,
    /// The client sent an HTTP request.
    Http,
    /// The client uses memcached's binary protocol.
    Binary,
}

/// Longest line in bytes, including its terminator; lines of `get` and its variants have any length.
pub const LINE_BYTES: usize = 2049;

/// Least size of a connection's buffer in bytes.
pub const BUFFER_BYTES: usize = LINE_BYTES;

#[derive(Clone, Copy, Debug, Default)]
enum Phase {
    /// The start of a line.
    #[default]
    Line,
    /// The keys of a `get`.
    Keys(Keys),
    /// The rest of a line, skipped; then this error.
    Skip(Refusal),
    /// The end of a line of keys: `END` is due.
    Ended,
    /// An error is due in place of `END`.
    Failed,
    /// This many bytes of data.
    Data(u32),
    /// The two bytes behind the data: how many are there, and whether they are right so far.
    Tail { have: u8, is_sound: bool },
    /// This many bytes to be discarded.
    Swallow(u64),
    /// The end of the connection.
    Closed(Reason),
}

/// State of a line of keys.
#[derive(Clone, Copy, Debug)]
struct Keys {
    with_cas: bool,
    exptime: Option<i64>,
    /// There was a key.
    has_any: bool,
}

impl Receiver {
    /// Consumes the next step from the front of `input`. Handle it completely before the next call.
    pub fn next<'a, 'b: 'a>(&'a mut self, input: &mut &'b [u8]) -> Step<'a> {
        let step = self.step(input);
        self.with_decoded(step)
    }

    /// As [`Receiver::next`], with the keys as they were sent; see [`Receiver::decoded`].
    #[inline]
    pub(crate) fn step<'b>(&mut self, input: &mut &'b [u8]) -> Step<'b> {
        loop {
            if let Some(step) = self.advance(input) {
                return step;
            }
        }
    }

    /// The key of the last meta command, if it was sent in base64.
    pub(crate) fn decoded(&self) -> Option<Key<'_>> {
        Key::new(self.decoded.bytes())
    }

    /// Discards the data, or the rest of the data, of the current command.
    ///
    /// # Panics
    /// If the current command has no data to come.
    pub fn refuse(&mut self) {
        let Phase::Data(left) = self.phase else { panic!("there are no data to be refused") };
        self.phase = Phase::Swallow(u64::from(left) + TAIL.len() as u64);
    }

    /// The current key cannot be answered: skips the rest of its line and replies with an error in place of
    /// `END`.
    ///
    /// # Panics
    /// If the current command is not one with a line of keys.
    pub fn fail_line(&mut self) {
        match self.phase {
            Phase::Keys(_) | Phase::Skip(_) => self.phase = Phase::Skip(Refusal::ShardFailed),
            Phase::Ended => self.phase = Phase::Failed,
            _ => panic!("there is no line of keys"),
        }
    }

    /// Consumes the end of a line of keys ([`Command::GetEnd`]) if that is the next step.
    #[inline]
    pub(crate) fn takes_end(&mut self) -> bool {
        let takes = matches!(self.phase, Phase::Ended);
        if takes {
            self.phase = Phase::Line;
        }
        takes
    }

    /// True at the start of a line.
    #[inline]
    pub fn is_at_line(&self) -> bool {
        matches!(self.phase, Phase::Line)
    }

    /// Bytes of data still to come for the current command.
    pub fn outstanding(&self) -> u32 {
        if let Phase::Data(left) = self.phase { left } else { 0 }
    }

    /// `bytes` bytes of data were read directly to their destination. No input may have been left in front of
    /// them.
    ///
    /// # Panics
    /// If `bytes` is above [`Receiver::outstanding`].
    pub fn received(&mut self, bytes: u32) {
        let Phase::Data(left) = &mut self.phase else { panic!("bytes were put where none were wanted") };
        *left = left.checked_sub(bytes).expect("more bytes were put than were wanted");
    }

    /// One step; None if it produces no result.
    fn advance<'b>(&mut self, input: &mut &'b [u8]) -> Option<Step<'b>> {
        match self.phase {
            Phase::Line => self.line(input),
            Phase::Keys(keys) => Some(self.key(keys, input)),
            Phase::Skip(refusal) => self.skip(refusal, input),
            Phase::Ended => {
                self.phase = Phase::Line;
                Some(Step::Command(Command::GetEnd))
            }
            Phase::Failed => {
                self.phase = Phase::Line;
                Some(Step::Refused(Refusal::ShardFailed))
            }
            Phase::Data(left) => self.data(left, input),
            Phase::Tail { have, is_sound } => Some(self.tail(have, is_sound, input)),
            Phase::Swallow(left) => self.swallow(left, input),
            Phase::Closed(reason) => {
                *input = &[];
                Some(Step::Close(reason))
            }
        }
    }

    fn line<'b>(&mut self, input: &mut &'b [u8]) -> Option<Step<'b>> {
        let bytes = *input;
        if !self.has_begun {
            let Some(&first) = bytes.first() else { return Some(Step::More) };
            self.has_begun = true;
            if first == BINARY {
                return self.close(Reason::Binary);
            }
        }
        let window = &bytes[..bytes.len().min(LINE_BYTES)];
        let Some(end) = memchr(b'\n', window) else {
            return if window.len() < LINE_BYTES { Some(Step::More) } else { self.long_line(input) };
        };
        let line = &window[..end];
        if line.len() < LEAST_LINE_BYTES {
            *input = &bytes[end + 1..];
            return Some(Step::Refused(Refusal::Format));
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some((name, behind)) = keyed(line) {
            return self.keyed_line(name, behind, line, end, input);
        }
        *input = &bytes[end + 1..];
        let line = Line::read(line, &mut self.decoded);
        self.whole(line)
    }

    /// Handles a parsed line.
    fn whole<'b>(&mut self, line: Line<'b>) -> Option<Step<'b>> {
        match line {
            Line::Command(command) => {
                match command {
                    Command::Store(store) => self.phase = Phase::Data(store.length),
                    Command::MetaStore(store) => self.phase = Phase::Data(store.length),
                    _ => {}
                }
                Some(Step::Command(command))
            }
            Line::Refused(refusal, data) => {
                if let Some(length) = data {
                    self.phase = Phase::Swallow(u64::from(length) + TAIL.len() as u64);
                }
                Some(Step::Refused(refusal))
            }
            Line::Silence(data) => {
                if let Some(length) = data {
                    self.phase = Phase::Swallow(u64::from(length) + TAIL.len() as u64);
                }
                None
            }
            Line::Quit => self.close(Reason::Quit),
            Line::Http => self.close(Reason::Http),
        }
    }

    /// Handles a line of `get` or its variants that ends at `end`: its keys follow one by one; if one is too
    /// long, none does.
    fn keyed_line<'b>(
        &mut self,
        name: Name,
        behind: &'b [u8],
        line: &'b [u8],
        end: usize,
        input: &mut &'b [u8],
    ) -> Option<Step<'b>> {
        let read = name.keys(behind);
        // Most lines have one key.
        if let Ok((Keys { with_cas, exptime, .. }, [b' ', word @ ..])) = read
            && let Some(key) = lone_key(word)
        {
            *input = &input[end + 1..];
            self.phase = Phase::Ended;
            return Some(Step::Command(Command::Get(Get { key, with_cas, exptime })));
        }
        match read {
            Ok((keys, behind)) if behind.len() <= KEY_BYTES || !has_long_word(behind) => {
                *input = &input[line.len() - behind.len()..];
                self.phase = Phase::Keys(keys);
                None
            }
            read => {
                *input = &input[end + 1..];
                Some(Step::Refused(read.err().unwrap_or(Refusal::Format)))
            }
        }
    }

    /// Handles a line of more than [`LINE_BYTES`]: keys, or an error.
    fn long_line<'b>(&mut self, input: &mut &'b [u8]) -> Option<Step<'b>> {
        let window = &input[..LINE_BYTES];
        let spaces = window.iter().take_while(|&&byte| byte == b' ').count();
        match keyed(&window[spaces..]) {
            Some((Name { touches: false, with_cas }, behind))
                if spaces <= MOST_SPACES && !behind.is_empty() =>
            {
                *input = &input[LINE_BYTES - behind.len()..];
                // Behind spaces it is no command; memcached notices that at the end of the line.
                self.phase = match spaces {
                    0 => Phase::Keys(Keys { with_cas, exptime: None, has_any: false }),
                    _ => Phase::Skip(Refusal::Unknown),
                };
                None
            }
            _ => self.close(Reason::LongLine),
        }
    }

    /// The next key of a line.
    fn key<'b>(&mut self, keys: Keys, input: &mut &'b [u8]) -> Step<'b> {
        let spaces = input.iter().take_while(|&&byte| byte == b' ').count();
        *input = &input[spaces..];
        let window = &input[..input.len().min(KEY_BYTES + TAIL.len())];
        let Some(at) = memchr2(b' ', b'\n', window) else {
            if window.len() < KEY_BYTES + TAIL.len() {
                return Step::More;
            }
            return self.long_key(input);
        };
        let (word, end) = (&window[..at], window[at]);
        let word = if end == b'\n' { word.strip_suffix(b"\r").unwrap_or(word) } else { word };
        if word.len() > KEY_BYTES {
            return self.long_key(input);
        }
        let has_any = keys.has_any || !word.is_empty();
        self.phase = match (end, has_any) {
            (b'\n', true) => Phase::Ended,
            (b'\n', false) => Phase::Line,
            _ => Phase::Keys(Keys { has_any, ..keys }),
        };
        *input = &input[at + 1..];
        match Key::new(word) {
            Some(key) => {
                Step::Command(Command::Get(Get { key, with_cas: keys.with_cas, exptime: keys.exptime }))
            }
            None if end == b'\n' && !has_any => Step::Refused(Refusal::Format),
            None => self.advance(input).unwrap_or(Step::More),
        }
    }

    fn long_key<'b>(&mut self, input: &mut &'b [u8]) -> Step<'b> {
        self.phase = Phase::Skip(Refusal::Format);
        self.advance(input).unwrap_or(Step::More)
    }

    fn skip<'b>(&mut self, refusal: Refusal, input: &mut &'b [u8]) -> Option<Step<'b>> {
        let Some(end) = memchr(b'\n', input) else {
            *input = &[];
            return Some(Step::More);
        };
        *input = &input[end + 1..];
        self.phase = Phase::Line;
        Some(Step::Refused(refusal))
    }

    fn data<'b>(&mut self, left: u32, input: &mut &'b [u8]) -> Option<Step<'b>> {
        if left == 0 {
            self.phase = Phase::Tail { have: 0, is_sound: true };
            return None;
        }
        if input.is_empty() {
            return Some(Step::More);
        }
        let (data, rest) = input.split_at(input.len().min(left as usize));
        *input = rest;
        self.phase = Phase::Data(left - to_u32(data.len()));
        Some(Step::Data(data))
    }

    fn tail<'b>(&mut self, have: u8, is_sound: bool, input: &mut &'b [u8]) -> Step<'b> {
        let wanted = &TAIL[usize::from(have)..];
        let (seen, rest) = input.split_at(input.len().min(wanted.len()));
        *input = rest;
        let is_sound = is_sound && wanted.starts_with(seen);
        if seen.len() < wanted.len() {
            self.phase = Phase::Tail { have: have + to_u8(seen.len()), is_sound };
            return Step::More;
        }
        self.phase = Phase::Line;
        Step::End { is_sound }
    }

    fn swallow<'b>(&mut self, left: u64, input: &mut &'b [u8]) -> Option<Step<'b>> {
        let swallowed = (input.len() as u64).min(left);
        *input = &input[to_usize(swallowed)..];
        if swallowed < left {
            self.phase = Phase::Swallow(left - swallowed);
            return Some(Step::More);
        }
        self.phase = Phase::Line;
        None
    }

    fn close<'b>(&mut self, reason: Reason) -> Option<Step<'b>> {
        self.phase = Phase::Closed(reason);
        None
    }

    /// Replaces the key of a meta command by its decoded form.
    fn with_decoded<'a>(&'a self, mut step: Step<'a>) -> Step<'a> {
        let key = match &mut step {
            Step::Command(Command::MetaGet(meta) | Command::MetaDelete(meta)) => &mut meta.key,
            Step::Command(Command::MetaStore(store)) => &mut store.key,
            Step::Command(Command::MetaCount(count)) => &mut count.key,
            Step::Command(Command::MetaDebug(debug)) => &mut debug.key,
            _ => return step,
        };
        if let Some(decoded) = self.decoded() {
            *key = decoded;
        }
        step
    }
}

/// A command with several keys.
#[derive(Clone, Copy)]
pub(super) struct Name {
    with_cas: bool,
    touches: bool,
}

impl Name {
    /// An expiry time precedes the keys.
    pub(super) fn touches(self) -> bool {
        self.touches
    }

    /// Parses what precedes the keys; returns the rest, which is the keys.
    fn keys(self, behind: &[u8]) -> Result<(Keys, &[u8]), Refusal> {
        let keys = Keys { with_cas: self.with_cas, exptime: None, has_any: false };
        if !self.touches {
            return Ok((keys, behind));
        }
        let (word, behind) = split(behind);
        if split(behind).0.is_empty() {
            return Err(Refusal::Format);
        }
        let exptime = number::word_i32(word).ok_or(Refusal::Exptime)?;
        Ok((Keys { exptime: Some(i64::from(exptime)), ..keys }, behind))
    }
}

/// The command of a line if it has several keys, and the rest behind its name. No spaces precede the name.
#[inline]
pub(super) fn keyed(line: &[u8]) -> Option<(Name, &[u8])> {
    let [b'g', vowel @ (b'e' | b'a'), b't', behind @ ..] = line else { return None };
    let touches = *vowel == b'a';
    let (with_cas, behind) = behind.strip_prefix(b"s").map_or((false, behind), |behind| (true, behind));
    matches!(behind.first(), None | Some(b' ')).then_some((Name { with_cas, touches }, behind))
}

/// The key, if the rest of a line is nothing else.
#[inline]
fn lone_key(word: &[u8]) -> Option<Key<'_>> {
    Key::new(word).filter(|_| memchr(b' ', word).is_none())
}

fn has_long_word(line: &[u8]) -> bool {
    line.split(|&byte| byte == b' ').any(|word| word.len() > KEY_BYTES)
}

/// Terminator of data.
const TAIL: &[u8] = b"\r\n";

/// The first byte of the binary protocol (`PROTOCOL_BINARY_REQ`).
const BINARY: u8 = 0x80;

/// Least bytes of a line without its line feed.
const LEAST_LINE_BYTES: usize = 3;

/// Most spaces before a long line.
const MOST_SPACES: usize = 100;
