//! How large the requests of a row are.

use super::sample::ShuffledSample;
use tailcut_base::SECTOR_BYTES;

/// Geometric sizes of a given mean, cut off at a largest size.
///
/// Table 1 gives no more than the mean. Of all distributions over the positive whole numbers with a given
/// mean the geometric one has the greatest entropy, that is, it assumes nothing else. Sizes are multiples of
/// 4 KiB, the page of a server's memory, where the mean is above it, and of 512 B otherwise. They are cut off
/// at 128 KiB: an entry of the paper's device queue tracks its memory requests in a bitmap of eight bytes
/// (section 4.4), 64 pages of 2 KiB. Recorded volumes of MSR Cambridge, to which hm and proj belong, have no
/// request above 64 KiB. Where the mean itself is larger (writes of msnfs3), the cut is at 4 MiB, the largest
/// transfer of the evaluation. The probability of success *p* is such that the mean of the sizes *as cut off*
/// at *c* units, (1 − (1 − *p*)^*c*) ÷ *p*, is the mean asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct GeometricSizes {
    /// Sectors of a unit.
    unit: u32,
    /// The largest size in units, at least 1.
    most: u32,
    /// 1 ÷ ln(1 − *p*); −0 for *p* = 1.
    scale: f64,
}

impl GeometricSizes {
    /// The largest request where the mean allows it, in sectors: 128 KiB.
    const TRACKED: u64 = 256;

    /// The largest request, in sectors: 4 MiB.
    pub(super) const LARGEST: u64 = 8192;

    /// Sizes of `mean` bytes on average, at least 512, none above 128 KiB (4 MiB where the mean is above
    /// that) or `region` sectors; nothing where that is less than the mean.
    pub(super) fn new(mean: f64, region: u64) -> Option<GeometricSizes> {
        let unit = if mean > 4096.0 { 8 } else { 1 };
        let cut = if mean <= (Self::TRACKED * SECTOR_BYTES) as f64 { Self::TRACKED } else { Self::LARGEST };
        let most = region.min(cut) as u32 / unit;
        let mean_units = mean / (f64::from(unit) * 512.0);
        assert!(mean_units >= 1.0, "a mean size below a sector");
        if mean_units > f64::from(most) {
            return None;
        }
        let (mut low, mut high) = (0.0f64, 1.0f64);
        for _ in 0..64 {
            // The mean falls as p rises.
            let p = (low + high) / 2.0;
            let mean = -libm::expm1(f64::from(most) * libm::log1p(-p)) / p;
            if mean > mean_units { low = p } else { high = p }
        }
        Some(GeometricSizes { unit, most, scale: 1.0 / libm::log1p(-high) })
    }

    /// The next size in sectors.
    #[inline]
    pub(super) fn draw(&self, sample: &mut ShuffledSample) -> u32 {
        let failures = libm::log(1.0 - sample.draw()) * self.scale;
        // Saturates at the largest.
        self.unit * (failures as u32).saturating_add(1).min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::random::Stream;

    fn drawn(mean: f64, region: u64, n: usize) -> Vec<u32> {
        let sizes = GeometricSizes::new(mean, region).expect("it fits");
        let mut sample = ShuffledSample::new(Stream::new(1, "sizes"));
        (0..n).map(|_| sizes.draw(&mut sample)).collect()
    }

    #[test]
    fn the_mean_holds_with_and_without_the_cut() {
        for (mean, region) in [
            (512.0, 1 << 20),
            (1000.0, 1 << 20),
            (4096.0, 1 << 20),
            (4097.0, 1 << 20),
            (8884.0, 1 << 20),
            (477_400.0, 1 << 20),
            (477_400.0, 1000), // Cut off at 500 KB.
            (3_000_000.0, 1 << 20),
        ] {
            let n = 100_000;
            let sectors: u64 = drawn(mean, region, n).iter().map(|&s| u64::from(s)).sum();
            let measured = sectors as f64 * 512.0 / n as f64;
            assert!((measured / mean - 1.0).abs() < 0.005, "{mean}: {measured}");
        }
    }

    #[test]
    fn sizes_are_whole_units_within_the_cut() {
        let sizes = drawn(477_400.0, 1000, 10_000);
        assert!(sizes.iter().all(|s| s.is_multiple_of(8) && (8..=1000).contains(s)));
        assert!(sizes.contains(&1000));
        assert!(drawn(1000.0, 1 << 20, 10_000).contains(&1));
        assert_eq!(drawn(512.0, 1, 10), [1; 10]);
    }

    #[test]
    fn requests_are_what_a_queue_entry_tracks_unless_their_mean_is_more() {
        let most = |mean| drawn(mean, 1 << 20, 100_000).into_iter().max();
        assert_eq!(most(41_548.0), Some(256), "reads of proj2");
        assert!(most(477_400.0) > Some(256), "writes of msnfs3");
    }

    #[test]
    fn sizes_are_geometric() {
        // A mean of two units: each further unit with a probability of 1/2.
        let sizes = drawn(8192.0, 1 << 20, 65_536);
        for units in 1..6 {
            let count = sizes.iter().filter(|&&s| s == 8 * units).count();
            let expected = 65_536 >> units;
            assert!(count.abs_diff(expected) < 300, "{units}: {count}, not {expected}");
        }
    }

    #[test]
    fn a_mean_above_the_largest_is_refused() {
        assert!(GeometricSizes::new(8884.0, 8).is_none());
        assert!(GeometricSizes::new(8884.0, 0).is_none());
        assert!(GeometricSizes::new(5e6, 1 << 30).is_none());
    }
}
