//! How long a drive lasts under the load of a run.

use serde::{Deserialize, Serialize};
use tailcut_ssd::config::MappingLevel;
use tailcut_ssd::{Figures, SsdConfig};

/// The lifetime of a drive under the measured load, with its wear level: it ends when its blocks have seen
/// the program and erase cycles that they are rated for (`device.timing.endurance`), counting erases that
/// were reset. Erases that made the stock of erased blocks larger, and the copies for them, are not charged,
/// and those that a smaller stock put off are: see [`lasting_erases`]. Unknown where nothing was erased, or
/// nothing but for the stock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lifetime {
    /// Erases that have worn blocks: those completed and those reset.
    pub worn: u64,
    /// Bytes that the host writes until the end of the lifetime; `None` if the lifetime is unknown.
    pub bytes_written: Option<f64>,
    /// What that would be without write amplification and without resets, if the buffer saved no more
    /// programs than it did: the limit.
    pub bytes_written_most: f64,
    /// Writes of the drive's capacity per day, over five years (JESD218's usual term).
    pub drive_writes_per_day: Option<f64>,
    /// Length of the lifetime in years at the measured rate; `None` if it is unknown.
    pub years: Option<f64>,
    /// Pages used up in the measurement, as a share of all pages of the drive. Below one pass, blocks that
    /// were filled in step have not all had their turn.
    #[serde(default)]
    pub passes: f64,
}

const DAYS: f64 = 365.0 * 5.0;
const YEAR_S: f64 = 365.0 * 86_400.0;

impl Lifetime {
    /// What `figures`, measured over `seconds`, mean for a drive of `capacity` bytes.
    pub(super) fn new(config: &SsdConfig, figures: &Figures, capacity: u64, seconds: f64) -> Lifetime {
        let (g, counts) = (&config.geometry, &figures.counts);
        let cycles = g.block_count() as f64 * f64::from(config.timing.endurance);
        let worn = figures.worn();
        let (host_pages, stored) = (counts.host_pages_written, stored(figures));
        let charged = lasting_erases(config, figures) + (worn - counts.erases) as f64;
        let times = (worn > 0 && charged > 0.0).then(|| cycles / charged);
        let page_bytes = g.page_bytes as f64;
        // Pages that the host writes in part count with what it writes of them.
        let written = counts.host_bytes_written as f64;
        let bytes_written = times.map(|times| times * written).filter(|bytes| *bytes > 0.0);
        let spared = if stored > 0 { host_pages as f64 / stored as f64 } else { 1.0 };
        Lifetime {
            worn,
            bytes_written,
            bytes_written_most: cycles * f64::from(g.pages) * page_bytes * spared.max(1.0),
            drive_writes_per_day: bytes_written.map(|bytes| bytes / capacity as f64 / DAYS),
            years: times.map(|times| times * seconds / YEAR_S),
            passes: figures.pages_used() as f64 / (g.block_count() as f64 * f64::from(g.pages)),
        }
    }
}

/// Pages of the host that a program has taken or will take: all but those that were replaced in the buffer.
fn stored(figures: &Figures) -> u64 {
    let counts = &figures.counts;
    counts.host_pages_written.saturating_sub(figures.buffer_write_hits).max(counts.programmed_user)
}

/// Erases in the long run for the pages that the host has stored: a victim gives back as many pages as a
/// block takes, less those that are copied from it. A block takes what blocks took in the measurement, no
/// more than it has pages, and a victim has the copies that victims had.
pub(super) fn lasting_erases(config: &SsdConfig, figures: &Figures) -> f64 {
    let counts = &figures.counts;
    let (stored, copied) = (stored(figures) as f64, counts.programmed_gc as f64);
    let erases = counts.erases as f64;
    let pages = f64::from(config.geometry.pages);
    // Pages that resets have spoiled fill blocks, too.
    let filled = figures.pages_used() as f64 / pages;
    // By page, a block is filled before another is opened. By block and superblock it may be closed earlier.
    let is_by_page = config.ftl.mapping == MappingLevel::Page;
    let opened = if is_by_page { filled } else { (erases - figures.erased_blocks as f64).max(filled) };
    let taken = if opened > 0.0 { (counts.programmed_user as f64 + copied) / opened } else { pages };
    // By page, a victim is one block, and its erase may be later.
    let victims = if is_by_page { (counts.collections as f64).max(erases) } else { erases };
    let copies = if victims > 0.0 { copied / victims } else { 0.0 };
    let gain = taken - copies;
    if gain > 0.0 { stored / gain } else { erases.max(opened) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_ssd::Preset;

    /// A drive whose blocks have 64 pages: `victims` erased with `copies` valid pages each, and `blocks`
    /// blocks of the host's pages filled.
    fn life(victims: u64, copies: u64, blocks: u64, stock_growth: i64) -> Lifetime {
        let figures = figures(victims, copies, blocks, stock_growth, 0);
        Lifetime::new(&Preset::G.config(), &figures, 1 << 30, 1.0)
    }

    fn figures(victims: u64, copies: u64, blocks: u64, stock_growth: i64, write_hits: u64) -> Figures {
        let mut figures =
            Figures { buffer_write_hits: write_hits, erased_blocks: stock_growth, ..Figures::default() };
        let programmed = blocks * u64::from(Preset::G.config().geometry.pages);
        let counts = &mut figures.counts;
        (counts.erases, counts.programmed_user, counts.programmed_gc) =
            (victims, programmed, victims * copies);
        counts.host_pages_written = programmed + write_hits;
        counts.host_bytes_written = (programmed + write_hits) * Preset::G.config().geometry.page_bytes;
        figures
    }

    #[test]
    fn the_stock_of_erased_blocks_does_not_change_a_life() {
        let steady = life(100, 0, 100, 0);
        assert_eq!(steady.bytes_written, Some(steady.bytes_written_most));
        assert_eq!(life(3, 0, 100, -97), Lifetime { worn: 3, ..steady }, "97 blocks have to be erased later");
        assert_eq!(life(160, 0, 100, 60), Lifetime { worn: 160, ..steady }, "60 blocks are erased ahead");
        assert_eq!(life(0, 0, 100, -100).years, None);
        let pages = u64::from(Preset::G.config().geometry.pages);
        let half = life(200, pages / 2, 100, 0);
        assert_eq!(half.years, steady.years.map(|years| years / 2.0), "half of each victim is copied");
        let close = |life: Lifetime| {
            let ratio = life.years.zip(half.years).map_or(0.0, |(years, steady)| years / steady);
            assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
        };
        close(life(264, pages / 2, 100, 32));
        close(life(40, pages / 2, 100, -80));
        assert_eq!(
            life(120, 0, 100, 0),
            Lifetime { worn: 120, ..steady },
            "blocks were in use at either end"
        );
        let mut by_block = Preset::G.config();
        by_block.ftl.mapping = MappingLevel::Block;
        let half_full = Lifetime::new(&by_block, &figures(120, 0, 100, 0, 0), 1 << 30, 1.0);
        assert!(half_full.years < steady.years, "by block they are not always filled");
    }

    #[test]
    fn pages_that_resets_have_spoiled_fill_blocks() {
        let config = Preset::G.config();
        let mut figures = figures(100, 0, 100, 0, 0);
        assert!((lasting_erases(&config, &figures) - 100.0).abs() < 1e-9);
        figures.counts.pages_spoiled = figures.counts.programmed_user;
        assert!((lasting_erases(&config, &figures) - 200.0).abs() < 1e-9);
    }

    #[test]
    fn copies_are_those_of_the_victims_whose_erases_are_yet_to_come() {
        let config = Preset::G.config();
        let mut figures = figures(12, 32, 7, -13, 0);
        figures.counts.collections = 24;
        // 16 copies a victim.
        let erases = 7.0 * 64.0 / (64.0 - 16.0);
        assert!((lasting_erases(&config, &figures) - erases).abs() < 1e-9);
    }

    #[test]
    fn writes_of_parts_of_pages_count_with_their_bytes() {
        let config = Preset::G.config();
        let mut figures = figures(100, 0, 100, 0, 0);
        let whole = Lifetime::new(&config, &figures, 1 << 30, 1.0);
        figures.counts.host_bytes_written /= 8;
        let part = Lifetime::new(&config, &figures, 1 << 30, 1.0);
        assert_eq!(part.bytes_written, whole.bytes_written.map(|bytes| bytes / 8.0));
        assert_eq!(part.years, whole.years);
    }

    #[test]
    fn writes_that_the_buffer_absorbs_wear_nothing() {
        let config = Preset::G.config();
        let of = |hits| Lifetime::new(&config, &figures(100, 0, 100, 0, hits), 1 << 30, 1.0);
        let (without, with) = (of(0), of(100 * u64::from(config.geometry.pages)));
        assert_eq!(with.bytes_written, without.bytes_written.map(|bytes| bytes * 2.0));
        assert_eq!(with.bytes_written, Some(with.bytes_written_most));
    }
}
