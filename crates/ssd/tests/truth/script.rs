//! A host that sends commands at moments written down beforehand, to a drive that is watched.

use tailcut_base::device::content::{self, Change};
use tailcut_base::{Cause, Class, Command, CommandId, Completion, Device, Nanos, Op, Status, Submit, Time};
use tailcut_ssd::precondition::PreparedState;
use tailcut_ssd::probe::Outcome;
use tailcut_ssd::request::Kind;
use tailcut_ssd::{ChipRecord, Counters, Figures, Precondition, Probe, Ssd, SsdConfig};

/// Every transaction, in the order of their ends.
#[derive(Debug, Default)]
pub struct Log(pub Vec<ChipRecord>);

impl Probe for Log {
    const WATCHES: bool = true;

    fn transaction(&mut self, record: ChipRecord) {
        self.0.push(record);
    }
}

/// A command for one page, and the moment at which it is sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub at: Time,
    pub command: Command,
}

/// A read of a page.
pub fn read(at: Time, page: u64, class: u8) -> Sent {
    send(at, Op::Read, page, class)
}

/// A write of a page, whose content is a number of its own.
pub fn write(at: Time, page: u64) -> Sent {
    send(at, Op::Write, page, Class::DEFAULT.number())
}

fn send(at: Time, op: Op, page: u64, class: u8) -> Sent {
    let class = Class::new(class).expect("a class");
    let command =
        Command { id: CommandId(0), op, fua: false, class, stream: 0, sector: page, sectors: 1, content: 0 };
    Sent { at, command }
}

/// What a script has brought about.
pub struct Played {
    pub ssd: Ssd<Log>,
    pub sent: Vec<Sent>,
    done: Vec<Completion>,
}

/// Sends `script` to a full drive with pages of one sector, all of whose pages hold what their
/// preparation gave them, and waits until the drive has come to rest.
pub fn play(config: &SsdConfig, state: PreparedState, script: &[Sent]) -> Played {
    config.check_space().expect("a drive with room to work");
    config.check_preemption().expect("a drive that can preempt");
    let mut ssd = Ssd::watched(config, 1, true, Log::default());
    ssd.precondition(&Precondition { state, fill: 1_000_000 }, 1);
    assert_eq!(ssd.identify().page_sectors, 1);
    let mut sent = script.to_vec();
    sent.sort_by_key(|sent| sent.at);
    let mut played = Played { ssd, sent, done: Vec::new() };
    for number in 0..played.sent.len() {
        let Sent { at, command } = &mut played.sent[number];
        (command.id, command.content) = (CommandId(number as u32), 1000 + number as u32);
        let (at, command) = (*at, *command);
        while !played.ssd.advance(at, &mut played.done) {}
        assert_eq!(played.ssd.submit(at, &command), Submit::Accepted);
    }
    while played.ssd.next_event() != Time::NEVER {
        played.ssd.advance(Time(u64::MAX >> 1), &mut played.done);
    }
    played.check();
    played
}

impl Played {
    /// Every command is answered, its spans add up, and reads return what was written before them.
    fn check(&self) {
        assert_eq!(self.done.len(), self.sent.len(), "{}", self.ssd.why_stuck());
        self.ssd.check();
        for done in &self.done {
            let sent = &self.sent[done.id.0 as usize];
            assert_eq!(done.status, Status::Success);
            assert_eq!(done.spans.total(), done.at.since(sent.at), "{sent:?}");
            let page = sent.command.sector;
            let before = &self.sent[..done.id.0 as usize];
            let written = before.iter().rfind(|s| s.command.op == Op::Write && s.command.sector == page);
            if let (Op::Read, Some(written)) = (sent.command.op, written) {
                let content = Change::write(written.command.content, page as u32, 1, true).apply(0);
                assert_eq!(done.content, content::fold(0, 0, content), "{sent:?}");
            }
        }
    }

    /// The number of the only command sent at `at`.
    pub fn number(&self, at: Time) -> u32 {
        self.sent.iter().position(|sent| sent.at == at).expect("something was sent then") as u32
    }

    fn done(&self, number: u32) -> &Completion {
        self.done.iter().find(|done| done.id.0 == number).expect("it was answered")
    }

    /// When a command was answered.
    pub fn ended(&self, number: u32) -> Time {
        self.done(number).at
    }

    /// How long a command took.
    pub fn latency(&self, number: u32) -> Nanos {
        self.ended(number).since(self.sent[number as usize].at)
    }

    /// How much of it was for `cause`.
    pub fn span(&self, number: u32, cause: Cause) -> Nanos {
        self.done(number).spans.of(cause)
    }

    /// All that chips did.
    pub fn records(&self) -> &[ChipRecord] {
        &self.ssd.probe.0
    }

    /// What a chip did for a command, in the order of the ends.
    pub fn of(&self, number: u32) -> Vec<&ChipRecord> {
        let is_own = |r: &&ChipRecord| r.members.iter().any(|m| m.command == Some(CommandId(number)));
        self.records().iter().filter(is_own).collect()
    }

    /// The first transaction of a kind that was carried out, from a moment on.
    pub fn first(&self, kind: Kind, from: Time) -> &ChipRecord {
        let is_meant = |r: &&ChipRecord| r.kind == kind && r.start >= from && r.outcome == Outcome::Done;
        self.records().iter().find(is_meant).unwrap_or_else(|| panic!("there was no {kind:?}"))
    }

    /// What the drive has counted.
    pub fn counts(&self) -> Counters {
        self.figures().counts
    }

    /// The figures at the end.
    pub fn figures(&self) -> Figures {
        let last = self.records().iter().map(|r| r.end).max().unwrap_or(Time::ZERO);
        self.ssd.figures(self.done.iter().map(|done| done.at).max().unwrap_or(last).max(last))
    }
}
