//! A simple simulated drive: requests take time and complete in any order, and a power cut loses its volatile
//! cache.

use std::collections::BTreeMap;
use tailcut_base::random::Stream;
use tailcut_base::{Cause, Class, Nanos, Op, Spans, Status, Time};
use tailcut_host::array::superblock::SUPERBLOCK_BLOCKS;
use tailcut_host::{Block, Bytes, Disk, Request, Response};

/// A drive.
pub(super) struct Machine {
    pub disk: Disk,
    /// Data that survives a power cut.
    media: BTreeMap<u64, Bytes>,
    /// Completed but unflushed writes: the versions of each block in order, each with its completion number.
    cache: BTreeMap<u64, Vec<(u64, Bytes)>>,
    /// Number of completions.
    moment: u64,
    in_flight: BTreeMap<u32, Flight>,
    /// The drive is gone: every request fails.
    pub is_gone: bool,
    /// Writes are refused.
    pub is_protected: bool,
    /// The drive keeps no protection information: whatever it returns counts as intact.
    pub is_unsealed: bool,
    /// Some requests take unusually long.
    pub has_hiccups: bool,
    pub writes: u64,
    pub reads: u64,
}

struct Flight {
    request: Request<Bytes>,
    since: Time,
    /// For a flush: the number of completions when it arrived.
    covers: u64,
    /// The drive that held the request is gone.
    is_lost: bool,
}

impl Machine {
    pub(super) fn new(disk: Disk) -> Machine {
        Machine {
            disk,
            media: BTreeMap::new(),
            cache: BTreeMap::new(),
            moment: 0,
            in_flight: BTreeMap::new(),
            is_gone: false,
            is_protected: false,
            is_unsealed: false,
            has_hiccups: true,
            writes: 0,
            reads: 0,
        }
    }

    /// Accepts a request; returns its completion time.
    pub(super) fn take(&mut self, now: Time, request: Request<Bytes>, random: &mut Stream) -> Time {
        let covers = self.moment;
        match request.op {
            Op::Write => self.writes += 1,
            Op::Read => self.reads += 1,
            _ => {}
        }
        let id = request.id;
        let old = self.in_flight.insert(id, Flight { request, since: now, covers, is_lost: false });
        assert!(old.is_none(), "names are unique");
        assert!(self.in_flight.len() <= self.disk.depth as usize, "no more than it takes");
        let hiccup = if self.has_hiccups && random.chance_ppm(10_000) { random.below(10_000_000) } else { 0 };
        now + Nanos(10_000 + random.below(200_000) + hiccup)
    }

    /// Number of requests in flight that need the token.
    pub(super) fn heavy(&self) -> usize {
        self.in_flight.values().filter(|flight| is_heavy(&flight.request)).count()
    }

    /// Number of reads in flight that do not need the token.
    pub(super) fn reading(&self) -> usize {
        self.in_flight.values().filter(|flight| is_light(&flight.request)).count()
    }

    /// The content that a read returns.
    pub(super) fn view(&self, block: u64) -> Bytes {
        let cached = self.cache.get(&block).and_then(|versions| versions.last()).map(|(_, content)| content);
        cached.or_else(|| self.media.get(&block)).cloned().unwrap_or_default()
    }

    /// Completes a request.
    pub(super) fn end(&mut self, now: Time, id: u32) -> Response<Bytes> {
        let Flight { request, since, covers, is_lost } = self.in_flight.remove(&id).expect("it is in flight");
        let Request { op, fua, block, blocks, mut data, .. } = request;
        let mut status = Status::Success;
        if self.is_gone || is_lost {
            status = Status::Gone;
        } else if self.is_protected && op != Op::Read {
            status = Status::WriteProtected;
        } else {
            let range = block..block + u64::from(blocks);
            match op {
                Op::Read => {
                    data.clear();
                    data.extend(range.map(|at| match self.is_unsealed {
                        true => Bytes::unsealed(self.view(at).as_slice()),
                        false => self.view(at),
                    }));
                }
                Op::Write => {
                    for (at, content) in range.zip(&data) {
                        self.put(at, content.clone(), fua);
                    }
                }
                Op::Trim => {
                    for at in range {
                        self.put(at, Bytes::default(), false);
                    }
                }
                Op::Flush => self.flush(covers),
            }
        }
        let mut spans = Spans::new();
        spans.add(Cause::Cell, now.since(since));
        Response { id, status, data, busy_for: Nanos::ZERO, spans }
    }

    fn put(&mut self, at: u64, content: Bytes, fua: bool) {
        self.moment += 1;
        if fua || !self.disk.volatile_cache {
            self.cache.remove(&at);
            self.media.insert(at, content);
        } else {
            self.cache.entry(at).or_default().push((self.moment, content));
        }
    }

    fn flush(&mut self, covers: u64) {
        for (&at, versions) in &mut self.cache {
            let covered = versions.partition_point(|&(moment, _)| moment <= covers);
            if let Some((_, content)) = versions.drain(..covered).next_back() {
                self.media.insert(at, content);
            }
        }
        self.cache.retain(|_, versions| !versions.is_empty());
    }

    /// Cuts power: each block's unflushed data reaches the media or not.
    pub(super) fn cut(&mut self, random: &mut Stream) {
        let cached = std::mem::take(&mut self.cache).into_iter();
        let mut cache: Vec<(u64, Bytes)> = cached
            .flat_map(|(at, versions)| versions.into_iter().map(move |(_, content)| (at, content)))
            .collect();
        for flight in std::mem::take(&mut self.in_flight).into_values() {
            let Request { op, block, blocks, data, .. } = flight.request;
            let range = block..block + u64::from(blocks);
            match op {
                Op::Write => cache.extend(range.zip(data)),
                Op::Trim => cache.extend(range.map(|at| (at, Bytes::default()))),
                _ => {}
            }
        }
        if self.is_gone {
            return;
        }
        let chance = [0, 300_000, 500_000, 900_000, 1_000_000][random.below(5) as usize];
        for (at, content) in cache {
            if random.chance_ppm(chance) {
                self.media.insert(at, content);
            }
        }
    }

    /// Replaces the drive by another one with unrelated content.
    pub(super) fn replace(&mut self) {
        (self.is_gone, self.is_protected) = (false, false);
        for content in self.media.values_mut() {
            *content = Bytes::encode(b"somebody else's");
        }
        self.media.retain(|&at, _| at > 1);
        self.cache.clear();
        self.in_flight.values_mut().for_each(|flight| flight.is_lost = true);
    }

    /// Corrupts a block on the media.
    pub(super) fn spoil(&mut self, block: u64) {
        let mut content = self.view(block);
        content.as_mut_slice()[100] ^= 0x55;
        self.cache.remove(&block);
        self.media.insert(block, content);
    }

    /// Blocks that were ever written.
    pub(super) fn written(&self) -> Vec<u64> {
        self.media.iter().filter(|(_, content)| **content != Bytes::default()).map(|(&at, _)| at).collect()
    }
}

/// True for writes, trims and flushes, except superblock writes, and for reads by collection.
pub(super) fn is_heavy(request: &Request<Bytes>) -> bool {
    let is_record = request.op == Op::Write && request.block < SUPERBLOCK_BLOCKS;
    !is_light(request) && !is_record
}

fn is_light(request: &Request<Bytes>) -> bool {
    request.op == Op::Read && request.class == Class::DEFAULT
}
