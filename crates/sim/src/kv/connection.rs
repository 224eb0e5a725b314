//! A client with its connection, and the account of its command.

use super::content::{append_key, append_value, version_of};
use super::history::{History, WrongAnswer};
use tailcut_base::{Cause, Op, Spans, Time};

/// A connection. Its client has one command at a time.
#[derive(Debug)]
pub(super) struct Connection {
    /// Number by which the service identifies the connection.
    pub name: u32,
    /// True while the client waits for the answer to a command.
    pub is_busy: bool,
    /// Number by which the world identifies the command in progress.
    pub command: u32,
    /// The operation: to get or to set an item.
    pub op: Op,
    /// Number of the item that the command gets or sets.
    pub item: u64,
    /// Version of the item that a set writes.
    pub version: u64,
    /// When the command was sent.
    pub from: Time,
    /// Up to when its time is accounted for.
    pub mark: Time,
    /// Attribution of the command's time to causes, up to `mark`.
    pub spans: Spans,
    /// The command, until the server has received it.
    pub sent: Vec<u8>,
    /// The bytes of the answer received so far.
    pub answer: Vec<u8>,
    /// The server has received the command, and has no answer.
    pub is_waiting: bool,
    /// The item was read from flash.
    pub is_from_flash: bool,
}

/// What became of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A value of this version.
    Hit(u64),
    /// There is no such item.
    Miss,
    /// It was set.
    Stored,
    /// The server could not.
    Refused,
}

impl Connection {
    /// Of a client with this name.
    pub(super) fn new(name: u32) -> Connection {
        Connection {
            name,
            is_busy: false,
            command: 0,
            op: Op::Read,
            item: 0,
            version: 0,
            from: Time::ZERO,
            mark: Time::ZERO,
            spans: Spans::new(),
            sent: Vec::new(),
            answer: Vec::new(),
            is_waiting: false,
            is_from_flash: false,
        }
    }

    /// Its client wants something.
    pub(super) fn begin(
        &mut self,
        now: Time,
        command: u32,
        (op, item, version): (Op, u64, u64),
        bytes: usize,
    ) {
        self.is_busy = true;
        (self.command, self.op, self.item, self.version) = (command, op, item, version);
        (self.from, self.mark) = (now, now);
        self.spans.clear();
        self.sent.clear();
        self.answer.clear();
        self.is_from_flash = false;
        match op {
            Op::Read => append_get(item, &mut self.sent),
            _ => append_set(item, version, bytes, &mut self.sent),
        }
    }

    /// The time up to `now` had this cause.
    pub(super) fn lap(&mut self, now: Time, cause: Cause) {
        self.spans.add(cause, now.since(self.mark));
        self.mark = now;
    }

    /// The outcome of the command according to the server's answer.
    ///
    /// # Panics
    /// If that is no answer, or not to this command.
    pub(super) fn outcome(&self, history: &History) -> Outcome {
        match (self.op, &self.answer[..]) {
            (Op::Read, b"END\r\n") => Outcome::Miss,
            (Op::Read, answer) if answer.starts_with(b"VALUE ") => Outcome::Hit(self.hit(answer, history)),
            (Op::Write, b"STORED\r\n") => Outcome::Stored,
            (_, answer) if answer.starts_with(b"SERVER_ERROR ") => Outcome::Refused,
            (op, answer) => panic!("{op:?} was answered: {:?}", String::from_utf8_lossy(answer)),
        }
    }

    /// The version of the value, which is one that this client may get.
    fn hit(&self, answer: &[u8], history: &History) -> u64 {
        let mut head = b"VALUE ".to_vec();
        append_key(self.item, &mut head);
        let value = answer.strip_prefix(&head[..]).and_then(value_in);
        let version = value.and_then(|value| version_of(self.item, value));
        let Some(version) = version else { panic!("item {}: another content came back", self.item) };
        match history.check(self.item, version, self.from) {
            Ok(()) => version,
            Err(WrongAnswer::OutOfDate) => panic!("item {}: what was replaced came back", self.item),
            Err(WrongAnswer::Unknown) => {
                panic!("item {}: a version that nobody has set came back", self.item)
            }
        }
    }
}

/// The value behind a key: flags, length, the value, and the end.
fn value_in(rest: &[u8]) -> Option<&[u8]> {
    let rest = rest.strip_prefix(b" 0 ")?;
    let line = rest.iter().position(|&byte| byte == b'\r')?;
    let length: usize = std::str::from_utf8(&rest[..line]).ok()?.parse().ok()?;
    rest[line..].strip_prefix(b"\r\n")?.strip_suffix(b"\r\nEND\r\n").filter(|value| value.len() == length)
}

/// Appends a `get`.
fn append_get(item: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"get ");
    append_key(item, out);
    out.extend_from_slice(b"\r\n");
}

/// Appends a `set` of a value of `bytes` bytes.
fn append_set(item: u64, version: u64, bytes: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(b"set ");
    append_key(item, out);
    out.extend_from_slice(format!(" 0 0 {bytes}\r\n").as_bytes());
    append_value(item, version, bytes, out);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> (Connection, History) {
        let mut connection = Connection::new(0);
        connection.begin(Time(10), 1, (Op::Read, 5, 0), 100);
        (connection, History::new((0..10).map(|item| item + 1)))
    }

    fn answer(item: u64, version: u64) -> Vec<u8> {
        let mut answer = b"VALUE ".to_vec();
        append_key(item, &mut answer);
        answer.extend_from_slice(b" 0 100\r\n");
        append_value(item, version, 100, &mut answer);
        answer.extend_from_slice(b"\r\nEND\r\n");
        answer
    }

    #[test]
    fn an_answer_is_understood_and_checked() {
        let (mut connection, history) = asked();
        connection.answer = answer(5, 6);
        assert_eq!(connection.outcome(&history), Outcome::Hit(6));
        connection.answer = b"END\r\n".to_vec();
        assert_eq!(connection.outcome(&history), Outcome::Miss);
    }

    #[test]
    #[should_panic(expected = "another content came back")]
    fn a_flipped_bit_is_noticed() {
        let (mut connection, history) = asked();
        connection.answer = answer(5, 6);
        connection.answer[70] ^= 4;
        connection.outcome(&history);
    }

    #[test]
    #[should_panic(expected = "another content came back")]
    fn the_value_of_another_item_is_noticed() {
        let (mut connection, history) = asked();
        connection.answer = answer(4, 5);
        connection.outcome(&history);
    }

    #[test]
    #[should_panic(expected = "what was replaced came back")]
    fn what_is_out_of_date_is_noticed() {
        let (mut connection, mut history) = asked();
        history.begin_set(5, 20, Time(1));
        history.end_set(5, 20, Time(2), || Time::ZERO);
        connection.answer = answer(5, 6);
        connection.outcome(&history);
    }
}
