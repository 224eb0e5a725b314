//! The size of the pieces that a long trim is carried out in.
//!
//! The system holds the lock of a file while it deallocates a range of it, and everything else that needs the
//! file waits: reads, too. How long that takes depends on the number of extents in the range, which the
//! length does not tell: 512 MiB in 20,000 extents take a second, a terabyte without data takes
//! microseconds. So the durations of the last pieces determine the length of the next one.

use tailcut_base::Nanos;

/// The size of the next piece of a trim.
#[derive(Debug)]
pub(super) struct PieceSize {
    /// In blocks.
    blocks: u64,
    /// The last piece took too long.
    was_slow: bool,
}

impl PieceSize {
    /// The size before the first piece.
    pub(super) fn new() -> PieceSize {
        PieceSize { blocks: FIRST, was_slow: false }
    }

    /// Maximum length of the next piece, in blocks.
    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// A piece of `blocks` blocks took `duration`, from its submission to its completion. A single slow piece
    /// may have waited for a processor, which smaller pieces would not change; two in a row count.
    pub(super) fn note(&mut self, blocks: u64, duration: Nanos) {
        let is_slow = duration > SLOW;
        if is_slow && self.was_slow {
            self.blocks = (self.blocks / 2).max(LEAST);
        } else if duration < FAST && blocks >= self.blocks {
            self.blocks = (self.blocks * 2).min(MOST);
        }
        self.was_slow = is_slow;
    }
}

/// Pieces below this duration are doubled.
const FAST: Nanos = Nanos::millis(2);
/// Pieces above this duration are halved.
const SLOW: Nanos = Nanos::millis(10);
/// 4 MiB, in blocks.
const FIRST: u64 = 1 << 10;
/// 256 KiB, in blocks: some 50 extents at worst, and 16 system calls per 4 MiB.
const LEAST: u64 = 1 << 6;
/// 64 MiB, in blocks: 16,384 system calls per terabyte, and the most that a reader waits where the extents of
/// a file that had none so far begin.
const MOST: u64 = 1 << 14;

#[cfg(test)]
mod tests {
    use super::*;

    fn after(pieces: &[(u64, Nanos)]) -> u64 {
        let mut size = PieceSize::new();
        pieces.iter().for_each(|&(blocks, duration)| size.note(blocks, duration));
        size.blocks()
    }

    #[test]
    fn fast_pieces_grow_to_the_upper_bound() {
        let mut size = PieceSize::new();
        let mut sizes = vec![size.blocks()];
        for _ in 0..6 {
            size.note(size.blocks(), Nanos::millis(1));
            sizes.push(size.blocks());
        }
        assert_eq!(sizes, [1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 14, 1 << 14]);
    }

    #[test]
    fn slow_pieces_shrink_to_the_lower_bound() {
        let mut size = PieceSize::new();
        (0..20).for_each(|_| size.note(size.blocks(), Nanos::millis(11)));
        assert_eq!(size.blocks(), 1 << 6);
        size.note(size.blocks(), Nanos::millis(1));
        assert_eq!(size.blocks(), 1 << 7, "it grows again");
    }

    #[test]
    fn one_slow_piece_may_be_the_fault_of_the_scheduler() {
        let (slow, fine) = (Nanos::millis(40), Nanos::millis(5));
        assert_eq!(after(&[(FIRST, slow), (FIRST, fine), (FIRST, slow)]), FIRST);
        assert_eq!(after(&[(FIRST, slow), (FIRST, slow)]), FIRST / 2);
    }

    #[test]
    fn the_short_end_of_a_trim_says_nothing_about_long_pieces() {
        assert_eq!(after(&[(1, Nanos(1)), (FIRST - 1, Nanos(1))]), FIRST);
    }

    #[test]
    fn between_the_bounds_the_size_stays() {
        assert_eq!(after(&[(FIRST, Nanos::millis(2)), (FIRST, Nanos::millis(10))]), FIRST);
    }
}
