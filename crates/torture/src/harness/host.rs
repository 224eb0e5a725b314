//! The host: its requests, and what it makes of the answers.

use super::{End, Harness};
use crate::history::Pending;
use crate::plan::SubjectKind;
use crate::stamp::{Content, Stamp};
use crate::subject::Subject;
use crate::tally::Reached;
use crate::wrong::{Violation, ViolationKind};
use tailcut_base::fdp::HandleId;
use tailcut_base::{Class, Op, Status};
use tailcut_host::{Bytes, Mirror, Request, Response};

impl<'r, S: Subject> Harness<'r, S> {
    /// Hands a request of the host over, when there is room for it.
    pub(crate) fn submit(&mut self, op: Op, block: u64, blocks: u32, fua: bool) -> Result<(), End> {
        let queue = self.plan.queue as usize;
        loop {
            self.until("ready for a request", |harness| harness.is_ready && harness.pending.len() < queue)?;
            let size = self.history.blocks();
            let blocks = if op == Op::Flush { 0 } else { u64::from(blocks).min(size) };
            let block = if op == Op::Flush { 0 } else { block % (size - blocks + 1) };
            let blocks = blocks as u32;
            let data = if op == Op::Write { self.history.content(block, blocks) } else { Vec::new() };
            let id = self.ids;
            let class = Class::DEFAULT;
            let request = Request {
                id,
                op,
                fua,
                class,
                fail_fast: false,
                mirror: Mirror::Any,
                handle: HandleId::FIRST,
                block,
                blocks,
                data,
            };
            let marks = Request {
                data: Vec::<()>::new(),
                id,
                op,
                fua,
                class,
                fail_fast: false,
                mirror: Mirror::Any,
                handle: HandleId::FIRST,
                block,
                blocks,
            };
            if self.subject.submit(self.now, request).is_ok() {
                self.ids += 1;
                let (pending, is_contested) = self.history.submitted(&marks);
                self.tally.reach(Reached::WriteDuringWrite, u64::from(is_contested));
                self.trace(|| format!("host {id}: {op} {block}+{blocks}{}", if fua { " fua" } else { "" }));
                self.pending.insert(id, pending);
                return self.hand_over();
            }
            if !self.step()? && self.fuse.is_empty() {
                self.stuck(String::from("a request is not taken although nothing is under way"))?;
            }
        }
    }

    pub(super) fn answered(&mut self, answer: Response<Bytes>) -> Result<(), End> {
        let Some(pending) = self.pending.remove(&answer.id) else {
            let message = format!("request {} was answered, but is not in flight", answer.id);
            return Err(End::Wrong(Violation { kind: ViolationKind::Invented, message }));
        };
        let (id, status) = (answer.id, answer.status);
        self.tally.requests += 1;
        self.digest.add(u64::from(id) << 8 ^ status as u64);
        self.trace(|| {
            let (op, block, blocks) = (pending.op, pending.block, pending.blocks);
            format!("host {id}: {op} {block}+{blocks} ends: {status} {}", names(&answer.data))
        });
        let is_good = status == Status::Success;
        if !is_good {
            self.failed(&pending, status)?;
        } else if pending.op == Op::Read {
            let shown = self.history.read(&pending, &answer.data).map_err(End::Wrong)?;
            self.tally.reach(Reached::ReadDuringWrite, shown.contested);
            self.tally.reach(Reached::Undecided, shown.decided);
            self.tally.reach(Reached::ReadTrimmed, shown.trimmed);
            self.tally.reach(Reached::Missed, shown.missed);
        }
        self.history.answered(&pending, is_good);
        Ok(())
    }

    fn failed(&mut self, pending: &Pending, status: Status) -> Result<(), End> {
        let is_excused = if pending.op == Op::Read { self.reads_may_fail } else { self.writes_may_fail };
        // A store or server on an array has errors of its own for lack of room.
        let is_of_room = status == Status::NoSpace || self.plan.subject != SubjectKind::Arrays;
        let is_without_room = pending.op != Op::Read && is_of_room && self.now <= self.full_until;
        self.tally.reach(Reached::RefusedForRoom, u64::from(is_without_room));
        if is_excused || is_without_room {
            self.tally.reach(Reached::HonestError, 1);
            return Ok(());
        }
        let (op, block, blocks) = (pending.op, pending.block, pending.blocks);
        let message = format!("{op} {block}+{blocks} was answered with {status}, and no fault allows that");
        Err(End::Wrong(Violation { kind: ViolationKind::Error, message }))
    }
}

/// The result of a read, as text.
fn names(data: &[Bytes]) -> String {
    let name = |block: &Bytes| match Stamp::read(block) {
        Content::Zeros => String::from("0"),
        Content::Written(stamp) => format!("v{}", stamp.version),
        Content::Foreign { .. } => String::from("?"),
    };
    data.iter().map(name).collect::<Vec<String>>().join(" ")
}
