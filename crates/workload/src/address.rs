//! Where requests go: which of the equal slots of a region comes next.
//!
//! A slot is a place at which a request of a lane may start (see [`super::lane`]). A [`Pattern`]
//! is the choice as a configuration states it, [`Address`] the same ready to be drawn from. Draws
//! take constant time and no memory that grows with the drive.

use super::zipf::{YcsbZipf, Zipf};
use tailcut_base::random::{Permutation, Stream, mix64};

/// How the requests of a lane choose their slots.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Every slot equally likely.
    Uniform,
    /// Every slot once, in random order, then again in another order: what fio does without
    /// `norandommap`.
    Cover,
    /// Each request starts where its predecessor ended; at the end of the region it starts over.
    Sequential,
    /// Zipf with exponent `theta` above 0, drawn exactly.
    Zipf {
        /// The exponent.
        theta: f64,
        /// Where the popular slots are.
        place: Place,
    },
    /// Zipf by the formula of YCSB, for `0 < theta < 1`. **Biased at the head** by up to half a
    /// percentage point, see [`YcsbZipf`].
    ZipfYcsb {
        /// The exponent.
        theta: f64,
        /// Where the popular slots are.
        place: Place,
    },
    /// Pareto as fio draws it: a share `1 - h` of the requests goes to a share `h` of the slots,
    /// and so on within that share.
    Pareto {
        /// The power, above 0 and below 1; the smaller, the hotter the hot slots.
        h: f64,
        /// Where the popular slots are.
        place: Place,
    },
    /// A bell as fio draws it: the mean of twelve uniform draws (standard deviation 1/12 of the
    /// region), plus a uniform deviation. Wraps at the ends of the region.
    Normal {
        /// Full width of the uniform deviation, in parts per million of the region.
        width_ppm: u32,
        /// The middle of the bell, in parts per million of the region.
        centre_ppm: u32,
    },
    /// A share of the requests goes to a share of the slots, the others to the other slots; within
    /// each, every slot equally likely. The hot slots are spread over the region.
    HotCold {
        /// Share of the slots that are hot, in parts per million.
        space_ppm: u32,
        /// Share of the requests that go to them, in parts per million.
        access_ppm: u32,
    },
    /// Neighbouring ranges of slots, each with its share of the requests: fio's `zoned`. The
    /// accesses must add up to 100 %, the spaces to at most that.
    Zoned(Vec<Zone>),
}

/// A range of slots of [`Pattern::Zoned`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Share of the requests, in parts per million.
    pub access_ppm: u32,
    /// Share of the slots, in parts per million.
    pub space_ppm: u32,
}

/// Where the popular ranks of a skewed pattern lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Spread over the region by a permutation, so that popular pages do not share blocks.
    Scattered,
    /// One after another from this place of the region on, in parts per million; wraps.
    From(u32),
}

impl Pattern {
    /// What is wrong with the parameters, and what would be right; `None` when they are valid.
    pub fn complaint(&self) -> Option<String> {
        let bad =
            |what: &str, value: f64, range: &str| Some(format!("{what} is {value}; it must be {range}"));
        match self {
            Pattern::Zipf { theta, .. } if !(*theta > 0.0 && *theta <= 100.0) => {
                bad("theta", *theta, "above 0 and at most 100")
            }
            Pattern::ZipfYcsb { theta, .. } if !(*theta > 0.0 && *theta < 1.0) => {
                bad("theta", *theta, "between 0 and 1 for YCSB's formula; 'zipf' takes any theta above 0")
            }
            Pattern::Pareto { h, .. } if !(*h > 0.0 && *h < 1.0) => bad("h", *h, "above 0 and below 1"),
            Pattern::HotCold { space_ppm, .. } if !(1..WHOLE).contains(space_ppm) => {
                bad("the hot share of the space", f64::from(*space_ppm) / 1e4, "above 0 % and below 100 %")
            }
            Pattern::Zoned(zones) => complaint_about_zones(zones),
            _ => None,
        }
    }
}

fn complaint_about_zones(zones: &[Zone]) -> Option<String> {
    let access: u64 = zones.iter().map(|z| u64::from(z.access_ppm)).sum();
    let space: u64 = zones.iter().map(|z| u64::from(z.space_ppm)).sum();
    let percent = |ppm: u64| ppm as f64 / 1e4;
    if access != u64::from(WHOLE) {
        return Some(format!("the accesses of the zones add up to {} %, not to 100 %", percent(access)));
    }
    if space > u64::from(WHOLE) {
        return Some(format!("the spaces of the zones add up to {} %, more than 100 %", percent(space)));
    }
    zones
        .iter()
        .any(|z| z.space_ppm == 0 && z.access_ppm > 0)
        .then(|| "a zone without space cannot be accessed; give it a space above 0 %".to_string())
}

/// A [`Pattern`] over a known number of slots, ready to be drawn from.
#[derive(Clone, Debug)]
pub struct Address {
    slots: u64,
    draw: Draw,
}

#[derive(Clone, Debug)]
enum Draw {
    Uniform,
    Cover { order: Permutation, next: u64, seed: u64 },
    Zipf(Zipf, Spot),
    Ycsb(YcsbZipf, Spot),
    Pareto(f64, Spot),
    Normal { width: u64, shift: u64 },
    HotCold { hot: u64, access_ppm: u32, order: Permutation },
    Zoned(Vec<Range>),
}

/// The slot of a rank.
#[derive(Clone, Debug)]
enum Spot {
    Scattered(Permutation),
    From(u64),
}

/// A zone in slots; `access_ppm` is the sum up to and including this zone.
#[derive(Clone, Debug)]
struct Range {
    access_ppm: u32,
    first: u64,
    slots: u64,
}

impl Address {
    /// `pattern` over `slots` slots. The seed fixes where scattered hot slots lie and the order of
    /// [`Pattern::Cover`]; equal seeds make equal slots hot. [`Pattern::Sequential`] counts as uniform
    /// here: the lane serves it without a draw.
    ///
    /// # Panics
    /// If `slots` is zero or [`Pattern::complaint`] has a complaint.
    pub fn new(pattern: &Pattern, slots: u64, seed: u64) -> Address {
        assert!(slots > 0, "a region without a slot");
        assert_eq!(pattern.complaint(), None);
        let spot = |place: Place| Spot::new(place, slots, seed);
        let draw = match *pattern {
            Pattern::Uniform | Pattern::Sequential => Draw::Uniform,
            Pattern::Cover => Draw::Cover { order: Permutation::new(slots, seed), next: 0, seed },
            Pattern::Zipf { theta, place } => Draw::Zipf(Zipf::new(slots, theta), spot(place)),
            Pattern::ZipfYcsb { theta, place } => Draw::Ycsb(YcsbZipf::new(slots, theta), spot(place)),
            Pattern::Pareto { h, place } => Draw::Pareto(libm::log(h) / libm::log(1.0 - h), spot(place)),
            Pattern::Normal { width_ppm, centre_ppm } => Draw::Normal {
                width: part(slots, width_ppm),
                // The mean of the draws lies in the middle: turn it to the centre.
                shift: (part(slots, centre_ppm) + slots - slots / 2) % slots,
            },
            Pattern::HotCold { space_ppm, access_ppm } => Draw::HotCold {
                hot: part(slots, space_ppm).max(1),
                access_ppm,
                order: Permutation::new(slots, seed),
            },
            Pattern::Zoned(ref zones) => Draw::Zoned(ranges(zones, slots)),
        };
        Address { slots, draw }
    }

    /// Number of slots of the region.
    pub fn slots(&self) -> u64 {
        self.slots
    }

    /// The next slot, below [`Address::slots`].
    #[inline]
    pub fn draw(&mut self, stream: &mut Stream) -> u64 {
        if let Draw::Uniform = self.draw { stream.below(self.slots) } else { self.draw_skewed(stream) }
    }

    fn draw_skewed(&mut self, stream: &mut Stream) -> u64 {
        let slots = self.slots;
        match &mut self.draw {
            Draw::Uniform => stream.below(slots),
            Draw::Cover { order, next, seed } => {
                if *next == slots {
                    *next = 0;
                    *seed = mix64(*seed);
                    *order = Permutation::new(slots, *seed);
                }
                *next += 1;
                order.at(*next - 1)
            }
            Draw::Zipf(zipf, spot) => spot.of(zipf.draw(stream), slots),
            Draw::Ycsb(zipf, spot) => spot.of(zipf.draw(stream), slots),
            Draw::Pareto(power, spot) => {
                let rank = (slots - 1) as f64 * libm::pow(stream.unit(), *power);
                spot.of(rank as u64, slots)
            }
            Draw::Normal { width, shift } => draw_normal(stream, slots, *width, *shift),
            Draw::HotCold { hot, access_ppm, order } => {
                // A region whose every slot is hot has nowhere cold to go.
                let cold = slots - *hot;
                let rank = if cold == 0 || stream.chance_ppm(*access_ppm) {
                    stream.below(*hot)
                } else {
                    *hot + stream.below(cold)
                };
                order.at(rank)
            }
            Draw::Zoned(ranges) => {
                let at = stream.below(u64::from(WHOLE)) as u32;
                let index = ranges.partition_point(|range| range.access_ppm <= at);
                let range = &ranges[index];
                range.first + stream.below(range.slots)
            }
        }
    }
}

impl Spot {
    fn new(place: Place, slots: u64, seed: u64) -> Spot {
        match place {
            Place::Scattered => Spot::Scattered(Permutation::new(slots, seed)),
            Place::From(ppm) => Spot::From(part(slots, ppm) % slots),
        }
    }

    fn of(&self, rank: u64, slots: u64) -> u64 {
        match self {
            Spot::Scattered(order) => order.at(rank),
            Spot::From(first) => {
                let slot = first + rank;
                if slot >= slots { slot - slots } else { slot }
            }
        }
    }
}

/// The mean of [`BELL_DRAWS`] uniform slots plus a deviation of up to half of `width` either way.
fn draw_normal(stream: &mut Stream, slots: u64, width: u64, shift: u64) -> u64 {
    let sum: u64 = (0..BELL_DRAWS).map(|_| stream.below(slots)).sum();
    let deviation = if width > 0 { stream.below(width + 1) } else { 0 };
    // One turn of the region is added so that the difference cannot fall below zero.
    (sum / BELL_DRAWS + shift + slots + deviation - width / 2) % slots
}

/// Cuts the slots into zones. The last zone that is accessed ends at 100 %, so that every draw
/// finds its zone; a zone that rounds to nothing gets one slot.
fn ranges(zones: &[Zone], slots: u64) -> Vec<Range> {
    let (mut access, mut space) = (0, 0);
    let mut ranges = Vec::with_capacity(zones.len());
    for zone in zones {
        let first = part(slots, space).min(slots - 1);
        access += zone.access_ppm;
        space += zone.space_ppm;
        let end = part(slots, space);
        ranges.push(Range { access_ppm: access, first, slots: end.saturating_sub(first).max(1) });
    }
    ranges
}

/// `ppm` of `slots`, rounded down.
fn part(slots: u64, ppm: u32) -> u64 {
    (u128::from(slots) * u128::from(ppm) / u128::from(WHOLE)) as u64
}

/// 100 % in parts per million.
pub const WHOLE: u32 = 1_000_000;

/// How many uniform draws fio averages for its bell.
const BELL_DRAWS: u64 = 12;

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(pattern: &Pattern, slots: u64, n: usize) -> Vec<u64> {
        let mut stream = Stream::new(5, "test");
        let mut address = Address::new(pattern, slots, 9);
        (0..n).map(|_| address.draw(&mut stream)).collect()
    }

    #[test]
    fn cover_takes_every_slot_once_per_pass_and_in_another_order_next_time() {
        let drawn = draws(&Pattern::Cover, 100, 200);
        let (first, second) = drawn.split_at(100);
        assert_ne!(first, second);
        for pass in [first, second] {
            let mut sorted = pass.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..100).collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_pattern_stays_within_the_smallest_regions() {
        let place = Place::From(999_999);
        let patterns = [
            Pattern::Uniform,
            Pattern::Cover,
            Pattern::Zipf { theta: 1.0, place },
            Pattern::ZipfYcsb { theta: 0.5, place: Place::Scattered },
            Pattern::Pareto { h: 0.2, place },
            Pattern::Normal { width_ppm: 1_000_000, centre_ppm: 1_000_000 },
            Pattern::HotCold { space_ppm: 999_999, access_ppm: 500_000 },
            Pattern::Zoned(vec![
                Zone { access_ppm: 1, space_ppm: 1 },
                Zone { access_ppm: 999_999, space_ppm: 999_999 },
            ]),
        ];
        for pattern in &patterns {
            for slots in [1, 2, 3, 7] {
                assert!(draws(pattern, slots, 200).iter().all(|&s| s < slots), "{pattern:?} over {slots}");
            }
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused_in_words() {
        let place = Place::Scattered;
        let zone = |access_ppm, space_ppm| Zone { access_ppm, space_ppm };
        for (pattern, word) in [
            (Pattern::Zipf { theta: 0.0, place }, "above 0"),
            (Pattern::Zipf { theta: f64::NAN, place }, "above 0"),
            (Pattern::ZipfYcsb { theta: 1.0, place }, "'zipf' takes any theta"),
            (Pattern::Pareto { h: 1.0, place }, "below 1"),
            (Pattern::HotCold { space_ppm: 0, access_ppm: 1 }, "above 0 %"),
            (Pattern::Zoned(vec![zone(500_000, 10)]), "add up to 50 %"),
            (Pattern::Zoned(vec![zone(1_000_000, 0)]), "without space"),
            (Pattern::Zoned(vec![]), "add up to 0 %"),
        ] {
            let complaint = pattern.complaint().expect("refused");
            assert!(complaint.contains(word), "{complaint}");
        }
    }
}
