//! A sorted file (SSTable), and which keys it holds.

use super::law::{Key, Law};
use super::merge::Span;
use super::space::Extent;
use std::ops::Range;
use tailcut_base::random::mix64;

/// A sorted file. Its number is its place among all files that there have ever been.
#[derive(Clone, Debug)]
pub struct Table {
    /// Number of the file among all files that there have ever been.
    pub id: u32,
    /// Key range and number of entries of the file.
    pub span: Span,
    /// Of a store that grows: the file contains the keys of its range that were inserted between these
    /// numbers of inserts.
    pub births: Range<u64>,
    /// Number of puts that the file's entries represent ([`Law::puts`]).
    pub puts: f64,
    /// Data blocks; key ranges of equal length fall on each.
    pub data_blocks: u64,
    /// All blocks, with those of index and filter at the end.
    pub blocks: u64,
    /// Where the file lies; empty before it is written and after it is removed.
    pub extents: Vec<Extent>,
    /// Number of gets that may still read the file.
    pub pins: u32,
    /// Whether a compaction is working on the file.
    pub is_busy: bool,
    /// Whether the file has been replaced and is removed after its last read.
    pub is_obsolete: bool,
}

impl Table {
    /// True when the file has a version of `key`: with the probability of its share of the keys in
    /// its range or, where keys are not equal, that one of its puts went to the key; always with the same
    /// answer. In a store that grows, when the key was inserted between its births.
    pub fn holds(&self, key: Key, law: &Law) -> bool {
        if key.place < self.span.lo || key.place > self.span.hi {
            return false;
        }
        let probability = match law {
            Law::Uniform => self.span.density(),
            Law::Skewed(_) => Law::hit(self.puts, key.weight),
            Law::Growing => return self.births.contains(&key.age),
        };
        is_drawn(self.id, HOLDS, key.place, probability)
    }

    /// True when the filter has a false positive for `key`, with a false-positive rate of `rate`. A filter
    /// gives the same answer each time.
    pub fn is_mistaken(&self, key: u64, rate: f64) -> bool {
        is_drawn(self.id, MISTAKEN, key, rate)
    }

    /// The data block in which `key` is, or would be.
    pub fn block_of(&self, key: u64) -> u64 {
        let place = u128::from(key - self.span.lo) * u128::from(self.data_blocks);
        (place / u128::from(self.span.keys())) as u64
    }

    /// Where its block `index` lies, and how many blocks follow each other from there.
    pub fn locate(&self, index: u64) -> Extent {
        locate(&self.extents, index)
    }
}

/// Where block `index` of a file in `extents` lies, with its neighbours behind it.
///
/// # Panics
/// If the file has no block `index`.
pub fn locate(extents: &[Extent], mut index: u64) -> Extent {
    for extent in extents {
        if index < extent.blocks {
            return Extent { first: extent.first + index, blocks: extent.blocks - index };
        }
        index -= extent.blocks;
    }
    panic!("a block lies within its file");
}

/// A draw that depends on nothing but its arguments.
pub fn is_drawn(owner: u32, purpose: u64, key: u64, probability: f64) -> bool {
    let bits = mix64(mix64(u64::from(owner) << 8 | purpose) ^ mix64(key));
    ((bits >> 11) as f64) < probability * (1u64 << 53) as f64
}

/// The purpose of a draw: does a file hold a key, is its filter wrong, does a memtable hold a key.
pub const HOLDS: u64 = 1;
const MISTAKEN: u64 = 2;
/// See [`HOLDS`].
pub const IN_MEMORY: u64 = 3;

/// The false-positive rate of a Bloom filter of `bits` per key, (1 − e^(−k ÷ bits))^k with
/// k = ⌊bits × 0.69⌋ probes, at least 1 and at most 30 (RocksDB's `FullFilterBitsBuilder`); 1 for no
/// filter: every file is then looked into.
pub fn false_positive_rate(bits: u64) -> f64 {
    if bits == 0 {
        return 1.0;
    }
    let probes = (bits as f64 * 0.69).floor().clamp(1.0, 30.0);
    libm::pow(1.0 - libm::exp(-probes / bits as f64), probes)
}

#[cfg(test)]
mod tests {
    use super::super::popularity::Popularity;
    use super::*;

    fn table(entries: u64) -> Table {
        Table {
            id: 7,
            span: Span { lo: 1000, hi: 100_999, entries },
            births: 30..70,
            puts: 5.0,
            data_blocks: 100,
            blocks: 103,
            extents: vec![Extent { first: 50, blocks: 60 }, Extent { first: 500, blocks: 43 }],
            pins: 0,
            is_busy: false,
            is_obsolete: false,
        }
    }

    #[test]
    fn a_file_holds_its_share_of_keys_and_a_full_one_all() {
        let key = |place| Key { place, age: place, weight: 0.0 };
        let held = |entries| {
            (0..200_000).filter(|&place| table(entries).holds(key(place), &Law::Uniform)).count() as f64
        };
        assert!((held(30_000) - 30_000.0).abs() < 4.0 * (30_000.0f64 * 0.7).sqrt());
        assert_eq!(held(100_000), 100_000.0);
    }

    #[test]
    fn a_file_holds_what_was_inserted_between_its_births_and_hot_keys_sooner_than_others() {
        let file = table(1000);
        let grown = |place, age| file.holds(Key { place, age, weight: 0.0 }, &Law::Growing);
        assert_eq!([29, 30, 69, 70].map(|age| grown(5000, age)), [false, true, true, false]);
        assert!(!grown(999, 40));
        let law = Law::Skewed(Popularity::ycsb(10));
        let held =
            |weight| (1000..21_000).filter(|&place| file.holds(Key { place, age: 0, weight }, &law)).count();
        assert_eq!((held(10.0), held(0.0)), (20_000, 0));
        // 1 - e^(-5 x 0.2)
        assert!((held(0.2) as f64 - 12_642.0).abs() < 4.0 * 70.0);
    }

    #[test]
    fn filters_err_as_often_as_the_closed_form_says() {
        // Ten bits and six probes: 0.84 %.
        let rate = false_positive_rate(10);
        assert!((rate - 0.008_44).abs() < 1e-5, "{rate}");
        let file = table(1000);
        let wrong = (1000..101_000).filter(|key| file.is_mistaken(*key, rate)).count() as f64;
        assert!((wrong - 1e5 * rate).abs() < 4.0 * (1e5 * rate).sqrt(), "{wrong}");
        assert_eq!(false_positive_rate(0), 1.0);
    }

    #[test]
    fn blocks_are_found_in_their_extents() {
        let file = table(100);
        assert_eq!((file.block_of(1000), file.block_of(100_999)), (0, 99));
        assert_eq!(file.locate(59), Extent { first: 109, blocks: 1 });
        assert_eq!(file.locate(60), Extent { first: 500, blocks: 43 });
    }
}
