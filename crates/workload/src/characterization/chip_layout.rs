//! Where pages lie when the logical address alone decides.

tailcut_base::id! {
    /// What takes part in one transaction: the chip, or die, behind one ready/busy line.
    pub struct ChipId;
}

/// Channels of the paper's drive.
const CHANNELS: u32 = 8;
/// Chips of a channel.
const CHIPS: u32 = 8;
/// Dies of a chip.
pub(super) const DIES: usize = 2;
/// Planes of a die.
const PLANES: u32 = 2;
/// Pages of a block.
const PAGES: u64 = 128;
/// Bytes of a page.
const PAGE_BYTES: u64 = 2048;

/// The static layout of a drive that is written once from its first page on: page *n* lies in the
/// plane whose turn it is, at offset ⌊*n* ÷ planes⌋ mod pages per block of its block.
#[derive(Clone, Debug)]
pub struct ChipLayout {
    /// For each turn, the chip and the place behind it.
    turns: Vec<(ChipId, u32)>,
    pages: u64,
    page_bytes: u64,
    planes: u32,
}

/// Where a page lies, as far as transactions care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PagePlace {
    /// The chip, or die, behind one ready/busy line.
    pub unit: ChipId,
    /// The die and plane behind the line: die × planes of a die + plane.
    pub place: u32,
    /// Number of the page in its block.
    pub offset: u32,
}

impl ChipLayout {
    /// The layout that table 1's locality is measured on: the paper's drive of 64 chips
    /// (section 5.1) with pages of 2 KiB striped over 8 channels, then 8 chips, 2 dies, 2 planes.
    /// The paper does not name the order; its section 2.1 lists channel striping first, then channel
    /// pipelining (over the chips of a channel), then what happens inside a chip.
    pub fn sprinkler() -> ChipLayout {
        let mut turns = Vec::new();
        for plane in 0..PLANES {
            for die in 0..DIES as u32 {
                for chip in 0..CHIPS {
                    let unit = |channel| ChipId::new(channel * CHIPS + chip);
                    turns.extend((0..CHANNELS).map(|channel| (unit(channel), die * PLANES + plane)));
                }
            }
        }
        ChipLayout { turns, pages: PAGES, page_bytes: PAGE_BYTES, planes: PLANES }
    }

    /// Where the logical page `page` lies.
    #[inline]
    pub fn place_of(&self, page: u64) -> PagePlace {
        let stripe = self.stripe_pages();
        let (unit, place) = self.turns[(page % stripe) as usize];
        PagePlace { unit, place, offset: (page / stripe % self.pages) as u32 }
    }

    /// Pages of a stripe: one for each plane of the drive.
    pub fn stripe_pages(&self) -> u64 {
        self.turns.len() as u64
    }

    /// Size of a page in bytes.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// Number of planes of each die.
    pub fn planes(&self) -> u32 {
        self.planes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_drive_goes_by_channel_chip_die_plane() {
        let layout = ChipLayout::sprinkler();
        assert_eq!((layout.stripe_pages(), layout.page_bytes(), layout.planes()), (256, 2048, 2));
        for n in [0u64, 1, 7, 8, 63, 64, 128, 255, 256, 300, 256 * 127, 256 * 128, 123_456_789] {
            let (channel, chip, die, plane) = (n % 8, n / 8 % 8, n / 64 % 2, n / 128 % 2);
            let expected = PagePlace {
                unit: ChipId::new((channel * 8 + chip) as u32),
                place: (die * 2 + plane) as u32,
                offset: (n / 256 % 128) as u32,
            };
            assert_eq!(layout.place_of(n), expected, "page {n}");
        }
    }
}
