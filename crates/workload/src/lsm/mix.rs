//! The activities of a store's threads.

use tailcut_base::choice;

choice! {
    /// What the threads of a store do.
    pub enum Mix {
        /// Threads that get random keys, and one that puts.
        PutsAndGets = "puts-and-gets",
        /// Clients that insert every key into an empty store: the load phase of YCSB.
        Load = "load",
        /// Clients that read and update, half and half (YCSB A).
        YcsbA = "ycsb-a",
        /// 95 % reads, 5 % updates (YCSB B).
        YcsbB = "ycsb-b",
        /// Reads only (YCSB C).
        YcsbC = "ycsb-c",
        /// 95 % reads of what was inserted last, 5 % inserts (YCSB D).
        YcsbD = "ycsb-d",
    }
}

choice! {
    /// What a thread does at one time.
    pub enum Operation {
        /// A get of a thread that does nothing else.
        Get = "get",
        /// A client's read of a record.
        Read = "read",
        /// A client's new version of a record.
        Update = "update",
        /// A client's new record.
        Insert = "insert",
    }
}

/// Shares of a whole, in parts per million.
const WHOLE: u32 = 1_000_000;

impl Mix {
    /// True when clients do one operation after another, each of a kind that is drawn.
    pub fn has_clients(self) -> bool {
        self != Mix::PutsAndGets
    }

    /// True when records are inserted and none is updated.
    pub fn inserts(self) -> bool {
        matches!(self, Mix::Load | Mix::YcsbD)
    }

    /// Share of reads, ppm: Cooper et al., SoCC 2010, table 2 (A to D); table 3 of SWAN has the same.
    pub fn reads_ppm(self) -> u32 {
        match self {
            Mix::PutsAndGets | Mix::YcsbC => WHOLE,
            Mix::Load => 0,
            Mix::YcsbA => WHOLE / 2,
            Mix::YcsbB | Mix::YcsbD => WHOLE / 100 * 95,
        }
    }

    /// Share of inserts among the operations, in parts per million.
    pub fn inserts_ppm(self) -> u32 {
        if self.inserts() { WHOLE - self.reads_ppm() } else { 0 }
    }

    /// The operation that a draw below 10⁶ stands for.
    pub fn operation(self, draw: u32) -> Operation {
        match self {
            Mix::PutsAndGets => Operation::Get,
            _ if draw < self.reads_ppm() => Operation::Read,
            _ if self.inserts() => Operation::Insert,
            _ => Operation::Update,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::config::Choice;

    #[test]
    fn the_shares_are_those_of_ycsb() {
        let share = |mix: Mix, wanted: Operation| {
            (0..WHOLE).step_by(100).filter(|draw| mix.operation(*draw) == wanted).count() / 100
        };
        let shares = |mix| [Operation::Read, Operation::Update, Operation::Insert].map(|of| share(mix, of));
        assert_eq!(shares(Mix::Load), [0, 0, 100]);
        assert_eq!(shares(Mix::YcsbA), [50, 50, 0]);
        assert_eq!(shares(Mix::YcsbB), [95, 5, 0]);
        assert_eq!(shares(Mix::YcsbC), [100, 0, 0]);
        assert_eq!(shares(Mix::YcsbD), [95, 0, 5]);
        assert_eq!(Mix::all().iter().filter(|mix| mix.has_clients()).count(), 5);
    }
}
