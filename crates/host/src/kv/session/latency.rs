//! How long commands take.
//!
//! Measured is from the moment at which the last byte of a command had been received to the one at which its
//! answer was complete and the sending of answers began. Whoever has the sockets names both: one moment for
//! all that was received at once, and one for all that is sent after it. So commands that came together and
//! leave together have taken equally long, which is what their client sees; and a moment costs one look at
//! the clock for a batch of commands. Not counted is the time for which an answer that is complete waits for
//! those of earlier commands of the same client: their own time says that.

use super::operation::Operation;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::{Nanos, Time};

/// What is measured apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An item is wanted: each key of a `get`, `gat` or `mg`.
    Get,
    /// `set` and its kin.
    Store,
    /// `incr`, `decr`.
    Count,
    /// `touch`.
    Touch,
    /// `delete`.
    Delete,
}

/// Where the item was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// In memory, or it did not matter: nothing was read.
    Memory,
    /// On flash, from where it was read.
    Flash,
    /// It is not there.
    Miss,
}

impl Kind {
    /// All of them, in the order of reports.
    pub const ALL: [Kind; 5] = [Kind::Get, Kind::Store, Kind::Count, Kind::Touch, Kind::Delete];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Get => "get",
            Kind::Store => "store",
            Kind::Count => "count",
            Kind::Touch => "touch",
            Kind::Delete => "delete",
        }
    }

    /// The kind of an operation.
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
    /// All of them, in the order of reports.
    pub const ALL: [Source; 3] = [Source::Memory, Source::Flash, Source::Miss];

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Source::Memory => "dram",
            Source::Flash => "flash",
            Source::Miss => "miss",
        }
    }
}

/// Kinds by sources.
const CELLS: usize = Kind::ALL.len() * Source::ALL.len();

/// How long commands took, by kind and source. A histogram takes memory (a quarter of a megabyte) when there
/// is something in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latencies {
    cells: [Option<Box<LatencyHistogram>>; CELLS],
}

impl Latencies {
    /// Those of a kind with a source; none if there were none.
    pub fn of(&self, kind: Kind, source: Source) -> Option<&LatencyHistogram> {
        self.cells[cell(kind, source)].as_deref()
    }

    /// All that there are.
    pub fn iter(&self) -> impl Iterator<Item = (Kind, Source, &LatencyHistogram)> {
        let all = Kind::ALL.into_iter().flat_map(|kind| Source::ALL.map(|source| (kind, source)));
        all.filter_map(|(kind, source)| Some((kind, source, self.of(kind, source)?)))
    }

    /// Those of others, too.
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

/// Takes the time of commands.
#[derive(Debug, Default)]
pub(super) struct Stopwatch {
    /// When what is carried out was received.
    received: Time,
    /// Commands of this batch that are answered.
    answered: [u32; CELLS],
    /// Which of them are not 0, as bits.
    touched: u32,
    /// Answers that can be sent.
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
    /// What is carried out from now on was received at this moment.
    pub fn receive(&mut self, moment: Time) {
        self.received = moment;
    }

    /// When it was.
    pub fn received(&self) -> Time {
        self.received
    }

    /// A command of this batch is answered.
    #[inline]
    pub fn note(&mut self, kind: Kind, source: Source) {
        let cell = cell(kind, source);
        self.answered[cell] += 1;
        self.touched |= 1 << cell;
    }

    /// A command that was received before is answered.
    pub fn note_late(&mut self, kind: Kind, source: Source, since: Time) {
        self.push(Ready { cell: cell(kind, source), since, count: 1 });
    }

    /// That was the batch.
    pub fn end_batch(&mut self) {
        while self.touched != 0 {
            let cell = self.touched.trailing_zeros() as usize;
            self.touched &= self.touched - 1;
            let count = std::mem::take(&mut self.answered[cell]);
            self.push(Ready { cell, since: self.received, count });
        }
    }

    fn push(&mut self, ready: Ready) {
        if self.ready.len() == MOST_READY {
            // Nobody says when answers are sent: the last moment that is known has to do.
            self.send(self.received);
        }
        self.ready.push(ready);
    }

    /// True if there are answers whose sending is to be noted.
    pub fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// At this moment answers are sent.
    pub fn send(&mut self, moment: Time) {
        for Ready { cell, since, count } in self.ready.drain(..) {
            // Another thread's moments may be a little ahead.
            self.latencies.record(cell, Nanos(moment.0.saturating_sub(since.0)), count);
        }
    }

    /// What was measured since the last time.
    pub fn take(&mut self) -> Latencies {
        std::mem::take(&mut self.latencies)
    }
}

/// Entries of a turn. There is one for each kind of command of each client in it, and for each answer that
/// has come later.
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
