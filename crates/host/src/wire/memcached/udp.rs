//! The frame in front of every datagram, and answers cut into datagrams (`doc/protocol.txt`, UDP protocol).

use std::ops::Range;

/// What stands in front of a datagram: four numbers of two bytes, the highest first. The last is reserved,
/// and 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The client's name for the request; answers bear it.
    pub request: u16,
    /// Which datagram of the request or answer this is, from 0.
    pub sequence: u16,
    /// How many there are.
    pub total: u16,
}

/// Bytes of a frame.
pub const FRAME_BYTES: usize = 8;

/// The longest datagram that is sent, with its frame (`UDP_MAX_PAYLOAD_SIZE` of the program).
pub const DATAGRAM_BYTES: usize = 1400;

/// What of an answer fits behind a frame.
pub const CONTENT_BYTES: usize = DATAGRAM_BYTES - FRAME_BYTES;

impl Frame {
    /// A request: its frame and its commands. Nothing if there are none, or if the request consists of
    /// several datagrams: the program drops those without a word, and so should a server.
    pub fn request(datagram: &[u8]) -> Option<(Frame, &[u8])> {
        let (frame, content) = datagram.split_first_chunk::<FRAME_BYTES>()?;
        let frame = Frame::decode(frame);
        (frame.total == 1 && !content.is_empty()).then_some((frame, content))
    }

    /// Reads a frame.
    pub fn decode(bytes: &[u8; FRAME_BYTES]) -> Frame {
        let number = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        Frame { request: number(0), sequence: number(2), total: number(4) }
    }

    /// The bytes on the wire.
    pub fn encode(&self) -> [u8; FRAME_BYTES] {
        let ([a, b], [c, d], [e, f]) =
            (self.request.to_be_bytes(), self.sequence.to_be_bytes(), self.total.to_be_bytes());
        [a, b, c, d, e, f, 0, 0]
    }
}

/// How an answer of `bytes` bytes is cut: the frame of each datagram, and which bytes stand behind it.
/// Nothing if it needs more datagrams than can be counted.
pub fn cut(request: u16, bytes: usize) -> Option<impl ExactSizeIterator<Item = (Frame, Range<usize>)>> {
    let total = u16::try_from(bytes.div_ceil(CONTENT_BYTES)).ok()?;
    Some((0..total).map(move |sequence| {
        let from = usize::from(sequence) * CONTENT_BYTES;
        (Frame { request, sequence, total }, from..bytes.min(from + CONTENT_BYTES))
    }))
}
