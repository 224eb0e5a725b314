//! The memory that a simulated drive takes.

use crate::config::{MappingLevel, SsdConfig};
use crate::flash::nand;
use crate::mapping::ftl;
use crate::mapping::precondition::{Precondition, PreparedState};

impl SsdConfig {
    /// The least memory, in bytes, that a drive takes as soon as it is prepared; with `content` its pages
    /// keep fingerprints. Maps cost nothing where they were never touched, so that an empty drive takes
    /// little, and more as it is written.
    pub fn memory_least(&self, how: &Precondition, content: bool) -> u64 {
        let block = (ftl::BYTES_PER_BLOCK + nand::BYTES_PER_BLOCK) as u64;
        let logical = self.ftl.logical_pages(&self.geometry);
        let filled = match how.state {
            PreparedState::Empty => 0,
            _ => logical * u64::from(how.fill) / 1_000_000,
        };
        // Where a page is, the content of its spare area, and the fingerprint; and which page goes to which
        // plane while a steady state is made, or where it was written last while a random one is.
        let making = match (how.state, self.ftl.mapping) {
            (PreparedState::Steady, MappingLevel::Page) => 1,
            (PreparedState::Random, _) => 2,
            _ => 0,
        };
        // Three words for each write that makes a random state.
        let writes = match how.state {
            PreparedState::Random => self.geometry.block_count() * u64::from(self.geometry.pages) * 3,
            _ => 0,
        };
        let words = filled * (nand::words_per_page(&self.geometry, content) as u64 + making) + writes;
        let map = filled * ftl::bytes_per_page(&self.geometry);
        self.geometry.block_count() * block + map + words * size_of::<u32>() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Preset;

    #[test]
    fn a_prepared_drive_takes_memory_for_its_pages_and_an_empty_one_for_its_blocks() {
        let config = Preset::M.config();
        let least = |state, fill, content| config.memory_least(&Precondition { state, fill }, content);
        let pages = config.ftl.logical_pages(&config.geometry);
        let empty = least(PreparedState::Empty, 1_000_000, true);
        assert!((1 << 20..4 << 20).contains(&empty), "{empty}: 32,768 blocks");
        assert_eq!(least(PreparedState::Sequential, 1_000_000, false) - empty, pages * 8);
        assert_eq!(least(PreparedState::Sequential, 500_000, true) - empty, pages / 2 * 12);
        assert_eq!(least(PreparedState::Steady, 1_000_000, true) - empty, pages * 16);
        let wide = |state, content| {
            let mut config = config.clone();
            config.geometry.blocks *= 1 << 10;
            let least = |state| config.memory_least(&Precondition { state, fill: 1_000_000 }, content);
            (least(state) - least(PreparedState::Empty)) / config.ftl.logical_pages(&config.geometry)
        };
        assert_eq!(wide(PreparedState::Sequential, true), 8 + 8 + 4, "numbers of more than 32 bits");
        let written = config.geometry.block_count() * u64::from(config.geometry.pages);
        assert_eq!(least(PreparedState::Random, 1_000_000, true) - empty, pages * 20 + written * 12);
    }
}
