//! Where the requests of one kind go.

use super::LocalityClass;
use super::sample::ShuffledSample;
use tailcut_base::random::Stream;

/// Where the reads, or the writes, of a row go.
///
/// With a probability of 1 − randomness a request starts where the last one of its kind ended, or at
/// the start of the region where it would leave it. Any other is *random* and starts at a multiple
/// of 4 KiB: with the probability of [`nearness_ppm`] near one of the last [`Places::RECENT`]
/// requests of its kind, otherwise anywhere in the region, every place equally likely.
///
/// *Near* is the same position in another quarter of the same aligned 512 KiB. On the paper's drive
/// those are one page on each of its 256 planes, and each quarter is one page on each of its 64
/// chips: near requests hit the chips of the recent one at another die or plane, at the same page
/// offset. On other drives they are merely near. How the requests of the real traces came to share
/// planes is not known; this is one way.
#[derive(Clone, Debug)]
pub(super) struct Places {
    /// Sectors of the region; places count from its start.
    region: u64,
    random: f64,
    near_ppm: u32,
    /// Where the last request ended; `None` before the first, which is random.
    end: Option<u64>,
    /// Where the last requests started, in a ring.
    recent: [u64; Places::RECENT],
    count: usize,
    walk: ShuffledSample,
    near: Stream,
    address: Stream,
}

/// How likely a random request is near a recent one, in parts per million.
///
/// Chosen so that every row is measured into its class by [`crate::characterization::Locality`], and for
/// nothing else: none at all for low (what remains is chance and large requests), and two round
/// numbers that bring the rows to the middle of the other thirds.
pub fn nearness_ppm(class: LocalityClass) -> u32 {
    match class {
        LocalityClass::Low => 0,
        LocalityClass::Medium => 800_000,
        LocalityClass::High => 950_000,
    }
}

impl Places {
    /// Requests that another one can be near to.
    pub(super) const RECENT: usize = 32;

    /// Places in a region of `region` sectors, at least 1, for a randomness of `random_ppm`. `named`
    /// makes the random stream of a purpose.
    pub(super) fn new(region: u64, random_ppm: u32, near_ppm: u32, named: impl Fn(&str) -> Stream) -> Places {
        Places {
            region,
            random: f64::from(random_ppm) / 1e6,
            near_ppm,
            end: None,
            recent: [0; Places::RECENT],
            count: 0,
            walk: ShuffledSample::new(named("walk")),
            near: named("near"),
            address: named("address"),
        }
    }

    /// Where the next request of `sectors`, at most those of the region, starts.
    #[inline]
    pub(super) fn next(&mut self, sectors: u32) -> u64 {
        let sectors = u64::from(sectors);
        let jumps = self.walk.chance(self.random);
        let start = match self.end {
            Some(end) if !jumps => {
                if end + sectors <= self.region {
                    end
                } else {
                    0
                }
            }
            _ => self.jump(sectors),
        };
        self.end = Some(start + sectors);
        self.recent[self.count % Places::RECENT] = start;
        self.count += 1;
        start
    }

    fn jump(&mut self, sectors: u64) -> u64 {
        let slots = (self.region - sectors) / SLOT + 1;
        let slot = self.near(slots).unwrap_or_else(|| self.address.below(slots));
        if self.end == Some(slot * SLOT) {
            // By chance it would follow the last one.
            return (slot + 1) % slots * SLOT;
        }
        slot * SLOT
    }

    /// A slot near a recent request, if that is wanted and lies below `slots`.
    #[inline]
    fn near(&mut self, slots: u64) -> Option<u64> {
        if self.near_ppm == 0 || self.count == 0 || !self.near.chance_ppm(self.near_ppm) {
            return None;
        }
        let recent = self.recent[self.near.below(self.count.min(Places::RECENT) as u64) as usize];
        let quarters = 1 + self.near.below(STRIPE / QUARTER - 1);
        let within = (recent % STRIPE + quarters * QUARTER) % STRIPE;
        let slot = (recent - recent % STRIPE + within) / SLOT;
        (slot < slots).then_some(slot)
    }
}

/// Sectors between the places at which a random request can start: 4 KiB.
const SLOT: u64 = 8;

/// Sectors of a stripe over all planes of the paper's drive: 256 pages of 2 KiB.
const STRIPE: u64 = 1024;

/// Sectors of a stripe over all chips of the paper's drive: 64 pages of 2 KiB.
const QUARTER: u64 = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::characterization::{ChipLayout, PagePlace};

    fn places(region: u64, random_ppm: u32, near_ppm: u32) -> Places {
        Places::new(region, random_ppm, near_ppm, |purpose| Stream::new(1, purpose))
    }

    #[test]
    fn without_randomness_requests_follow_and_wrap() {
        let mut places = places(100, 0, 0);
        let first = places.next(8);
        assert_eq!(first % SLOT, 0);
        let mut end = first + 8;
        for _ in 0..100 {
            let start = places.next(7);
            assert_eq!(start, if end + 7 <= 100 { end } else { 0 });
            end = start + 7;
        }
    }

    #[test]
    fn a_random_request_never_follows_the_last() {
        // Three places only, so that chance would often produce it.
        let mut places = places(24, 1_000_000, 0);
        let mut end = None;
        for _ in 0..1000 {
            let start = places.next(8);
            assert!(start <= 16 && start.is_multiple_of(SLOT) && Some(start) != end);
            end = Some(start + 8);
        }
    }

    #[test]
    fn a_near_request_hits_the_chip_of_a_recent_one_elsewhere() {
        let layout = ChipLayout::sprinkler();
        let place = |sector: u64| layout.place_of(sector / 4);
        let mut places = places(1 << 22, 1_000_000, 1_000_000);
        let mut before: Vec<PagePlace> = vec![place(places.next(8))];
        for _ in 0..500 {
            let new = place(places.next(8));
            let shares =
                |old: &PagePlace| old.unit == new.unit && old.offset == new.offset && old.place != new.place;
            assert!(before.iter().rev().take(Places::RECENT).any(shares), "{new:?}");
            before.push(new);
        }
    }
}
