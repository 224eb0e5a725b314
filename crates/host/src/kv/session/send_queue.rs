//! A client's send queue, in parts that are sent as they are: a late reply is not copied behind the replies
//! before it.

use std::collections::VecDeque;

/// Replies to be sent to a client.
#[derive(Debug, Default)]
pub struct SendQueue {
    /// The parts before the last; none is empty.
    full: VecDeque<Vec<u8>>,
    /// The last part.
    last: Vec<u8>,
    /// Bytes in all parts but the last.
    full_bytes: usize,
    /// Memory of all parts but the last, in bytes.
    full_memory: usize,
    /// Bytes of the first part that are sent.
    sent: usize,
}

impl SendQueue {
    /// Number of bytes that are still to be sent.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.full_bytes + self.last.len() - self.sent
    }

    /// Memory of the queue in bytes; 0 if it is empty, even if a spare part is kept.
    #[inline]
    pub fn memory(&self) -> usize {
        if self.is_empty() { 0 } else { self.full_memory + self.last.capacity() }
    }

    /// True if there is nothing to send.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// Buffer for the next reply.
    #[inline]
    pub fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.last
    }

    /// The bytes to be sent, in contiguous pieces.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let from = |at| if at == 0 { self.sent } else { 0 };
        let parts = self.full.iter().chain([&self.last]).enumerate();
        parts.map(move |(at, part)| &part[from(at)..]).filter(|piece| !piece.is_empty())
    }

    /// Moves all unsent bytes to `out`.
    pub fn empty_into(&mut self, out: &mut Vec<u8>) {
        self.pieces().for_each(|piece| out.extend_from_slice(piece));
        *self = SendQueue::default();
    }

    /// Begins another part if the last one is long enough, so that parts are not reallocated to grow.
    #[inline]
    pub(super) fn begin_part(&mut self, texts: &mut Texts) {
        if self.last.len() >= MOST_PART || self.last.capacity() == 0 {
            self.append(texts.take());
        }
    }

    fn append(&mut self, part: Vec<u8>) {
        let last = std::mem::replace(&mut self.last, part);
        if !last.is_empty() {
            self.full_bytes += last.len();
            self.full_memory += last.capacity();
            self.full.push_back(last);
        }
    }

    /// Appends a reply.
    pub(super) fn push(&mut self, text: Vec<u8>, texts: &mut Texts) {
        let is_copied = text.len() <= MOST_COPIED && self.last.len() < MOST_PART;
        if is_copied && self.last.capacity() > 0 {
            self.last.extend_from_slice(&text);
            texts.give_back(text);
        } else if self.last.is_empty() {
            texts.give_back(std::mem::replace(&mut self.last, text));
        } else {
            self.append(text);
        }
    }

    /// The first `bytes` bytes were sent. Keeps the last part for later replies unless it is large.
    pub(super) fn note_sent(&mut self, bytes: usize, texts: &mut Texts) {
        self.sent += bytes;
        while self.full.front().is_some_and(|first| self.sent >= first.len()) {
            let first = self.full.pop_front().expect("there is one");
            self.sent -= first.len();
            self.full_bytes -= first.len();
            self.full_memory -= first.capacity();
            texts.give_back(first);
        }
        if self.full.is_empty() && self.sent == self.last.len() {
            self.sent = 0;
            match self.last.capacity() {
                ..=LEAST_KEPT => self.last.clear(),
                _ => texts.give_back(std::mem::take(&mut self.last)),
            }
        }
    }
}

/// A pool of reply buffers.
#[derive(Debug, Default)]
pub struct Texts(Vec<Vec<u8>>);

impl Texts {
    /// Takes an empty buffer.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_default()
    }

    /// Returns a buffer.
    pub(super) fn give_back(&mut self, mut text: Vec<u8>) {
        if self.0.len() < MOST_SPARE && (LEAST_KEPT..=MOST_KEPT).contains(&text.capacity()) {
            text.clear();
            self.0.push(text);
        }
    }
}

/// Length of a part in bytes from which on it gets no further replies.
pub const MOST_PART: usize = 16 << 10;
/// Longest reply that is copied into the last part: copying is cheaper than another piece to send.
const MOST_COPIED: usize = 1 << 10;
/// Number of spare buffers, and the range of their capacity in bytes: from where reuse pays off to what a
/// part with an item of 4 KiB behind it may need.
const MOST_SPARE: usize = 256;
const LEAST_KEPT: usize = 4 << 10;
const MOST_KEPT: usize = 32 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Append(usize),
        Push(usize),
        Begin,
        Send(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0usize..9000).prop_map(Step::Append),
            prop_oneof![0usize..2000, 0usize..40_000].prop_map(Step::Push),
            Just(Step::Begin),
            (0usize..30_000).prop_map(Step::Send),
        ]
    }

    proptest! {
        /// The queue is a byte stream: bytes leave in the order in which they entered, however they are
        /// split.
        #[test]
        fn it_is_a_stream(steps in prop::collection::vec(step(), 1..200)) {
            let (mut send_queue, mut texts) = (SendQueue::default(), Texts::default());
            let (mut said, mut heard) = (Vec::new(), Vec::new());
            for step in steps {
                let more = |bytes: usize| (0..bytes).map(|at| (said.len() + at * 7) as u8).collect::<Vec<u8>>();
                match step {
                    Step::Append(bytes) => {
                        let more = more(bytes);
                        send_queue.tail().extend_from_slice(&more);
                        said.extend(more);
                    }
                    Step::Push(bytes) => {
                        let more = more(bytes);
                        said.extend_from_slice(&more);
                        send_queue.push(more, &mut texts);
                    }
                    Step::Begin => send_queue.begin_part(&mut texts),
                    Step::Send(bytes) => {
                        let ready: Vec<u8> = send_queue.pieces().flatten().copied().collect();
                        prop_assert_eq!(ready.len(), send_queue.bytes());
                        let bytes = bytes.min(ready.len());
                        heard.extend_from_slice(&ready[..bytes]);
                        send_queue.note_sent(bytes, &mut texts);
                    }
                }
                prop_assert_eq!(heard.len() + send_queue.bytes(), said.len());
                prop_assert_eq!(send_queue.is_empty(), heard.len() == said.len());
                let memory: usize = send_queue.full.iter().chain([&send_queue.last]).map(Vec::capacity).sum();
                prop_assert_eq!(send_queue.memory(), if send_queue.is_empty() { 0 } else { memory });
                prop_assert!(!send_queue.is_empty() || memory <= MOST_KEPT);
            }
            send_queue.empty_into(&mut heard);
            prop_assert!(send_queue.is_empty() && heard == said);
        }
    }
}
