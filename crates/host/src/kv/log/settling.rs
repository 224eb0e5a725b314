//! Which writes the disk has.

use std::collections::VecDeque;

/// Counts writes, which end in any order.
#[derive(Debug, Default)]
pub struct Settling {
    /// All of the first so many have ended.
    settled: u64,
    /// Whether those behind have.
    later: VecDeque<bool>,
    durable: u64,
}

impl Settling {
    /// One more write is under way; its number, from 1 on.
    pub fn issue(&mut self) -> u64 {
        self.later.push_back(false);
        self.issued()
    }

    /// Writes so far.
    pub fn issued(&self) -> u64 {
        self.settled + self.later.len() as u64
    }

    /// A write has ended.
    pub fn note_done(&mut self, number: u64) {
        self.later[(number - self.settled) as usize - 1] = true;
        while self.later.front() == Some(&true) {
            self.later.pop_front();
            self.settled += 1;
        }
    }

    /// All writes up to this one have ended.
    pub fn settled(&self) -> u64 {
        self.settled
    }

    /// Nothing of the first so many is lost with the power.
    pub fn note_durable(&mut self, number: u64) {
        self.durable = self.durable.max(number);
    }

    /// How many that are.
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
