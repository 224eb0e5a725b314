//! The structure of a drive, and the numbering of its parts.
//!
//! Numbers run from the outside in: channel, chip, die, plane, block, page. So the pages of a
//! block, the blocks of a plane and the planes of a chip are each a contiguous range, and a part's
//! number divided by the size of the range is the number of what contains it.

use tailcut_base::cast::{to_u32, to_usize};
use tailcut_base::config::{Configure, KeyVisitor, choose, count_u32};
use tailcut_base::divisor::Divisor;
use tailcut_base::fdp::GroupId;
use tailcut_base::id;
use tailcut_base::ids::Id;

id! {
    /// A channel: the chips that share a bus.
    pub struct ChannelId;
}

id! {
    /// A LUN: the dies that one ready/busy line speaks for, a chip or a single die.
    pub struct LunId;
}

impl LunId {
    /// No LUN.
    pub const NONE: LunId = LunId(u32::MAX);
}

id! {
    /// A plane of the drive.
    pub struct PlaneId;
}

tailcut_base::choice! {
    /// What one ready/busy line speaks for.
    pub enum ReadyBusy {
        /// All dies of a chip: a transaction occupies the chip (Sprinkler, section 2.2).
        Chip = "chip",
        /// Each die on its own, as with the READ STATUS ENHANCED command of ONFI.
        Die = "die",
    }
}

id! {
    /// A block of the drive.
    pub struct BlockId;
}

impl BlockId {
    /// No block.
    pub const NONE: BlockId = BlockId(u32::MAX);
}

id! {
    /// A superblock: a block of every plane of a reclaim group, the one with its number there. Those of a
    /// group follow those of the group before.
    pub struct SuperblockId;
}

id! {
    /// A page of flash: a place in a block.
    pub struct PhysicalPage: u64;
}

impl PhysicalPage {
    /// No page.
    pub const NONE: PhysicalPage = PhysicalPage(u64::MAX);
}

id! {
    /// A page as the host numbers them; the spare area of a flash page names the one that it holds.
    pub struct LogicalPage: u64;
}

impl LogicalPage {
    /// No page.
    pub const NONE: LogicalPage = LogicalPage(u64::MAX);
}

/// The counts and sizes of a drive's flash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Number of channels, each with one bus.
    pub channels: u32,
    /// Number of chips on each channel.
    pub chips: u32,
    /// Number of dies in each chip.
    pub dies: u32,
    /// Number of planes in each die.
    pub planes: u32,
    /// Number of blocks in each plane, bad ones included.
    pub blocks: u32,
    /// Number of pages in each block.
    pub pages: u32,
    /// User bytes per page: a power of two from 512 B to 32 KiB.
    pub page_bytes: u64,
    /// Spare bytes per page (error correction, logical address); they travel on the bus.
    pub spare_bytes: u64,
    /// Whether a ready/busy line belongs to a chip or to a die: the part that carries out one transaction at
    /// a time.
    pub ready_busy: ReadyBusy,
}

/// The most pages of a drive: 4 PiB in pages of 4 KiB.
pub const PAGES_MAX: u64 = 1 << 40;

/// The most dies × planes behind one ready/busy line.
pub const PLACES_MAX: usize = 16;

impl Configure for Geometry {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        count_u32(visit, "channels", "Channels, each with one bus.", &mut self.channels, 1..=256);
        count_u32(visit, "chips", "Chips per channel.", &mut self.chips, 1..=256);
        count_u32(visit, "dies", "Dies per chip.", &mut self.dies, 1..=16);
        count_u32(visit, "planes", "Planes per die.", &mut self.planes, 1..=8);
        count_u32(visit, "blocks", "Blocks per plane.", &mut self.blocks, 4..=1 << 20);
        count_u32(visit, "pages", "Pages per block.", &mut self.pages, 1..=65_536);
        visit.bytes("page", "User bytes of a page; a power of two.", &mut self.page_bytes, 512..=32_768);
        visit.bytes(
            "spare",
            "Spare bytes of a page, which travel on the bus with it.",
            &mut self.spare_bytes,
            0..=8192,
        );
        choose(visit, "ready_busy", "What one ready/busy line speaks for.", &mut self.ready_busy);
        if !self.page_bytes.is_power_of_two() {
            visit.problem(
                "page",
                format!("a page of {} bytes is no power of two; write 4KiB, say", self.page_bytes),
            );
        }
        if self.places_per_lun() as usize > PLACES_MAX {
            visit.problem(
                "planes",
                format!(
                    "{} places behind one ready/busy line; at most {PLACES_MAX}: fewer planes or dies, or \
                    ready_busy = \"die\"",
                    self.places_per_lun()
                ),
            );
        }
        let pages_of_plane = u64::from(self.blocks) * u64::from(self.pages);
        if self.page_count() > PAGES_MAX {
            visit.problem(
                "blocks",
                format!("{} pages in all; at most 2^40: larger pages or fewer blocks", self.page_count()),
            );
        } else if self.block_count() >= u64::from(u32::MAX) {
            visit.problem(
                "blocks",
                format!("{} blocks in all; at most 2^32 - 2: more pages in each", self.block_count()),
            );
        } else if pages_of_plane >= 1 << 31 {
            visit.problem(
                "blocks",
                format!("{pages_of_plane} pages in a plane; at most 2^31 - 1: more planes or larger pages"),
            );
        }
        if self.luns() > 1 << 15 {
            visit.problem("chips", format!("{} chips or dies to schedule; at most 32768", self.luns()));
        }
    }
}

impl Geometry {
    /// Planes of the whole drive.
    pub fn plane_count(&self) -> u32 {
        self.channels * self.chips * self.dies * self.planes
    }

    /// Blocks of the whole drive, bad ones included.
    pub fn block_count(&self) -> u64 {
        u64::from(self.plane_count()) * u64::from(self.blocks)
    }

    /// Pages of the whole drive; at most [`PAGES_MAX`].
    pub fn page_count(&self) -> u64 {
        self.block_count() * u64::from(self.pages)
    }

    /// User bytes of all pages of the drive, spare space included and spare bytes of pages not.
    pub fn raw_bytes(&self) -> u64 {
        self.page_count() * self.page_bytes
    }

    /// Dies behind one ready/busy line, which a transaction can occupy together.
    pub fn dies_per_lun(&self) -> u32 {
        match self.ready_busy {
            ReadyBusy::Chip => self.dies,
            ReadyBusy::Die => 1,
        }
    }

    /// Places (die and plane) behind one ready/busy line.
    pub fn places_per_lun(&self) -> u32 {
        self.dies_per_lun() * self.planes
    }

    /// The ids of all channels, in ascending order.
    pub fn channel_ids(&self) -> impl Iterator<Item = ChannelId> + Clone + use<> {
        ChannelId::first(self.channels as usize)
    }

    /// The ids of all planes, in ascending order.
    pub fn plane_ids(&self) -> impl Iterator<Item = PlaneId> + Clone + use<> {
        PlaneId::first(self.plane_count() as usize)
    }

    /// The ids of all blocks, in ascending order: those of a plane follow each other.
    pub fn block_ids(&self) -> impl Iterator<Item = BlockId> + Clone + use<> {
        BlockId::first(to_usize(self.block_count()))
    }

    /// The ids of all LUNs, in ascending order: one for each ready/busy line.
    pub fn lun_ids(&self) -> impl Iterator<Item = LunId> + Clone + use<> {
        LunId::first(self.luns() as usize)
    }

    /// How many ready/busy lines there are: chips, or dies where each has its own.
    pub fn luns(&self) -> u32 {
        self.plane_count() / self.places_per_lun()
    }

    /// LUNs (ready/busy lines) on each channel.
    pub fn luns_per_channel(&self) -> u32 {
        self.luns() / self.channels
    }

    /// Sectors of 512 B in a page.
    pub fn page_sectors(&self) -> u32 {
        to_u32(self.page_bytes / tailcut_base::SECTOR_BYTES)
    }
}

/// The numbering of a geometry, worked out once: what contains what.
///
/// # Examples
/// ```
/// use tailcut_ssd::Preset;
/// use tailcut_ssd::flash::{BlockId, Layout, PlaneId};
///
/// let geometry = Preset::G.config().geometry;
/// let layout = Layout::new(&geometry);
/// let page = layout.page_at(BlockId::new(geometry.blocks), 5);
/// assert_eq!(layout.offset_of(page), 5);
/// assert_eq!(layout.plane_of_block(layout.block_of(page)), PlaneId::new(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Divides by the number of pages in a block.
    pub pages: Divisor,
    /// Divides by the number of blocks in a plane.
    blocks: Divisor,
    /// Divides by the number of places (die and plane) behind a ready/busy line.
    places: Divisor,
    /// Divides by the number of planes in a die.
    planes: Divisor,
    /// Ready/busy lines of a channel.
    luns: Divisor,
    /// Blocks of each plane in a superblock, as the power of two that they are.
    superblock_shift: u32,
    /// Whether there are several reclaim groups.
    is_divided: bool,
    /// Divides by the number of blocks in the planes of a reclaim group.
    group_blocks: Divisor,
    /// Divides by the number of superblocks in a reclaim group.
    superblocks: Divisor,
}

impl Layout {
    /// The numbering of the parts of a drive with `geometry`.
    pub fn new(geometry: &Geometry) -> Layout {
        Layout {
            pages: Divisor::new(geometry.pages),
            blocks: Divisor::new(geometry.blocks),
            places: Divisor::new(geometry.places_per_lun()),
            planes: Divisor::new(geometry.planes),
            luns: Divisor::new(geometry.luns_per_channel()),
            superblock_shift: 0,
            is_divided: false,
            group_blocks: Divisor::new(to_u32(geometry.block_count())),
            superblocks: Divisor::new(geometry.blocks),
        }
    }

    /// The same with superblocks of this many neighbouring blocks of each plane, a power of two that divides
    /// their number; [`Layout::new`] has one.
    #[must_use]
    pub fn with_superblocks_of(self, blocks: u32) -> Layout {
        debug_assert!(blocks.is_power_of_two() && self.blocks.get().is_multiple_of(blocks));
        let superblocks = Divisor::new(self.blocks.get() / blocks);
        Layout { superblock_shift: blocks.trailing_zeros(), superblocks, ..self }
    }

    /// The same with superblocks of the planes of one of this many reclaim groups, which have equal numbers
    /// of neighbouring planes; [`Layout::new`] has one.
    #[must_use]
    pub fn with_groups(self, groups: u32) -> Layout {
        debug_assert!((self.group_blocks.get() / self.blocks.get()).is_multiple_of(groups));
        let group_blocks = Divisor::new(self.group_blocks.get() / groups);
        Layout { is_divided: groups > 1, group_blocks, ..self }
    }

    /// Superblocks of a reclaim group.
    #[inline]
    pub fn superblocks_each(&self) -> u32 {
        self.superblocks.get()
    }

    /// Planes of a reclaim group.
    pub fn planes_of_each_group(&self) -> u32 {
        self.group_blocks.get() / self.blocks.get()
    }

    /// The planes of a reclaim group, in ascending order.
    pub fn planes_of_group(&self, group: GroupId) -> impl Iterator<Item = PlaneId> + Clone + use<> {
        let each = self.planes_of_each_group();
        let first = group.get() * each;
        PlaneId::new(first).up_to(PlaneId::new(first + each))
    }

    /// The reclaim group that contains a block.
    #[inline]
    pub fn group_of(&self, block: BlockId) -> GroupId {
        if !self.is_divided {
            return GroupId::FIRST;
        }
        GroupId::new(self.group_blocks.quotient(block.get()))
    }

    /// The reclaim group that contains a superblock.
    #[inline]
    pub fn group_of_superblock(&self, superblock: SuperblockId) -> GroupId {
        if !self.is_divided {
            return GroupId::FIRST;
        }
        GroupId::new(self.superblocks.quotient(superblock.get()))
    }

    /// The superblocks of a reclaim group.
    pub fn superblocks_of(&self, group: GroupId) -> impl Iterator<Item = SuperblockId> + use<> {
        let first = group.get() * self.superblocks.get();
        SuperblockId::new(first).up_to(SuperblockId::new(first + self.superblocks.get()))
    }

    /// Blocks of each plane in a superblock.
    #[inline]
    pub fn blocks_each(&self) -> u32 {
        1 << self.superblock_shift
    }

    /// Places (die and plane) behind a ready/busy line.
    #[inline]
    pub fn places(&self) -> u32 {
        self.places.get()
    }

    /// Divides by the number of planes in a die.
    #[inline]
    pub fn planes(&self) -> Divisor {
        self.planes
    }

    /// The block of a physical page.
    #[inline]
    pub fn block_of(&self, physical: PhysicalPage) -> BlockId {
        self.block_and_offset(physical).0
    }

    /// The place of a physical page in its block.
    #[inline]
    pub fn offset_of(&self, physical: PhysicalPage) -> u32 {
        self.block_and_offset(physical).1
    }

    /// The block of a physical page, and its place there.
    #[inline]
    pub fn block_and_offset(&self, physical: PhysicalPage) -> (BlockId, u32) {
        let (block, offset) = self.pages.divide_wide(physical.get());
        (BlockId::new(block), offset)
    }

    /// The page at a place in a block.
    #[inline]
    pub fn page_at(&self, block: BlockId, offset: u32) -> PhysicalPage {
        PhysicalPage::new(u64::from(block.get()) * u64::from(self.pages.get()) + u64::from(offset))
    }

    /// The first page of the word line of a page, where each word line holds `bits` consecutive pages of a
    /// block.
    pub fn start_of_word_line(&self, physical: PhysicalPage, bits: u32) -> PhysicalPage {
        PhysicalPage::new(physical.get() - u64::from(self.offset_of(physical) % bits))
    }

    /// The plane of a block.
    #[inline]
    pub fn plane_of_block(&self, block: BlockId) -> PlaneId {
        PlaneId::new(self.blocks.quotient(block.get()))
    }

    /// The superblock that contains a block.
    #[inline]
    pub fn superblock_of(&self, block: BlockId) -> SuperblockId {
        let in_plane = self.blocks.remainder(block.get()) >> self.superblock_shift;
        if !self.is_divided {
            return SuperblockId::new(in_plane);
        }
        SuperblockId::new(self.group_of(block).get() * self.superblocks.get() + in_plane)
    }

    /// The first block of a superblock in a plane of its group. Its pages go on in the next, if it has
    /// several.
    #[inline]
    pub fn block_in_plane(&self, superblock: SuperblockId, plane: PlaneId) -> BlockId {
        let number = superblock.get();
        let in_plane = if self.is_divided { self.superblocks.remainder(number) } else { number };
        BlockId::new(plane.get() * self.blocks.get() + (in_plane << self.superblock_shift))
    }

    /// The blocks of a superblock in a plane, in the order in which they are written.
    #[inline]
    pub fn blocks_in_plane(
        &self,
        superblock: SuperblockId,
        plane: PlaneId,
    ) -> impl Iterator<Item = BlockId> + use<> {
        let first = self.block_in_plane(superblock, plane);
        first.up_to(BlockId::new(first.get() + self.blocks_each()))
    }

    /// The blocks of a superblock, by plane.
    pub fn blocks_of_superblock(&self, superblock: SuperblockId) -> impl Iterator<Item = BlockId> + use<> {
        let layout = *self;
        let planes = self.planes_of_group(self.group_of_superblock(superblock));
        planes.flat_map(move |plane| layout.blocks_in_plane(superblock, plane))
    }

    /// The blocks of a plane.
    #[inline]
    pub fn blocks_of(&self, plane: PlaneId) -> impl Iterator<Item = BlockId> + Clone + use<> {
        let first = plane.get() * self.blocks.get();
        BlockId::new(first).up_to(BlockId::new(first + self.blocks.get()))
    }

    /// The ready/busy line and the place behind it of a plane.
    #[inline]
    pub fn lun_of_plane(&self, plane: PlaneId) -> (LunId, u32) {
        (LunId::new(self.places.quotient(plane.get())), self.places.remainder(plane.get()))
    }

    /// The ready/busy line and the place behind it of a physical page.
    #[inline]
    pub fn lun_of_page(&self, physical: PhysicalPage) -> (LunId, u32) {
        self.lun_of_plane(self.plane_of_block(self.block_of(physical)))
    }

    /// The planes behind a ready/busy line, by place.
    #[inline]
    pub fn planes_of(&self, lun: LunId) -> impl Iterator<Item = PlaneId> + Clone + use<> {
        let first = lun.get() * self.places.get();
        PlaneId::new(first).up_to(PlaneId::new(first + self.places.get()))
    }

    /// The channel that a LUN (ready/busy line) is on.
    #[inline]
    pub fn channel_of(&self, lun: LunId) -> ChannelId {
        ChannelId::new(self.luns.quotient(lun.get()))
    }

    /// The plane at a place behind a ready/busy line.
    #[inline]
    pub fn plane_at(&self, lun: LunId, place: u32) -> PlaneId {
        PlaneId::new(lun.get() * self.places.get() + place)
    }
}
