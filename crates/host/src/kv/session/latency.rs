//! Latency of commands.
//!
//! A latency is measured from the receipt of a command's last byte to the moment when its reply is complete
//! and sending begins. The owner of the sockets supplies both times: one for everything received at once, and
//! one for everything sent after it. So commands that arrive and leave in one batch have equal latencies,
//! which is what their client sees, and the clock is read once per batch. Excluded is the time for which a
//! complete reply waits for replies to earlier commands of the same client: it is part of their latencies.

use super::operation::Operation;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::{Nanos, Time};

/// Class of commands with separate latency histograms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Retrieval: each key of a `get`, `gat` or `mg`.
    Get,
    /// Storage commands: `set` and its variants.
    Store,
    /// `incr`, `decr`.
    Count,
    /// `touch`.
    Touch,
    /// `delete`.
    Delete,
}

/// Source of the item of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Memory, or no item was needed: no read from flash.
    Memory,
    /// Flash: it was read from there.
    Flash,
    /// There is no such item.
    Miss,
}

impl Kind {
    /// All kinds in the order of reports.
    pub const ALL: [Kind; 5] = [Kind::Get, Kind::Store, Kind::Count, Kind::Touch, Kind::Delete];

    /// The kind of command in the words of reports, such as `get`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Get => "get",
            Kind::Store => "store",
            Kind::Count => "count",
            Kind::Touch => "touch",
            Kind::Delete => "delete",
        }
    }

    /// Kind of an operation.
    pub(super) fn of(operation: &Operation) -> Kind {
        match operation {
            Operation::Count { .. } | Operation::MetaCount { .. } => Kind::Count,
            Operation::Touch { .. } => Kind::Touch,
            Operation::Delete { .. } | Operation::MetaDelete(_) => Kind::Delete,
            Operation::Store(_) | Operation::TooLarge { .. } | Operation::Unsound(_) => Kind::Store,
            _ => Kind::Get,
        }
    }
}

impl Source {
    /// All sources in the order of reports.
    pub const ALL: [Source; 3] = [Source::Memory, Source::Flash, Source::Miss];

    /// The source in the words of reports: `dram`, `flash` or `miss`.
    pub fn name(self) -> &'static str {
        match self {
            Source::Memory => "dram",
            Source::Flash => "flash",
            Source::Miss => "miss",
        }
    }
}

/// Number of pairs of kind and source.
const CELLS: usize = Kind::ALL.len() * Source::ALL.len();

/// Latency histograms by kind and source. A histogram is allocated (a quarter of a megabyte) when its first
/// latency is recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latencies {
    cells: [Option<Box<LatencyHistogram>>; CELLS],
}

impl Latencies {
    /// Histogram of a kind and source; None if it is empty.
    pub fn of(&self, kind: Kind, source: Source) -> Option<&LatencyHistogram> {
        self.cells[cell(kind, source)].as_deref()
    }

    /// All histograms that are not empty.
    pub fn iter(&self) -> impl Iterator<Item = (Kind, Source, &LatencyHistogram)> {
        let all = Kind::ALL.into_iter().flat_map(|kind| Source::ALL.map(|source| (kind, source)));
        all.filter_map(|(kind, source)| Some((kind, source, self.of(kind, source)?)))
    }

    /// Adds the latencies of `other`.
    pub fn merge(&mut self, other: Latencies) {
        for (mine, others) in self.cells.iter_mut().zip(other.cells) {
            match (mine, others) {
                (_, None) => {}
                (mine @ None, others) => *mine = others,
                (Some(mine), Some(others)) => mine.merge(&others),
            }
        }
    }

    fn record(&mut self, cell: usize, latency: Nanos, count: u32) {
        self.cells[cell].get_or_insert_default().record_many(latency, u64::from(count));
    }
}

fn cell(kind: Kind, source: Source) -> usize {
    kind as usize * Source::ALL.len() + source as usize
}

/// Measures the latencies of commands.
#[derive(Debug, Default)]
pub(super) struct Stopwatch {
    /// Receive time of the commands being executed.
    received: Time,
    /// Number of commands answered in this batch, by kind and source.
    answered: [u32; CELLS],
    /// Bit set of the nonzero entries of `answered`.
    touched: u32,
    /// Replies ready to be sent.
    ready: Vec<Ready>,
    latencies: Latencies,
}

#[derive(Clone, Copy, Debug)]
struct Ready {
    cell: usize,
    since: Time,
    count: u32,
}

impl Stopwatch {
    /// Sets the receive time of the commands executed from now on.
    pub(super) fn receive(&mut self, moment: Time) {
        self.received = moment;
    }

    /// Receive time of the commands being executed.
    pub(super) fn received(&self) -> Time {
        self.received
    }

    /// A command of this batch is answered.
    #[inline]
    pub(super) fn note(&mut self, kind: Kind, source: Source) {
        let cell = cell(kind, source);
        self.answered[cell] += 1;
        self.touched |= 1 << cell;
    }

    /// A command received at `since`, before this batch, is answered.
    pub(super) fn note_late(&mut self, kind: Kind, source: Source, since: Time) {
        self.push(Ready { cell: cell(kind, source), since, count: 1 });
    }

    /// Ends the batch.
    pub(super) fn end_batch(&mut self) {
        while self.touched != 0 {
            let cell = self.touched.trailing_zeros() as usize;
            self.touched &= self.touched - 1;
            let count = std::mem::take(&mut self.answered[cell]);
            self.push(Ready { cell, since: self.received, count });
        }
    }

    fn push(&mut self, ready: Ready) {
        if self.ready.len() == MOST_READY {
            // Send times are not reported: fall back to the last known time.
            self.send(self.received);
        }
        self.ready.push(ready);
    }

    /// True if there are replies without a send time.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Sets the send time of the replies that are ready.
    pub(super) fn send(&mut self, moment: Time) {
        for Ready { cell, since, count } in self.ready.drain(..) {
            // Times of another thread may be slightly ahead.
            self.latencies.record(cell, Nanos(moment.0.saturating_sub(since.0)), count);
        }
    }

    /// Takes the latencies recorded since the last call.
    pub(super) fn take(&mut self) -> Latencies {
        std::mem::take(&mut self.latencies)
    }
}

/// Largest number of replies without a send time. There is one entry per kind of command and client in an
/// iteration, and one per late reply.
const MOST_READY: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(latencies: &Latencies, kind: Kind, source: Source) -> Vec<(u64, u64)> {
        let of = latencies.of(kind, source);
        of.map(|of| of.buckets().map(|(time, count)| (time.0, count)).collect()).unwrap_or_default()
    }

    #[test]
    fn a_batch_is_measured_from_its_receipt_to_the_sending() {
        let mut watch = Stopwatch::default();
        watch.receive(Time(100));
        (0..3).for_each(|_| watch.note(Kind::Get, Source::Memory));
        watch.note(Kind::Store, Source::Memory);
        watch.end_batch();
        watch.receive(Time(130));
        watch.note(Kind::Get, Source::Memory);
        watch.end_batch();
        watch.note_late(Kind::Get, Source::Flash, Time(10));
        assert!(watch.has_ready());
        watch.send(Time(150));
        let latencies = watch.take();
        assert_eq!(counts(&latencies, Kind::Get, Source::Memory), [(20, 1), (50, 3)]);
        assert_eq!(counts(&latencies, Kind::Store, Source::Memory), [(50, 1)]);
        assert_eq!(counts(&latencies, Kind::Get, Source::Flash), [(140, 1)]);
        assert_eq!(latencies.iter().count(), 3);
        assert_eq!(watch.take(), Latencies::default(), "what was taken is not there twice");
    }

    #[test]
    fn several_threads_add_up() {
        let of = |kind, latency| {
            let mut watch = Stopwatch::default();
            watch.note(kind, Source::Miss);
            watch.end_batch();
            watch.send(Time(latency));
            watch.take()
        };
        let mut all = of(Kind::Get, 5);
        all.merge(of(Kind::Get, 7));
        all.merge(of(Kind::Delete, 9));
        assert_eq!(counts(&all, Kind::Get, Source::Miss), [(5, 1), (7, 1)]);
        assert_eq!(counts(&all, Kind::Delete, Source::Miss), [(9, 1)]);
    }

    #[test]
    fn memory_is_bounded_though_nobody_says_that_answers_are_sent() {
        let mut watch = Stopwatch::default();
        for moment in 0..3 * MOST_READY as u64 {
            watch.receive(Time(moment));
            watch.note(Kind::Get, Source::Miss);
            watch.end_batch();
        }
        assert!(watch.ready.len() <= MOST_READY);
        watch.send(Time(0));
        let all: u64 = watch.take().iter().map(|(_, _, of)| of.count()).sum();
        assert_eq!(all, 3 * MOST_READY as u64);
    }
}
