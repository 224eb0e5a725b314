//! Tracks which writes have completed and which are durable.

use std::collections::VecDeque;
use tailcut_base::cast::to_usize;

/// Tracks completed writes. Writes complete in any order.
#[derive(Debug, Default)]
pub struct Settling {
    /// All writes up to this number have completed.
    settled: u64,
    /// For each later write, whether it has completed.
    later: VecDeque<bool>,
    durable: u64,
}

impl Settling {
    /// Issues a write. Returns its number, from 1.
    pub fn issue(&mut self) -> u64 {
        self.later.push_back(false);
        self.issued()
    }

    /// Number of writes issued.
    pub fn issued(&self) -> u64 {
        self.settled + self.later.len() as u64
    }

    /// Write `number` has completed.
    pub fn note_done(&mut self, number: u64) {
        self.later[to_usize(number - self.settled) - 1] = true;
        while self.later.front() == Some(&true) {
            self.later.pop_front();
            self.settled += 1;
        }
    }

    /// All writes up to this number have completed.
    pub fn settled(&self) -> u64 {
        self.settled
    }

    /// All writes up to `number` are durable.
    pub fn note_durable(&mut self, number: u64) {
        self.durable = self.durable.max(number);
    }

    /// All writes up to this number are durable.
    pub fn durable(&self) -> u64 {
        self.durable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_out_of_order_counts_when_those_before_have_ended() {
        let mut settling = Settling::default();
        let numbers: Vec<u64> = (0..3).map(|_| settling.issue()).collect();
        assert_eq!(numbers, [1, 2, 3]);
        settling.note_done(3);
        settling.note_done(2);
        assert_eq!(settling.settled(), 0);
        settling.note_done(1);
        assert_eq!((settling.settled(), settling.issued()), (3, 3));
    }
}
