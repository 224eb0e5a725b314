//! A stream of bytes becomes commands and the data that they bring.

use super::base64::Decoded;
use super::command::{Command, Get};
use super::key::{KEY_BYTES, Key};
use super::line::Line;
use super::number;
use super::refusal::Refusal;
use super::words::split;
use memchr::{memchr, memchr3};

/// Receives the commands of one connection.
///
/// Whoever has the socket keeps what was received and not yet consumed, in a buffer of at least
/// [`BUFFER_BYTES`], and calls [`Receiver::next`] until it says [`Step::More`]. Data that are to be stored
/// come in pieces ([`Step::Data`]), or are put where they belong without coming by here:
/// [`Receiver::outstanding`] bytes, of which [`Receiver::received`] is told. Behind them [`Step::End`] says
/// whether they were sound.
///
/// How the stream is cut makes no difference, and nothing that is sent makes this larger.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    phase: Phase,
    has_begun: bool,
    /// The key of the last command, if it came in base64.
    decoded: Decoded,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// Nothing before more is received. What is left of the input is wanted again then.
    More,
    /// A command.
    Command(Command<'a>),
    /// The next piece of the data to be stored.
    Data(&'a [u8]),
    /// The end of the data. If it is not where it was said to be, nothing is stored
    /// ([`super::reply::Stored::Unsound`]).
    End {
        /// There was a line's end where it had to be.
        is_sound: bool,
    },
    /// Something else than a command: the client is told [`Refusal::line`].
    Refused(Refusal),
    /// The connection is to be closed, when what was answered is sent. Nothing more comes.
    Close(Reason),
}

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// `quit`.
    Quit,
    /// A line that does not end.
    LongLine,
    /// A browser.
    Http,
    /// The binary protocol.
    Binary,
}

/// The longest line with its end, but for those of `get` and its kin, which have any length.
pub const LINE_BYTES: usize = 2049;

/// What a connection's buffer must be able to hold.
pub const BUFFER_BYTES: usize = LINE_BYTES;

#[derive(Clone, Copy, Debug, Default)]
enum Phase {
    /// A line.
    #[default]
    Line,
    /// The keys of a `get`.
    Keys(Keys),
    /// The rest of a line that is not read; then this is said, which is `END` if it is nothing.
    Skip(Option<Refusal>),
    /// `END` is due.
    Ended,
    /// An error is due in place of `END`.
    Failed,
    /// So many bytes of data.
    Data(u32),
    /// The two bytes behind data: how many are there, and whether they are right so far.
    Tail { have: u8, is_sound: bool },
    /// So many bytes that nobody wants.
    Swallow(u64),
    /// Nothing any more.
    Closed(Reason),
}

/// A line with keys.
#[derive(Clone, Copy, Debug)]
struct Keys {
    with_cas: bool,
    exptime: Option<i64>,
    /// There was a word behind the command.
    has_any: bool,
}

impl Receiver {
    /// What the front of `input` is; it is consumed. What is returned must be done with before the next call.
    pub fn next<'a, 'b: 'a>(&'a mut self, input: &mut &'b [u8]) -> Step<'a> {
        let step: Step<'b> = loop {
            if let Some(step) = self.advance(input) {
                break step;
            }
        };
        self.with_decoded(step)
    }

    /// The data of the command that has just come, or what is left of it, are not wanted: they are passed
    /// over.
    pub fn refuse(&mut self) {
        let Phase::Data(left) = self.phase else { panic!("there are no data to be refused") };
        self.phase = Phase::Swallow(u64::from(left) + TAIL.len() as u64);
    }

    /// The key that has just come cannot be answered: the others of its line are passed over, and an error
    /// stands in place of its end.
    pub fn fail_line(&mut self) {
        match self.phase {
            Phase::Keys(_) | Phase::Skip(_) => self.phase = Phase::Skip(Some(Refusal::ShardFailed)),
            Phase::Ended => self.phase = Phase::Failed,
            _ => panic!("there is no line of keys"),
        }
    }

    /// True where a line begins.
    #[inline]
    pub fn is_at_line(&self) -> bool {
        matches!(self.phase, Phase::Line)
    }

    /// Bytes of data that are still to come for the command that has come last.
    pub fn outstanding(&self) -> u32 {
        if let Phase::Data(left) = self.phase { left } else { 0 }
    }

    /// So many bytes of data were put where they belong. There must have been nothing left of the input in
    /// front of them.
    pub fn received(&mut self, bytes: u32) {
        let Phase::Data(left) = &mut self.phase else { panic!("bytes were put where none were wanted") };
        *left = left.checked_sub(bytes).expect("more bytes were put than were wanted");
    }

    /// One step, or none if there was something of which nobody is told.
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
        // A line of nothing but a carriage return is taken for a word; so it is by the program.
        let line = line.strip_suffix(b"\r").filter(|line| !line.is_empty()).unwrap_or(line);
        let line = memchr(0, line).map_or(line, |nul| &line[..nul]);
        if let Some((name, behind)) = keyed(line) {
            return self.keyed_line(name, behind, line, end, input);
        }
        *input = &bytes[end + 1..];
        let line = Line::read(line, &mut self.decoded);
        self.whole(line)
    }

    /// A line that was read as a whole.
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
            Line::Silence => None,
            Line::Quit => self.close(Reason::Quit),
            Line::Http => self.close(Reason::Http),
        }
    }

    /// A line of `get` and its kin that ends at `end`: its keys come one by one, but if one of them is too
    /// long none does.
    fn keyed_line<'b>(
        &mut self,
        name: Name,
        behind: &'b [u8],
        line: &'b [u8],
        end: usize,
        input: &mut &'b [u8],
    ) -> Option<Step<'b>> {
        match name.keys(behind) {
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

    /// A line of more than [`LINE_BYTES`]: keys, or nothing that is understood.
    fn long_line<'b>(&mut self, input: &mut &'b [u8]) -> Option<Step<'b>> {
        let window = &input[..LINE_BYTES];
        let spaces = window.iter().take_while(|&&byte| byte == b' ').count();
        let read = keyed(window).and_then(|(name, behind)| name.keys(behind).ok());
        match read {
            Some((keys, behind)) if spaces <= MOST_SPACES && behind.first() == Some(&b' ') => {
                *input = &input[LINE_BYTES - behind.len()..];
                self.phase = Phase::Keys(keys);
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
        let Some(at) = memchr3(b' ', b'\n', 0, window) else {
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
        let refusal = (!has_any).then_some(Refusal::Unknown);
        // The end of a line is left where it is if there is something to be said first.
        self.phase = match end {
            b' ' => Phase::Keys(Keys { has_any, ..keys }),
            b'\n' if has_any => Phase::Ended,
            b'\n' => Phase::Line,
            _ => Phase::Skip(refusal),
        };
        *input = &input[at + usize::from(end != 0)..];
        match (Key::new(word), refusal) {
            (Some(key), _) => {
                Step::Command(Command::Get(Get { key, with_cas: keys.with_cas, exptime: keys.exptime }))
            }
            (None, Some(refusal)) if end == b'\n' => Step::Refused(refusal),
            (None, _) => self.advance(input).unwrap_or(Step::More),
        }
    }

    fn long_key<'b>(&mut self, input: &mut &'b [u8]) -> Step<'b> {
        self.phase = Phase::Skip(Some(Refusal::Format));
        self.advance(input).unwrap_or(Step::More)
    }

    fn skip<'b>(&mut self, refusal: Option<Refusal>, input: &mut &'b [u8]) -> Option<Step<'b>> {
        let Some(end) = memchr(b'\n', input) else {
            *input = &[];
            return Some(Step::More);
        };
        *input = &input[end + 1..];
        self.phase = Phase::Line;
        Some(refusal.map_or(Step::Command(Command::GetEnd), Step::Refused))
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
        self.phase = Phase::Data(left - data.len() as u32);
        Some(Step::Data(data))
    }

    fn tail<'b>(&mut self, have: u8, is_sound: bool, input: &mut &'b [u8]) -> Step<'b> {
        let wanted = &TAIL[usize::from(have)..];
        let (seen, rest) = input.split_at(input.len().min(wanted.len()));
        *input = rest;
        let is_sound = is_sound && wanted.starts_with(seen);
        if seen.len() < wanted.len() {
            self.phase = Phase::Tail { have: have + seen.len() as u8, is_sound };
            return Step::More;
        }
        self.phase = Phase::Line;
        Step::End { is_sound }
    }

    fn swallow<'b>(&mut self, left: u64, input: &mut &'b [u8]) -> Option<Step<'b>> {
        let swallowed = (input.len() as u64).min(left);
        *input = &input[swallowed as usize..];
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

    /// The same, with the key of a command as it was meant.
    fn with_decoded<'a>(&'a self, mut step: Step<'a>) -> Step<'a> {
        let key = match &mut step {
            Step::Command(Command::MetaGet(meta) | Command::MetaDelete(meta)) => &mut meta.key,
            Step::Command(Command::MetaStore(store)) => &mut store.key,
            Step::Command(Command::MetaCount(count)) => &mut count.key,
            Step::Command(Command::MetaDebug(debug)) => &mut debug.key,
            _ => return step,
        };
        if let Some(decoded) = Key::new(self.decoded.bytes()) {
            *key = decoded;
        }
        step
    }
}

/// A command with keys.
#[derive(Clone, Copy)]
struct Name {
    with_cas: bool,
    touches: bool,
}

impl Name {
    /// What is asked for, and what stands behind it: the keys.
    fn keys(self, behind: &[u8]) -> Result<(Keys, &[u8]), Refusal> {
        let keys = Keys { with_cas: self.with_cas, exptime: None, has_any: false };
        if !self.touches {
            return Ok((keys, behind));
        }
        let (word, behind) = split(behind);
        if word.is_empty() {
            return Err(Refusal::Unknown);
        }
        let exptime = number::signed(word).ok_or(Refusal::Exptime)?;
        Ok((Keys { exptime: Some(exptime), has_any: true, ..keys }, behind))
    }
}

/// Which command with keys a line is, if it is one, and what stands behind its name.
fn keyed(line: &[u8]) -> Option<(Name, &[u8])> {
    let (name, behind) = split(line);
    let (with_cas, touches) = match name {
        // An old one, in no document; the program still knows it.
        b"get" | b"bget" => (false, false),
        b"gets" => (true, false),
        b"gat" => (false, true),
        b"gats" => (true, true),
        _ => return None,
    };
    Some((Name { with_cas, touches }, behind))
}

fn has_long_word(line: &[u8]) -> bool {
    line.split(|&byte| byte == b' ').any(|word| word.len() > KEY_BYTES)
}

/// What stands behind data.
const TAIL: &[u8] = b"\r\n";

/// The first byte of the binary protocol (`PROTOCOL_BINARY_REQ`).
const BINARY: u8 = 0x80;

/// The most spaces in front of a long line.
const MOST_SPACES: usize = 100;
