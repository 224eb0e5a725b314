//! Which write stream, or placement identifier, each write of a source names.

use tailcut_base::random::Stream;

/// The write streams of a source's writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Streams {
    /// All writes name this one; 0 if streams are not used.
    One(u8),
    /// Writes name these in turn; at least one.
    RoundRobin(Vec<u8>),
    /// Each write names one of these, all equally likely; at least one.
    Random(Vec<u8>),
}

/// [`Streams`] at work.
#[derive(Clone, Debug)]
pub(crate) struct NextStream {
    streams: Streams,
    turn: usize,
    random: Stream,
}

impl NextStream {
    pub(crate) fn new(streams: Streams, random: Stream) -> NextStream {
        NextStream { streams, turn: 0, random }
    }

    /// The stream of the next write.
    #[inline]
    pub(crate) fn draw(&mut self) -> u8 {
        if let Streams::One(stream) = self.streams { stream } else { self.draw_of_several() }
    }

    #[cold]
    fn draw_of_several(&mut self) -> u8 {
        match &self.streams {
            Streams::One(stream) => *stream,
            Streams::RoundRobin(streams) => {
                let stream = streams[self.turn];
                self.turn = (self.turn + 1) % streams.len();
                stream
            }
            Streams::Random(streams) => streams[self.random.below(streams.len() as u64) as usize],
        }
    }
}
