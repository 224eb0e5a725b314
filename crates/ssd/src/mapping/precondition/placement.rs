//! Which logical pages each plane of a set holds after endless uniform random writes of single pages.

use crate::config::Allocation;
use tailcut_base::cast::{to_u32, whole};
use tailcut_base::random::Stream;

/// The logical pages of each plane of a set, in the order of allocation, the pages of a plane in random
/// order. The first `pages` pages of the set hold data; `capacities` gives the room of each plane in pages.
///
/// Under static allocation the logical page decides the plane. Under dynamic allocation the plane is that of
/// the write which came last to the page: any, with equal probability, whatever plane the page next to it is
/// in.
pub(super) fn logical_pages_by_plane(
    allocation: Allocation,
    pages: u32,
    capacities: &[u32],
    random: &mut Stream,
) -> Vec<Vec<u32>> {
    let planes = to_u32(capacities.len());
    let mut by_plane = match allocation {
        Allocation::Static => (0..planes).map(|at| (at..pages).step_by(planes as usize).collect()).collect(),
        Allocation::Dynamic => deal(pages, &dynamic_counts(pages, capacities, random), random),
    };
    for pages in &mut by_plane {
        shuffle(pages, random);
    }
    by_plane
}

/// How many valid pages each plane has under dynamic allocation. With *n* planes each plane gets every
/// *n*-th write, and a page written `x` writes ago is still valid with probability `exp(-x / pages)`: the
/// valid pages of a plane are the sum of as many independent trials, with the mean `m = pages / planes` and
/// the variance `m / 2`.
fn dynamic_counts(pages: u32, capacities: &[u32], random: &mut Stream) -> Vec<u32> {
    let mean = f64::from(pages) / capacities.len() as f64;
    let spread = libm::sqrt(mean / 2.0);
    let draw = |&capacity: &u32| {
        let count = libm::round(mean + spread * normal(random)).max(0.0);
        to_u32(whole(count)).min(capacity)
    };
    let mut counts: Vec<u32> = capacities.iter().map(draw).collect();
    let mut sum = counts.iter().map(|&count| u64::from(count)).sum::<u64>();
    while sum != u64::from(pages) {
        let before = sum;
        for (count, &capacity) in counts.iter_mut().zip(capacities) {
            if sum < u64::from(pages) && *count < capacity {
                (*count, sum) = (*count + 1, sum + 1);
            } else if sum > u64::from(pages) && *count > 0 {
                (*count, sum) = (*count - 1, sum - 1);
            }
        }
        assert_ne!(before, sum, "the planes have room for the pages");
    }
    counts
}

/// A normally distributed number of mean 0 and variance 1: the sum of twelve even ones.
fn normal(random: &mut Stream) -> f64 {
    (0..12).map(|_| random.unit()).sum::<f64>() - 6.0
}

/// Deals the pages from 0 to before `pages` to planes at random, `counts` to each. The pages are walked in
/// order, which touches one end of a list for each plane; a permutation of all pages would miss the cache for
/// each of them.
fn deal(pages: u32, counts: &[u32], random: &mut Stream) -> Vec<Vec<u32>> {
    let with_room = |&count: &u32| Vec::with_capacity(count as usize + count as usize / 16 + 64);
    let mut dealt: Vec<Vec<u32>> = counts.iter().map(with_room).collect();
    for page in 0..pages {
        dealt[random.index(counts.len())].push(page);
    }
    // What some planes have got too much of goes to those that have got too little.
    let mut surplus = Vec::new();
    for (pages, &count) in dealt.iter_mut().zip(counts) {
        while pages.len() > count as usize {
            let any = random.index(pages.len());
            surplus.push(pages.swap_remove(any));
        }
    }
    shuffle(&mut surplus, random);
    for (pages, &count) in dealt.iter_mut().zip(counts) {
        while pages.len() < count as usize {
            pages.push(surplus.pop().expect("the counts sum up to all pages"));
        }
    }
    dealt
}

/// Brings items into random order.
pub(super) fn shuffle(items: &mut [u32], random: &mut Stream) {
    for i in (1..items.len()).rev() {
        items.swap(i, random.index(i + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_dealt_once_and_no_plane_gets_more_than_it_can_hold() {
        for allocation in [Allocation::Static, Allocation::Dynamic] {
            let capacities = [2_500, 3_000, 2_500, 2_510];
            let by_plane =
                logical_pages_by_plane(allocation, 10_000, &capacities, &mut Stream::new(1, "test"));
            assert!(by_plane.iter().zip(capacities).all(|(pages, most)| pages.len() <= most as usize));
            let mut all = by_plane.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..10_000), "{allocation:?}");
        }
    }

    #[test]
    fn under_dynamic_allocation_neighbours_lie_anywhere() {
        let mut random = Stream::new(2, "test");
        let by_plane = logical_pages_by_plane(Allocation::Dynamic, 40_000, &[20_000; 4], &mut random);
        let mut plane_of = vec![0; 40_000];
        for (plane, pages) in by_plane.iter().enumerate() {
            assert!((9_700..10_300).contains(&pages.len()), "half the variance of a binomial: 70.7");
            for &page in pages {
                plane_of[page as usize] = plane;
            }
        }
        let together = plane_of.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!((9_700..10_300).contains(&together), "{together} of 39 999 neighbours share one of 4 planes");
    }
}
