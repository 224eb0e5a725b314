//! How large requests are, and how much of a flash page they use.

use super::{Device, Flow, Synthetic};
use crate::scenario::spelling;

/// Bytes of a sector.
pub(super) const SECTOR: u64 = 512;

/// The part of every flash page that requests use, which becomes the page of the scenario.
///
/// MQSim moves over the bus only the sectors of a page that a request asks for, and writes a part of a page
/// without reading the rest as long as the rest was never written. Where every request lies at the beginning
/// of a page of its own, the flash behaves as if its pages ended there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageUnit {
    /// Bytes of a page of the scenario.
    bytes: u64,
    /// Bytes of a page of the device.
    page: u64,
}

impl PageUnit {
    /// Looks at all flows: one that uses more than a part of a page makes it the whole page.
    pub(super) fn new(device: &Device, flows: &[Flow]) -> PageUnit {
        let page = device.flash.page;
        let used = |flow: &Flow| flow.synthetic().filter(|flow| flow.uses_part(page)).map(|flow| flow.size);
        let largest =
            flows.iter().map(used).collect::<Option<Vec<u64>>>().and_then(|all| all.into_iter().max());
        PageUnit { bytes: largest.map_or(page, |sectors| (sectors * SECTOR).next_power_of_two()), page }
    }

    /// Bytes of a page of the scenario.
    pub(super) fn bytes(self) -> u64 {
        self.bytes
    }

    /// Whether the scenario has smaller pages than the device.
    pub(super) fn is_part(self) -> bool {
        self.bytes < self.page
    }

    /// The share of a page that MQSim moves over the bus for each page that requests use, over all flows by
    /// their depth; 1 for whole pages, and where a trace decides.
    pub(super) fn moved(self, flows: &[Flow]) -> f64 {
        if self.is_part() {
            return 1.0;
        }
        let (mut sum, mut weights) = (0.0, 0.0);
        for flow in flows {
            let Some(flow) = flow.synthetic() else { return 1.0 };
            let weight = flow.depth.unwrap_or(1) as f64;
            sum += weight * flow.share_of_page(self.page / SECTOR);
            weights += weight;
        }
        if weights > 0.0 { sum / weights } else { 1.0 }
    }

    /// The alignment of a flow's requests in the scenario, in bytes.
    pub(super) fn alignment(self, flow: &Synthetic) -> u64 {
        match flow.align.map(|sectors| sectors * SECTOR) {
            Some(bytes) if bytes.is_multiple_of(self.page) => bytes / self.page * self.bytes,
            Some(bytes) => bytes,
            None => SECTOR,
        }
    }

    /// The sizes of a flow's requests in the scenario: `4KiB`, or sizes with percentages.
    pub(super) fn sizes(self, flow: &Synthetic) -> String {
        match flow.deviation {
            Some(deviation) => normal(flow.size as f64, deviation as f64),
            None => spelling::bytes(self.size(flow)),
        }
    }

    /// Bytes of a request of a flow with one size: all of the page where MQSim writes a part of it and never
    /// reads the rest.
    pub(super) fn size(self, flow: &Synthetic) -> u64 {
        if flow.uses_part(self.page) { self.bytes } else { flow.size * SECTOR }
    }
}

impl Synthetic {
    /// The mean share of a page of `sectors` sectors that a request uses of each page that it touches.
    fn share_of_page(&self, sectors: u64) -> f64 {
        let step = self.align.unwrap_or(1);
        let (mut used, mut touched) = (0.0, 0.0);
        for (size, weight) in self.typical_sizes() {
            // Where requests begin within a page, each as often.
            let starts = (0..sectors).map(|slot| slot * step % sectors);
            let pages: u64 = starts.map(|start| (start + size).div_ceil(sectors)).sum();
            used += weight * (size * sectors) as f64;
            touched += weight * (pages * sectors) as f64;
        }
        used / touched
    }

    /// Sizes in sectors with weights: one, or steps of half a deviation.
    fn typical_sizes(&self) -> Vec<(u64, f64)> {
        let Some(deviation) = self.deviation else { return vec![(self.size, 1.0)] };
        let size = |step: i32| {
            let distance = f64::from(step) / 2.0;
            let sectors = (self.size as f64 + distance * deviation as f64).ceil().max(1.0);
            (sectors as u64, (-distance * distance / 2.0).exp())
        };
        (-6..=6).map(size).collect()
    }

    /// True if each request lies at the beginning of a page and leaves a part of it out.
    pub(super) fn uses_part(&self, page: u64) -> bool {
        let starts_page = self.align.is_some_and(|sectors| (sectors * SECTOR).is_multiple_of(page));
        starts_page && self.deviation.is_none() && self.size * SECTOR < page
    }
}

/// The rounded-up draws of a normal distribution, in sectors, as sizes with percentages. At least one sector;
/// four deviations either way; grouped where there would be more than [`MOST_SIZES`].
fn normal(mean: f64, deviation: f64) -> String {
    let (low, high) = ((mean - 4.0 * deviation).ceil().max(1.0), (mean + 4.0 * deviation).ceil().max(1.0));
    let step = ((high - low) / MOST_SIZES).ceil().max(1.0);
    let mut groups: Vec<(u64, f64)> = Vec::new();
    let mut sectors = low;
    while sectors <= high {
        // A draw between this size and the one below it is rounded up to it.
        let distance = (sectors - 0.5 - mean) / deviation;
        let weight = (-distance * distance / 2.0).exp();
        let group = low + ((sectors - low) / step).floor() * step + ((step - 1.0) / 2.0).floor();
        match groups.last_mut() {
            Some((size, sum)) if *size == group as u64 => *sum += weight,
            _ => groups.push((group as u64, weight)),
        }
        sectors += 1.0;
    }
    let total: f64 = groups.iter().map(|(_, weight)| weight).sum();
    let share = |weight: f64| (weight / total * 1e6).round() as u64;
    groups.retain(|&(_, weight)| share(weight) > 0);
    // The most frequent size takes what rounding leaves.
    let most = groups.iter().map(|&(_, weight)| share(weight)).max().unwrap_or(0);
    let mut is_left_open = false;
    let part = |&(size, weight): &(u64, f64)| {
        let (bytes, ppm) = (spelling::bytes(size * SECTOR), share(weight));
        if ppm == most && !is_left_open {
            is_left_open = true;
            return format!("{bytes}/");
        }
        format!("{bytes}/{}", spelling::share(u32::try_from(ppm).unwrap_or(u32::MAX)).trim_end_matches('%'))
    };
    groups.iter().map(part).collect::<Vec<String>>().join(":")
}

/// The most different sizes of a normal distribution.
const MOST_SIZES: f64 = 64.0;

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_workload::size::Sizes;

    fn flow(size: u64, align: Option<u64>) -> Synthetic {
        Synthetic {
            working_set: 100,
            depth: Some(1),
            bandwidth: 0,
            read: 100,
            distribution: crate::import::mqsim::Distribution::Uniform,
            hot: 0,
            align,
            size,
            deviation: None,
            seed: 0,
            stop: 1,
            total: 0,
        }
    }

    #[test]
    fn requests_use_a_share_of_the_pages_that_they_touch() {
        assert_eq!(flow(16, Some(16)).share_of_page(16), 1.0);
        assert_eq!(flow(8, Some(8)).share_of_page(16), 0.5);
        assert_eq!(flow(24, Some(16)).share_of_page(16), 0.75, "one and a half of two");
        // 8 of 16 sectors begin at any sector: 9 of 16 lie in one page, 7 in two.
        assert!((flow(8, None).share_of_page(16) - 8.0 / 23.0).abs() < 1e-9);
    }

    #[test]
    fn a_normal_distribution_keeps_its_mean() {
        for (mean, deviation) in [(8.0, 2.0), (64.0, 20.0), (4096.0, 800.0), (2.0, 1.0)] {
            let sizes = Sizes::parse(&normal(mean, deviation)).expect("sizes");
            // Rounding up adds half a sector; what is cut off at one sector adds a little.
            let tolerance = 0.02 * mean + 0.3;
            assert!((sizes.mean() - mean - 0.5).abs() < tolerance, "{mean} ± {deviation}: {}", sizes.mean());
        }
    }
}
