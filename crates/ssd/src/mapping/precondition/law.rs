//! How many valid pages the blocks of a plane have after endless uniform random writes.

use super::placement::shuffle;
use crate::config::{GcConfig, VictimPolicy};
use std::ops::RangeInclusive;
use tailcut_base::cast::{to_u32, to_usize, whole};
use tailcut_base::random::Stream;

/// The blocks of a plane: the valid pages of those that are full, the one that was closed first in front, and
/// what is being written, by the host and by collection.
pub(super) struct Layout {
    pub(super) closed: Vec<u32>,
    pub(super) open: [Option<OpenBlock>; 2],
}

/// A block that is being written.
pub(super) struct OpenBlock {
    /// The next page to be programmed.
    pub(super) next: u32,
    /// The page offsets that are valid still, ascending.
    pub(super) valid: Vec<u32>,
}

/// What holds of all planes with as many blocks.
pub(super) struct Law {
    policy: VictimPolicy,
    choices: u32,
    pages: u32,
    /// Blocks that hold data or are being written.
    blocks: u32,
    /// Of each count of valid pages, how many blocks have it. Not for FIFO, where it depends on age.
    weights: Vec<f64>,
    /// The valid pages of a victim on average.
    victim: f64,
    /// Pages that collection copies for each page that the host writes.
    copies: f64,
}

/// Blocks of a plane and what they hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    pub(super) count: u32,
    /// Number of pages in each block.
    pub(super) pages: u32,
    /// Pages that are valid in the plane, on average.
    pub(super) mapped: u32,
}

impl Blocks {
    /// Pages for each valid page.
    fn ratio(self) -> f64 {
        f64::from(self.count) * f64::from(self.pages) / f64::from(self.mapped.max(1))
    }
}

/// How pages come to an open block, and what becomes of them.
#[derive(Clone, Copy, Debug)]
struct Arrivals {
    /// Pages that it gets for each page that the host writes to the plane.
    rate: f64,
    /// Pages that are valid in the plane: each write of the host invalidates any of them.
    mapped: u32,
}

impl Law {
    /// The law for a plane of which these blocks hold data or are being written.
    pub(super) fn new(gc: &GcConfig, used: Blocks) -> Law {
        // Of the two blocks that are being written, half is full on average.
        let Blocks { count: blocks, pages, mapped } = used;
        let closed = blocks.saturating_sub(1).max(1);
        let full = Blocks { count: closed, pages, mapped };
        let (weights, victim) = if gc.victim == VictimPolicy::Fifo {
            (Vec::new(), fifo_victim(full) * f64::from(pages))
        } else {
            let weights = valid_count_law(gc.victim, gc.choices, full);
            let victim = take_victim(&mut weights.clone(), gc.victim, gc.choices, f64::from(closed));
            (weights, victim)
        };
        let copies = victim / (f64::from(pages) - victim).max(1.0);
        Law { policy: gc.victim, choices: gc.choices, pages, blocks, weights, victim, copies }
    }

    /// True when it is the law of planes with `blocks` blocks.
    pub(super) fn is_of(&self, blocks: u32) -> bool {
        self.blocks == blocks
    }

    /// Draws the blocks of a plane with `mapped` valid pages. `host` is the next page of the host's block,
    /// from 1 to the pages of a block; without it the block is open at any page.
    pub(super) fn layout(&self, mapped: u32, host: Option<u32>, random: &mut Stream) -> Layout {
        let mut open = [self.host_block(mapped, host, random), self.collection_block(mapped, random)];
        // A plane that is so full that its pages need the rest has nothing half written.
        let count = |open: &[Option<OpenBlock>; 2]| to_u32(open.iter().flatten().count());
        let in_open = |open: &[Option<OpenBlock>; 2]| -> u32 {
            open.iter().flatten().map(|block| to_u32(block.valid.len())).sum()
        };
        for at in [1, 0] {
            let room = self.blocks.saturating_sub(count(&open)) * self.pages;
            let is_tight = count(&open) > self.blocks || in_open(&open) > mapped;
            if is_tight || mapped - in_open(&open) > room {
                open[at] = None;
            }
        }
        let (closed, mapped) = (self.blocks - count(&open), mapped - in_open(&open));
        let mut counts = if self.policy == VictimPolicy::Fifo {
            fifo_counts(Blocks { count: closed, pages: self.pages, mapped }, random)
        } else {
            let mut counts = quantiles(&self.weights, closed);
            // The number of valid pages of a block is independent of when it lost the last one.
            shuffle(&mut counts, random);
            counts
        };
        fit_sum(&mut counts, mapped, 0..=self.pages);
        Layout { closed: counts, open }
    }

    /// The block that the host's data goes to, at any moment; `None` when it is just full.
    fn host_block(&self, mapped: u32, next: Option<u32>, random: &mut Stream) -> Option<OpenBlock> {
        let next = next.unwrap_or_else(|| 1 + random.below_u32(self.pages));
        self.open_block(next, Arrivals { rate: 1.0, mapped }, random)
    }

    /// The block that collection copies to. When collection is idle, exactly the target number of blocks is
    /// free: the last victim, at least, did not need another one.
    fn collection_block(&self, mapped: u32, random: &mut Stream) -> Option<OpenBlock> {
        let victim = self.victim(random).min(self.pages - 1);
        let next = victim + 1 + random.below_u32(self.pages - victim);
        self.open_block(next, Arrivals { rate: self.copies, mapped }, random)
    }

    /// The valid pages of a victim.
    fn victim(&self, random: &mut Stream) -> u32 {
        let closed = u64::from(self.blocks.saturating_sub(1).max(1));
        let tries = match self.policy {
            VictimPolicy::Random => 1,
            VictimPolicy::DChoices => self.choices,
            _ => 0,
        };
        let any = |_| {
            let mut block = random.below(closed) as f64;
            let is_here = |weight: &f64| {
                block -= weight;
                block < 0.0
            };
            to_u32(self.weights.iter().position(is_here).unwrap_or(self.pages as usize))
        };
        (0..tries).map(any).min().unwrap_or(to_u32(whole(libm::round(self.victim))))
    }

    /// A block that got its pages like this, up to page `next`.
    fn open_block(&self, next: u32, arrivals: Arrivals, random: &mut Stream) -> Option<OpenBlock> {
        let Arrivals { rate, mapped } = arrivals;
        if next >= self.pages || rate == 0.0 {
            return None;
        }
        let is_valid = |&offset: &u32| {
            let writes = f64::from(next - 1 - offset) / rate;
            random.unit() < libm::exp(-writes / f64::from(mapped.max(1)))
        };
        Some(OpenBlock { next, valid: (0..next).filter(is_valid).collect() })
    }
}

/// How many of these blocks have 0, 1, … all of their pages valid after endless uniform random
/// writes over the valid pages: the fixed point of the mean-field model of cleaning (Van
/// Houdt, SIGMETRICS 2013; Desnoyers, SYSTOR 2012). Cleaning a block with `v` valid pages makes
/// room for `pages - v` writes, each of which invalidates one of the valid pages at random; the
/// block comes back full. FIFO is age-structured: see [`fifo_counts`].
fn valid_count_law(policy: VictimPolicy, choices: u32, full: Blocks) -> Vec<f64> {
    let n = full.pages as usize;
    let mut weights = start_law(full);
    let mut valid = f64::from(full.mapped);
    for _ in 0..12 * full.count {
        let taken = take_victim(&mut weights, policy, choices, f64::from(full.count));
        let writes = n as f64 - taken;
        weights[n] += 1.0;
        valid += writes;
        invalidate(&mut weights, writes / valid, n);
        valid = weights.iter().enumerate().map(|(j, w)| j as f64 * w).sum();
    }
    weights
}

/// All blocks with the mean count of valid pages.
fn start_law(full: Blocks) -> Vec<f64> {
    let n = full.pages as usize;
    let mean = (f64::from(full.mapped) / f64::from(full.count)).min(n as f64);
    let mut weights = vec![0.0; n + 1];
    let (low, part) = (to_usize(whole(mean.floor())), mean.fract());
    weights[low] += f64::from(full.count) * (1.0 - part);
    weights[(low + 1).min(n)] += f64::from(full.count) * part;
    weights
}

/// Takes one block out, as the policy would in the mean, and returns its valid pages.
fn take_victim(weights: &mut [f64], policy: VictimPolicy, choices: u32, closed: f64) -> f64 {
    let mut left = 1.0;
    let mut taken = 0.0;
    let mut above = 1.0;
    for (j, weight) in weights.iter_mut().enumerate() {
        let share = *weight / closed;
        let part = match policy {
            VictimPolicy::Random => share,
            VictimPolicy::DChoices => {
                let next: f64 = f64::max(above - share, 0.0);
                libm::pow(above, f64::from(choices)) - libm::pow(next, f64::from(choices))
            }
            // Cost-benefit orders uniform load as greedy does, but for ties.
            _ => left,
        };
        above = f64::max(above - share, 0.0);
        let part = part.min(*weight).min(left);
        *weight -= part;
        left -= part;
        taken += part * j as f64;
        if left <= 1e-12 {
            break;
        }
    }
    taken
}

/// Each valid page dies at `rate` (pages per page): backward Euler, which is stable for any step,
/// in steps small enough for 1 % of the change.
fn invalidate(weights: &mut [f64], rate: f64, n: usize) {
    let steps = (rate * n as f64 / 0.2).ceil().clamp(1.0, 64.0);
    let step = rate / steps;
    for _ in 0..whole(steps) {
        let mut above = 0.0;
        for (j, weight) in weights.iter_mut().enumerate().rev() {
            *weight = (*weight + step * above) / (1.0 + step * j as f64);
            above = *weight * j as f64;
        }
    }
    debug_assert_eq!(weights.len(), n + 1);
}

/// The valid pages of each closed block under FIFO cleaning, the oldest first. A page of age `x`
/// (0 youngest … 1 oldest) is valid with probability `exp(-x (P/U)(1 - v))`, where `v`, the
/// probability at `x = 1`, solves the equation itself (Desnoyers, SYSTOR 2012, LRU cleaning; P pages
/// in blocks, U valid pages); pages die independently.
fn fifo_counts(full: Blocks, random: &mut Stream) -> Vec<u32> {
    let Blocks { count: closed, pages, .. } = full;
    let (ratio, victim) = (full.ratio(), fifo_victim(full));
    let count = |i: u32| {
        let age = (f64::from(closed - i) - 0.5) / f64::from(closed);
        let share = libm::exp(-age * ratio * (1.0 - victim));
        to_u32((0..pages).filter(|_| random.unit() < share).count())
    };
    (0..closed).map(count).collect()
}

/// The valid share of a victim under FIFO cleaning: see [`fifo_counts`].
fn fifo_victim(full: Blocks) -> f64 {
    let ratio = full.ratio();
    let mut victim = 0.5;
    for _ in 0..10_000 {
        victim = libm::exp(-ratio * (1.0 - victim));
    }
    victim
}

/// `count` numbers distributed as `weights`, in ascending order.
fn quantiles(weights: &[f64], count: u32) -> Vec<u32> {
    let total: f64 = weights.iter().sum();
    let (mut at, mut sum) = (0, weights[0]);
    (0..count)
        .map(|i| {
            let target = (f64::from(i) + 0.5) / f64::from(count) * total;
            while sum < target && at + 1 < weights.len() {
                at += 1;
                sum += weights[at];
            }
            to_u32(at)
        })
        .collect()
}

/// Changes the counts by as little as possible, within the possible ones, until they sum up to `sum`.
fn fit_sum(counts: &mut [u32], sum: u32, possible: RangeInclusive<u32>) {
    let mut difference = i64::from(sum) - counts.iter().map(|&c| i64::from(c)).sum::<i64>();
    while difference != 0 {
        let step = if difference > 0 { 1 } else { -1 };
        let before = difference;
        for count in counts.iter_mut() {
            let next = i64::from(*count) + step;
            let next = u32::try_from(next).ok().filter(|next| possible.contains(next));
            if difference != 0
                && let Some(next) = next
            {
                *count = next;
                difference -= step;
            }
        }
        assert_ne!(before, difference, "the valid pages fit the blocks");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Write amplification of greedy cleaning for many pages per block, in the large-system limit: with `v`
    /// the valid share of the victim, WA = 1 / (1 - v).
    fn victim_share(policy: VictimPolicy, choices: u32) -> f64 {
        let (pages, closed) = (64, 2000);
        let mapped = (0.8 * f64::from(pages * closed)) as u32;
        let mut weights = valid_count_law(policy, choices, Blocks { count: closed, pages, mapped });
        take_victim(&mut weights, policy, choices, f64::from(closed)) / f64::from(pages)
    }

    #[test]
    fn better_policies_find_emptier_victims() {
        let greedy = victim_share(VictimPolicy::Greedy, 0);
        let eight = victim_share(VictimPolicy::DChoices, 8);
        let two = victim_share(VictimPolicy::DChoices, 2);
        let random = victim_share(VictimPolicy::Random, 0);
        assert!(greedy < eight && eight < two && two < random, "{greedy} {eight} {two} {random}");
        // Random cleaning: the victim is an average block.
        assert!((random - 0.8).abs() < 0.01, "{random}");
    }

    #[test]
    fn counts_are_made_to_fit() {
        let mut counts = vec![3, 5, 8, 8];
        fit_sum(&mut counts, 30, 0..=8);
        assert_eq!(counts.iter().sum::<u32>(), 30);
        assert!(counts.iter().all(|&c| c <= 8));
    }
}
