//! A drive next to a model that is too simple to be wrong: a list of page contents, updated in submission
//! order. Every completion is compared with it.

use std::collections::BTreeMap;
use tailcut_base::control::{Control, ControlReply, Windows};
use tailcut_base::device::content::{self, Change};
use tailcut_base::{Class, Command, CommandId, Completion, Device, Nanos, Op, Status, Submit, Time};
use tailcut_ssd::config::MappingLevel;
use tailcut_ssd::flash::LogicalPage;
use tailcut_ssd::{Counters, SetId, Sets, Ssd, SsdConfig};

use crate::quiet::Watch;

/// What must hold when a command completes.
struct Pending {
    command: Command,
    submitted: Time,
    expected: u64,
}

/// A drive and its model.
pub(crate) struct Pair {
    /// The drive.
    pub ssd: Ssd<Watch>,
    /// Time up to which events have been processed.
    pub now: Time,
    /// Content of each logical page in submission order.
    pages: Vec<u32>,
    /// Pages that a refused write touched: their content is undefined.
    unknown: Vec<bool>,
    page_sectors: u64,
    pending: BTreeMap<u32, Pending>,
    next_id: u32,
    next_content: u32,
    completions: Vec<Completion>,
    /// Events since the last completion.
    idle_steps: u32,
}

/// No tiny drive needs this many events for one completion: a drive that does is in an infinite loop.
const STEPS_MAX: u32 = 100_000;

/// The read classes.
const CLASSES: [Class; 3] = match (Class::new(1), Class::new(2)) {
    (Some(urgent), Some(prompt)) => [Class::DEFAULT, urgent, prompt],
    _ => panic!("these classes exist"),
};

impl Pair {
    /// An empty drive and a list of zeros.
    pub(crate) fn new(config: &SsdConfig, seed: u64) -> Pair {
        let ssd = Ssd::watched(config, seed, true, Watch::new(config));
        let identity = ssd.identify();
        let page_sectors = u64::from(identity.page_sectors);
        let pages = (identity.sectors / page_sectors) as usize;
        Pair {
            ssd,
            now: Time::ZERO,
            pages: vec![0; pages],
            unknown: vec![false; pages],
            page_sectors,
            pending: BTreeMap::new(),
            next_id: 0,
            next_content: 1,
            completions: Vec::new(),
            idle_steps: 0,
        }
    }

    /// Capacity of the drive in sectors.
    pub(crate) fn sectors(&self) -> u64 {
        self.pages.len() as u64 * self.page_sectors
    }

    /// Number of logical pages of the drive.
    pub(crate) fn pages(&self) -> u64 {
        self.pages.len() as u64
    }

    /// NVM sets of the drive.
    pub(crate) fn sets(&self) -> Sets {
        self.ssd.sets()
    }

    /// NVM set of a sector.
    fn set_of(&self, sector: u64) -> u32 {
        (sector / (self.sectors() / u64::from(self.sets().count()))) as u32
    }

    /// Number of pages from `page` to the end of its set.
    pub(crate) fn pages_from(&self, page: u64) -> u64 {
        let each = self.pages() / u64::from(self.sets().count());
        each - page % each
    }

    /// Advances the time, checking the completions in between.
    pub(crate) fn pass(&mut self, time: Nanos) {
        let until = self.now + time;
        self.advance(until);
        self.now = until;
    }

    /// Sets or clears a set's collection windows. Drives that do not support windows must refuse to set them.
    pub(crate) fn set_windows(&mut self, set: u32, windows: Option<Windows>) {
        let call = windows.map_or(Control::ClearWindows, Control::SetWindows);
        let reply = self.ssd.control_set(self.now, SetId::new(set), call);
        self.ssd.probe.end_quiet(self.now, set);
        let config = self.ssd.config();
        let has_no_use = config.gc.ideal || config.ftl.mapping == MappingLevel::Block;
        let is_unsupported = !config.control_api || has_no_use && windows.is_some();
        let expected = if is_unsupported { ControlReply::Unsupported } else { ControlReply::Done };
        assert_eq!(reply, expected);
    }

    /// Submits a command now, or as soon as the drive has a free tag. A read's stream determines its class,
    /// and one read in four is fail-fast.
    pub(crate) fn submit(&mut self, op: Op, sector: u64, sectors: u32, fua: bool, stream: u8) {
        let command = Command {
            id: CommandId(self.next_id),
            op,
            fua,
            class: if op == Op::Read { CLASSES[usize::from(stream % 3)] } else { Class::DEFAULT },
            fail_fast: op == Op::Read && self.next_id % 4 == 3,
            stream,
            queue: (self.next_id % 3) as u16,
            sector,
            sectors,
            content: self.next_content,
        };
        self.next_id += 1;
        self.next_content += 1;
        loop {
            match self.ssd.submit(self.now, &command) {
                Submit::Accepted => break self.ends_quiet(op, sector),
                Submit::Refused(status) => panic!("{command:?} was refused: {status:?}"),
                Submit::Busy => self.step("a tag"),
            }
        }
        let expected = self.model(&command);
        let pending = Pending { command, submitted: self.now, expected };
        self.pending.insert(command.id.0, pending);
    }

    /// Calls the control interface of a set. Drives with block mapping or zero-cost collection may not
    /// support the call, and its values may be invalid. The observer is notified of quiet periods.
    pub(crate) fn control(&mut self, set: u32, call: Control) {
        let reply = self.ssd.control_set(self.now, SetId::new(set), call);
        let config = self.ssd.config();
        if reply == ControlReply::Unsupported {
            assert!(config.gc.ideal || config.ftl.mapping == MappingLevel::Block, "{call:?} is known");
        }
        match (call, reply) {
            (Control::IsReadyForRead, ControlReply::Answer(true)) => {
                self.ssd.probe.begin_quiet(self.now, set)
            }
            (Control::IsReadyForRead, ControlReply::Answer(false)) => {
                assert!(!self.ssd.probe.is_quiet(set), "a quiet period has ended without a reason");
            }
            (Control::IsGcRunning | Control::PredictableLatencyLog, _) => {}
            _ => self.ssd.probe.end_quiet(self.now, set),
        }
    }

    fn ends_quiet(&mut self, op: Op, sector: u64) {
        if matches!(op, Op::Write | Op::Flush) {
            self.ssd.probe.end_quiet(self.now, self.set_of(sector));
        }
    }

    /// Waits for a quiet period of a set, which must begin once the drive is idle.
    pub(crate) fn wait_for_quiet(&mut self, set: u32) {
        if self.ssd.config().ftl.mapping == MappingLevel::Block {
            return;
        }
        self.drain();
        loop {
            self.control(set, Control::IsReadyForRead);
            if self.ssd.probe.is_quiet(set) {
                return;
            }
            self.step("a quiet period");
        }
    }

    /// Waits until all commands are complete.
    pub(crate) fn drain(&mut self) {
        while !self.pending.is_empty() {
            self.step("an answer");
        }
    }

    /// Lets the drive become idle and compares its entire content with the model.
    pub(crate) fn finish(mut self) -> Pair {
        self.drain();
        for page in 0..self.pages() {
            self.submit(Op::Read, page * self.page_sectors, self.page_sectors as u32, false, 0);
            self.drain();
        }
        while self.ssd.next_event() != Time::NEVER {
            self.step("rest");
        }
        self.ssd.check();
        for (page, (&content, _)) in
            self.pages.iter().zip(&self.unknown).enumerate().filter(|(_, (_, u))| !**u)
        {
            assert_eq!(self.ssd.peek(LogicalPage::new(page as u64)), content, "page {page} at rest");
        }
        self
    }

    /// The drive's counters.
    pub(crate) fn counts(&self) -> Counters {
        self.ssd.figures(self.now).counts
    }

    /// Processes the next event.
    fn step(&mut self, what: &str) {
        let next = self.ssd.next_event();
        assert!(next != Time::NEVER, "no event will ever bring {what}: {}", self.ssd.why_stuck());
        self.idle_steps += 1;
        assert!(
            self.idle_steps < STEPS_MAX,
            "the drive is busy for ever without {what}: {}",
            self.ssd.why_stuck()
        );
        self.advance(next);
        self.now = self.now.max(next);
    }

    fn advance(&mut self, until: Time) {
        loop {
            let done = self.ssd.advance(until, &mut self.completions);
            self.ssd.check_machines();
            for completion in std::mem::take(&mut self.completions) {
                assert!(completion.at <= until, "a completion from the future");
                self.idle_steps = 0;
                self.check(&completion);
            }
            if done {
                return;
            }
        }
    }

    fn check(&mut self, completion: &Completion) {
        let Some(pending) = self.pending.remove(&completion.id.0) else {
            panic!("{:?} was answered without being asked, or twice", completion.id)
        };
        let command = pending.command;
        let latency = completion.at.since(pending.submitted);
        assert_eq!(completion.spans.total(), latency, "the spans of {command:?} are its latency");
        let touched = self.touched(&command);
        match (command.op, completion.status) {
            (Op::Read, Status::Contended) => assert!(command.fail_fast, "{command:?} had time"),
            (Op::Read, Status::Success) => {
                if !self.unknown[touched.start as usize..touched.end as usize].contains(&true) {
                    assert_eq!(completion.content, pending.expected, "content of {command:?}");
                }
            }
            (Op::Write | Op::Flush, Status::WriteProtected) => {
                assert!(self.ssd.read_only().is_some(), "{command:?} was refused without a reason");
                for page in touched {
                    self.unknown[page as usize] = true;
                }
            }
            (Op::Write, Status::NoSpace) => {
                assert!(self.ssd.config().fdp.groups > 1, "{command:?} has no group that could be full");
                for page in touched {
                    self.unknown[page as usize] = true;
                }
            }
            (_, status) => assert_eq!(status, Status::Success, "{command:?}"),
        }
    }

    /// Pages that a command touches.
    fn touched(&self, command: &Command) -> std::ops::Range<u64> {
        if command.op == Op::Flush {
            return 0..0;
        }
        let end = command.sector + u64::from(command.sectors);
        command.sector / self.page_sectors..end.div_ceil(self.page_sectors)
    }

    /// Applies a command to the model. Returns the content that a read must return.
    fn model(&mut self, command: &Command) -> u64 {
        let mut folded = 0;
        let (from, to) = (command.sector, command.sector + u64::from(command.sectors));
        for (index, page) in (0u32..).zip(self.touched(command)) {
            let start = page * self.page_sectors;
            let (first, end) = (from.max(start) - start, to.min(start + self.page_sectors) - start);
            let whole = end - first == self.page_sectors;
            let content = &mut self.pages[page as usize];
            match command.op {
                Op::Read => folded = content::fold(folded, index, *content),
                Op::Write => {
                    let sectors = (first..end).fold(0, |mask, sector| mask | 1 << sector);
                    *content = Change::write(page, command.content, sectors, whole).apply(*content);
                }
                Op::Trim if whole => *content = 0,
                Op::Trim | Op::Flush => {}
            }
        }
        folded
    }
}
