//! Metadata of arrays that is wrong under a right checksum: records, checkpoints, descriptors, summaries, journals,
//! bitmaps. Bytes of them are changed and their checksums are made right again; then the array is opened, read and
//! written. It may refuse, and requests may fail; nothing may panic, and everything comes to an end.
//!
//! What is read is compared with what was written. Wrong data is excluded where metadata is a hint (summaries, bitmaps)
//! and counted elsewhere: a map or a descriptor that names another block, and is possible, is believed, because nothing
//! else on the drives says what it says.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tailcut_base::config::Choice;
use tailcut_base::control::ControlReply;
use tailcut_base::random::Stream;
use tailcut_base::{Class, Nanos, Op, Spans, Status, Time};
use tailcut_host::array::raid::WriteHole;
use tailcut_host::array::{Array, ArrayConfig, Consent, LayoutKind, Opening};
use tailcut_host::{Block, Bytes, Disk, Mirror, Request, Response};

/// Drives that do in order what they are asked, and an array on them.
struct Machine {
    config: ArrayConfig,
    drives: Vec<Vec<Bytes>>,
    now: Time,
    asked: VecDeque<(usize, Request<Bytes>)>,
    /// Events up to which an array must come to rest.
    left: u64,
}

/// Far more than any of these arrays needs.
const EVENTS: u64 = 200_000;

impl Machine {
    fn disks(&self) -> Vec<Disk> {
        let disk = |drive: &Vec<Bytes>| Disk {
            blocks: drive.len() as u64,
            depth: 8,
            most_blocks: 32,
            volatile_cache: false,
            copies: 1,
        };
        self.drives.iter().map(disk).collect()
    }

    fn serve(&mut self, drive: usize, request: Request<Bytes>) -> Response<Bytes> {
        let Request { id, op, block, blocks, mut data, .. } = request;
        let range = block as usize..block as usize + blocks as usize;
        let drive = &mut self.drives[drive];
        match op {
            Op::Read => data = drive[range].to_vec(),
            Op::Write => drive[range].clone_from_slice(&data),
            Op::Trim => drive[range].fill(Bytes::default()),
            Op::Flush => {}
        }
        Response { id, status: Status::Success, data, busy_for: Nanos::ZERO, spans: Spans::new() }
    }

    /// One event; false when there is none.
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

    fn settle(&mut self, array: &mut Array<Bytes>) {
        while self.step(array) {}
    }

    /// One request, to its end.
    fn ask(&mut self, array: &mut Array<Bytes>, op: Op, block: u64, data: Vec<Bytes>) -> Response<Bytes> {
        let blocks = if op == Op::Flush { 0 } else { data.len().max(1) as u32 };
        let class = Class::DEFAULT;
        let mirror = Mirror::Any;
        let request = Request { id: 7, op, fua: false, class, fail_fast: false, mirror, block, blocks, data };
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

    /// The array on the drives, in their order, unless it is refused.
    fn open(&mut self) -> Option<Array<Bytes>> {
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

fn content(block: u64, version: u64) -> Bytes {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&(block + 1).to_le_bytes());
    bytes[8..].copy_from_slice(&version.to_le_bytes());
    Bytes::encode(&bytes)
}

/// Drives on which some of each kind of metadata counts, and the version of each block.
fn image(config: &ArrayConfig, blocks: u64, random: &mut Stream) -> (Machine, Vec<u64>) {
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

/// CRC-32C, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, &byte| step(sum, byte))
}

fn step(sum: u32, byte: u8) -> u32 {
    let bit = |sum: u32, _| if sum & 1 == 1 { sum >> 1 ^ 0x82F6_3B78 } else { sum >> 1 };
    (0..8).fold(sum ^ u32::from(byte), bit)
}

/// Where a checksum stands in a block of metadata, and the bytes that it covers; none if it is something else.
fn checksum(bytes: &[u8]) -> Option<(usize, std::ops::Range<usize>)> {
    match &bytes[..8] {
        b"tailcutA" => {
            let end = covered_by(bytes, 12, 16)?;
            Some((12, 16..end))
        }
        magic if magic.starts_with(b"tailcut") => covered_by(bytes, 8, 12).map(|end| (8, 12..end)),
        _ => None,
    }
}

/// The end of what the checksum at `at` covers from `first` on: the last at which it is right.
fn covered_by(bytes: &[u8], at: usize, first: usize) -> Option<usize> {
    let wanted = u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let (mut sum, mut end) = (!0, None);
    for (place, &byte) in bytes.iter().enumerate().skip(first) {
        sum = step(sum, byte);
        if !sum == wanted {
            end = Some(place + 1);
        }
    }
    end
}

/// Blocks of metadata: drive and block, by their magic.
fn metadata(machine: &Machine) -> Vec<(u8, Vec<(usize, usize)>)> {
    let mut kinds: Vec<(u8, Vec<(usize, usize)>)> = Vec::new();
    for (drive, blocks) in machine.drives.iter().enumerate() {
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

/// Changes a field of a block, on one drive or on all that have the same, under a right checksum.
fn spoil(machine: &mut Machine, (drive, at): (usize, usize), random: &mut Stream) -> bool {
    let good = machine.drives[drive][at].clone();
    let Some((sum, covered)) = checksum(good.as_slice()) else { return false };
    // The checksum may not cover the length that it depends on: that stays as it is.
    let kind = good.as_slice()[7];
    let first = if kind == b'A' { 16 } else { 16.max(covered.start) };
    if first >= covered.end {
        return false;
    }
    let mut bad = good.clone();
    let bytes = bad.as_mut_slice();
    for _ in 0..1 + random.below(3) {
        let head = (covered.end - first).min(100) as u64;
        let range = if random.below(3) > 0 { head } else { (covered.end - first) as u64 };
        let place = first + random.below(range) as usize;
        bytes[place] = match random.below(4) {
            0 => 0xFF,
            1 => 0,
            2 => bytes[place] ^ 1 << random.below(8),
            _ => random.below(256) as u8,
        };
        if random.below(3) == 0 {
            let end = (place + 8).min(covered.end);
            bytes[place..end].fill(0xFF);
        }
    }
    let right = crc32c(&bytes[covered.clone()]);
    bytes[sum..sum + 4].copy_from_slice(&right.to_le_bytes());
    // Protection information is right, too: it belongs to the checksum, and a drive without has none.
    let on_all = random.below(2) == 0;
    let bare = Bytes::unsealed(bad.as_slice());
    for (other, blocks) in machine.drives.iter_mut().enumerate() {
        if other == drive || on_all && blocks[at].as_slice() == good.as_slice() {
            blocks[at] = bare.clone();
        }
    }
    true
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

/// What became of arrays.
#[derive(Debug, Default)]
struct Outcome {
    cases: u32,
    refused: u32,
    errors: u32,
    wrong: u32,
}

/// Opens a spoilt array, reads it all, writes it, reads it again.
fn live_on(machine: &mut Machine, versions: &[u64], outcome: &mut Outcome) {
    outcome.cases += 1;
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

fn never_panics(layout: LayoutKind, hole: WriteHole, kinds: &str) {
    let cases = std::env::var("TAILCUT_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(40);
    let (config, blocks) = config(layout, hole);
    let mut random = Stream::new(1, layout.name());
    let (image, versions) = image(&config, blocks, &mut random);
    let found = metadata(&image);
    let mut missing: Vec<char> = kinds.chars().collect();
    let mut panics = Vec::new();
    for (kind, places) in &found {
        missing.retain(|&other| other != char::from(*kind));
        let mut outcome = Outcome::default();
        for case in 0..cases {
            let mut random = Stream::new(case, &format!("{layout} {kind}"));
            let place = places[random.below(places.len() as u64) as usize];
            let mut machine = Machine {
                config: config.clone(),
                drives: image.drives.clone(),
                now: image.now,
                asked: VecDeque::new(),
                left: EVENTS,
            };
            if !spoil(&mut machine, place, &mut random) {
                continue;
            }
            let lives = || live_on(&mut machine, &versions, &mut outcome);
            if let Err(panic) = catch_unwind(AssertUnwindSafe(lives)) {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
                panics.push(format!("{layout} {} case {case}: {text:?}", char::from(*kind)));
            }
        }
        println!("{layout} {hole} tailcut{}: {outcome:?}", char::from(*kind));
        // Summaries and bitmaps are hints: whatever they say, no other data is read.
        if "SI".contains(char::from(*kind)) {
            assert_eq!(outcome.wrong, 0, "{layout} tailcut{}", char::from(*kind));
        }
    }
    assert!(panics.is_empty(), "{}", panics.join("\n"));
    assert!(missing.is_empty(), "{layout}: nothing of {missing:?} was on the drives");
}

#[test]
fn wrong_records_and_journals_of_arrays_in_place() {
    never_panics(LayoutKind::Raid0, WriteHole::Journal, "A");
    never_panics(LayoutKind::Raid5, WriteHole::Journal, "A");
    never_panics(LayoutKind::Raid4, WriteHole::Resync, "AI");
}

#[test]
fn wrong_records_and_descriptors_of_copies() {
    never_panics(LayoutKind::Epochs, WriteHole::Journal, "A");
}

#[test]
fn wrong_records_checkpoints_descriptors_and_summaries_of_logs() {
    for layout in [LayoutKind::LogRaid0, LayoutKind::LogRaid5, LayoutKind::Swan4] {
        never_panics(layout, WriteHole::Journal, "ACMLS");
    }
}
