//! Flushes for the host, the journal and the bitmap.

use super::{Raid, Token};
use crate::Block;
use crate::array::core::Core;
use crate::array::drives::{Answered, Ask, Owner, Priority};
use crate::array::requests::RequestSlot;
use crate::placement::WriteKind;
use tailcut_base::{Class, Op, Spans, Status, Time, id};

id! {
    /// A flush in progress.
    pub struct FlushId;
}

/// A flush of all drives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flush {
    /// The host request; None for an internal flush.
    slot: Option<RequestSlot>,
    pending: u32,
    /// Transactions before this one were complete when the flush started.
    complete: u64,
    /// Bitmap epoch of the flush.
    epoch: u64,
    has_failed: bool,
}

impl<B: Block> Raid<B> {
    /// Starts a flush of all drives with volatile caches.
    pub(super) fn begin_flush(&mut self, now: Time, core: &mut Core<B>, slot: Option<RequestSlot>) {
        let complete = self.journal.as_ref().map_or(0, |journal| journal.ring.complete());
        let epoch = self.intent.as_mut().map_or(0, |intent| intent.begin_epoch());
        let flush = Flush { slot, pending: 1, complete, epoch, has_failed: false };
        let id = self.flushes.insert(flush);
        let class = slot.map_or(Class::DEFAULT, |slot| core.requests.get(slot).class);
        for drive in core.drives.ids() {
            if core.drives.is_present(drive) && core.drives.disk(drive).volatile_cache {
                self.flushes[id].pending += 1;
                let (op, data) = (Op::Flush, Vec::new());
                let ask = Ask {
                    op,
                    fua: false,
                    fail_fast: false,
                    class,
                    kind: WriteKind::Data,
                    block: 0,
                    blocks: 0,
                    data,
                };
                let owner = Owner::Layout(Token::Flush(id).pack());
                core.drives.ask(now, drive, Priority::Write, owner, ask);
            }
        }
        self.flush_part_done(now, core, id, &Spans::new());
    }

    /// The flush of a drive has completed. A drive that failed to flush is no longer in sync, and is not
    /// needed if redundancy covers it.
    pub(super) fn flushed(&mut self, now: Time, core: &mut Core<B>, id: FlushId, answer: &Answered<B>) {
        let is_redundant = self.shape.has_parity();
        self.flushes[id].has_failed |= answer.status != Status::Success && !is_redundant;
        self.flush_part_done(now, core, id, &answer.spans);
    }

    fn flush_part_done(&mut self, now: Time, core: &mut Core<B>, id: FlushId, spans: &Spans) {
        let flush = &mut self.flushes[id];
        flush.pending -= 1;
        if flush.pending > 0 {
            return;
        }
        let Flush { slot, complete, epoch, has_failed, .. } = self.flushes.remove(id);
        let has_failed = has_failed || self.has_failed(core);
        match slot {
            Some(slot) => {
                let status = if has_failed { Status::MediaError } else { Status::Success };
                core.requests.expect(slot, 1);
                core.part_done(now, slot, status, spans);
            }
            None => self.is_flushing = false,
        }
        if let Some(intent) = &mut self.intent {
            intent.flushed(epoch);
        }
        if let Some(journal) = &mut self.journal {
            journal.ring.flushed(complete);
        }
        self.journal_changed(now, core);
    }
}
