//! A client's send queue, in parts that are sent as they are: a late reply is not copied behind the replies
//! before it.

use std::collections::VecDeque;

/// Replies to be sent to a client.
#[derive(Debug, Default)]
pub struct SendQueue {
    /// No part is empty but the last.
    parts: VecDeque<Vec<u8>>,
    /// Bytes in all parts but the last.
    settled: usize,
    /// Memory of all parts but the last, in bytes.
    settled_memory: usize,
    /// Bytes of the first part that are sent.
    sent: usize,
}

impl SendQueue {
    /// Bytes to be sent.
    pub fn bytes(&self) -> usize {
        self.settled + self.parts.back().map_or(0, Vec::len) - self.sent
    }

    /// Memory of the queue in bytes; 0 if it is empty, even if a spare part is kept.
    #[inline]
    pub fn memory(&self) -> usize {
        if self.is_empty() { 0 } else { self.settled_memory + self.parts.back().map_or(0, Vec::capacity) }
    }

    /// True if there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// Buffer for the next reply.
    pub fn tail(&mut self) -> &mut Vec<u8> {
        if self.parts.is_empty() {
            self.parts.push_back(Vec::new());
        }
        self.parts.back_mut().expect("there is one")
    }

    /// The bytes to be sent, in contiguous pieces.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let from = |at| if at == 0 { self.sent } else { 0 };
        let pieces = self.parts.iter().enumerate().map(move |(at, part)| &part[from(at)..]);
        pieces.filter(|piece| !piece.is_empty())
    }

    /// Moves all unsent bytes to `out`.
    pub fn empty_into(&mut self, out: &mut Vec<u8>) {
        self.pieces().for_each(|piece| out.extend_from_slice(piece));
        *self = SendQueue::default();
    }

    /// Begins another part if the last one is long enough, so that parts are not reallocated to grow.
    pub(super) fn begin_part(&mut self, texts: &mut Texts) {
        if self.parts.back().is_none_or(|part| part.len() >= MOST_PART) {
            self.append(texts.take());
        }
    }

    fn append(&mut self, part: Vec<u8>) {
        self.settled += self.parts.back().map_or(0, Vec::len);
        self.settled_memory += self.parts.back().map_or(0, Vec::capacity);
        self.parts.push_back(part);
    }

    /// Appends a reply.
    pub(super) fn push(&mut self, text: Vec<u8>, texts: &mut Texts) {
        match self.parts.back_mut() {
            Some(last) if text.len() <= MOST_COPIED && last.len() < MOST_PART => {
                last.extend_from_slice(&text);
                texts.give_back(text);
            }
            Some(last) if last.is_empty() => texts.give_back(std::mem::replace(last, text)),
            _ => self.append(text),
        }
    }

    /// The first `bytes` bytes were sent. Keeps the last part for later replies unless it is large.
    pub(super) fn note_sent(&mut self, bytes: usize, texts: &mut Texts) {
        self.sent += bytes;
        while self.parts.len() > 1 && self.sent >= self.parts[0].len() {
            let first = self.parts.pop_front().expect("there are two");
            self.sent -= first.len();
            self.settled -= first.len();
            self.settled_memory -= first.capacity();
            texts.give_back(first);
        }
        if let Some(last) = self.parts.front_mut().filter(|part| self.sent == part.len()) {
            self.sent = 0;
            match last.capacity() {
                ..=LEAST_KEPT => last.clear(),
                _ => self.parts.pop_front().into_iter().for_each(|part| texts.give_back(part)),
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
        /// The queue is a byte stream: bytes leave in the order they entered, however they are split.
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
                let memory: usize = send_queue.parts.iter().map(Vec::capacity).sum();
                prop_assert_eq!(send_queue.memory(), if send_queue.is_empty() { 0 } else { memory });
                prop_assert!(!send_queue.is_empty() || memory <= MOST_KEPT);
            }
            send_queue.empty_into(&mut heard);
            prop_assert!(send_queue.is_empty() && heard == said);
        }
    }
}
