//! A drive with a volatile cache. On command, its next flush fails and drops the content of the cache.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::device::Identify;
use tailcut_base::{Nanos, Op, Spans, Status, Time};
use tailcut_host::{BLOCK_SECTORS, Bytes, Request, Response};
use tailcut_rt::{Answers, Drive};

/// A drive with a volatile cache.
#[derive(Clone, Default)]
pub(crate) struct Volatile {
    blocks: u64,
    /// Content that survives a power loss.
    durable: BTreeMap<u64, Bytes>,
    /// Content that the next flush makes durable.
    cache: BTreeMap<u64, Bytes>,
    /// The next flush or durable write fails; later ones succeed.
    fails: Arc<AtomicBool>,
    ready: Vec<Response<Bytes>>,
    replies: Vec<(Control, ControlReply)>,
}

impl Volatile {
    /// A drive of zeros, and the flag that makes its next flush fail.
    pub(crate) fn new(blocks: u64) -> (Volatile, Arc<AtomicBool>) {
        let fails = Arc::new(AtomicBool::new(false));
        (Volatile { blocks, fails: Arc::clone(&fails), ..Volatile::default() }, fails)
    }

    /// The same drive after a power loss.
    pub(crate) fn after_power_cut(&self) -> Volatile {
        Volatile { blocks: self.blocks, durable: self.durable.clone(), ..Volatile::default() }
    }

    fn get(&self, block: u64) -> Bytes {
        self.cache.get(&block).or_else(|| self.durable.get(&block)).cloned().unwrap_or_default()
    }

    fn flush(&mut self) -> Status {
        let cache = std::mem::take(&mut self.cache);
        if self.fails.swap(false, Ordering::SeqCst) {
            return Status::MediaError;
        }
        self.durable.extend(cache);
        Status::Success
    }
}

impl Drive for Volatile {
    fn identify(&self) -> Identify {
        Identify {
            model: "volatile".into(),
            sectors: self.blocks * BLOCK_SECTORS,
            page_sectors: BLOCK_SECTORS as u32,
            queue_depth: 64,
            max_sectors: 64 * BLOCK_SECTORS as u32,
            block_sectors: BLOCK_SECTORS as u32,
            volatile_cache: true,
            handles: 1,
        }
    }

    fn trims_to_zeros(&self) -> bool {
        true
    }

    fn submit(&mut self, _: Time, request: Request<Bytes>) {
        let Request { id, op, fua, block, blocks, mut data, .. } = request;
        let run = block..block + u64::from(blocks);
        let mut status = Status::Success;
        match op {
            Op::Read => data = run.map(|block| self.get(block)).collect(),
            Op::Write => self.cache.extend(run.zip(data.iter().cloned())),
            Op::Trim => self.cache.extend(run.map(|block| (block, Bytes::default()))),
            Op::Flush => status = self.flush(),
        }
        if op == Op::Write && fua {
            status = self.flush();
        }
        let (busy_for, spans) = (Nanos::ZERO, Spans::new());
        self.ready.push(Response { id, status, data, busy_for, spans });
    }

    fn control(&mut self, _: Time, call: Control) {
        self.replies.push((call, ControlReply::Unsupported));
    }

    fn poll(&mut self, _: Time, answers: &mut Answers) {
        answers.responses.append(&mut self.ready);
        answers.replies.append(&mut self.replies);
    }

    fn next_event(&self) -> Time {
        if self.ready.is_empty() && self.replies.is_empty() { Time::NEVER } else { Time::ZERO }
    }
}
