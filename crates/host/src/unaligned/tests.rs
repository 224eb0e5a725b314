use super::*;
use crate::block::Block;
use crate::disk::BLOCK_BYTES;
use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Op};

const BLOCKS: u64 = 40;
const BYTES: usize = (BLOCKS * BLOCK_BYTES) as usize;

/// A disk that completes requests in any order and executes each at any time before its completion.
struct ReorderingDisk {
    blocks: Vec<Bytes>,
    under_way: Vec<Request<Bytes>>,
    depth: usize,
    most_blocks: u32,
    /// Blocks that were written without FUA and have not been flushed.
    volatile: Vec<bool>,
    /// Fails requests that touch this block.
    broken: Option<u64>,
}

impl ReorderingDisk {
    fn take(&mut self, request: Request<Bytes>) {
        assert!(self.under_way.len() < self.depth, "more requests than the disk takes");
        assert!(self.under_way.iter().all(|other| other.id != request.id));
        if matches!(request.op, Op::Read | Op::Write) {
            assert!((1..=self.most_blocks).contains(&request.blocks));
        }
        if request.op == Op::Write {
            assert_eq!(request.data.len(), request.blocks as usize);
        }
        self.under_way.push(request);
    }

    fn answer(&mut self, random: &mut Stream) -> Option<Response<Bytes>> {
        if self.under_way.is_empty() {
            return None;
        }
        let chosen = random.below(self.under_way.len() as u64) as usize;
        let mut request = self.under_way.swap_remove(chosen);
        let range = request.block as usize..(request.block + u64::from(request.blocks)) as usize;
        let is_broken = self.broken.is_some_and(|broken| range.contains(&(broken as usize)));
        let status = if is_broken { Status::MediaError } else { Status::Success };
        match request.op {
            _ if is_broken => {}
            Op::Read => {
                request.data.clear();
                request.data.extend_from_slice(&self.blocks[range]);
            }
            Op::Write => {
                self.volatile[range.clone()].fill(!request.fua);
                for (place, block) in self.blocks[range].iter_mut().zip(&mut request.data) {
                    std::mem::swap(place, block);
                }
            }
            Op::Trim => {
                self.volatile[range.clone()].fill(true);
                self.blocks[range].fill(Bytes::default());
            }
            Op::Flush => self.volatile.fill(false),
        }
        let (busy_for, spans) = (Nanos::ZERO, tailcut_base::Spans::new());
        Some(Response { id: request.id, status, data: request.data, busy_for, spans })
    }
}

fn harness(random: &mut Stream, trims_to_zeros: bool) -> (Unaligned, ReorderingDisk) {
    let depth = 1 + random.below(8) as u32;
    let most_blocks = 1 + random.below(6) as u32;
    let disk = Disk { blocks: BLOCKS, depth, most_blocks, volatile_cache: true, copies: 1, handles: 1 };
    let blocks = vec![Bytes::default(); BLOCKS as usize];
    let volatile = vec![false; BLOCKS as usize];
    let whim = ReorderingDisk {
        blocks,
        under_way: Vec::new(),
        depth: depth as usize,
        most_blocks,
        volatile,
        broken: None,
    };
    (Unaligned::new(disk, trims_to_zeros), whim)
}

fn ask(name: u32, kind: Kind, offset: usize, content: &[u8], pool: &mut Pool) -> Ask {
    let skip = offset % BLOCK_BYTES as usize;
    let mut data = pool.list();
    if kind == Kind::Write {
        for at in 0..(skip + content.len()).div_ceil(BLOCK_BYTES as usize) {
            let mut block = pool.block();
            block.as_mut_slice().fill(0xEE);
            let start = at * BLOCK_BYTES as usize;
            for (place, byte) in block.as_mut_slice().iter_mut().enumerate() {
                if let Some(at) = (start + place).checked_sub(skip)
                    && at < content.len()
                {
                    *byte = content[at];
                }
            }
            data.push(block);
        }
    }
    let class = Class::DEFAULT;
    Ask { name, kind, fua: false, class, offset: offset as u64, bytes: content.len() as u64, data }
}

fn bytes_of(answer: &Answer, offset: usize, length: usize) -> Vec<u8> {
    let skip = offset % BLOCK_BYTES as usize;
    answer.data.iter().flat_map(|block| *block.as_slice()).skip(skip).take(length).collect()
}

/// A random range, often aligned to a block at one end.
fn somewhere(random: &mut Stream) -> (usize, usize) {
    let most = if random.below(4) == 0 { BYTES / 2 } else { 3 * BLOCK_BYTES as usize };
    let mut offset = random.below(BYTES as u64 - 1) as usize;
    if random.below(2) == 0 {
        offset -= offset % BLOCK_BYTES as usize;
    }
    let mut length = 1 + random.below(most.min(BYTES - offset) as u64) as usize;
    if random.below(2) == 0 {
        let end = (offset + length).next_multiple_of(BLOCK_BYTES as usize).min(BYTES);
        length = end - offset;
    }
    (offset, length)
}

/// Expected data of each pending read.
type Expected = std::collections::BTreeMap<u32, (usize, Vec<u8>)>;

fn settle(
    machine: &mut Unaligned,
    whim: &mut ReorderingDisk,
    pool: &mut Pool,
    random: &mut Stream,
    reads: &mut Expected,
) {
    while whim.under_way.len() < whim.depth
        && let Some(request) = machine.next_request(pool)
    {
        whim.take(request);
    }
    if let Some(response) = whim.answer(random) {
        machine.respond(response, pool);
    }
    while let Some(answer) = machine.next_answer() {
        assert_eq!(answer.status, Status::Success);
        if let Some((offset, want)) = reads.remove(&answer.name) {
            assert!(bytes_of(&answer, offset, want.len()) == want, "read {} is wrong", answer.name);
        }
        pool.recycle(answer.data);
    }
}

/// Many concurrent requests at any offset and length, compared with a byte array that executes them serially.
#[test]
fn it_is_an_array_of_bytes() {
    for seed in 0..60 {
        let mut random = Stream::new(seed, "unaligned");
        let trims_to_zeros = random.below(2) == 0;
        let (mut machine, mut whim) = harness(&mut random, trims_to_zeros);
        let (mut pool, mut bytes, mut reads) = (Pool::default(), vec![0u8; BYTES], Expected::new());
        for name in 0..250 {
            let (offset, length) = somewhere(&mut random);
            let fill = 1 + random.below(255) as u8;
            let range = offset..offset + length;
            let kind = match random.below(8) {
                0..3 => Kind::Read,
                3..6 => Kind::Write,
                6 => Kind::Zero { takes_room: random.below(2) == 0 },
                // The content after a trim is defined only if trims write zeros.
                _ if trims_to_zeros => Kind::Trim,
                _ => Kind::Flush,
            };
            let content: Vec<u8> = (0..length).map(|at| fill.wrapping_add(at as u8)).collect();
            match kind {
                Kind::Read => drop(reads.insert(name, (offset, bytes[range].to_vec()))),
                Kind::Write => bytes[range].copy_from_slice(&content),
                Kind::Zero { .. } => bytes[range].fill(0),
                Kind::Trim => {
                    let block = BLOCK_BYTES as usize;
                    let (from, to) = (range.start.next_multiple_of(block), range.end / block * block);
                    bytes[from.min(to)..to].fill(0);
                }
                Kind::Flush => {}
            }
            machine.submit(ask(name, kind, offset, &content, &mut pool));
            for _ in 0..random.below(6) {
                settle(&mut machine, &mut whim, &mut pool, &mut random, &mut reads);
            }
        }
        while machine.in_flight() > 0 {
            settle(&mut machine, &mut whim, &mut pool, &mut random, &mut reads);
        }
        assert!(reads.is_empty(), "every read is answered");
        let stored: Vec<u8> = whim.blocks.iter().flat_map(|block| *block.as_slice()).collect();
        assert!(stored == bytes, "seed {seed}: the disk holds what was written");
        assert!(machine.order.is_idle(), "nobody is counted any more");
    }
}

#[test]
fn requests_that_wait_for_others_are_counted() {
    let (mut machine, mut whim) = harness(&mut Stream::new(1, "waiting"), true);
    let (mut pool, mut reads) = (Pool::default(), Expected::new());
    for name in 0..3 {
        machine.submit(ask(name, Kind::Write, 100, &[7; 10], &mut pool));
        assert_eq!(machine.waiting(), name as usize, "all but the first wait");
    }
    while machine.in_flight() > 0 {
        settle(&mut machine, &mut whim, &mut pool, &mut Stream::new(2, "waiting"), &mut reads);
    }
    assert_eq!(machine.waiting(), 0);
}

#[test]
fn what_is_forced_is_durable_when_it_is_answered() {
    for seed in 0..200 {
        let mut random = Stream::new(seed, "forced");
        let trims_to_zeros = seed % 2 == 0;
        let (mut machine, mut whim) = harness(&mut random, trims_to_zeros);
        let (mut pool, mut reads) = (Pool::default(), Expected::new());
        let (offset, length) = somewhere(&mut random);
        let kind =
            [Kind::Write, Kind::Zero { takes_room: false }, Kind::Zero { takes_room: true }, Kind::Trim]
                [random.below(4) as usize];
        let forced = ask(1, kind, offset, &vec![7; length], &mut pool);
        machine.submit(Ask { fua: true, ..forced });
        while machine.in_flight() > 0 {
            settle(&mut machine, &mut whim, &mut pool, &mut random, &mut reads);
        }
        assert!(whim.volatile.iter().all(|&is_volatile| !is_volatile), "seed {seed} {kind:?}");
    }
}

#[test]
fn an_error_ends_a_request_and_holds_up_nobody() {
    for seed in 0..200 {
        let mut random = Stream::new(seed, "broken");
        let (mut machine, mut whim) = harness(&mut random, true);
        let mut pool = Pool::default();
        whim.broken = Some(random.below(BLOCKS));
        let broken = whim.broken.map(|block| (block * BLOCK_BYTES) as usize);
        let mut touches = Vec::new();
        for name in 0..40 {
            let (offset, length) = somewhere(&mut random);
            let kind = [Kind::Read, Kind::Write, Kind::Zero { takes_room: true }][random.below(3) as usize];
            let blocks = offset / 4096 * 4096..(offset + length).next_multiple_of(4096);
            touches.push(broken.is_some_and(|broken| blocks.contains(&broken)));
            machine.submit(ask(name, kind, offset, &vec![name as u8; length], &mut pool));
        }
        let mut answered = 0;
        while machine.in_flight() > 0 {
            while whim.under_way.len() < whim.depth
                && let Some(request) = machine.next_request(&mut pool)
            {
                whim.take(request);
            }
            machine.respond(whim.answer(&mut random).expect("something is under way"), &mut pool);
            while let Some(answer) = machine.next_answer() {
                answered += 1;
                assert_eq!(answer.status != Status::Success, touches[answer.name as usize], "seed {seed}");
                pool.recycle(answer.data);
            }
        }
        assert_eq!(answered, 40);
        assert!(machine.order.is_idle());
    }
}

/// Before a shutdown. Running and waiting trims and writes of zeros fail, all others are executed.
#[test]
fn abandoned_trims_end_without_the_disk() {
    for seed in 0..200 {
        let mut random = Stream::new(seed, "abandoned");
        let (mut machine, mut whim) = harness(&mut random, seed % 2 == 0);
        let (mut pool, mut kinds) = (Pool::default(), Vec::new());
        for name in 0..40 {
            let (offset, length) = somewhere(&mut random);
            let kind = [Kind::Read, Kind::Write, Kind::Zero { takes_room: name % 2 == 0 }, Kind::Trim]
                [random.below(4) as usize];
            kinds.push(kind);
            machine.submit(ask(name, kind, offset, &vec![name as u8; length], &mut pool));
        }
        for _ in 0..random.below(30) {
            settle(&mut machine, &mut whim, &mut pool, &mut random, &mut Expected::new());
        }
        while machine.next_answer().is_some() {}
        let (mut answered, mut trims) = (40 - machine.in_flight(), 0);
        machine.abandon_trims();
        loop {
            while let Some(answer) = machine.next_answer() {
                answered += 1;
                let clears = matches!(kinds[answer.name as usize], Kind::Zero { .. } | Kind::Trim);
                assert!(clears || answer.status == Status::Success, "seed {seed}");
                pool.recycle(answer.data);
            }
            if machine.in_flight() == 0 {
                break;
            }
            while whim.under_way.len() < whim.depth
                && let Some(request) = machine.next_request(&mut pool)
            {
                trims += u32::from(request.op == Op::Trim);
                whim.take(request);
            }
            if let Some(response) = whim.answer(&mut random) {
                machine.respond(response, &mut pool);
            }
        }
        assert_eq!((answered, trims), (40, 0), "seed {seed}");
        assert!(machine.order.is_idle());
    }
}

#[test]
fn blocks_go_through_without_a_copy() {
    let mut random = Stream::new(1, "whole");
    let (mut machine, mut whim) = harness(&mut random, true);
    let mut pool = Pool::default();
    machine.submit(ask(5, Kind::Write, 8192, &[3; 4096], &mut pool));
    let request = machine.next_request(&mut pool).expect("one request");
    assert_eq!((request.op, request.block, request.blocks), (Op::Write, 2, 1));
    assert_eq!(request.data[0], Bytes::encode(&[3; 4096]));
    assert!(machine.next_request(&mut pool).is_none());
    whim.take(request);
    machine.respond(whim.answer(&mut random).expect("an answer"), &mut pool);
    assert_eq!(machine.next_answer().map(|answer| (answer.name, answer.status)), Some((5, Status::Success)));
    assert_eq!(machine.widened(), 0);
}

/// One flush is at the disk, those that come meanwhile share the next, and a failure is that of all that
/// share it.
#[test]
fn flushes_share_one() {
    let mut random = Stream::new(1, "flushes");
    let (mut machine, _) = harness(&mut random, true);
    let mut pool = Pool::default();
    for status in [Status::Success, Status::MediaError] {
        for name in 0..100 {
            machine.submit(ask(name, Kind::Flush, 0, &[], &mut pool));
        }
        assert!(machine.has_requests());
        for (share, status) in [(1, status), (99, Status::Success)] {
            let Request { id, op, .. } = machine.next_request(&mut pool).expect("a flush");
            assert_eq!(op, Op::Flush);
            assert!(machine.next_request(&mut pool).is_none(), "one at a time");
            let (busy_for, spans) = (Nanos::ZERO, tailcut_base::Spans::new());
            machine.respond(Response { id, status, data: Vec::new(), busy_for, spans }, &mut pool);
            let answers: Vec<Status> =
                std::iter::from_fn(|| machine.next_answer()).map(|a| a.status).collect();
            assert_eq!(answers, vec![status; share]);
        }
        assert_eq!((machine.in_flight(), machine.has_requests()), (0, false));
    }
}
