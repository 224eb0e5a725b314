//! A simulated disk that completes requests only when told to.

use std::collections::{BTreeMap, BTreeSet};
use tailcut_base::random::Stream;
use tailcut_base::{Nanos, Op, Spans, Status};
use tailcut_host::{Bytes, Disk, Mirror, Request, Response};

/// Reclaim unit handles of the disk: for records, for copies of reclaim, and for metadata.
const HANDLES: usize = 3;
const METADATA: usize = 2;
/// Blocks that hold superblocks.
const SUPERBLOCKS: u64 = 2;

/// Blocks in memory, a volatile cache, and pending requests.
pub(crate) struct TestDisk {
    pub shape: Disk,
    /// Data that survives a power loss.
    media: BTreeMap<u64, Bytes>,
    /// Cached writes in the order of their completion.
    cache: Vec<(u64, Bytes)>,
    waiting: Vec<Request<Bytes>>,
    random: Stream,
    /// One read in this many fails.
    pub bad_reads: Option<u64>,
    pub reads: u64,
    /// Blocks written by each reclaim unit handle.
    pub written: [u64; HANDLES],
    /// Writes are not completed.
    pub holds_writes: bool,
    /// Writes are refused.
    pub refuses_writes: bool,
    /// Writes fail with a media error.
    pub fails_writes: bool,
    /// The disk has no space for blocks that were never written.
    pub is_full: bool,
    /// Flushes are refused for lack of space, as by an array that has written nothing of its own yet.
    pub refuses_flushes: bool,
    /// Wrong content of single copies of a block, by block and copy.
    pub bad_copies: BTreeMap<(u64, u8), Bytes>,
    /// Blocks that cannot be read until they are rewritten.
    pub unreadable: BTreeSet<u64>,
}

impl TestDisk {
    pub(crate) fn new(blocks: u64, volatile_cache: bool, seed: u64) -> TestDisk {
        let shape =
            Disk { blocks, depth: 16, most_blocks: 8, volatile_cache, copies: 1, handles: HANDLES as u32 };
        let (media, cache, waiting) = (BTreeMap::new(), Vec::new(), Vec::new());
        TestDisk {
            shape,
            media,
            cache,
            waiting,
            random: Stream::new(seed, "disk"),
            bad_reads: None,
            reads: 0,
            written: [0; HANDLES],
            holds_writes: false,
            refuses_writes: false,
            fails_writes: false,
            is_full: false,
            refuses_flushes: false,
            bad_copies: BTreeMap::new(),
            unreadable: BTreeSet::new(),
        }
    }

    pub(crate) fn submit(&mut self, request: Request<Bytes>) {
        assert!(self.waiting.len() < self.shape.depth as usize, "the depth is kept");
        assert!(request.blocks <= self.shape.most_blocks);
        assert!(request.block + u64::from(request.blocks) <= self.shape.blocks, "it lies within the disk");
        assert!(self.waiting.iter().all(|other| other.id != request.id));
        let handle = request.handle.get() as usize;
        match request.op {
            Op::Write if request.block < SUPERBLOCKS => assert_eq!(handle, METADATA, "superblocks are apart"),
            Op::Write => self.written[handle] += u64::from(request.blocks),
            _ => assert_eq!(handle, 0, "only writes name handles"),
        }
        self.waiting.push(request);
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Completes one pending request.
    pub(crate) fn answer(&mut self) -> Option<Response<Bytes>> {
        let is_next = |request: &Request<Bytes>| !self.holds_writes || request.op != Op::Write;
        let next: Vec<usize> = (0..self.waiting.len()).filter(|&at| is_next(&self.waiting[at])).collect();
        if next.is_empty() {
            return None;
        }
        let which = next[self.random.below(next.len() as u64) as usize];
        let request = self.waiting.swap_remove(which);
        let mut status = Status::Success;
        let data = match request.op {
            Op::Read => {
                self.reads += 1;
                let is_bad = self.bad_reads.is_some_and(|every| self.random.below(every) == 0);
                let blocks = request.block..request.block + u64::from(request.blocks);
                let is_bad = is_bad || self.unreadable.range(blocks.clone()).next().is_some();
                status = if is_bad { Status::MediaError } else { Status::Success };
                let copy = request.mirror.copy().unwrap_or(0) as u8;
                if let Mirror::Repair(_) = request.mirror {
                    for (block, right) in blocks.clone().zip(&request.data) {
                        self.repair(block, copy, right);
                    }
                }
                let bad = |block| self.bad_copies.get(&(block, copy)).cloned();
                blocks.map(|block| bad(block).unwrap_or_else(|| self.read(block))).collect()
            }
            Op::Write if self.is_full && !self.has_room(&request) => {
                status = Status::NoSpace;
                Vec::new()
            }
            Op::Write if self.fails_writes => {
                status = Status::MediaError;
                request.data
            }
            Op::Write if self.refuses_writes => {
                status = Status::WriteProtected;
                request.data
            }
            Op::Write => {
                self.write(request.block, &request.data);
                request.data
            }
            Op::Flush if self.refuses_flushes => {
                status = Status::NoSpace;
                Vec::new()
            }
            Op::Flush => {
                self.media.extend(self.cache.drain(..));
                Vec::new()
            }
            Op::Trim => panic!("nothing is trimmed"),
        };
        let data = if status == Status::Success { data } else { Vec::new() };
        Some(Response { id: request.id, status, data, busy_for: Nanos::ZERO, spans: Spans::default() })
    }

    /// Overwrites a block's other copies with this one, if it matches the data that the host considers
    /// correct.
    fn repair(&mut self, block: u64, copy: u8, right: &Bytes) {
        let truth = self.read(block);
        let source = self.bad_copies.get(&(block, copy)).unwrap_or(&truth);
        if source.as_slice() != right.as_slice() {
            return;
        }
        for other in (0..self.shape.copies).filter(|&other| other != copy) {
            match right.as_slice() == truth.as_slice() {
                true => drop(self.bad_copies.remove(&(block, other))),
                false => drop(self.bad_copies.insert((block, other), right.clone())),
            }
        }
    }

    fn has_room(&self, request: &Request<Bytes>) -> bool {
        let has = |block| self.media.contains_key(&block) || self.cache.iter().any(|(at, _)| *at == block);
        (request.block..request.block + u64::from(request.blocks)).all(has)
    }

    fn write(&mut self, block: u64, data: &[Bytes]) {
        let written = block..block + data.len() as u64;
        self.unreadable.retain(|bad| !written.contains(bad));
        self.bad_copies.retain(|(bad, _), _| !written.contains(bad));
        let blocks = data.iter().enumerate().map(|(at, bytes)| (block + at as u64, bytes.clone()));
        match self.shape.volatile_cache {
            true => self.cache.extend(blocks),
            false => self.media.extend(blocks),
        }
    }

    pub(crate) fn read(&self, block: u64) -> Bytes {
        let cached = self.cache.iter().rev().find(|(at, _)| *at == block).map(|(_, bytes)| bytes);
        cached.or_else(|| self.media.get(&block)).cloned().unwrap_or_default()
    }

    /// Flips the lowest bit of a byte on the media.
    #[allow(dead_code, reason = "not all who have a disk break it")]
    pub(crate) fn flip(&mut self, block: u64, byte: usize) {
        let mut bytes = self.read(block);
        bytes.as_mut_slice()[byte] ^= 1;
        self.media.insert(block, bytes);
    }

    /// Sets a block on the media.
    #[allow(dead_code, reason = "not all who have a disk break it")]
    pub(crate) fn set(&mut self, block: u64, bytes: Bytes) {
        self.media.insert(block, bytes);
    }

    /// Fails all writes in flight, makes those of `blocks` unreadable, and loses power with all unflushed
    /// data.
    #[allow(dead_code, reason = "not all who have a disk break it")]
    pub(crate) fn fail_writes(&mut self, blocks: std::ops::Range<u64>) {
        self.cache.clear();
        let failed = std::mem::take(&mut self.waiting).into_iter().filter(|request| request.op == Op::Write);
        self.unreadable.extend(failed.map(|request| request.block).filter(|block| blocks.contains(block)));
    }

    /// Loses power: each block of pending writes and of unflushed data reaches the media or not.
    #[allow(dead_code, reason = "not all who have a disk break it")]
    pub(crate) fn lose_power(&mut self) {
        for (block, bytes) in std::mem::take(&mut self.cache) {
            if self.random.below(2) == 0 {
                self.media.insert(block, bytes);
            }
        }
        for request in std::mem::take(&mut self.waiting) {
            for (at, bytes) in request.data.iter().enumerate() {
                if request.op == Op::Write && self.random.below(2) == 0 {
                    self.media.insert(request.block + at as u64, bytes.clone());
                }
            }
        }
    }
}
