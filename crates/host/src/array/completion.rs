//! Completions of drives: who gets them, and which mean that the drive has failed.

use super::drives::Answered;
use super::{Array, DriveId};
use crate::Block;
use crate::disk::Response;
use tailcut_base::{Op, Status, Time};

impl<B: Block> Array<B> {
    /// Handles a completion from a drive.
    pub fn answered(&mut self, now: Time, drive: DriveId, response: Response<B>) {
        if response.status == Status::NoSpace {
            self.found_no_room(now, drive, response);
        } else {
            self.complete(now, drive, response);
        }
        self.settle(now);
    }

    /// A write or trim has found no room: it is kept for another attempt.
    #[cold]
    fn found_no_room(&mut self, now: Time, drive: DriveId, response: Response<B>) {
        if let Some(response) = self.core.drives.keep_refused(now, drive, response) {
            self.complete(now, drive, response);
        }
    }

    /// Hands a completion to its issuer, and judges by its status whether the drive has failed.
    #[inline]
    fn complete(&mut self, now: Time, drive: DriveId, response: Response<B>) {
        let is_current = self.core.drives.is_current(response.id);
        let mut answer = self.core.drives.answered(now, drive, response);
        if is_current && self.is_failing(&answer) {
            self.lose(now, drive);
        } else if is_current && self.is_unflushed(&answer) {
            self.core.note_unflushed(drive);
        }
        self.route(now, &mut answer);
    }

    /// True if a completion means that its drive has failed. With redundancy that includes a drive that
    /// refuses writes, as its content would become outdated; without, it still serves reads.
    fn is_failing(&self, answer: &Answered<B>) -> bool {
        let refuses = matches!(answer.status, Status::WriteProtected | Status::MediaError);
        let is_redundant = self.core.config.layout.is_redundant();
        answer.status == Status::Gone || is_redundant && refuses && answer.op != Op::Read
    }

    /// True if a completion means that a drive may have lost data it acknowledged before. A durable write
    /// refused for lack of space does not.
    fn is_unflushed(&self, answer: &Answered<B>) -> bool {
        let is_durable_write = answer.op == Op::Write && answer.fua;
        match answer.status {
            Status::Success => false,
            Status::WriteProtected | Status::InvalidField => answer.op == Op::Flush,
            _ => answer.op == Op::Flush || is_durable_write,
        }
    }
}
