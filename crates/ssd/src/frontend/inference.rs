//! Which reads are urgent, as far as a drive can infer it.
//!
//! PAReset leaves open (section 6.2) how a drive without hints finds the reads that a thread waits for.
//! Background work of a host (compaction, scrubbing, backup, read-ahead) reads much at a time, or continues
//! where it stopped; a thread that waits for its data issues small reads that continue no earlier one. So a
//! read is urgent unless it is long or continues a run of at least two.

use crate::request::{Lane, REGULAR};
use tailcut_base::Command;
use tailcut_base::cast::{to_u8, to_usize};

/// Ends of earlier reads that are remembered: 32 KiB. A background stream is recognised as long as fewer
/// than about this number of other reads come between two of its own.
const ENDS: usize = 4096;

/// Reads in sequence before a read that make it part of a run: one random read that begins where another
/// has ended is chance, two in sequence are not.
const RUN: u64 = 2;

/// The most pages of a read that counts as urgent: a block of 16 KiB of a file system or store is 4 pages
/// of the usual size.
const SHORT_PAGES: u32 = 4;

/// Remembers where reads have ended.
#[derive(Debug)]
pub(crate) struct Inference {
    /// Indexed by the hash of a read's end: the sector behind the read and, in the lowest bits, how many
    /// reads of its run came before it; later ones replace earlier ones.
    ends: Vec<u64>,
}

impl Inference {
    /// Remembers nothing yet.
    pub(crate) fn new() -> Inference {
        Inference { ends: vec![u64::MAX; ENDS] }
    }

    /// The rank of a read that touches `pages` pages: that of class 1 or of class 3.
    pub(crate) fn rank(&mut self, read: &Command, pages: u32) -> u8 {
        let Command { sector, sectors, .. } = *read;
        let before = self.ends[place_of(sector)];
        let run = if before / COUNTS == sector { (before % COUNTS + 1).min(COUNTS - 1) } else { 0 };
        let end = sector + u64::from(sectors);
        self.ends[place_of(end)] = end * COUNTS + run;
        if run >= RUN || pages > SHORT_PAGES { REGULAR } else { to_u8(Lane::URGENT.index()) }
    }
}

/// Lengths of runs that are distinguished.
const COUNTS: u64 = 4;

/// Multiplicative hashing (Knuth, volume 3, section 6.4) with the golden ratio.
fn place_of(sector: u64) -> usize {
    to_usize(sector.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - ENDS.ilog2()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::CommandId;
    use tailcut_base::random::Stream;

    fn read(sector: u64, sectors: u32) -> Command {
        Command { sector, sectors, ..Command::flush(CommandId(0)) }
    }

    #[test]
    fn a_stream_of_small_reads_is_recognised_among_random_ones() {
        let mut inference = Inference::new();
        let mut r = Stream::new(1, "test.inference");
        let mut wrong = [0, 0];
        for step in 0..1000u64 {
            wrong[0] += u32::from(inference.rank(&read((1 << 30) + step * 8, 8), 1) != REGULAR);
            for _ in 0..20 {
                wrong[1] += u32::from(inference.rank(&read(r.below(1 << 24) * 8, 8), 1) == REGULAR);
            }
        }
        assert!(wrong[0] < 20, "{} of 1000 reads of the stream were taken for urgent", wrong[0]);
        assert!(wrong[1] < 20, "{} of 20000 random reads were taken for background work", wrong[1]);
    }

    #[test]
    fn long_reads_are_background_work() {
        assert_eq!(Inference::new().rank(&read(0, 256), 32), REGULAR);
        assert_eq!(Inference::new().rank(&read(0, 8), 1), 0);
    }
}
