//! The transmission phase: parses a byte stream into requests with their data in blocks.

use super::header::{Command, Header, Refusal, Rules};
use super::standard::{NBD_REQUEST_MAGIC, REQUEST_BYTES};
use crate::block::Bytes;
use crate::disk::{BLOCK_BYTES, BLOCK_LEN};
use crate::pool::Pool;
use std::io::IoSliceMut;
use tailcut_base::cast::to_u32;

/// A request that was received completely, with its data.
#[derive(Debug)]
pub struct Incoming {
    /// The header of the request, as received.
    pub header: Header,
    /// The command with its checked range, or why the request is refused.
    pub command: Result<Command, Refusal>,
    /// For a write that is not refused, its data in blocks of the drive. If it does not begin or end at a
    /// block boundary, the rest of the first and last block is unspecified.
    pub data: Vec<Bytes>,
}

/// Wrong magic in place of a request: the stream cannot be parsed any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongMagic;

/// Parses the requests of one connection.
///
/// Input arrives either through [`Receiver::next`], which copies, or, while data of a write are outstanding,
/// directly into their blocks through [`Receiver::vacant`].
#[derive(Debug)]
pub struct Receiver {
    rules: Rules,
    header: [u8; REQUEST_BYTES],
    have: usize,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// Receiving a header.
    Header,
    /// A complete header that awaits admission.
    Waiting(Header),
    /// Receiving the data of a write: `received` bytes so far; blocks are allocated some ahead.
    Data { header: Header, received: usize, data: Vec<Bytes> },
    /// Skipping the data of a refused write.
    Skip { header: Header, refusal: Refusal, left: u32 },
}

impl Receiver {
    /// A receiver for a connection with these rules.
    pub fn new(rules: Rules) -> Receiver {
        Receiver { rules, header: [0; REQUEST_BYTES], have: 0, phase: Phase::Header }
    }

    /// Consumes the next complete request from the front of `input`. `admits` is asked before a request is
    /// processed, with the result of [`Rules`]; if it returns false, the request waits and is offered again
    /// in the next call.
    ///
    /// # Errors
    /// [`WrongMagic`] if the next bytes of `input` do not begin a request. The stream cannot be parsed
    /// further.
    pub fn next(
        &mut self,
        input: &mut &[u8],
        pool: &mut Pool,
        mut admits: impl FnMut(&Header, Result<Command, Refusal>) -> bool,
    ) -> Result<Option<Incoming>, WrongMagic> {
        loop {
            match &mut self.phase {
                Phase::Header => {
                    if !self.fill_header(input) {
                        return if self.is_strange() { Err(WrongMagic) } else { Ok(None) };
                    }
                    self.phase = Phase::Waiting(Header::decode(&self.header).ok_or(WrongMagic)?);
                }
                Phase::Waiting(header) => {
                    let header = *header;
                    let command = self.rules.check(&header);
                    if !admits(&header, command) {
                        return Ok(None);
                    }
                    if let Some(done) = self.open(header, command, pool) {
                        return Ok(Some(done));
                    }
                }
                Phase::Data { header, received, data } => {
                    copy_in(header, received, data, input, pool);
                    return Ok(self.finish());
                }
                Phase::Skip { left, .. } => {
                    let skipped = input.len().min(*left as usize);
                    *input = &input[skipped..];
                    *left -= to_u32(skipped);
                    return Ok(self.finish());
                }
            }
        }
    }

    fn fill_header(&mut self, input: &mut &[u8]) -> bool {
        let taken = input.len().min(REQUEST_BYTES - self.have);
        let (bytes, rest) = input.split_at(taken);
        self.header[self.have..self.have + taken].copy_from_slice(bytes);
        self.have += taken;
        *input = rest;
        self.have == REQUEST_BYTES
    }

    /// True if the partial header already has a wrong magic.
    fn is_strange(&self) -> bool {
        let magic = NBD_REQUEST_MAGIC.to_be_bytes();
        self.have >= magic.len() && self.header[..magic.len()] != magic
    }

    /// Continues after a header: with nothing, data, or data to be skipped.
    fn open(
        &mut self,
        header: Header,
        command: Result<Command, Refusal>,
        pool: &mut Pool,
    ) -> Option<Incoming> {
        self.have = 0;
        self.phase = match command {
            Ok(Command::Write) => Phase::Data { header, received: 0, data: pool.list() },
            Err(refusal) if header.payload() > 0 => Phase::Skip { header, refusal, left: header.payload() },
            _ => Phase::Header,
        };
        match self.phase {
            Phase::Header => Some(Incoming { header, command, data: Vec::new() }),
            _ => None,
        }
    }

    /// The current write, once all its data are received.
    fn finish(&mut self) -> Option<Incoming> {
        let is_whole = match &self.phase {
            Phase::Data { header, received, .. } => *received == header.length as usize,
            Phase::Skip { left, .. } => *left == 0,
            _ => false,
        };
        if !is_whole {
            return None;
        }
        match std::mem::replace(&mut self.phase, Phase::Header) {
            Phase::Data { header, data, .. } => Some(Incoming { header, command: Ok(Command::Write), data }),
            Phase::Skip { header, refusal, .. } => {
                Some(Incoming { header, command: Err(refusal), data: Vec::new() })
            }
            _ => None,
        }
    }

    /// While data are outstanding, passes the memory for the next bytes of up to `blocks` blocks to `place`,
    /// in order. Report the bytes read with [`Receiver::received`].
    pub fn vacant<'a>(&'a mut self, blocks: usize, pool: &mut Pool, mut place: impl FnMut(IoSliceMut<'a>)) {
        let Phase::Data { header, received, data } = &mut self.phase else { return };
        let begin = skip(header) + *received;
        let end = skip(header) + header.length as usize;
        let (first, last) = (begin / BLOCK_LEN, (end.div_ceil(BLOCK_LEN)).min(begin / BLOCK_LEN + blocks));
        grow(data, last, pool);
        for (at, block) in data[..last].iter_mut().enumerate().skip(first) {
            let from = begin.saturating_sub(at * BLOCK_LEN);
            let to = (end - at * BLOCK_LEN).min(BLOCK_LEN);
            place(IoSliceMut::new(&mut block.as_mut_slice()[from..to]));
        }
    }

    /// `bytes` bytes were read to the memory given by [`Receiver::vacant`]. [`Receiver::next`] then returns
    /// the request if it is complete.
    ///
    /// # Panics
    /// If `bytes` is above [`Receiver::outstanding`].
    pub fn received(&mut self, bytes: usize) {
        let Phase::Data { header, received, .. } = &mut self.phase else {
            panic!("bytes were put where nothing was vacant")
        };
        *received += bytes;
        assert!(*received <= header.length as usize, "more was put than was vacant");
    }

    /// Bytes of data still to come for the current write.
    pub fn outstanding(&self) -> usize {
        match &self.phase {
            Phase::Data { header, received, .. } => header.length as usize - received,
            _ => 0,
        }
    }

    /// True if a request awaits admission.
    pub fn is_waiting(&self) -> bool {
        matches!(self.phase, Phase::Waiting(_))
    }

    /// The write whose data are being received, or skipped because it is refused.
    pub fn write_under_way(&self) -> Option<(&Header, Result<Command, Refusal>)> {
        match &self.phase {
            Phase::Data { header, .. } => Some((header, Ok(Command::Write))),
            Phase::Skip { header, refusal, .. } => Some((header, Err(*refusal))),
            Phase::Header | Phase::Waiting(_) => None,
        }
    }
}

/// Bytes in the first block before the start of the request.
fn skip(header: &Header) -> usize {
    (header.offset % BLOCK_BYTES) as usize
}

fn grow(data: &mut Vec<Bytes>, blocks: usize, pool: &mut Pool) {
    while data.len() < blocks {
        data.push(pool.block());
    }
}

fn copy_in(header: &Header, received: &mut usize, data: &mut Vec<Bytes>, input: &mut &[u8], pool: &mut Pool) {
    let end = header.length as usize;
    while *received < end && !input.is_empty() {
        let at = skip(header) + *received;
        let from = at % BLOCK_LEN;
        let taken = (BLOCK_LEN - from).min(end - *received).min(input.len());
        grow(data, at / BLOCK_LEN + 1, pool);
        data[at / BLOCK_LEN].as_mut_slice()[from..from + taken].copy_from_slice(&input[..taken]);
        *received += taken;
        *input = &input[taken..];
    }
}
