//! Memory budget of requests and replies in flight, and its division among connections.

/// Bytes that all connections of a drive share.
///
/// Half of them are divided: each connection has a guaranteed *share*, so a client that takes all it can get
/// and releases nothing cannot keep another from requests that fit its share. The other half is common: a
/// connection may have as much of it as remains free (dynamic thresholds: Choudhury and Hahne, "Dynamic queue
/// length thresholds for shared-memory packet switches", IEEE/ACM Transactions on Networking 6(2), 1998, with
/// α = 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    share: u64,
    common: u64,
    /// Bytes of the common half in use.
    used: u64,
}

impl Budget {
    /// A budget of `limit` bytes, at least [`LEAST`], for at most `connections` connections.
    pub fn new(limit: u64, connections: usize) -> Budget {
        let half = limit.max(LEAST) / 2;
        Budget { share: (half - EDGES) / connections.max(1) as u64, common: half + EDGES, used: 0 }
    }

    fn of_common(&self, held: u64) -> u64 {
        held.saturating_sub(self.share)
    }

    /// Reserves `bytes` for a connection that holds `held` bytes; false if it has to wait.
    #[must_use]
    pub fn take(&mut self, held: &mut u64, bytes: u64) -> bool {
        let (before, after) = (self.of_common(*held), self.of_common(*held + bytes));
        let left = self.common - self.used;
        if after > before && after > left - (after - before).min(left) {
            return false;
        }
        self.used += after - before;
        *held += bytes;
        true
    }

    /// Releases `bytes` of a connection that holds `held`.
    ///
    /// # Panics
    /// If `bytes` is above `held`.
    pub fn give_back(&mut self, held: &mut u64, bytes: u64) {
        let after = held.checked_sub(bytes).expect("only what was taken is given back");
        self.used -= self.of_common(*held) - self.of_common(after);
        *held = after;
    }
}

/// Minimum limit, in bytes: the common half fits a request of the largest size twice.
pub const LEAST: u64 = 128 << 20;
/// Bytes charged for two requests of the largest size beyond their length, rounded up.
const EDGES: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::super::charge::charge;
    use super::*;
    use tailcut_host::wire::nbd::{Command, Header};

    #[test]
    fn nobody_can_take_anothers_share() {
        let (limit, connections) = (1u64 << 30, 1000);
        let mut budget = Budget::new(limit, connections);
        let mut held = vec![0; connections];
        // All connections but the last take as much as they can get, one after another.
        for held in &mut held[..connections - 1] {
            while budget.take(held, 4096) {}
        }
        let mut last = 0;
        assert!(budget.take(&mut last, budget.share));
        assert!(held.iter().sum::<u64>() + last <= limit);
        assert!(budget.used > budget.common / 2);
        for held in &mut held {
            let half = *held / 2;
            budget.give_back(held, half);
            let rest = *held;
            budget.give_back(held, rest);
        }
        budget.give_back(&mut last, 1000);
        assert_eq!(budget.used, 0);
    }

    #[test]
    fn a_request_of_the_largest_size_fits() {
        let largest = Header { offset: 1, length: 32 << 20, ..Header::default() };
        for (limit, connections) in [(0, 1), (LEAST, 1024), (LEAST, 1_000_000), (1 << 30, 1024)] {
            let mut held = 0;
            assert!(Budget::new(limit, connections).take(&mut held, charge(&largest, Ok(Command::Read))));
        }
    }
}
