//! A set of blocks of one unit.

use std::ops::{BitAnd, BitOr, BitOrAssign, Not, Range};

/// Largest number of cells of a unit.
pub(super) const CELLS_MOST: usize = 252;

/// A set of cells: the blocks of a unit, numbered role by role, and within a role row by row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cells {
    words: [u64; 4],
}

impl Cells {
    /// The empty set.
    pub(super) const NONE: Cells = Cells { words: [0; 4] };

    /// The cells of a range.
    pub(super) fn range(range: Range<usize>) -> Cells {
        let mut cells = Cells::NONE;
        for (word, bits) in cells.words.iter_mut().enumerate() {
            let from = range.start.clamp(word * 64, word * 64 + 64) - word * 64;
            let to = range.end.clamp(word * 64, word * 64 + 64) - word * 64;
            if from < to {
                *bits = (u64::MAX >> (64 - (to - from))) << from;
            }
        }
        cells
    }

    /// Adds a cell.
    #[inline]
    pub(super) fn insert(&mut self, cell: usize) {
        self.words[cell / 64] |= 1 << (cell % 64);
    }

    /// True if the set contains a cell.
    #[inline]
    pub(super) fn contains(&self, cell: usize) -> bool {
        self.words[cell / 64] & 1 << (cell % 64) != 0
    }

    /// True if the set is empty.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.words == [0; 4]
    }

    /// True if the sets intersect.
    #[inline]
    pub(super) fn meets(&self, other: Cells) -> bool {
        !(*self & other).is_empty()
    }

    /// Number of cells.
    pub(super) fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The cells in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> + use<> {
        let mut words = self.words;
        let mut at = 0;
        std::iter::from_fn(move || {
            while at < 4 && words[at] == 0 {
                at += 1;
            }
            let word = words.get_mut(at)?;
            let bit = word.trailing_zeros() as usize;
            *word &= *word - 1;
            Some(at * 64 + bit)
        })
    }

    /// Ranges of neighbouring cells, none longer than `most` and none across a cell for which `ends_role` is
    /// true, where another role begins: the parts that fit one drive request.
    pub(super) fn runs<F: Fn(usize) -> bool>(
        &self,
        most: usize,
        ends_role: F,
    ) -> impl Iterator<Item = Range<usize>> + use<F> {
        let mut cells = self.iter().peekable();
        std::iter::from_fn(move || {
            let first = cells.next()?;
            let mut end = first + 1;
            while !ends_role(end) && end - first < most && cells.next_if_eq(&end).is_some() {
                end += 1;
            }
            Some(first..end)
        })
    }
}

impl BitAnd for Cells {
    type Output = Cells;
    #[inline]
    fn bitand(mut self, other: Cells) -> Cells {
        for (word, more) in self.words.iter_mut().zip(other.words) {
            *word &= more;
        }
        self
    }
}

impl BitOr for Cells {
    type Output = Cells;
    #[inline]
    fn bitor(mut self, other: Cells) -> Cells {
        for (word, more) in self.words.iter_mut().zip(other.words) {
            *word |= more;
        }
        self
    }
}

impl BitOrAssign for Cells {
    #[inline]
    fn bitor_assign(&mut self, other: Cells) {
        *self = *self | other;
    }
}

impl Not for Cells {
    type Output = Cells;
    #[inline]
    fn not(mut self) -> Cells {
        for word in &mut self.words {
            *word = !*word;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cross_words() {
        for range in [0..0, 0..1, 60..70, 0..256, 63..64, 64..65, 100..252] {
            let cells = Cells::range(range.clone());
            assert_eq!(cells.iter().collect::<Vec<_>>(), range.clone().collect::<Vec<_>>());
            assert_eq!(cells.len(), range.len());
        }
    }

    #[test]
    fn runs_end_at_roles_and_at_the_most() {
        let cells = Cells::range(3..14) | Cells::range(20..21);
        assert_eq!(
            cells.runs(4, |end| end % 8 == 0).collect::<Vec<_>>(),
            [3..7, 7..8, 8..12, 12..14, 20..21]
        );
    }
}
