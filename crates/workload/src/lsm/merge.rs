//! The result of merging files.

use super::law::Law;

/// Entries spread evenly over the keys `lo..=hi`, one version of a key at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The lowest key of the range.
    pub lo: u64,
    /// The highest key of the range, inclusive.
    pub hi: u64,
    /// Number of keys of the range that are present; at least 1, at most all.
    pub entries: u64,
}

impl Span {
    /// Number of keys between `lo` and `hi`, inclusive.
    pub fn keys(&self) -> u64 {
        self.hi - self.lo + 1
    }

    /// Share of the keys of the range that are present, above 0 and at most 1.
    pub fn density(&self) -> f64 {
        self.entries as f64 / self.keys() as f64
    }

    /// True when the two share keys.
    pub fn overlaps(&self, lo: u64, hi: u64) -> bool {
        self.lo <= hi && lo <= self.hi
    }
}

/// A stretch of keys between two ends of files.
struct Stretch {
    lo: u64,
    keys: u64,
    /// Entries that come out.
    entries: f64,
}

/// The files that come of merging `inputs`, each of at most `most` entries, in the order of their
/// keys. Where they overlap, what is left follows from their densities by the law of the puts
/// ([`Law::union`]). An entry in several of them is kept once.
pub fn merge(inputs: &[Span], most: u64, law: &Law) -> Vec<Span> {
    let stretches = stretches(inputs, law);
    let all: u64 = inputs.iter().map(|span| span.entries).sum();
    let sum: f64 = stretches.iter().map(|stretch| stretch.entries).sum();
    let largest = inputs.iter().map(|span| span.entries).max().unwrap_or(0);
    let keys: u64 = stretches.iter().map(|stretch| stretch.keys).sum();
    // Rounded to the nearest; never more than went in or fewer than the largest file has.
    let mut left = (sum.round() as u64).clamp(largest, all.min(keys));
    let mut outputs = Vec::new();
    let mut cursor = Cursor { stretches: &stretches, at: 0, before: 0, passed: 0, keys };
    while left > 0 {
        let entries = left.min(most);
        left -= entries;
        let lo = cursor.key();
        cursor.pass(entries, left);
        outputs.push(Span { lo, hi: cursor.last_key(), entries });
    }
    outputs
}

/// The stretches that some file covers, in order.
fn stretches(inputs: &[Span], law: &Law) -> Vec<Stretch> {
    let mut ends: Vec<u64> = inputs.iter().flat_map(|span| [span.lo, span.hi + 1]).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut sorted: Vec<&Span> = inputs.iter().collect();
    sorted.sort_by_key(|span| (span.lo, span.hi));
    let mut open: Vec<&Span> = Vec::new();
    let mut coming = sorted.into_iter().peekable();
    let mut stretches = Vec::new();
    for pair in ends.windows(2) {
        let (lo, keys) = (pair[0], pair[1] - pair[0]);
        open.retain(|span| span.hi >= lo);
        while let Some(span) = coming.next_if(|span| span.lo <= lo) {
            open.push(span);
        }
        if !open.is_empty() {
            let share = law.union(open.iter().map(|span| span.density()));
            stretches.push(Stretch { lo, keys, entries: share * keys as f64 });
        }
    }
    stretches
}

/// A place in the stretches, counted in the keys that they cover.
struct Cursor<'a> {
    stretches: &'a [Stretch],
    /// The stretch of the next key, and the keys that are covered before it.
    at: usize,
    before: u64,
    /// Keys behind the cursor.
    passed: u64,
    /// Keys that are covered.
    keys: u64,
}

impl Cursor<'_> {
    /// The next key.
    fn key(&self) -> u64 {
        self.stretches[self.at].lo + (self.passed - self.before)
    }

    /// The key before the cursor.
    fn last_key(&self) -> u64 {
        if self.passed > self.before {
            return self.key() - 1;
        }
        let stretch = &self.stretches[self.at - 1];
        stretch.lo + stretch.keys - 1
    }

    /// Goes behind the key that completes `entries` entries from here on; `left` entries, and so at
    /// least as many keys, remain.
    fn pass(&mut self, entries: u64, left: u64) {
        let (mut wanted, mut end) = (entries as f64, self.passed);
        let (mut at, mut before) = (self.at, self.before);
        while let Some(stretch) = self.stretches.get(at) {
            let rest = before + stretch.keys - end;
            let density = stretch.entries / stretch.keys as f64;
            if rest as f64 * density >= wanted {
                end += (wanted / density).ceil() as u64;
                break;
            }
            wanted -= rest as f64 * density;
            end += rest;
            (at, before) = (at + 1, before + stretch.keys);
        }
        let end = if left == 0 { self.keys } else { end.clamp(self.passed + entries, self.keys - left) };
        self.passed = end;
        while self.at + 1 < self.stretches.len() && self.before + self.stretches[self.at].keys <= end {
            self.before += self.stretches[self.at].keys;
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn files_without_common_keys_keep_every_entry() {
        let outputs = merge(
            &[Span { lo: 0, hi: 99, entries: 50 }, Span { lo: 200, hi: 299, entries: 100 }],
            u64::MAX,
            &Law::Uniform,
        );
        assert_eq!(outputs, [Span { lo: 0, hi: 299, entries: 150 }]);
    }

    #[test]
    fn a_full_file_takes_up_everything() {
        let full = Span { lo: 0, hi: 9_999, entries: 10_000 };
        let outputs = merge(&[full, Span { lo: 500, hi: 2_000, entries: 700 }], 2_500, &Law::Uniform);
        assert_eq!(outputs.iter().map(|span| span.entries).sum::<u64>(), 10_000);
        assert_eq!(outputs.len(), 4);
    }

    #[test]
    fn half_and_half_leave_three_quarters() {
        let half = Span { lo: 0, hi: 999_999, entries: 500_000 };
        let outputs = merge(&[half, half], 100_000, &Law::Uniform);
        assert_eq!(outputs.iter().map(|span| span.entries).sum::<u64>(), 750_000);
    }

    #[test]
    fn inserts_are_never_lost() {
        let spans =
            [(0, 999_999, 40_000), (0, 999_999, 31_234), (250_000, 499_999, 60_001), (500_000, 799_999, 7)];
        let spans = spans.map(|(lo, hi, entries)| Span { lo, hi, entries });
        let outputs = merge(&spans, 10_000, &Law::Growing);
        assert_eq!(outputs.iter().map(|span| span.entries).sum::<u64>(), 131_242);
    }

    fn span() -> impl Strategy<Value = Span> {
        (0u64..1000, 1u64..500, 0.0..1.0f64).prop_map(|(lo, keys, share)| Span {
            lo,
            hi: lo + keys - 1,
            entries: ((keys as f64 * share) as u64).max(1),
        })
    }

    proptest! {
        #[test]
        fn outputs_are_disjoint_and_within_bounds(
            inputs in prop::collection::vec(span(), 1..12),
            most in 1u64..400,
        ) {
            let outputs = merge(&inputs, most, &Law::Uniform);
            let (lo, hi) = (inputs.iter().map(|s| s.lo).min(), inputs.iter().map(|s| s.hi).max());
            prop_assert!(outputs.first().map(|s| s.lo) >= lo && outputs.last().map(|s| s.hi) <= hi);
            prop_assert!(outputs.windows(2).all(|pair| pair[0].hi < pair[1].lo));
            prop_assert!(outputs.iter().all(|s| s.entries >= 1 && s.entries <= s.keys().min(most)));
            let entries = |spans: &[Span]| spans.iter().map(|s| s.entries).sum::<u64>();
            prop_assert!(entries(&outputs) <= entries(&inputs));
        }
    }
}
