//! The frame header of datagrams, and the split of replies into datagrams (`doc/protocol.txt`, UDP protocol).

use std::ops::Range;

/// The header of a datagram: four big-endian 16-bit numbers. The last is reserved and 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The client's request ID; replies repeat it.
    pub request: u16,
    /// Sequence number of this datagram in the request or reply, from 0.
    pub sequence: u16,
    /// Number of datagrams in the request or reply.
    pub total: u16,
}

/// Length of a frame in bytes.
pub const FRAME_BYTES: usize = 8;

/// Longest datagram sent, in bytes, including its frame (`UDP_MAX_PAYLOAD_SIZE` of memcached).
pub const DATAGRAM_BYTES: usize = 1400;

/// Bytes of a reply that fit in a datagram.
pub const CONTENT_BYTES: usize = DATAGRAM_BYTES - FRAME_BYTES;

impl Frame {
    /// Parses a request into its frame and its commands. None if it is empty, or consists of several
    /// datagrams: memcached drops those silently, and so should a server.
    pub fn request(datagram: &[u8]) -> Option<(Frame, &[u8])> {
        let (frame, content) = datagram.split_first_chunk::<FRAME_BYTES>()?;
        let frame = Frame::decode(frame);
        (frame.total == 1 && !content.is_empty()).then_some((frame, content))
    }

    /// Decodes the frame at the start of a datagram; the reserved number is ignored.
    pub fn decode(bytes: &[u8; FRAME_BYTES]) -> Frame {
        let number = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        Frame { request: number(0), sequence: number(2), total: number(4) }
    }

    /// Encodes the frame; the reserved number is 0.
    pub fn encode(&self) -> [u8; FRAME_BYTES] {
        let ([a, b], [c, d], [e, f]) =
            (self.request.to_be_bytes(), self.sequence.to_be_bytes(), self.total.to_be_bytes());
        [a, b, c, d, e, f, 0, 0]
    }
}

/// Splits a reply of `bytes` bytes into datagrams: the frame of each, and the range of bytes behind it. None
/// if there are too many to number.
pub fn cut(request: u16, bytes: usize) -> Option<impl ExactSizeIterator<Item = (Frame, Range<usize>)>> {
    let total = u16::try_from(bytes.div_ceil(CONTENT_BYTES)).ok()?;
    Some((0..total).map(move |sequence| {
        let from = usize::from(sequence) * CONTENT_BYTES;
        (Frame { request, sequence, total }, from..bytes.min(from + CONTENT_BYTES))
    }))
}
