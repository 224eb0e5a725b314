//! Every layout in service, over drives without delay and emulated ones, with a simulated clock.

use super::*;
use crate::MemoryDrive;
use crate::emulated::EmulatedSsd;
use std::cell::Cell;
use std::rc::Rc;
use tailcut_base::Class;
use tailcut_base::config::Choice;
use tailcut_base::fdp::HandleId;
use tailcut_base::random::Stream;
use tailcut_host::Block;
use tailcut_host::array::{Consent, DriveId, LayoutKind};
use tailcut_ssd::{Preset, Ssd};

/// Virtual time, which advances from event to event.
struct Fake(Time);

impl Pace for Fake {
    fn advance(&mut self, next: Time) -> Time {
        assert_ne!(next, Time::NEVER, "somebody has something to do");
        self.0 = self.0.max(next);
        self.0
    }
}

/// A drive that fails on command, finds no room on command, and may keep no protection information.
#[derive(Debug)]
struct FailingDrive<D> {
    drive: D,
    is_dead: Rc<Cell<bool>>,
    is_full: Rc<Cell<bool>>,
    refused: Vec<Response<Bytes>>,
    keeps_seals: bool,
    asked: Vec<u32>,
}

impl<D: Drive> FailingDrive<D> {
    fn new(drive: D, keeps_seals: bool) -> FailingDrive<D> {
        let (is_dead, is_full) = Default::default();
        FailingDrive { drive, is_dead, is_full, refused: Vec::new(), keeps_seals, asked: Vec::new() }
    }
}

impl<D: Drive> Drive for FailingDrive<D> {
    fn identify(&self) -> Identify {
        self.drive.identify()
    }

    fn trims_to_zeros(&self) -> bool {
        self.drive.trims_to_zeros()
    }

    fn submit(&mut self, now: Time, request: Request<Bytes>) {
        if self.is_full.get() && request.op == Op::Write {
            let Request { id, data, .. } = request;
            let (status, busy_for, spans) = (Status::NoSpace, Nanos::ZERO, Spans::new());
            return self.refused.push(Response { id, status, data, busy_for, spans });
        }
        self.asked.push(request.id);
        if !self.is_dead.get() {
            self.drive.submit(now, request);
        }
    }

    fn control(&mut self, now: Time, call: Control) {
        self.drive.control(now, call);
    }

    fn poll(&mut self, now: Time, answers: &mut Answers) {
        if self.is_dead.get() {
            return answers.responses.extend(self.asked.drain(..).map(gone));
        }
        answers.responses.append(&mut self.refused);
        let first = answers.responses.len();
        self.drive.poll(now, answers);
        for response in &mut answers.responses[first..] {
            self.asked.retain(|&id| id != response.id);
            if !self.keeps_seals {
                response.data.iter_mut().for_each(|block| *block = Bytes::unsealed(block.as_slice()));
            }
        }
    }

    fn next_event(&self) -> Time {
        if self.is_dead.get() {
            return if self.asked.is_empty() { Time::NEVER } else { Time::ZERO };
        }
        if self.refused.is_empty() { self.drive.next_event() } else { Time::ZERO }
    }
}

fn config(layout: LayoutKind) -> ArrayConfig {
    let groups = if layout.is_swan() || layout.is_mirrored() { 2 } else { 1 };
    let drives = if layout.is_swan() { 6 } else { 4 };
    let mut config =
        ArrayConfig { drives, layout, groups, depth: 16, drive_depth: 8, ..ArrayConfig::default() };
    (config.raid.chunk, config.raid.journal, config.log.segment) = (8192, 40 * 4096, 16 * 4096);
    assert_eq!(config.problems(), []);
    config
}

fn request(id: u32, op: Op, block: u64, blocks: u32, data: Vec<Bytes>) -> Request<Bytes> {
    Request {
        id,
        op,
        fua: false,
        class: Class::DEFAULT,
        fail_fast: false,
        mirror: Mirror::Any,
        handle: HandleId::FIRST,
        block,
        blocks,
        data,
    }
}

/// An array, its user, and its expected content.
struct Harness<D> {
    array: ServedArray<FailingDrive<D>>,
    pace: Fake,
    model: Vec<Bytes>,
    expected: Vec<Option<Vec<Bytes>>>,
    random: Stream,
    /// Number of writes so far: each has unique content.
    writes: u64,
}

impl<D: Drive> Harness<D> {
    fn new(layout: LayoutKind, drives: Vec<FailingDrive<D>>) -> Harness<D> {
        let mut pace = Fake(Time(1));
        let array = create(&config(layout), drives, 77, &mut pace).expect("the drives fit");
        let (model, depth) = (vec![Bytes::ZEROS; array.disk().blocks.min(600) as usize], array.disk().depth);
        let random = Stream::new(3, "array");
        Harness { array, pace, model, expected: vec![None; depth as usize], random, writes: 0 }
    }

    fn draw(&mut self, id: u32) -> Request<Bytes> {
        let blocks = self.model.len() as u64;
        let block = self.random.below(blocks);
        let count = 1 + self.random.below((blocks - block).min(9));
        match self.random.below(12) {
            0 => flush(id),
            1 => request(id, Op::Trim, block, count as u32, Vec::new()),
            2..6 => request(id, Op::Read, block, count as u32, Vec::new()),
            _ => {
                let content = |n: u64| Bytes::encode(&(n + 1).to_le_bytes());
                let data = (self.writes..self.writes + count).map(content).collect();
                self.writes += count;
                let fua = self.random.below(8) == 0;
                Request { fua, ..request(id, Op::Write, block, count as u32, data) }
            }
        }
    }

    fn submit(&mut self, request: Request<Bytes>) {
        let range = request.block as usize..request.block as usize + request.blocks as usize;
        let expected = match request.op {
            Op::Read => self.model[range].to_vec(),
            Op::Write => {
                self.model[range].clone_from_slice(&request.data);
                Vec::new()
            }
            Op::Trim => {
                self.model[range].fill(Bytes::ZEROS);
                Vec::new()
            }
            Op::Flush => Vec::new(),
        };
        self.expected[request.id as usize] = Some(expected);
        self.array.submit(self.pace.0, request);
    }

    /// Advances time to the next event, and checks completions.
    fn advance(&mut self) {
        let now = self.pace.advance(self.array.next_event());
        self.listen(now);
    }

    fn listen(&mut self, now: Time) {
        let mut answers = Answers::default();
        self.array.poll(now, &mut answers);
        for response in answers.responses {
            let expected = self.expected[response.id as usize].take().expect("it is in flight");
            assert_eq!(response.status, Status::Success, "{:?}", self.array.status());
            let bytes = |data: &[Bytes]| data.iter().map(|block| *block.as_slice()).collect::<Vec<_>>();
            assert!(expected.is_empty() || bytes(&response.data) == bytes(&expected), "what was read");
        }
    }

    fn is_idle(&self) -> bool {
        self.expected.iter().all(Option::is_none)
    }

    fn work(&mut self, requests: u32) {
        let mut left = requests;
        while left > 0 || !self.is_idle() {
            let free = self.expected.iter().position(Option::is_none);
            match free.filter(|_| left > 0) {
                Some(id) => {
                    let request = self.draw(id as u32);
                    self.submit(request);
                    left -= 1;
                    self.listen(self.pace.0);
                }
                None => self.advance(),
            }
        }
    }

    fn ask(&mut self, request: Request<Bytes>) {
        self.submit(request);
        while !self.is_idle() {
            self.advance();
        }
    }

    fn read_all(&mut self) {
        for block in 0..self.model.len() as u64 {
            self.ask(request(0, Op::Read, block, 1, Vec::new()));
        }
    }

    /// Flushes and drops the array, and assembles it again.
    fn reopen(mut self, layout: LayoutKind) -> Harness<D> {
        self.ask(flush(0));
        let mut drives: Vec<FailingDrive<D>> = self.array.into_drives().into_iter().flatten().collect();
        drives.rotate_left(1);
        let array =
            open(&config(layout), drives, Consent::Refuse, |_| Ok(()), &mut self.pace).expect("it is there");
        Harness { array, ..self }
    }
}

/// The life of an array: requests, a restart, a drive failure and a replacement, without data loss.
fn live<D: Drive>(keeps_seals: bool, fresh: impl Fn() -> D) {
    for &layout in LayoutKind::all() {
        let drives = (0..config(layout).drives).map(|_| FailingDrive::new(fresh(), keeps_seals)).collect();
        let mut harness = Harness::new(layout, drives);
        assert_eq!(harness.array.status().condition, Condition::Optimal, "{layout}");
        harness.work(400);
        harness.read_all();
        harness = harness.reopen(layout);
        harness.read_all();
        if !layout.is_redundant() {
            continue;
        }
        harness.array.member(1).expect("it serves").is_dead.set(true);
        harness.work(200);
        let missing = Condition::Degraded { missing: vec![DriveId::new(1)], rebuilding: Vec::new() };
        assert_eq!(
            (harness.array.status().condition, harness.array.member(1).is_some()),
            (missing, false),
            "{layout}"
        );
        harness.read_all();
        harness = harness.reopen(layout);
        let replaced = harness.array.replace(
            harness.pace.0,
            1,
            FailingDrive::new(fresh(), keeps_seals),
            MemberId::new(8),
        );
        replaced.map_err(|(why, _)| why).expect("it is large enough");
        harness.work(200);
        while harness.array.status().condition != Condition::Optimal {
            harness.advance();
        }
        harness.array.member(2).expect("it serves").is_dead.set(true);
        harness.read_all();
    }
}

#[test]
fn every_layout_lives_over_drives_without_a_delay() {
    live(true, || MemoryDrive::new(2000, 8));
}

#[test]
fn every_layout_lives_over_drives_that_keep_no_seals() {
    live(false, || MemoryDrive::new(2000, 8));
}

#[test]
fn every_layout_lives_over_emulated_drives() {
    live(true, || {
        let mut config = Preset::G.config();
        config.geometry.blocks = 24;
        EmulatedSsd::inline(Ssd::new(&config, 1, false))
    });
}

/// Drives without room are named, the array serves, and writes are taken again when there is room.
#[test]
fn a_full_drive_is_named_until_it_has_room() {
    for &layout in LayoutKind::all() {
        let drives =
            (0..config(layout).drives).map(|_| FailingDrive::new(MemoryDrive::new(2000, 8), true)).collect();
        let mut harness = Harness::new(layout, drives);
        harness.work(100);
        harness.ask(flush(0));
        assert_eq!(harness.array.full(), None, "{layout}");
        let set_full = |harness: &mut Harness<MemoryDrive>, is_full| {
            harness.array.members_mut().for_each(|drive| drive.is_full.set(is_full));
        };
        set_full(&mut harness, true);
        let data = vec![Bytes::encode(b"new")];
        let write = Request { fua: true, ..request(0, Op::Write, 0, 1, data) };
        harness.array.submit(harness.pace.0, write.clone());
        let mut answers = Answers::default();
        while answers.responses.is_empty() {
            let now = harness.pace.advance(harness.array.next_event());
            harness.array.poll(now, &mut answers);
        }
        assert_eq!(answers.responses.pop().map(|response| response.status), Some(Status::NoSpace));
        let name = harness.array.member(0).expect("it serves").identify().model;
        assert!(harness.array.full().is_some_and(|full| full.contains(&name)), "{layout}");
        assert_eq!(harness.array.status().condition, Condition::Optimal, "{layout}");
        for block in 1..harness.model.len() as u64 {
            harness.ask(request(0, Op::Read, block, 1, Vec::new()));
        }
        set_full(&mut harness, false);
        while harness.array.full().is_some() {
            harness.advance();
        }
        harness.ask(write);
        harness.work(100);
        harness.read_all();
        // An opening has something to write.
        harness.ask(flush(0));
        let drives: Vec<_> = harness.array.into_drives().into_iter().flatten().collect();
        drives.iter().for_each(|drive| drive.is_full.set(true));
        let refused = open(&config(layout), drives, Consent::Refuse, |_| Ok(()), &mut harness.pace);
        assert!(matches!(&refused, Err(ArrayError::Full(full)) if full.contains(&name)), "{refused:?}");
    }
}

#[test]
fn a_drive_of_an_array_is_not_taken_for_another() {
    let fresh = || (0..4).map(|_| FailingDrive::new(MemoryDrive::new(2000, 8), true)).collect::<Vec<_>>();
    let config = config(LayoutKind::Raid5);
    let mut pace = Fake(Time(1));
    let array = create(&config, fresh(), 1, &mut pace).expect("new drives");
    let mut drives: Vec<_> = array.into_drives().into_iter().flatten().collect();
    let used = drives.pop().expect("there are four");
    let mut others = fresh();
    others[2] = used;
    let refused = create(&config, others, 2, &mut pace).expect_err("one belongs to an array");
    assert!(matches!(refused, ArrayError::Taken { drive: 2 }), "{refused}");
    assert!(matches!(
        open(&config, fresh(), Consent::Refuse, |_| Ok(()), &mut pace),
        Err(ArrayError::Open(_))
    ));
}

#[test]
fn what_is_too_small_is_told_before_anything_is_written() {
    let drives = (0..4).map(|_| FailingDrive::new(MemoryDrive::new(10, 8), true)).collect();
    let refused = create(&config(LayoutKind::Raid5), drives, 1, &mut Fake(Time(1))).expect_err("too small");
    assert!(matches!(refused, ArrayError::Invalid { .. }), "{refused}");
}

#[test]
fn calls_of_a_user_are_answered_even_if_their_drive_goes() {
    let drives = (0..4).map(|_| MemoryDrive::new(2000, 8)).collect();
    let mut pace = Fake(Time(1));
    let mut array = create(&config(LayoutKind::Raid5), drives, 7, &mut pace).expect("a new array");
    let now = pace.0;
    array.call(now, 2, Control::FreeBlocks).expect("it is there");
    array.call(now, 1, Control::IsGcRunning).expect("it is there");
    array.remove(now, 1).expect("there is parity");
    assert_eq!(array.call(now, 1, Control::FreeBlocks), Err(CannotCall::NoDrive));
    assert_eq!(array.call(now, 4, Control::FreeBlocks), Err(CannotCall::NoDrive));
    let mut answers = Answers::default();
    array.poll(now, &mut answers);
    let no = ControlReply::Unsupported;
    assert_eq!(answers.replies, [(Control::IsGcRunning, no), (Control::FreeBlocks, no)]);
}
