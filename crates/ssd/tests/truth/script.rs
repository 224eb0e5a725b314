//! A host that sends commands at scripted times to an observed drive.

use std::collections::BTreeMap;
use tailcut_base::control::{Control, ControlReply, Windows};
use tailcut_base::device::content::{self, Change};
use tailcut_base::random::Stream;
use tailcut_base::{Cause, Class, Command, CommandId, Completion, Device, Nanos, Op, Status, Submit, Time};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::probe::Outcome;
use tailcut_ssd::request::Kind;
use tailcut_ssd::{ChipRecord, Counters, Figures, Precondition, Probe, Ssd, SsdConfig};

/// All transactions in completion order.
#[derive(Debug, Default)]
pub(crate) struct Log(pub Vec<ChipRecord>);

impl Probe for Log {
    const WATCHES: bool = true;

    fn transaction(&mut self, record: ChipRecord) {
        self.0.push(record);
    }
}

/// A command for one page, and the time at which it is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub at: Time,
    pub command: Command,
}

/// A read of a page.
pub(crate) fn read(at: Time, page: u64, class: u8) -> Sent {
    send(at, Op::Read, page, class)
}

/// A write of a page with unique content.
pub(crate) fn write(at: Time, page: u64) -> Sent {
    send(at, Op::Write, page, Class::DEFAULT.number())
}

fn send(at: Time, op: Op, page: u64, class: u8) -> Sent {
    let class = Class::new(class).expect("a class");
    let command = Command {
        id: CommandId(0),
        op,
        fua: false,
        class,
        fail_fast: false,
        stream: 0,
        queue: 0,
        sector: page,
        sectors: 1,
        content: 0,
    };
    Sent { at, command }
}

/// The same command with fail-fast set.
pub(crate) fn failing_fast(sent: Sent) -> Sent {
    Sent { command: Command { fail_fast: true, ..sent.command }, ..sent }
}

/// The results of a script.
pub(crate) struct Played {
    pub ssd: Ssd<Log>,
    pub sent: Vec<Sent>,
    done: Vec<Completion>,
}

impl Played {
    fn begin(config: &SsdConfig, state: PreparedState) -> Played {
        config.check_space().expect("a drive with room to work");
        config.check_preemption().expect("a drive that can preempt");
        let mut ssd = Ssd::watched(config, 1, true, Log::default());
        ssd.precondition(&Precondition { state, fill: 1_000_000 }, 1);
        assert_eq!(ssd.identify().page_sectors, 1);
        Played { ssd, sent: Vec::new(), done: Vec::new() }
    }

    fn send(&mut self, mut sent: Sent) {
        let number = self.sent.len() as u32;
        (sent.command.id, sent.command.content) = (CommandId(number), 1000 + number);
        assert_eq!(self.ssd.submit(sent.at, &sent.command), Submit::Accepted);
        self.sent.push(sent);
    }

    fn end(mut self) -> Played {
        while self.ssd.next_event() != Time::NEVER {
            self.ssd.advance(self.ssd.next_event(), &mut self.done);
            self.ssd.check_machines();
        }
        self.check();
        self
    }
}

/// Sends `script` to a drive with one-sector pages in the given prepared state, and waits until the drive is
/// idle.
pub(crate) fn play(config: &SsdConfig, state: PreparedState, script: &[Sent]) -> Played {
    play_in_windows(config, state, None, script)
}

/// As [`play`], on a drive with collection windows set first.
pub(crate) fn play_in_windows(
    config: &SsdConfig,
    state: PreparedState,
    windows: Option<Windows>,
    script: &[Sent],
) -> Played {
    let mut played = Played::begin(config, state);
    if let Some(windows) = windows {
        assert_eq!(played.ssd.control(Time::ZERO, Control::SetWindows(windows)), ControlReply::Done);
    }
    let mut script = script.to_vec();
    script.sort_by_key(|sent| sent.at);
    for sent in script {
        while !played.ssd.advance(sent.at, &mut played.done) {}
        played.send(sent);
    }
    played.end()
}

/// A continuous load on random pages of an empty drive, which is filled first: a constant number of reads of
/// one class and of writes in flight, until `writes` writes are complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mix {
    pub reads_in_flight: u32,
    pub writes_in_flight: u32,
    pub class: u8,
    pub writes: u32,
}

impl Mix {
    pub(crate) fn play(self, config: &SsdConfig) -> Played {
        let mut played = Played::begin(config, PreparedState::Empty);
        let pages = played.ssd.identify().sectors;
        let mut random = Stream::new(7, "test.mix");
        let (mut now, mut seen) = (Time::ZERO, 0);
        let mut next = |now: Time, op: Op| {
            let page = random.below(pages);
            if op == Op::Read { read(now, page, self.class) } else { write(now, page) }
        };
        for page in 0..pages {
            played.send(write(now, page));
            while played.done.len() <= page as usize {
                now = played.ssd.next_event();
                played.ssd.advance(now, &mut played.done);
            }
            seen += 1;
        }
        let mut due =
            [vec![Op::Read; self.reads_in_flight as usize], vec![Op::Write; self.writes_in_flight as usize]]
                .concat();
        let mut left = self.writes;
        while left > 0 {
            due.drain(..).for_each(|op| played.send(next(now, op)));
            now = played.ssd.next_event();
            played.ssd.advance(now, &mut played.done);
            played.ssd.check_machines();
            due.extend(played.done[seen..].iter().map(|done| played.sent[done.id.0 as usize].command.op));
            seen = played.done.len();
            left = left.saturating_sub(due.iter().filter(|&&op| op == Op::Write).count() as u32);
        }
        played.end()
    }
}

impl Played {
    /// Every command is complete, its spans add up, and reads return the data written before them.
    fn check(&self) {
        assert_eq!(self.done.len(), self.sent.len(), "{}", self.ssd.why_stuck());
        self.ssd.check();
        let mut done: Vec<&Completion> = self.done.iter().collect();
        done.sort_unstable_by_key(|done| done.id);
        let mut pages: BTreeMap<u64, u32> = BTreeMap::new();
        for (sent, done) in self.sent.iter().zip(done) {
            assert_eq!(sent.command.id, done.id);
            assert_eq!(done.spans.total(), done.at.since(sent.at), "{sent:?}");
            if sent.command.fail_fast && done.status == Status::Contended {
                assert_eq!(done.content, 0);
                continue;
            }
            assert_eq!((done.status, done.busy_for), (Status::Success, Nanos::ZERO), "{sent:?}");
            let page = sent.command.sector;
            if sent.command.op == Op::Write {
                let change = Change::write(page, sent.command.content, 1, true);
                pages.insert(page, change.apply(0));
            } else if sent.command.op == Op::Trim {
                pages.insert(page, 0);
            } else if sent.command.op == Op::Flush {
                assert_eq!(done.content, 0);
            } else if let Some(&content) = pages.get(&page).filter(|_| sent.command.sectors == 1) {
                assert_eq!(done.content, content::fold(0, 0, content), "{sent:?}");
            }
        }
    }

    /// Number of the only command sent at `at`.
    pub(crate) fn number(&self, at: Time) -> u32 {
        self.sent.iter().position(|sent| sent.at == at).expect("something was sent then") as u32
    }

    pub(crate) fn done(&self, number: u32) -> &Completion {
        self.done.iter().find(|done| done.id.0 == number).expect("it was answered")
    }

    /// Completion time of a command.
    pub(crate) fn ended(&self, number: u32) -> Time {
        self.done(number).at
    }

    /// Latency of a command.
    pub(crate) fn latency(&self, number: u32) -> Nanos {
        self.ended(number).since(self.sent[number as usize].at)
    }

    /// Part of the latency that is attributed to `cause`.
    pub(crate) fn span(&self, number: u32, cause: Cause) -> Nanos {
        self.done(number).spans.of(cause)
    }

    /// Records of everything that the chips did.
    pub(crate) fn records(&self) -> &[ChipRecord] {
        &self.ssd.probe.0
    }

    /// Records of a command's chip operations in completion order.
    pub(crate) fn of(&self, number: u32) -> Vec<&ChipRecord> {
        let is_own = |r: &&ChipRecord| r.members.iter().any(|m| m.command == Some(CommandId(number)));
        self.records().iter().filter(is_own).collect()
    }

    /// The first transaction of a kind that was executed from this time on.
    pub(crate) fn first(&self, kind: Kind, from: Time) -> &ChipRecord {
        let is_meant = |r: &&ChipRecord| r.kind == kind && r.start >= from && r.outcome == Outcome::Done;
        self.records().iter().find(is_meant).unwrap_or_else(|| panic!("there was no {kind:?}"))
    }

    /// The last transaction of a kind.
    pub(crate) fn last(&self, kind: Kind) -> &ChipRecord {
        self.records().iter().rfind(|r| r.kind == kind).unwrap_or_else(|| panic!("there was no {kind:?}"))
    }

    /// The drive's counters.
    pub(crate) fn counts(&self) -> Counters {
        self.figures().counts
    }

    /// The metrics at the end.
    pub(crate) fn figures(&self) -> Figures {
        let last = self.records().iter().map(|r| r.end).max().unwrap_or(Time::ZERO);
        self.ssd.figures(self.done.iter().map(|done| done.at).max().unwrap_or(last).max(last))
    }
}
