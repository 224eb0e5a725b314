//! A reference model of durability. It knows nothing of caches: each aligned unit of the disk has a base and
//! a list of pieces of writes in the order of submission, some of which must survive. What a power cut leaves
//! of a unit is legal if it is the base with a subset of its pieces applied in order, among them all that
//! must survive.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use tailcut_disk::{
    Choice, Completion, Disk, DiskConfig, Op, Operation, Personality, Sector, Stream, Ticket,
};

/// Sectors that the steps use: three pages.
const SECTORS: u64 = 24;

/// Something that happens to a disk. Numbers are brought into range where they are used.
#[derive(Clone, Copy, Debug)]
enum Step {
    Write {
        sector: u64,
        sectors: u64,
        fua: bool,
    },
    Trim {
        page: u64,
    },
    Flush,
    Read,
    /// Completions to wait for.
    Wait(u8),
    PowerCut(u64),
}

/// A disk that breaks a promise. Each of them must be found.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bug {
    /// A flush is answered and not carried out.
    LiesAboutFlush,
    /// Force unit access is ignored.
    IgnoresFua,
    /// Writes are torn below the atomic unit.
    Tears,
    /// A flush covers a write that completes while it is in flight, as its user might believe.
    FlushIsBelievedToCoverMore,
    /// A power cut damages something else.
    Collateral,
}

/// A piece of a write in one unit. `None` as value is a trim.
#[derive(Clone, Debug)]
struct Piece {
    ticket: Ticket,
    first: u64,
    end: u64,
    value: u16,
    must_survive: bool,
}

struct Model {
    unit: u64,
    has_cache: bool,
    /// The value of each sector after the last power cut.
    base: Vec<u16>,
    pieces: Vec<Piece>,
    completed: BTreeSet<Ticket>,
    /// Of writes in flight: those that must survive once they complete.
    fua: BTreeSet<Ticket>,
    /// What flushes in flight cover.
    flushes: BTreeMap<Ticket, BTreeSet<Ticket>>,
}

impl Model {
    fn new(unit: u64, has_cache: bool) -> Model {
        Model {
            unit,
            has_cache,
            base: vec![0; SECTORS as usize],
            pieces: Vec::new(),
            completed: BTreeSet::new(),
            fua: BTreeSet::new(),
            flushes: BTreeMap::new(),
        }
    }

    fn write(&mut self, ticket: Ticket, first: u64, end: u64, value: u16) {
        for unit in first / self.unit..end.div_ceil(self.unit) {
            let (first, end) = (first.max(unit * self.unit), end.min((unit + 1) * self.unit));
            self.pieces.push(Piece { ticket, first, end, value, must_survive: false });
        }
    }

    fn complete(&mut self, completion: &Completion) {
        let ticket = completion.ticket();
        if let Some(covered) = self.flushes.remove(&ticket) {
            self.must_survive(&covered);
        }
        if matches!(completion.op(), Op::Write | Op::Trim) {
            self.completed.insert(ticket);
            if self.fua.remove(&ticket) || !self.has_cache {
                self.must_survive(&BTreeSet::from([ticket]));
            }
        }
    }

    fn must_survive(&mut self, tickets: &BTreeSet<Ticket>) {
        let covered = self.pieces.iter_mut().filter(|piece| tickets.contains(&piece.ticket));
        covered.for_each(|piece| piece.must_survive = true);
    }

    /// What reads return.
    fn visible(&self) -> Vec<u16> {
        let mut values = self.base.clone();
        for piece in &self.pieces {
            values[piece.first as usize..piece.end as usize].fill(piece.value);
        }
        values
    }

    /// Checks what a power cut has left, and begins again from it.
    fn power_cut(&mut self, found: &[u16]) -> Result<(), String> {
        for unit in 0..SECTORS.div_ceil(self.unit) {
            let (first, end) = (unit * self.unit, ((unit + 1) * self.unit).min(SECTORS));
            let range = first as usize..end as usize;
            let mut legal = BTreeSet::from([self.base[range.clone()].to_vec()]);
            let pieces: Vec<&Piece> =
                self.pieces.iter().filter(|piece| (first..end).contains(&piece.first)).collect();
            for piece in &pieces {
                let applied = |state: &Vec<u16>| {
                    let mut state = state.clone();
                    state[(piece.first - first) as usize..(piece.end - first) as usize].fill(piece.value);
                    state
                };
                let applied: BTreeSet<Vec<u16>> = legal.iter().map(applied).collect();
                if piece.must_survive {
                    legal = applied;
                } else {
                    legal.extend(applied);
                }
            }
            if !legal.contains(&found[range.clone()]) {
                return Err(format!("sectors {range:?} hold {:?} after {pieces:?}", &found[range.clone()]));
            }
        }
        *self = Model { base: found.to_vec(), ..Model::new(self.unit, self.has_cache) };
        Ok(())
    }
}

/// The values of the sectors, each of which must be whole.
fn values(disk: &Disk) -> Result<Vec<u16>, String> {
    let data = disk.peek(Sector::new(0), SECTORS as u32);
    let value = |sector: &[u8]| {
        let value = u16::from_le_bytes([sector[0], sector[1]]);
        let is_whole = sector.chunks(2).all(|pair| pair == value.to_le_bytes());
        if is_whole { Ok(value) } else { Err("a sector is torn inside".to_owned()) }
    };
    data.chunks(512).map(value).collect()
}

struct Run {
    disk: Disk,
    model: Model,
    bug: Option<Bug>,
    value: u16,
}

impl Run {
    fn new(atomic: u64, cache: u64, bug: Option<Bug>, seed: u64) -> Run {
        let personality = Personality::all()[(seed % Personality::all().len() as u64) as usize];
        let config = DiskConfig::new(personality).capacity(64 << 10).volatile_cache(cache);
        let unit = if bug == Some(Bug::Tears) { 512 } else { atomic };
        let disk = Disk::new(config.atomic_unit(unit).queue_depth(8), seed);
        Run { disk, model: Model::new(atomic / 512, cache > 0), bug, value: 0 }
    }

    /// Waits for a completion, if something is in flight.
    fn wait(&mut self) {
        while self.disk.in_flight() > 0 {
            let at = self.disk.next_event().max(self.disk.now());
            let completions = self.disk.advance(at);
            if !completions.is_empty() {
                return completions.iter().for_each(|completion| self.model.complete(completion));
            }
        }
    }

    /// Submits an operation, after a completion if the queue is full.
    fn submit(&mut self, mut operation: Operation) -> Ticket {
        loop {
            match self.disk.submit(self.disk.now(), operation) {
                Ok(ticket) => return ticket,
                Err(busy) => operation = busy.into_operation(),
            }
            self.wait();
        }
    }

    fn step(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Write { sector, sectors, fua } => {
                let first = sector % SECTORS;
                let end = (first + 1 + sectors % 16).min(SECTORS);
                self.value += 1;
                let data = self.value.to_le_bytes().repeat(256 * (end - first) as usize);
                let operation = match fua && self.bug != Some(Bug::IgnoresFua) {
                    true => Operation::write_durable(Sector::new(first), data),
                    false => Operation::write(Sector::new(first), data),
                };
                let ticket = self.submit(operation);
                self.model.write(ticket, first, end, self.value);
                if fua {
                    self.model.fua.insert(ticket);
                }
            }
            Step::Trim { page } => {
                let first = page % (SECTORS / 8) * 8;
                let ticket = self.submit(Operation::trim(Sector::new(first), 8));
                self.model.write(ticket, first, first + 8, 0);
            }
            Step::Flush if self.bug == Some(Bug::LiesAboutFlush) => {
                let completed = self.model.completed.clone();
                self.model.must_survive(&completed);
            }
            Step::Flush => {
                let covered = match self.bug {
                    Some(Bug::FlushIsBelievedToCoverMore) => {
                        self.model.pieces.iter().map(|piece| piece.ticket).collect()
                    }
                    _ => self.model.completed.clone(),
                };
                let ticket = self.submit(Operation::flush());
                self.model.flushes.insert(ticket, covered);
            }
            Step::Read => {
                let found = values(&self.disk)?;
                if found != self.model.visible() {
                    return Err(format!("read {found:?} instead of {:?}", self.model.visible()));
                }
            }
            Step::Wait(completions) => (0..completions % 8).for_each(|_| self.wait()),
            Step::PowerCut(seed) => {
                let mut random = Stream::new(seed, "power cut");
                self.disk.power_cut(self.disk.now(), &mut random);
                if self.bug == Some(Bug::Collateral) {
                    let sector = Sector::new(random.below(SECTORS));
                    self.disk.corrupt(sector, 1, tailcut_disk::Corruption::Zeros);
                }
                let found = values(&self.disk)?;
                self.model.power_cut(&found)?;
            }
        }
        Ok(())
    }
}

fn run(steps: &[Step], atomic: u64, cache: u64, bug: Option<Bug>) -> Result<(), String> {
    let seed = steps.len() as u64;
    let mut run = Run::new(atomic, cache, bug, seed);
    steps.iter().try_for_each(|&step| run.step(step))
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let write = (any::<u64>(), any::<u64>(), any::<bool>()).prop_map(|(sector, sectors, fua)| Step::Write {
        sector,
        sectors,
        fua,
    });
    let step = prop_oneof![
        6 => write,
        1 => any::<u64>().prop_map(|page| Step::Trim { page }),
        2 => Just(Step::Flush),
        1 => Just(Step::Read),
        3 => any::<u8>().prop_map(Step::Wait),
        2 => any::<u64>().prop_map(Step::PowerCut),
    ];
    proptest::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn every_state_after_a_power_cut_is_legal(
        steps in steps(),
        atomic in prop_oneof![Just(512), Just(1024), Just(4096), Just(8192)],
        cache in prop_oneof![Just(0), Just(4096), Just(16 << 20)],
    ) {
        let steps = [steps, vec![Step::Read, Step::PowerCut(1), Step::Read]].concat();
        prop_assert_eq!(run(&steps, atomic, cache, None), Ok(()));
    }
}

/// Steps drawn from a stream.
fn drawn(random: &mut Stream) -> Vec<Step> {
    let step = |random: &mut Stream| match random.below(12) {
        0..=4 => Step::Write { sector: random.bits(), sectors: random.bits(), fua: random.below(2) == 0 },
        5 => Step::Trim { page: random.bits() },
        6 | 7 => Step::Flush,
        8 | 9 => Step::Wait(random.below_u32(8) as u8),
        10 => Step::Read,
        _ => Step::PowerCut(random.bits()),
    };
    (0..40).map(|_| step(random)).collect()
}

#[test]
fn broken_promises_are_found() {
    let find = |bug: Option<Bug>| {
        (0..500).find_map(|seed| run(&drawn(&mut Stream::new(seed, "steps")), 4096, 16 << 20, bug).err())
    };
    assert_eq!(find(None), None);
    for bug in
        [Bug::LiesAboutFlush, Bug::IgnoresFua, Bug::Tears, Bug::FlushIsBelievedToCoverMore, Bug::Collateral]
    {
        let found = find(Some(bug));
        println!("{bug:?}: {found:?}");
        assert!(found.is_some(), "{bug:?} was not found");
    }
}

#[test]
fn every_legal_state_is_reached() {
    // Two writes of two sectors each, overlapping in one, with atomic units of a sector: of the first and the
    // third sector the write is there or not, of the second one either write or none.
    let mut reached = BTreeSet::new();
    for seed in 0..500 {
        let mut run = Run::new(512, 1 << 20, None, 0);
        run.step(Step::Write { sector: 0, sectors: 1, fua: false }).unwrap();
        run.step(Step::Write { sector: 1, sectors: 1, fua: false }).unwrap();
        run.step(Step::Wait(2)).unwrap();
        run.step(Step::PowerCut(seed)).unwrap();
        reached.insert(values(&run.disk).unwrap()[..3].to_vec());
    }
    let legal = |sectors: &[u16]| matches!(sectors, [0 | 1, 0..=2, 0 | 2]);
    assert!(reached.iter().all(|sectors| legal(sectors)), "{reached:?}");
    assert_eq!(reached.len(), 2 * 3 * 2, "{reached:?}");
}
