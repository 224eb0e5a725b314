//! Number of blocks and spare space, so that the simulated drive has the size of the measured one.

use super::{Estimate, Provenance};
use tailcut_base::quantity::show_bytes;
use tailcut_host::BLOCK_BYTES;
use tailcut_ssd::flash::PAGES_MAX;

/// Maximum number of blocks per plane, and of pages per block, of a drive that can be simulated (`Geometry`).
const MOST_BLOCKS: u64 = 1 << 20;
const MOST_PAGES_OF_BLOCK: u64 = 1 << 13;
/// Of a plane of one.
const MOST_PAGES_OF_PLANE: u64 = (1 << 31) - 1;

/// Maximum spare space, in thousandths of the flash.
const MOST_SPARE: u64 = 850;

/// Share of the pages left after rounding to whole blocks and after the reserve of garbage collection.
const ROUNDING: f64 = 0.9;

impl Estimate {
    /// Sets the capacity to `blocks` blocks of 4 KiB, with the estimated spare space beyond the reserve of
    /// garbage collection. Blocks have as many pages as in the preset, or fewer where there would be too few
    /// blocks.
    pub(super) fn capacity(&mut self, blocks: u64) {
        let spare = self.spare;
        let planes = u64::from(self.config.geometry.plane_count());
        let preset_spare = f64::from(self.preset.config().ftl.spare) / 1e6;
        let kept = f64::from(self.config.blocks_kept());
        let offered = 1.0 - spare.unwrap_or(preset_spare).max(preset_spare);
        let most = PAGES_MAX.min(planes * MOST_PAGES_OF_PLANE);
        let wanted = blocks.min((most as f64 * offered * ROUNDING) as u64);
        let per_plane = wanted.div_ceil(planes).max(1);
        let preset_pages = u64::from(self.preset.config().geometry.pages);
        let mut pages = preset_pages;
        let needed = |pages: u64| {
            // Blocks full of data, the reserve of garbage collection, and spare space beyond them.
            let data = per_plane as f64 / pages as f64;
            match spare {
                Some(spare) => (data / (1.0 - spare) + kept).ceil() as u64,
                None => (data / (1.0 - preset_spare)).ceil().max(data.ceil() + kept + 1.0) as u64,
            }
        };
        while pages > 1 && needed(pages) < LEAST_BLOCKS {
            pages /= 2;
        }
        while pages < MOST_PAGES_OF_BLOCK && needed(pages) > MOST_BLOCKS {
            pages *= 2;
        }
        let geometry = &mut self.config.geometry;
        (geometry.pages, geometry.blocks) =
            (pages as u32, needed(pages).clamp(LEAST_BLOCKS, MOST_BLOCKS) as u32);
        self.fit(wanted);
        let is_preset = pages == preset_pages;
        if is_preset {
            self.assume("geometry.pages", "the size of a block cannot be seen");
        } else {
            let why = "the preset's do not fit a drive of this size; the size of a block cannot be seen";
            self.is("geometry.pages", Provenance::Assumed, why);
        }
        let offered = self.config.ftl.logical_pages(&self.config.geometry);
        let why = if offered > blocks + planes {
            String::from("as few as these parts can work with: the drive is larger than the measured one")
        } else if wanted < blocks {
            String::from("as many as can be simulated: the drive is smaller than the measured one")
        } else {
            format!("so that it holds {}", show_bytes((blocks * BLOCK_BYTES) as f64))
        };
        self.is("geometry.blocks", Provenance::Derived, why);
    }

    /// Sets the share of spare space that leaves `wanted` pages to the host.
    fn fit(&mut self, wanted: u64) {
        loop {
            let raw = self.config.geometry.page_count();
            let planes = u64::from(self.config.geometry.plane_count());
            let least = raw - raw / 1000 * MOST_SPARE;
            let logical = wanted.max(least).next_multiple_of(planes).min(raw);
            // Rounded down, so that the host gets all of them.
            self.config.ftl.spare = ((raw - logical) as f64 / raw as f64 * 1e6).floor() as u32;
            if self.config.check_space().is_ok() {
                return;
            }
            self.config.geometry.blocks += 1;
        }
    }

    /// The drive shrunk to at most `blocks` blocks of 4 KiB; chips, timing and spare space are unchanged.
    pub fn smaller(&self, blocks: u64) -> Estimate {
        let mut smaller = self.clone();
        if blocks < self.blocks {
            smaller.capacity(blocks);
        }
        smaller
    }
}

/// Minimum number of blocks per plane: with fewer, garbage collection becomes too coarse.
const LEAST_BLOCKS: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::config::Choice;
    use tailcut_ssd::Preset;

    #[test]
    fn every_size_becomes_a_drive() {
        for &preset in Preset::all() {
            for (shift, spare) in
                (0..44).flat_map(|shift| [None, Some(0.02), Some(0.6)].map(|spare| (shift, spare)))
            {
                for chips in [1, 8] {
                    let mut config = preset.config();
                    (config.geometry.channels, config.geometry.chips) = (chips, chips);
                    let blocks = 1u64 << shift;
                    let mut estimate = Estimate { preset, config, origins: Vec::new(), blocks, spare };
                    estimate.capacity(blocks);
                    let (config, geometry) = (&estimate.config, &estimate.config.geometry);
                    let offered = config.ftl.logical_pages(geometry);
                    assert_eq!(config.check_space(), Ok(()), "{preset} of {blocks}");
                    assert!(
                        u64::from(geometry.blocks) <= MOST_BLOCKS && geometry.page_count() <= PAGES_MAX,
                        "{geometry:?}"
                    );
                    assert!(config.ftl.spare <= 900_000, "{preset} of {blocks}: {}", config.ftl.spare);
                    assert!(offered >= blocks.min(1 << 28), "{preset} of {blocks}: {offered}");
                }
            }
        }
    }
}
