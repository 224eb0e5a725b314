//! Random numbers whose average is right after few draws.

use tailcut_base::random::Stream;

/// Uniform numbers, stratified: of any [`ShuffledSample::CARDS`] draws from a fresh sample, one falls into
/// each of as many equal parts of [0, 1), in random order. What is drawn by such numbers keeps its share or
/// mean in a sample of any length: the standard error falls to that of some draws in a thousand instead of
/// that of all. The price: draws within one sample are not quite independent.
#[derive(Clone, Debug)]
pub(super) struct ShuffledSample {
    /// A permutation, shuffled as far as `next`.
    cards: [u8; ShuffledSample::CARDS],
    next: usize,
    stream: Stream,
}

impl ShuffledSample {
    /// Cards of a sample.
    pub(super) const CARDS: usize = 256;

    /// A fresh sample that is shuffled by `stream`.
    pub(super) fn new(stream: Stream) -> ShuffledSample {
        ShuffledSample { cards: std::array::from_fn(|card| card as u8), next: 0, stream }
    }

    /// The next number in [0, 1).
    #[inline]
    pub(super) fn draw(&mut self) -> f64 {
        // One step of Fisher and Yates' shuffle; it works from any order of the cards.
        let left = (Self::CARDS - self.next) as u64;
        self.cards.swap(self.next, self.next + self.stream.below(left) as usize);
        let card = u64::from(self.cards[self.next]);
        self.next = (self.next + 1) % Self::CARDS;
        // 8 + 45 bits: exact as a float, and never 1.
        (card << 45 | self.stream.bits() >> 19) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with a probability of `share`, 0 … 1.
    #[inline]
    pub(super) fn chance(&mut self, share: f64) -> bool {
        self.draw() < share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_drawn_once_a_deck_in_changing_order() {
        let mut sample = ShuffledSample::new(Stream::new(1, "sample"));
        let mut orders = Vec::new();
        for _ in 0..3 {
            let order: Vec<u64> =
                (0..ShuffledSample::CARDS).map(|_| (sample.draw() * 256.0) as u64).collect();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..256));
            orders.push(order);
        }
        assert!(orders[0] != orders[1] && orders[1] != orders[2]);
    }

    #[test]
    fn a_share_is_kept_within_a_card() {
        for (share, seed) in [(0.0, 1), (0.0273, 2), (0.5, 3), (0.9979, 4), (1.0, 5)] {
            let mut sample = ShuffledSample::new(Stream::new(seed, "sample"));
            let hits = (0..2560).filter(|_| sample.chance(share)).count();
            assert!((hits as f64 - 2560.0 * share).abs() <= 10.0, "{share}: {hits}");
        }
    }
}
