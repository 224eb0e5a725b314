//! A host that writes single pages as fast as the drive accepts them.

use std::ops::Range;
use tailcut_base::random::Stream;
use tailcut_base::{Command, CommandId, Completion, Device, Nanos, Op, Status, Submit, Time};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::{Figures, Precondition, Ssd, SsdConfig};

/// A load of single pages, of which every second is read.
pub(crate) struct ReadsBesideWrites {
    pub requests: u32,
    /// Time from one request to the next.
    pub gap: Nanos,
    /// The stream that writes name.
    pub stream: u8,
}

/// A drive and its current time.
pub(crate) struct Writer {
    /// The drive.
    pub ssd: Ssd,
    now: Time,
    random: Stream,
    next: u32,
}

impl Writer {
    /// A full drive in the given prepared state.
    pub(crate) fn new(config: &SsdConfig, state: PreparedState, seed: u64) -> Writer {
        config.check_space().expect("a drive with room to work");
        let mut ssd = Ssd::new(config, seed, false);
        ssd.precondition(&Precondition { state, fill: 1_000_000 }, seed);
        Writer { ssd, now: Time::ZERO, random: Stream::new(seed, "test.writer"), next: 0 }
    }

    /// The current time.
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    /// Number of logical pages of the drive.
    pub(crate) fn pages(&self) -> u64 {
        let identity = self.ssd.identify();
        identity.sectors / u64::from(identity.page_sectors)
    }

    /// Writes `count` pages one by one; `place` chooses the page and the stream. Returns the drive's metrics
    /// for these writes.
    pub(crate) fn write(&mut self, count: u64, mut place: impl FnMut(&mut Stream) -> (u64, u8)) -> Figures {
        let before = self.ssd.figures(self.now);
        for _ in 0..count {
            let (page, stream) = place(&mut self.random);
            self.run(Op::Write, page, stream);
        }
        self.ssd.figures(self.now).since(&before)
    }

    /// Writes a page, and returns the status: there may be no room for it.
    pub(crate) fn try_write(&mut self, page: u64, stream: u8) -> Status {
        self.ask(Op::Write, page..page + 1, stream)
    }

    /// Trims a page.
    pub(crate) fn trim(&mut self, page: u64) {
        self.run(Op::Trim, page, 0);
    }

    /// Reads and writes pages in turn, open loop; `page` chooses which. Returns the completions of the reads.
    pub(crate) fn read_beside_writes(
        &mut self,
        load: &ReadsBesideWrites,
        mut page: impl FnMut(Op, &mut Stream) -> u64,
    ) -> Vec<Completion> {
        let (mut done, mut reads) = (Vec::new(), Vec::new());
        let mut random = Stream::new(1, "test.beside");
        let page_sectors = self.ssd.identify().page_sectors;
        for number in 0..load.requests {
            let op = if number % 2 == 0 { Op::Read } else { Op::Write };
            let command = Command {
                op,
                stream: load.stream,
                sector: page(op, &mut random) * u64::from(page_sectors),
                sectors: page_sectors,
                content: number,
                ..Command::flush(CommandId(number))
            };
            self.now += load.gap;
            while !self.ssd.advance(self.now, &mut done) {}
            while self.ssd.submit(self.now, &command) == Submit::Busy {
                self.now = self.ssd.next_event();
                while !self.ssd.advance(self.now, &mut done) {}
            }
            reads.extend(done.drain(..).filter(|completion| completion.id.0.is_multiple_of(2)));
        }
        reads
    }

    /// Waits until the drive is idle, then reads `pages` pages. Returns the latency in ns.
    pub(crate) fn read(&mut self, first: u64, pages: u32) -> u64 {
        self.come_to_rest();
        let start = self.now;
        self.run_pages(Op::Read, first..first + u64::from(pages), 0);
        self.now.since(start).0
    }

    /// Waits until the drive is idle.
    pub(crate) fn come_to_rest(&mut self) {
        while self.ssd.next_event() != Time::NEVER {
            self.now = self.ssd.next_event();
            self.ssd.advance(self.now, &mut Vec::new());
        }
    }

    fn run(&mut self, op: Op, page: u64, stream: u8) {
        self.run_pages(op, page..page + 1, stream);
    }

    fn run_pages(&mut self, op: Op, pages: Range<u64>, stream: u8) {
        assert_eq!(self.ask(op, pages, stream), Status::Success);
    }

    fn ask(&mut self, op: Op, pages: Range<u64>, stream: u8) -> Status {
        let page_sectors = self.ssd.identify().page_sectors;
        self.next += 1;
        let command = Command {
            id: CommandId(self.next),
            op,
            fua: false,
            class: Default::default(),
            fail_fast: false,
            stream,
            queue: 0,
            sector: pages.start * u64::from(page_sectors),
            sectors: (pages.end - pages.start) as u32 * page_sectors,
            content: self.next,
        };
        assert_eq!(self.ssd.submit(self.now, &command), Submit::Accepted);
        let mut done: Vec<Completion> = Vec::new();
        while done.is_empty() {
            let next = self.ssd.next_event();
            assert!(next != Time::NEVER, "{}", self.ssd.why_stuck());
            self.ssd.advance(next, &mut done);
        }
        assert_eq!(done[0].id, command.id);
        self.now = done[0].at;
        done[0].status
    }
}

/// Any page below `pages`, with equal probability.
pub(crate) fn uniform(pages: u64) -> impl Fn(&mut Stream) -> (u64, u8) {
    move |random| (random.below(pages), 0)
}

/// A fraction `writes` of the writes goes to the first fraction `space` of the pages, the rest to the other
/// pages. With `streams`, hot data has its own stream.
pub(crate) fn hot_and_cold(
    pages: u64,
    space: f64,
    writes: f64,
    streams: bool,
) -> impl Fn(&mut Stream) -> (u64, u8) {
    let hot = (pages as f64 * space) as u64;
    move |random| {
        if random.unit() < writes {
            (random.below(hot), 0)
        } else {
            (hot + random.below(pages - hot), u8::from(streams))
        }
    }
}
