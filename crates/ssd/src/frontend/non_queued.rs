//! Commands that the protocol does not queue.
//!
//! Over AHCI trim and flush are none of the 32 commands that a drive may reorder (ACS-3, section 4.16.1):
//! one of them begins when everything before it has ended, and later commands begin when it has ended.
//! Linux does so for trims even with drives that claim to queue them, as several claim it wrongly (libata's
//! `ATA_HORKAGE_NO_NCQ_TRIM`, which names the drives of SWAN's evaluation).

use crate::config::Protocol;
use crate::request::Tag;
use std::collections::VecDeque;
use tailcut_base::Op;

/// Which command runs alone, and the commands that wait for it or for the drive to drain.
#[derive(Debug)]
pub(crate) struct NonQueued {
    /// The protocol has such commands.
    is_in_force: bool,
    /// Commands that have begun and not ended.
    begun: u32,
    /// One of them is not queued: it is alone.
    is_alone: bool,
    /// Tags of commands that have not begun, in the order in which they came.
    line: VecDeque<Tag>,
}

impl NonQueued {
    pub(crate) fn new(protocol: Protocol) -> NonQueued {
        NonQueued {
            is_in_force: protocol == Protocol::Ahci,
            begun: 0,
            is_alone: false,
            line: VecDeque::new(),
        }
    }

    fn is_non_queued(op: Op) -> bool {
        matches!(op, Op::Trim | Op::Flush)
    }

    fn may_begin(&self, op: Op) -> bool {
        !self.is_alone && (self.begun == 0 || !NonQueued::is_non_queued(op))
    }

    /// A command has come. False when it has to wait: then it stands in line.
    #[inline]
    pub(crate) fn enter(&mut self, tag: Tag, op: Op) -> bool {
        if !self.is_in_force {
            return true;
        }
        let begins = self.line.is_empty() && self.may_begin(op);
        if begins {
            self.begin(op);
        } else {
            self.line.push_back(tag);
        }
        begins
    }

    fn begin(&mut self, op: Op) {
        self.begun += 1;
        self.is_alone = NonQueued::is_non_queued(op);
    }

    /// A command has ended.
    #[inline]
    pub(crate) fn leave(&mut self) {
        if self.is_in_force {
            self.begun -= 1;
            self.is_alone &= self.begun > 0;
        }
    }

    /// True when commands wait that may begin now, as far as is known without examining them.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        !self.line.is_empty() && !self.is_alone
    }

    /// The next in line, if it may begin now: then it has.
    pub(crate) fn next(&mut self, op_of: impl Fn(Tag) -> Op) -> Option<(Tag, Op)> {
        let tag = *self.line.front()?;
        let op = op_of(tag);
        if !self.may_begin(op) {
            return None;
        }
        self.begin(op);
        self.line.pop_front();
        Some((tag, op))
    }
}
