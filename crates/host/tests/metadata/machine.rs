//! An array on drives that serve requests in order, and an image of a used array.

use std::collections::VecDeque;
use tailcut_base::config::Choice;
use tailcut_base::control::ControlReply;
use tailcut_base::fdp::HandleId;
use tailcut_base::random::Stream;
use tailcut_base::{Class, Nanos, Op, Spans, Status, Time};
use tailcut_host::array::DriveId;
use tailcut_host::array::raid::WriteHole;
use tailcut_host::array::{Array, ArrayConfig, Consent, LayoutKind, Opening};
use tailcut_host::{Block, Bytes, Disk, Mirror, Request, Response};

/// Drives that serve requests in order, with an array on them.
pub(super) struct Machine {
    config: ArrayConfig,
    pub drives: Vec<Vec<Bytes>>,
    now: Time,
    asked: VecDeque<(DriveId, Request<Bytes>)>,
    /// Number of events left for the array to become idle.
    left: u64,
}

/// Far more events than any of these arrays needs.
const EVENTS: u64 = 200_000;

impl Machine {
    fn disks(&self) -> Vec<Disk> {
        let disk = |drive: &Vec<Bytes>| Disk {
            blocks: drive.len() as u64,
            depth: 8,
            most_blocks: 32,
            volatile_cache: false,
            copies: 1,
            handles: 1,
        };
        self.drives.iter().map(disk).collect()
    }

    fn serve(&mut self, drive: DriveId, request: Request<Bytes>) -> Response<Bytes> {
        let Request { id, op, block, blocks, mut data, .. } = request;
        let range = block as usize..block as usize + blocks as usize;
        let drive = &mut self.drives[drive.get() as usize];
        match op {
            Op::Read => data = drive[range].to_vec(),
            Op::Write => drive[range].clone_from_slice(&data),
            Op::Trim => drive[range].fill(Bytes::default()),
            Op::Flush => {}
        }
        Response { id, status: Status::Success, data, busy_for: Nanos::ZERO, spans: Spans::new() }
    }

    /// Processes one event; false if there is none.
    fn step(&mut self, array: &mut Array<Bytes>) -> bool {
        self.left = self.left.checked_sub(1).expect("it comes to an end");
        self.asked.extend(array.sent().drain(..));
        if let Some((drive, request)) = self.asked.pop_front() {
            self.now += Nanos(1000);
            let answer = self.serve(drive, request);
            array.answered(self.now, drive, answer);
        } else if array.next_event() != Time::NEVER {
            self.now = self.now.max(array.next_event());
            array.advance(self.now);
        } else {
            return false;
        }
        for (drive, call) in std::mem::take(array.controls()) {
            array.control_answered(self.now, drive, call, ControlReply::Unsupported);
        }
        true
    }

    pub(super) fn settle(&mut self, array: &mut Array<Bytes>) {
        while self.step(array) {}
    }

    /// Submits one request and waits for its completion.
    pub(super) fn ask(
        &mut self,
        array: &mut Array<Bytes>,
        op: Op,
        block: u64,
        data: Vec<Bytes>,
    ) -> Response<Bytes> {
        let blocks = if op == Op::Flush { 0 } else { data.len().max(1) as u32 };
        let class = Class::DEFAULT;
        let mirror = Mirror::Any;
        let request = Request {
            id: 7,
            op,
            fua: false,
            class,
            fail_fast: false,
            mirror,
            handle: HandleId::FIRST,
            block,
            blocks,
            data,
        };
        array.submit(self.now, request).expect("it takes one request");
        loop {
            if let Some(answer) = array.answers().pop() {
                return answer;
            }
            assert!(self.step(array), "{op} {block} is never answered");
        }
    }

    fn create(config: &ArrayConfig, blocks: u64) -> (Machine, Array<Bytes>) {
        let drives = vec![vec![Bytes::default(); blocks as usize]; config.drives as usize];
        let (config, now) = (config.clone(), Time::ZERO);
        let mut machine = Machine { config, drives, now, asked: VecDeque::new(), left: EVENTS };
        let mut array = Array::create(now, &machine.config, &machine.disks(), 0x7A11);
        machine.settle(&mut array);
        assert!(array.is_ready());
        (machine, array)
    }

    /// Opens the array from the drives in their order; None if it is refused.
    pub(super) fn open(&mut self) -> Option<Array<Bytes>> {
        let mut opening = Opening::new(self.now, &self.disks(), Consent::Degraded);
        for (drive, request) in std::mem::take(opening.sent()) {
            let answer = self.serve(drive, request);
            opening.answered(self.now, drive, answer);
        }
        let found = opening.found().expect("all drives have answered").ok()?;
        let mut array = Array::open(self.now, &self.config, &self.disks(), &found);
        self.settle(&mut array);
        Some(array)
    }
}

pub(super) fn content(block: u64, version: u64) -> Bytes {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&(block + 1).to_le_bytes());
    bytes[8..].copy_from_slice(&version.to_le_bytes());
    Bytes::encode(&bytes)
}

/// A used array: its drives, with metadata of each relevant kind, and the contents of its blocks.
pub(super) struct Image {
    machine: Machine,
    versions: Vec<u64>,
}

impl Image {
    /// An array that was filled, randomly overwritten, trimmed and flushed.
    pub(super) fn new(layout: LayoutKind, hole: WriteHole) -> Image {
        let (config, blocks) = config(layout, hole);
        let (machine, versions) = used(&config, blocks, &mut Stream::new(1, layout.name()));
        Image { machine, versions }
    }

    /// A copy of the drives for modification.
    pub(super) fn copy(&self) -> Machine {
        let (config, drives) = (self.machine.config.clone(), self.machine.drives.clone());
        Machine { config, drives, now: self.machine.now, asked: VecDeque::new(), left: EVENTS }
    }

    /// Metadata blocks, as (drive, block), by the last letter of their magic number.
    pub(super) fn metadata(&self) -> Vec<(u8, Vec<(usize, usize)>)> {
        let mut kinds: Vec<(u8, Vec<(usize, usize)>)> = Vec::new();
        for (drive, blocks) in self.machine.drives.iter().enumerate() {
            for (at, block) in blocks.iter().enumerate() {
                if block.as_slice().starts_with(b"tailcut") {
                    let kind = block.as_slice()[7];
                    match kinds.iter_mut().find(|(other, _)| *other == kind) {
                        Some((_, places)) => places.push((drive, at)),
                        None => kinds.push((kind, vec![(drive, at)])),
                    }
                }
            }
        }
        kinds
    }

    /// Opens the array on modified drives, reads all of it, writes to it and scrubs it.
    pub(super) fn use_again(&self, machine: &mut Machine) -> Outcome {
        let mut outcome = Outcome { cases: 1, ..Outcome::default() };
        live_on(machine, &self.versions, &mut outcome);
        outcome
    }
}

/// Drives that hold relevant metadata of each kind, and the version of each block.
fn used(config: &ArrayConfig, blocks: u64, random: &mut Stream) -> (Machine, Vec<u64>) {
    let (mut machine, mut array) = Machine::create(config, blocks);
    let size = array.disk().blocks;
    let mut versions = vec![0; size as usize];
    for version in 1..3 * size {
        let block = if version <= size { version - 1 } else { random.below(size) };
        machine.left = EVENTS;
        if version > size && random.below(10) == 0 {
            assert_eq!(machine.ask(&mut array, Op::Trim, block, Vec::new()).status, Status::Success);
            versions[block as usize] = 0;
        } else {
            let data = vec![content(block, version)];
            assert_eq!(machine.ask(&mut array, Op::Write, block, data).status, Status::Success);
            versions[block as usize] = version;
        }
    }
    machine.ask(&mut array, Op::Flush, 0, Vec::new());
    machine.asked.clear();
    (machine, versions)
}

fn config(layout: LayoutKind, hole: WriteHole) -> (ArrayConfig, u64) {
    let groups = if layout.is_swan() || layout.is_mirrored() { 2 } else { 1 };
    let drives = if layout.is_redundant() { 3 } else { 2 } * groups;
    let drives = if layout.is_mirrored() { 4 } else { drives };
    let mut config =
        ArrayConfig { drives, groups, layout, depth: 16, drive_depth: 8, ..ArrayConfig::default() };
    (config.raid.chunk, config.raid.journal, config.raid.write_hole) = (8192, 24 * 4096, hole);
    (config.epoch.chunk, config.epoch.cache) = (8192, 16 * 4096);
    (config.log.segment, config.log.checkpoint_every) = (16 * 4096, 125_000);
    assert_eq!(config.problems(), []);
    (config, if layout.is_in_place() { 80 } else { 352 })
}

/// Outcomes of opening and using arrays.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outcome {
    pub cases: u32,
    /// Arrays that failed to open.
    pub refused: u32,
    /// Arrays with a failed read.
    pub errors: u32,
    /// Arrays with a read that returned wrong data.
    pub wrong: u32,
}

impl Outcome {
    /// Adds the counts of another outcome.
    pub(super) fn add(&mut self, other: Outcome) {
        self.cases += other.cases;
        self.refused += other.refused;
        self.errors += other.errors;
        self.wrong += other.wrong;
    }
}

fn live_on(machine: &mut Machine, versions: &[u64], outcome: &mut Outcome) {
    machine.left = EVENTS;
    let Some(mut array) = machine.open() else {
        outcome.refused += 1;
        return;
    };
    if !array.is_ready() || array.disk().blocks < versions.len() as u64 {
        outcome.refused += 1;
        return;
    }
    let (mut has_failed, mut is_wrong) = (false, false);
    for (block, &version) in (0..).zip(versions) {
        let answer = machine.ask(&mut array, Op::Read, block, Vec::new());
        if answer.status != Status::Success {
            has_failed = true;
        } else {
            let expected = if version == 0 { Bytes::default() } else { content(block, version) };
            is_wrong |= answer.data[0].as_slice() != expected.as_slice();
        }
    }
    let size = versions.len() as u64;
    for round in 0..2 * size {
        machine.left = EVENTS;
        machine.ask(&mut array, Op::Write, round * 7 % size, vec![content(round * 7 % size, 1 << 40)]);
    }
    machine.ask(&mut array, Op::Flush, 0, Vec::new());
    machine.settle(&mut array);
    array.scrub(machine.now);
    machine.left = EVENTS;
    machine.settle(&mut array);
    outcome.errors += u32::from(has_failed);
    outcome.wrong += u32::from(is_wrong);
}
