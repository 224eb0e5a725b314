//! Preparing a drive: the state that long writing would lead to, constructed instead of written.

use crate::controller::ftl::Mapping;
use crate::controller::ftl::closed::VictimPolicy;
use crate::probe::Probe;
use crate::ssd::Ssd;
use tailcut_base::Time;
use tailcut_base::config::{Configure, Visit, choose};
use tailcut_base::device::content::Change;
use tailcut_base::random::Stream;

tailcut_base::choice! {
    /// The state that a drive is prepared in.
    pub enum PreparedState {
        /// Erased.
        Empty = "empty",
        /// Written once from the first page on.
        Sequential = "sequential",
        /// As after endless uniform random writes.
        Steady = "steady",
    }
}

/// How a drive is prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Precondition {
    /// The state.
    pub state: PreparedState,
    /// Share of the user capacity, of each set from its beginning, that holds data, in parts per million.
    pub fill: u32,
}

impl Configure for Precondition {
    fn configure(&mut self, visit: &mut dyn Visit) {
        choose(
            visit,
            "state",
            "Empty, written once in order, or as after endless uniform random writes.",
            &mut self.state,
        );
        visit.share(
            "fill",
            "Share of the user capacity, from its beginning, that holds data.",
            &mut self.fill,
            0..=1_000_000,
        );
    }
}

/// The content of a page that preparation wrote.
pub fn prepared_content(logical: u32) -> u32 {
    Change::write(0x7A11_C07E, logical, u64::MAX, true).apply(0)
}

impl<P: Probe> Ssd<P> {
    /// Is there room for the data of [`Ssd::precondition`] beside the blocks that were bad from the
    /// factory?
    ///
    /// # Errors
    /// Says which plane has too few good blocks, and what would help.
    pub fn has_room_for(&self, how: &Precondition) -> Result<(), String> {
        if how.state == PreparedState::Empty {
            return Ok(());
        }
        let logical = u64::from(self.ftl.logical_pages()) * u64::from(how.fill) / 1_000_000;
        let per_plane = logical / u64::from(self.geometry.plane_count());
        let needed =
            per_plane.div_ceil(u64::from(self.geometry.pages)) + u64::from(self.config.blocks_kept());
        let fewest = (0..self.geometry.plane_count()).min_by_key(|&plane| self.ftl.free_blocks(plane));
        match fewest.map(|plane| (plane, u64::from(self.ftl.free_blocks(plane)))) {
            Some((plane, good)) if good < needed => Err(format!(
                "plane {plane} has {good} good blocks and needs {needed} to be prepared: lower \
                 device.faults.factory_bad or precondition.fill, or raise device.ftl.spare"
            )),
            _ => Ok(()),
        }
    }

    /// Prepares a new drive that [`Ssd::has_room_for`] the data. Returns the number of logical
    /// pages that hold data, of a drive of one set from page 0 on, else as many of each set; their content is [`prepared_content`].
    pub fn precondition(&mut self, how: &Precondition, seed: u64) -> u32 {
        if how.state == PreparedState::Empty {
            return 0;
        }
        if self.block_mapped.is_some() {
            return self.fill_logical_blocks(how);
        }
        let planes = self.ftl.allocator().planes().to_vec();
        let (each, pages_of_set) = (self.sets.planes_each(), self.sets.logical_pages());
        let logical = u64::from(self.ftl.logical_pages()) * u64::from(how.fill) / 1_000_000;
        let per_plane = (logical / planes.len() as u64) as u32;
        let mut random = Stream::new(seed, "precondition");
        let mut order: Vec<u32> = (0..per_plane).collect();
        let mut law: Option<(u32, Vec<f64>)> = None;
        for (turn, &plane) in planes.iter().enumerate() {
            let (set, turn) = (turn as u32 / each, turn as u32 % each);
            let logical_of = |k: u32| set * pages_of_set + k * each + turn;
            if how.state == PreparedState::Sequential {
                self.fill_plane_in_order(plane, per_plane, logical_of);
                continue;
            }
            shuffle(&mut order, &mut random);
            let layout = self.steady_layout(plane, per_plane, &mut law, &mut random);
            self.fill_plane(plane, &layout, &order, logical_of, &mut random);
        }
        per_plane * planes.len() as u32
    }

    /// Under block-level mapping every logical block lies in a block, in order, whatever was
    /// written before.
    fn fill_logical_blocks(&mut self, how: &Precondition) -> u32 {
        let (pages, stripes) = (self.geometry.pages, self.ftl.stripes());
        let logical = u64::from(self.ftl.logical_pages()) * u64::from(how.fill) / 1_000_000;
        let blocks = (logical / u64::from(pages * stripes.width())) as u32 * stripes.width();
        for logical_block in 0..blocks {
            let plane = self.settle_block_home(logical_block);
            let block =
                self.ftl.take_free(plane).expect("the configuration leaves room for all logical pages");
            for offset in 0..pages {
                self.place(block * pages + offset, stripes.page_at(logical_block, offset));
            }
            self.ftl.set_valid_pages(block, block * pages..(block + 1) * pages);
            self.medium.prepare_block(block, pages, 0);
            self.block_mapped.as_mut().expect("mapped by block").place(logical_block, block);
        }
        blocks * pages
    }

    fn fill_plane_in_order(&mut self, plane: u32, mapped: u32, logical_of: impl Fn(u32) -> u32) {
        let pages = self.geometry.pages;
        let mut k = 0;
        while k < mapped {
            let block =
                self.ftl.take_free(plane).expect("the configuration leaves room for all logical pages");
            let count = pages.min(mapped - k);
            for offset in 0..count {
                self.place(block * pages + offset, logical_of(k + offset));
            }
            self.ftl.set_valid_pages(block, block * pages..block * pages + count);
            self.finish_block(plane, block, count);
            k += count;
        }
    }

    fn place(&mut self, physical: u32, logical: u32) {
        self.medium.place(physical, logical, prepared_content(logical));
        self.ftl.set(logical, Mapping::Flash(physical));
    }

    fn finish_block(&mut self, plane: u32, block: u32, programmed: u32) {
        self.medium.prepare_block(block, programmed, 0);
        if programmed == self.geometry.pages {
            self.ftl.close(block, Time::ZERO);
        } else {
            self.ftl.set_frontier(plane, 0, block, programmed);
        }
    }

    /// The valid pages of each closed block of a plane, the oldest block first, and those of the
    /// block that is being written, half full. `law` keeps the distribution, which is the same
    /// for all planes with the same number of blocks.
    fn steady_layout(
        &self,
        plane: u32,
        mapped: u32,
        law: &mut Option<(u32, Vec<f64>)>,
        random: &mut Stream,
    ) -> Layout {
        let pages = self.geometry.pages;
        let blocks = self.ftl.free_blocks(plane);
        // Collection begins below the low mark, so in steady state just so many blocks are free.
        let low = self.collection.thresholds(self.sets.of_plane(plane)).low;
        let closed = blocks.saturating_sub(low + 1).max(1);
        let open = (pages / 2).min(mapped);
        let mapped = mapped - open;
        if self.config.gc.victim == VictimPolicy::Fifo {
            let mut counts = fifo_counts(pages, closed, mapped, random);
            fit_sum(&mut counts, mapped, pages);
            return Layout { closed: counts, open };
        }
        if law.as_ref().is_none_or(|(known, _)| *known != closed) {
            let counts =
                valid_count_law(self.config.gc.victim, self.config.gc.choices, pages, closed, mapped);
            *law = Some((closed, counts));
        }
        let (_, weights) = law.as_ref().expect("it was just computed");
        let mut counts = quantiles(weights, closed);
        fit_sum(&mut counts, mapped, pages);
        Layout { closed: counts, open }
    }

    fn fill_plane(
        &mut self,
        plane: u32,
        layout: &Layout,
        order: &[u32],
        logical_of: impl Fn(u32) -> u32,
        random: &mut Stream,
    ) {
        let pages = self.geometry.pages;
        let mut order = order.iter();
        let mut offsets: Vec<u32> = (0..pages).collect();
        let mut marks = vec![0; (pages as usize).div_ceil(MARKS)];
        for &count in &layout.closed {
            let block = self.ftl.take_free(plane).expect("the layout fits the free blocks");
            choose_first(&mut offsets, count, random);
            let chosen = &mut offsets[..count as usize];
            sort(chosen, &mut marks);
            for &offset in chosen.iter() {
                let k = *order.next().expect("the layout has as many valid pages as are mapped");
                self.place(block * pages + offset, logical_of(k));
            }
            self.ftl.set_valid_pages(block, offsets[..count as usize].iter().map(|o| block * pages + o));
            self.finish_block(plane, block, pages);
        }
        if layout.open == 0 {
            return;
        }
        let block = self.ftl.take_free(plane).expect("the layout leaves a block to write to");
        for (offset, &k) in (0..layout.open).zip(order) {
            self.place(block * pages + offset, logical_of(k));
        }
        self.ftl.set_valid_pages(block, block * pages..block * pages + layout.open);
        self.finish_block(plane, block, layout.open);
    }
}

struct Layout {
    closed: Vec<u32>,
    open: u32,
}

fn shuffle(items: &mut [u32], random: &mut Stream) {
    for i in (1..items.len()).rev() {
        items.swap(i, random.below(i as u64 + 1) as usize);
    }
}

/// Moves `count` random items to the front.
fn choose_first(items: &mut [u32], count: u32, random: &mut Stream) {
    let len = items.len();
    for i in 0..(count as usize).min(len - 1) {
        items.swap(i, i + random.below((len - i) as u64) as usize);
    }
}

/// Sorts different numbers, with a bit for each that there can be; `marks` are and stay zero. A third of preparing a drive
/// went into a general sort of the pages of each block.
fn sort(numbers: &mut [u32], marks: &mut [u64]) {
    for &number in numbers.iter() {
        marks[number as usize / MARKS] |= 1 << (number as usize % MARKS);
    }
    let mut places = numbers.iter_mut();
    for (word, first) in marks.iter_mut().zip((0..).step_by(MARKS)) {
        while *word != 0 {
            *places.next().expect("there is a mark for each number") = first + word.trailing_zeros();
            *word &= *word - 1;
        }
    }
    debug_assert!(places.next().is_none(), "the numbers differ");
}

/// Bits of a word of marks.
const MARKS: usize = u64::BITS as usize;

/// How many of `closed` blocks have 0, 1, … `pages` valid pages after endless uniform random
/// writes over `mapped` valid pages: the fixed point of the mean-field model of cleaning (Van
/// Houdt, SIGMETRICS 2013; Desnoyers, SYSTOR 2012). Cleaning a block with `v` valid pages makes
/// room for `pages - v` writes, each of which invalidates one of the valid pages at random; the
/// block comes back full. FIFO is age-structured: see [`fifo_counts`].
fn valid_count_law(policy: VictimPolicy, choices: u32, pages: u32, closed: u32, mapped: u32) -> Vec<f64> {
    let n = pages as usize;
    let mut weights = start_law(n, closed, mapped);
    let mut valid = f64::from(mapped);
    for _ in 0..12 * closed {
        let taken = take_victim(&mut weights, policy, choices, f64::from(closed));
        let writes = n as f64 - taken;
        weights[n] += 1.0;
        valid += writes;
        invalidate(&mut weights, writes / valid, n);
        valid = weights.iter().enumerate().map(|(j, w)| j as f64 * w).sum();
    }
    weights
}

/// All blocks with the mean count of valid pages.
fn start_law(n: usize, closed: u32, mapped: u32) -> Vec<f64> {
    let mean = (f64::from(mapped) / f64::from(closed)).min(n as f64);
    let mut weights = vec![0.0; n + 1];
    let (low, part) = (mean.floor() as usize, mean.fract());
    weights[low] += f64::from(closed) * (1.0 - part);
    weights[(low + 1).min(n)] += f64::from(closed) * part;
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
    for _ in 0..steps as u64 {
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
fn fifo_counts(pages: u32, closed: u32, mapped: u32, random: &mut Stream) -> Vec<u32> {
    let ratio = f64::from(closed) * f64::from(pages) / f64::from(mapped.max(1));
    let mut victim = 0.5;
    for _ in 0..10_000 {
        victim = libm::exp(-ratio * (1.0 - victim));
    }
    let count = |i: u32| {
        let age = (f64::from(closed - i) - 0.5) / f64::from(closed);
        let share = libm::exp(-age * ratio * (1.0 - victim));
        (0..pages).filter(|_| random.unit() < share).count() as u32
    };
    (0..closed).map(count).collect()
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
            at as u32
        })
        .collect()
}

/// Changes the counts by as little as possible until they sum up to `sum`.
fn fit_sum(counts: &mut [u32], sum: u32, pages: u32) {
    let mut difference = i64::from(sum) - counts.iter().map(|&c| i64::from(c)).sum::<i64>();
    while difference != 0 {
        let step = if difference > 0 { 1 } else { -1 };
        let before = difference;
        for count in counts.iter_mut() {
            let next = i64::from(*count) + step;
            if difference != 0 && next >= 0 && next <= i64::from(pages) {
                *count = next as u32;
                difference -= step;
            }
        }
        assert_ne!(before, difference, "the valid pages fit the blocks");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Write amplification of greedy cleaning for many pages per block, the large-system limit:
    /// valid share of the victim `v`, WA = 1 / (1 - v).
    fn victim_share(policy: VictimPolicy, choices: u32) -> f64 {
        let (pages, closed) = (64, 2000);
        let mapped = (0.8 * f64::from(pages * closed)) as u32;
        let mut weights = valid_count_law(policy, choices, pages, closed, mapped);
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
    fn different_numbers_are_sorted() {
        let mut marks = vec![0; 3];
        for numbers in [vec![], vec![130], vec![64, 63, 0, 127, 128, 5], (0..192).rev().collect()] {
            let (mut ours, mut theirs) = (numbers.clone(), numbers);
            sort(&mut ours, &mut marks);
            theirs.sort_unstable();
            assert_eq!(ours, theirs);
            assert_eq!(marks, [0; 3]);
        }
    }

    #[test]
    fn counts_are_made_to_fit() {
        let mut counts = vec![3, 5, 8, 8];
        fit_sum(&mut counts, 30, 8);
        assert_eq!(counts.iter().sum::<u32>(), 30);
        assert!(counts.iter().all(|&c| c <= 8));
    }
}
