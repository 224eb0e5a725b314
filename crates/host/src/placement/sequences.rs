//! Detects sequences of writes.

/// The latest sequences: the place where each continues.
#[derive(Clone, Debug)]
pub(super) struct Sequences {
    entries: [Sequence; ENTRIES],
    /// Number of writes so far.
    writes: u64,
}

/// A sequence of writes, each of which began where the one before ended.
#[derive(Clone, Copy, Debug, Default)]
struct Sequence {
    /// The sector where it continues.
    next: u64,
    /// Sectors so far.
    sectors: u64,
    /// [`Sequences::writes`] at its last write.
    used: u64,
}

impl Sequences {
    /// Sectors from which on writes count as a sequence: 1 MiB.
    pub(super) const LEAST_SECTORS: u64 = 2048;

    /// No sequence yet.
    pub(super) fn new() -> Sequences {
        Sequences { entries: [Sequence::default(); ENTRIES], writes: 0 }
    }

    /// The number of the sequence that a write of `count` sectors at `sector` belongs to; None if it belongs
    /// to none, or to one that is too short with it.
    pub(super) fn find(&self, sector: u64, count: u32) -> Option<u32> {
        let place = self.place(sector);
        let sectors = place.map_or(0, |place| self.entries[place].sectors) + u64::from(count);
        let number = place.unwrap_or_else(|| self.oldest());
        (sectors >= Self::LEAST_SECTORS).then(|| u32::try_from(number).expect("entries are few"))
    }

    /// A write was submitted. If it continues no sequence, it may begin one, in place of the one that was
    /// left alone for longest.
    pub(super) fn record(&mut self, sector: u64, count: u32) {
        self.writes += 1;
        let place = self.place(sector);
        let sectors = place.map_or(0, |place| self.entries[place].sectors) + u64::from(count);
        let place = place.unwrap_or_else(|| self.oldest());
        self.entries[place] = Sequence { next: sector + u64::from(count), sectors, used: self.writes };
    }

    fn place(&self, sector: u64) -> Option<usize> {
        self.entries.iter().position(|entry| entry.sectors > 0 && entry.next == sector)
    }

    fn oldest(&self) -> usize {
        let entries = self.entries.iter().enumerate();
        entries.min_by_key(|(_, entry)| entry.used).map_or(0, |(place, _)| place)
    }
}

/// Sequences that are followed at a time, as many as bcache follows.
const ENTRIES: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_counts_from_its_first_mebibyte_on() {
        let mut sequences = Sequences::new();
        for write in 0..32u64 {
            let (sector, alone) = (write * 128, (1 << 30) | (write * 4096));
            assert_eq!(sequences.find(sector, 128).is_some(), (write + 1) * 128 >= 2048, "write {write}");
            assert_eq!(sequences.find(alone, 8), None);
            sequences.record(sector, 128);
            sequences.record(alone, 8);
        }
        let number = sequences.find(32 * 128, 8);
        assert!(number.is_some());
        // Others, more than it can follow, take its place.
        (0..200).for_each(|write| sequences.record((1 << 40) | (write * 4096), 8));
        assert_eq!(sequences.find(32 * 128, 8), None);
    }

    #[test]
    fn two_sequences_have_different_numbers() {
        let mut sequences = Sequences::new();
        for write in 0..16 {
            sequences.record(write * 256, 256);
            sequences.record((1 << 30) | (write * 256), 256);
        }
        let [first, second] = [16 * 256, (1 << 30) | (16 * 256)].map(|sector| sequences.find(sector, 8));
        assert!(first.is_some() && second.is_some() && first != second, "{first:?} {second:?}");
    }
}
