//! Replies: a short header, and data that stay in their blocks.

use super::handshake::ALLOCATION_ID;
use super::header::{Header, Refusal};
use super::standard::*;
use crate::block::Bytes;
use crate::disk::{BLOCK_BYTES, BLOCK_LEN};
use std::io::IoSlice;
use tailcut_base::cast::{to_u16, to_u32};

/// A reply being sent: a header, then data.
#[derive(Debug, Default)]
pub struct Reply {
    head: [u8; HEAD_BYTES],
    head_bytes: u32,
    text: &'static str,
    extents: Vec<u8>,
    data: Vec<Bytes>,
    /// Offset of the data in the first block.
    skip: u32,
    data_bytes: u32,
}

impl Reply {
    /// Success without data. A simple reply is valid for any command but a read (the standard, simple reply
    /// message).
    pub fn done(header: &Header) -> Reply {
        Reply::simple(header.cookie, 0)
    }

    /// The data of a read, in their blocks.
    pub fn content(header: &Header, data: Vec<Bytes>, is_structured: bool) -> Reply {
        if !is_structured {
            return Reply::simple(header.cookie, 0).with(header, data);
        }
        let offset = header.offset.to_be_bytes();
        if data.iter().all(Bytes::is_hole) {
            let mut reply = Reply::chunk(
                NBD_REPLY_TYPE_OFFSET_HOLE,
                header.cookie,
                12,
                &[&offset, &header.length.to_be_bytes()],
            );
            reply.data = data;
            return reply;
        }
        Reply::chunk(NBD_REPLY_TYPE_OFFSET_DATA, header.cookie, 8 + header.length, &[&offset])
            .with(header, data)
    }

    /// The error reply to a request: a chunk with the reason, or a simple reply with the code alone.
    pub fn error(header: &Header, refusal: Refusal, is_structured: bool) -> Reply {
        if !is_structured {
            return Reply::simple(header.cookie, refusal.error as u32);
        }
        let (error, length) = ((refusal.error as u32).to_be_bytes(), to_u16(refusal.text.len()));
        let payload = 6 + u32::from(length);
        let mut reply =
            Reply::chunk(NBD_REPLY_TYPE_ERROR, header.cookie, payload, &[&error, &length.to_be_bytes()]);
        reply.text = refusal.text;
        reply
    }

    /// The extents of `base:allocation` as pairs of length in bytes and `NBD_STATE_…`; at least one.
    pub fn status(header: &Header, extents: &[(u32, u32)]) -> Reply {
        let payload = 4 + 8 * to_u32(extents.len());
        let mut reply = Reply::chunk(
            NBD_REPLY_TYPE_BLOCK_STATUS,
            header.cookie,
            payload,
            &[&ALLOCATION_ID.to_be_bytes()],
        );
        reply.extents = extents
            .iter()
            .flat_map(|&(bytes, state)| [bytes.to_be_bytes(), state.to_be_bytes()])
            .flatten()
            .collect();
        reply
    }

    fn simple(cookie: u64, error: u32) -> Reply {
        let mut reply = Reply::default();
        reply.append(&NBD_SIMPLE_REPLY_MAGIC.to_be_bytes());
        reply.append(&error.to_be_bytes());
        reply.append(&cookie.to_be_bytes());
        reply
    }

    /// The only chunk of a structured reply.
    fn chunk(kind: u16, cookie: u64, payload: u32, front: &[&[u8]]) -> Reply {
        let mut reply = Reply::default();
        reply.append(&NBD_STRUCTURED_REPLY_MAGIC.to_be_bytes());
        reply.append(&NBD_REPLY_FLAG_DONE.to_be_bytes());
        reply.append(&kind.to_be_bytes());
        reply.append(&cookie.to_be_bytes());
        reply.append(&payload.to_be_bytes());
        front.iter().for_each(|bytes| reply.append(bytes));
        reply
    }

    fn append(&mut self, bytes: &[u8]) {
        let at = self.head_bytes as usize;
        self.head[at..at + bytes.len()].copy_from_slice(bytes);
        self.head_bytes += to_u32(bytes.len());
    }

    fn with(mut self, header: &Header, data: Vec<Bytes>) -> Reply {
        self.skip = (header.offset % BLOCK_BYTES) as u32;
        self.data_bytes = header.length;
        let bytes = data.len() as u64 * BLOCK_BYTES;
        assert!(u64::from(self.skip) + u64::from(header.length) <= bytes, "a read has all of its data");
        self.data = data;
        self
    }

    /// Length on the wire in bytes.
    pub fn bytes(&self) -> usize {
        (self.head_bytes + self.data_bytes) as usize + self.text.len() + self.extents.len()
    }

    /// Passes each contiguous slice in order to `push`, without the first `sent` bytes, until `push` returns
    /// false for lack of room.
    pub fn slices<'a>(&'a self, mut sent: usize, mut push: impl FnMut(IoSlice<'a>) -> bool) -> bool {
        let mut show = |bytes: &'a [u8]| {
            let hidden = sent.min(bytes.len());
            sent -= hidden;
            hidden == bytes.len() || push(IoSlice::new(&bytes[hidden..]))
        };
        let is_shown =
            show(&self.head[..self.head_bytes as usize]) && show(self.text.as_bytes()) && show(&self.extents);
        if !is_shown {
            return false;
        }
        let (mut from, mut left) = (self.skip as usize, self.data_bytes as usize);
        for block in &self.data {
            let taken = left.min(BLOCK_LEN - from);
            if !show(&block.as_slice()[from..from + taken]) {
                return false;
            }
            (from, left) = (0, left - taken);
        }
        true
    }

    /// Returns the blocks for reuse.
    pub fn into_data(self) -> Vec<Bytes> {
        self.data
    }
}

/// Longest header in bytes.
const HEAD_BYTES: usize = 32;
