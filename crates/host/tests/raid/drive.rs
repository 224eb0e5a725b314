//! A drive with a volatile cache: acknowledged writes may be lost until they are flushed.

use std::collections::BTreeMap;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::random::Stream;
use tailcut_base::{Op, Spans, Status, Time};
use tailcut_host::{Bytes, Disk, Request, Response};

#[derive(Clone)]
pub(crate) struct Drive {
    pub disk: Disk,
    durable: BTreeMap<u64, Bytes>,
    /// Writes that are not durable, in completion order: serial number, block, content.
    cache: Vec<(u64, u64, Bytes)>,
    serial: u64,
    pub is_gone: bool,
    /// Writes are refused.
    pub refuses: bool,
    /// The next flush or durable write fails and drops all data that is not durable.
    pub fails_flush: bool,
    /// The drive keeps no protection information: whatever it returns counts as intact.
    pub is_unsealed: bool,
    /// Every third fail-fast read fails.
    pub is_often_taken: bool,
    /// All fail-fast reads fail.
    pub is_taken: bool,
    asked: u64,
    pub writes: u64,
    pub reads: u64,
    /// Its control interface, if it has one.
    pub interface: Option<Interface>,
}

/// A drive's reports about its garbage collection: it collects one block per millisecond up to [`HIGH`], and
/// quiesces a millisecond after it is requested to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Interface {
    pub free: u64,
    pub collects_since: Option<Time>,
    pub asked_to_rest: Option<Time>,
    pub is_restless: bool,
    pub collections: u64,
}

/// Number of free blocks at which a drive stops collecting.
pub(crate) const HIGH: u64 = 48;

impl Interface {
    fn free_at(&self, now: Time) -> u64 {
        let collected = self.collects_since.map_or(0, |since| now.since(since).0 / 1_000_000);
        self.free + collected.min(HIGH.saturating_sub(self.free))
    }

    fn reply(&mut self, now: Time, call: Control) -> ControlReply {
        let millis = |since: Time| now.since(since).0 / 1_000_000;
        match call {
            Control::FreeBlocks => ControlReply::Blocks(self.free_at(now)),
            Control::IsGcRunning => {
                ControlReply::Answer(self.collects_since.is_some() && self.free_at(now) < HIGH)
            }
            Control::RunGc { .. } => {
                self.collections += 1;
                self.collects_since = Some(now);
                ControlReply::Done
            }
            Control::IsReadyForRead => {
                self.free = self.free_at(now);
                self.collects_since = None;
                let asked = *self.asked_to_rest.get_or_insert(now);
                ControlReply::Answer(!self.is_restless && millis(asked) > 0)
            }
            _ => ControlReply::Unsupported,
        }
    }
}

impl Drive {
    pub(crate) fn new(disk: &Disk) -> Drive {
        Drive {
            disk: disk.clone(),
            durable: BTreeMap::new(),
            cache: Vec::new(),
            serial: 0,
            is_gone: false,
            refuses: false,
            fails_flush: false,
            is_unsealed: false,
            is_often_taken: false,
            is_taken: false,
            asked: 0,
            writes: 0,
            reads: 0,
            interface: None,
        }
    }

    /// Handles a call of the control interface.
    pub(crate) fn control(&mut self, now: Time, call: Control) -> ControlReply {
        self.interface.as_mut().map_or(ControlReply::Unsupported, |interface| interface.reply(now, call))
    }

    /// The current content of a block.
    pub(crate) fn get(&self, block: u64) -> Bytes {
        let cached = self.cache.iter().rev().find(|(_, at, _)| *at == block).map(|(.., content)| content);
        cached.or_else(|| self.durable.get(&block)).cloned().unwrap_or_default()
    }

    /// Corrupts a block silently.
    pub(crate) fn corrupt(&mut self, block: u64) {
        let mut content = self.get(block);
        content.as_mut_slice()[100] ^= 0x40;
        self.put(block, content, true);
    }

    /// Replaces a block silently, by content with a valid guard.
    pub(crate) fn plant(&mut self, block: u64, content: Bytes) {
        self.put(block, content, true);
    }

    fn put(&mut self, block: u64, content: Bytes, is_durable: bool) {
        if is_durable {
            self.cache.retain(|(_, at, _)| *at != block);
            self.durable.insert(block, content);
        } else {
            self.serial += 1;
            self.cache.push((self.serial, block, content));
        }
    }

    fn is_contended(&mut self) -> bool {
        self.asked += 1;
        self.is_taken || self.is_often_taken && self.asked.is_multiple_of(3)
    }

    /// Starts a request; pass the returned value to [`Drive::end`].
    pub(crate) fn begin(&self) -> u64 {
        self.serial
    }

    /// Executes a request.
    pub(crate) fn end(&mut self, begun: u64, request: &mut Request<Bytes>) -> Status {
        if self.is_gone {
            return Status::Gone;
        }
        let blocks = request.block..request.block + u64::from(request.blocks);
        assert!(request.op == Op::Flush || blocks.end <= self.disk.blocks, "within the drive");
        if (request.op == Op::Flush || request.op == Op::Write && request.fua) && self.fails_flush {
            self.fails_flush = false;
            self.cache.clear();
            return Status::MediaError;
        }
        match request.op {
            Op::Read if request.fail_fast && self.is_contended() => return Status::Contended,
            Op::Read => {
                self.reads += u64::from(request.blocks);
                request.data.clear();
                request.data.extend(blocks.map(|block| match self.is_unsealed {
                    true => Bytes::unsealed(self.get(block).as_slice()),
                    false => self.get(block),
                }));
            }
            Op::Write | Op::Trim if self.refuses => return Status::WriteProtected,
            Op::Write => {
                if let Some(interface) = &mut self.interface {
                    interface.free = interface.free.saturating_sub(u64::from(request.blocks).div_ceil(2));
                    interface.asked_to_rest = None;
                }
                self.writes += u64::from(request.blocks);
                let is_durable = request.fua || !self.disk.volatile_cache;
                for (block, content) in blocks.zip(request.data.clone()) {
                    self.put(block, content, is_durable);
                }
            }
            Op::Trim => {
                blocks.for_each(|block| self.put(block, Bytes::default(), !self.disk.volatile_cache));
            }
            Op::Flush => {
                let split = self.cache.partition_point(|(serial, ..)| *serial <= begun);
                for (_, block, content) in self.cache.drain(..split) {
                    self.durable.insert(block, content);
                }
            }
        }
        Status::Success
    }

    /// Cuts power: each block keeps any one of its non-durable versions or the durable one; requests in
    /// flight may be written block by block.
    pub(crate) fn cut(&mut self, stream: &mut Stream, under_way: &[Request<Bytes>]) {
        for request in under_way {
            if self.is_gone || !matches!(request.op, Op::Write | Op::Trim) {
                continue;
            }
            for at in 0..u64::from(request.blocks) {
                let content = request.data.get(at as usize).cloned().unwrap_or_default();
                self.put(request.block + at, content, false);
            }
        }
        let mut versions: BTreeMap<u64, Vec<Bytes>> = BTreeMap::new();
        for (_, block, content) in self.cache.drain(..) {
            versions.entry(block).or_default().push(content);
        }
        for (block, mut versions) in versions {
            let chosen = stream.below(versions.len() as u64 + 1) as usize;
            if chosen < versions.len() {
                self.durable.insert(block, versions.swap_remove(chosen));
            }
        }
    }
}

pub(crate) fn response(request: Request<Bytes>, status: Status, spans: Spans) -> Response<Bytes> {
    let Request { id, data, .. } = request;
    Response { id, status, data, busy_for: tailcut_base::Nanos(1_000_000 + u64::from(id) % 7), spans }
}
