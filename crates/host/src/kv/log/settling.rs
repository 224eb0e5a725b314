//! Tracks which writes have completed and which are durable.

use std::collections::VecDeque;
use tailcut_base::cast::to_usize;

/// The position of a write in the order in which a log issues them, from 1. Completion and durability are
/// reported up to a number: of that write and all before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct WriteNumber(u64);

impl WriteNumber {
    /// No write: less than the number of any, completed and durable from the start.
    pub const NONE: WriteNumber = WriteNumber(0);

    /// The number `writes` after this one.
    fn after(self, writes: usize) -> WriteNumber {
        WriteNumber(self.0 + writes as u64)
    }
}

/// Tracks completed writes. Writes complete in any order.
#[derive(Debug, Default)]
pub(super) struct Settling {
    /// All writes up to this number have completed.
    settled: WriteNumber,
    /// For each later write, whether it has completed.
    later: VecDeque<bool>,
    durable: WriteNumber,
}

impl Settling {
    /// Issues a write. Returns its number.
    pub(super) fn issue(&mut self) -> WriteNumber {
        self.later.push_back(false);
        self.issued()
    }

    /// Number of the write issued last.
    pub(super) fn issued(&self) -> WriteNumber {
        self.settled.after(self.later.len())
    }

    /// Write `number` has completed.
    pub(super) fn note_done(&mut self, number: WriteNumber) {
        self.later[to_usize(number.0 - self.settled.0) - 1] = true;
        while self.later.front() == Some(&true) {
            self.later.pop_front();
            self.settled = self.settled.after(1);
        }
    }

    /// All writes up to this number have completed.
    pub(super) fn settled(&self) -> WriteNumber {
        self.settled
    }

    /// All writes up to `number` are durable.
    pub(super) fn note_durable(&mut self, number: WriteNumber) {
        self.durable = self.durable.max(number);
    }

    /// All writes up to this number are durable.
    pub(super) fn durable(&self) -> WriteNumber {
        self.durable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_out_of_order_counts_when_those_before_have_ended() {
        let mut settling = Settling::default();
        let [first, second, third] = std::array::from_fn(|_| settling.issue());
        assert!(WriteNumber::NONE < first && first < second && second < third);
        settling.note_done(third);
        settling.note_done(second);
        assert_eq!(settling.settled(), WriteNumber::NONE);
        settling.note_done(first);
        assert_eq!((settling.settled(), settling.issued()), (third, third));
    }
}
