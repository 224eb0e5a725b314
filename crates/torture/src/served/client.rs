//! A client of the server: sends commands in memcached's protocol, and reads the replies.
//!
//! Its own commands take effect in order: what a read returns is not what a later command of the same client
//! has written, nor what an earlier one has replaced.

use crate::keys::task::{FAR_AWAY, content_of, key, value};
use crate::stamp::{Content, Stamp};
use std::collections::VecDeque;
use tailcut_host::Bytes;
use tailcut_host::kv::session::Clients;

/// A connection, and what its client expects.
#[derive(Debug)]
pub(super) struct Connection {
    name: u32,
    /// Sent and not yet taken by the server.
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    expected: VecDeque<Expected>,
    /// What this client has changed, by the number of the command.
    changes: Vec<Change>,
    commands: u64,
    /// The last command may not be complete although all of it was taken.
    is_held: bool,
    is_closed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Change {
    command: u64,
    block: u64,
    /// The version; None for a deletion.
    version: Option<u32>,
}

/// A reply that is due.
#[derive(Clone, Copy, Debug)]
struct Expected {
    task: u32,
    command: u64,
    /// The block to be read; None for a change.
    read: Option<u64>,
}

/// What came of a command.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It was executed.
    Done,
    /// The content of this block.
    Read(u64, Bytes),
    /// It was answered with an error, or is a change whose connection was closed before it was answered.
    Failed,
    /// It is a read of this block, whose connection was closed before it was answered: a client repeats it.
    Lost(u64),
}

impl Connection {
    /// Of the client with this name.
    pub(super) fn new(name: u32) -> Connection {
        Connection {
            name,
            outgoing: Vec::new(),
            incoming: Vec::new(),
            expected: VecDeque::new(),
            changes: Vec::new(),
            commands: 0,
            is_held: false,
            is_closed: false,
        }
    }

    /// The name of the client in the service.
    pub(super) fn name(&self) -> u32 {
        self.name
    }

    /// What was sent and not taken.
    pub(super) fn input(&self) -> &[u8] {
        &self.outgoing
    }

    /// True if there is something that would be taken.
    pub(super) fn has_input(&self, clients: &Clients) -> bool {
        (self.is_held || !self.outgoing.is_empty()) && clients.can_accept(self.name)
    }

    /// Removes the first `bytes` bytes, which the server has taken, from the input.
    pub(super) fn note_taken(&mut self, bytes: usize, clients: &Clients) {
        self.outgoing.drain(..bytes);
        self.is_held = clients.has_yielded(self.name) || !clients.can_accept(self.name);
    }

    fn send(&mut self, task: u32, read: Option<u64>, line: &[&[u8]]) -> u64 {
        line.iter().for_each(|piece| self.outgoing.extend_from_slice(piece));
        self.outgoing.extend_from_slice(b"\r\n");
        self.commands += 1;
        self.expected.push_back(Expected { task, command: self.commands, read });
        self.commands
    }

    /// Sends `set`. Items have at most `most` bytes.
    pub(super) fn set(&mut self, task: u32, stamp: Stamp, most: u64) {
        let (key, value) = (key(stamp.block), value(stamp, most));
        let expires = if stamp.version % 4 == 1 { FAR_AWAY } else { 0 };
        let numbers = format!(" {} {expires} {}\r\n", stamp.version, value.len());
        let command = self.send(task, None, &[b"set ", &key, numbers.as_bytes(), &value]);
        self.changes.push(Change { command, block: stamp.block, version: Some(stamp.version) });
    }

    /// Sends `get`.
    pub(super) fn get(&mut self, task: u32, block: u64) {
        self.send(task, Some(block), &[b"get ", &key(block)]);
    }

    /// Sends `delete`.
    pub(super) fn delete(&mut self, task: u32, block: u64) {
        let command = self.send(task, None, &[b"delete ", &key(block)]);
        self.changes.push(Change { command, block, version: None });
    }

    /// Sends `flush_all`, where there are `blocks` blocks.
    pub(super) fn flush_all(&mut self, task: u32, blocks: u64) {
        let command = self.send(task, None, &[b"flush_all"]);
        self.changes.extend((0..blocks).map(|block| Change { command, block, version: None }));
    }

    /// Takes what the server has sent, and connects again if it has closed the connection.
    pub(super) fn take_replies(&mut self, clients: &mut Clients) {
        let queue = clients.send_queue(self.name);
        let before = self.incoming.len();
        queue.pieces().for_each(|piece| self.incoming.extend_from_slice(piece));
        clients.note_sent(self.name, self.incoming.len() - before);
        if clients.closing(self.name).is_some() {
            self.reconnect(clients);
        }
    }

    fn reconnect(&mut self, clients: &mut Clients) {
        clients.close(self.name);
        (self.name, self.is_closed) = (clients.open(), true);
        (self.is_held, self.outgoing) = (false, Vec::new());
    }

    /// The task of the next reply, and what came of its command, also where a closed connection leaves
    /// it without a reply. Items have at most `most` bytes.
    pub(super) fn next_reply(&mut self, most: u64) -> Option<(u32, Outcome)> {
        let Some(&expected) = self.expected.front() else {
            assert!(self.incoming.is_empty() || self.is_closed, "a reply that nobody expects");
            if self.is_closed {
                *self = Connection::new(self.name);
            }
            return None;
        };
        let (outcome, bytes) = match (read(&self.incoming, expected.read, most), expected.read) {
            (Some(read), _) => read,
            (None, _) if !self.is_closed => return None,
            (None, Some(block)) => (Outcome::Lost(block), self.incoming.len()),
            (None, None) => (Outcome::Failed, self.incoming.len()),
        };
        self.incoming.drain(..bytes);
        self.expected.pop_front();
        match &outcome {
            Outcome::Done | Outcome::Lost(_) => {}
            Outcome::Read(block, content) => self.check_order(*block, content, expected.command),
            Outcome::Failed => self.changes.retain(|change| change.command != expected.command),
        }
        Some((expected.task, outcome))
    }

    /// Commands of one client take effect in order.
    fn check_order(&self, block: u64, content: &Bytes, command: u64) {
        let Content::Written(stamp) = Stamp::read(content) else { return };
        let own = || self.changes.iter().filter(|change| change.block == block);
        let Some(from) = own().find(|change| change.version == Some(stamp.version)) else { return };
        assert!(from.command < command, "a command has read what a later one of its client has written");
        let is_between = |change: &Change| (from.command + 1..command).contains(&change.command);
        assert!(!own().any(is_between), "a command has read what an earlier one of its client has replaced");
    }
}

/// Parses a reply: what came of the command, and its length in bytes; None if it is not complete.
fn read(text: &[u8], read: Option<u64>, most: u64) -> Option<(Outcome, usize)> {
    let line = |from: usize| {
        let end = text.get(from..)?.windows(2).position(|window| window == b"\r\n")?;
        Some((&text[from..from + end], from + end + 2))
    };
    let (first, behind) = line(0)?;
    let Some(block) = read else {
        let is_done = [&b"STORED"[..], b"DELETED", b"NOT_FOUND", b"OK"].contains(&first);
        return Some((if is_done { Outcome::Done } else { Outcome::Failed }, behind));
    };
    if first == b"END" {
        return Some((Outcome::Read(block, Bytes::default()), behind));
    }
    let Some(header) = first.strip_prefix(b"VALUE ") else {
        // An error replaces the item.
        let (_, end) = line(behind)?;
        return Some((Outcome::Failed, end));
    };
    let header = String::from_utf8_lossy(header);
    let mut words = header.split(' ').skip(1).map(|word| word.parse::<u32>().expect("a number"));
    let (flags, length) = (words.next().expect("flags"), words.next().expect("a length") as usize);
    let value = text.get(behind..behind + length)?;
    let content = content_of(value, flags, most);
    let (end, behind) = line(behind + length + 2)?;
    assert_eq!(end, b"END", "one item was asked for");
    assert_eq!(header.split(' ').next().map(str::as_bytes), Some(&key(block)[..]), "another key");
    Some((Outcome::Read(block, content), behind))
}
