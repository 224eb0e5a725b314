//! Where things are on the drives: checkpoint regions, then rows of segments.
//!
//! Each drive holds the record, two checkpoint regions, and from there on segments. Segment `r` of all
//! drives of a group make up a *row*. The last block of each segment is for the summary; of the other
//! stripes, position `i` of the row lies in stripe `i / d` on the data column `i % d`, where `d` is the
//! number of data columns.

mod regions;

pub use regions::Region;

use super::config::LogConfig;
use crate::array::config::ArrayConfig;
use crate::array::record::RECORD_BLOCKS;
use crate::array::{Column, DriveId, GroupId, RGroups};
use crate::disk::BLOCK_BYTES;
use tailcut_base::ids::Id;

tailcut_base::id! {
    /// A row of segments. Rows are numbered from 0 across all groups: row `r` belongs to group `r / rows`.
    pub struct Row;
}

impl Row {
    /// No row; also the end of a list.
    pub const NONE: Row = Row(u32::MAX);

    /// Row 0.
    pub const FIRST: Row = Row(0);
}

/// A block on the drives, numbered through rows, columns and stripes; fits 40 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(pub u64);

/// The shape of a log.
#[derive(Clone, Debug)]
pub struct Geometry {
    /// R-groups.
    pub groups: u32,
    /// Drives of a group.
    pub width: u32,
    /// Of them, those with data in one row.
    pub data: u32,
    /// The parity lies on another drive in each row.
    rotates: bool,
    /// Blocks of a segment.
    pub segment: u32,
    /// Rows of each group.
    pub rows: u32,
    /// First block of the first segment.
    first: u64,
    /// Blocks that the host can use.
    pub host_blocks: u64,
    /// Blocks of a checkpoint, without its header: the map and the ages of rows, then the checksums of each drive.
    pub dump_blocks: u64,
    /// Of them, those of the map and the ages.
    map_blocks: u64,
    /// Blocks of a checkpoint with the checksums of one drive; 0 if there are none.
    sums_blocks: u64,
    has_checksums: bool,
    /// Blocks of a checkpoint region on each drive, with the header in front.
    pub region_blocks: u64,
    /// The most valid blocks of a victim; see [`Geometry::victim_most`].
    victim_most: u32,
    /// See [`Geometry::cost_of_hop`].
    cost_of_hop: u32,
}

/// Entries of 5 bytes in a block of a checkpoint.
pub const DUMP_ENTRIES: u64 = 809;

/// Checksums in a block of a checkpoint.
pub const DUMP_SUMS: u64 = 1011;

/// Victims that are collected at a time whatever room there is. More of them need rows that the host
/// then may not open; see [`Log::available`](super::Log).
pub const JOBS_ALWAYS: u32 = 2;

/// Rows of each group that only collection may open.
///
/// A victim moves less than it holds, so two victims need at most two rows beside the one that
/// is open, and free as many when they are done; one row more is needed when the stream of moved
/// blocks goes from group to group, and one for the row that is closing then. So a collection that
/// has begun always ends, and the capacity that is kept from the host makes sure that some
/// collection frees more than it takes. After a power cut in the middle of all that, each stream
/// begins a new row: two more.
pub const RESERVE: u32 = JOBS_ALWAYS + 4;

/// The fewest blocks of a segment for which [`misfit`] wants collection to gain in any case.
const SEGMENT_LEAST: u32 = 16;

/// The fewest rows of a group.
const ROWS_LEAST: u32 = 3 * RESERVE;

/// The most rows beside [`RESERVE`] that the host leaves to collection, of a group with `rows`: one of 64.
pub fn kept_rows(config: &LogConfig, rows: u32) -> u32 {
    config.collect_victims.min(rows / 64)
}

/// True when a log of this shape has enough rows on drives of so many blocks.
pub fn fits(config: &ArrayConfig, blocks: u64) -> bool {
    Geometry::of(config, blocks).rows >= ROWS_LEAST
}

/// Why a log does not fit drives of so many blocks.
pub fn misfit(config: &ArrayConfig, blocks: u64) -> Option<(&'static str, String)> {
    let geometry = Geometry::of(config, blocks);
    let rows = geometry.rows;
    let kept = kept_rows(&config.log, rows);
    // Smaller segments than a configuration allows are for tests.
    let is_large = geometry.segment >= SEGMENT_LEAST;
    if rows >= ROWS_LEAST && is_large && !geometry.has_room_to_gain(kept) {
        let message = format!(
            "{rows} segments of {} bytes on each drive leave collection too little: use larger segments or drives, \
             or more log.spare",
            config.log.segment
        );
        return Some(("log.segment", message));
    }
    (rows < ROWS_LEAST).then(|| {
        let (segment, bytes) = (config.log.segment, blocks * BLOCK_BYTES);
        let message = format!(
            "the smallest drive, of {bytes} bytes, holds {rows} segments of {segment} bytes, and a log needs \
             {ROWS_LEAST}: use smaller segments, or larger drives"
        );
        ("log.segment", message)
    })
}

impl Geometry {
    /// The shape that `config` gives drives of which `blocks` are usable up to the block `end`.
    pub fn new(config: &ArrayConfig, end: u64) -> Geometry {
        let geometry = Geometry::of(config, end);
        assert!(geometry.rows >= ROWS_LEAST, "the drives fit the array");
        geometry
    }

    fn of(config: &ArrayConfig, end: u64) -> Geometry {
        let segment = config.log.segment_blocks();
        let mut geometry = Geometry {
            groups: config.groups,
            width: config.width() as u32,
            data: config.data_width() as u32,
            rotates: config.layout.rotates(),
            segment,
            rows: 0,
            first: 0,
            host_blocks: 0,
            dump_blocks: 0,
            map_blocks: 0,
            sums_blocks: 0,
            has_checksums: config.log.has_checksums(),
            region_blocks: 0,
            victim_most: 0,
            cost_of_hop: 0,
        };
        let spare = config.log.spare;
        // The checkpoint takes from what it describes: the larger shape bounds its size.
        geometry.size(end, spare);
        geometry.size(end, spare);
        geometry.set_victims(kept_rows(&config.log, geometry.rows));
        geometry
    }

    fn size(&mut self, end: u64, spare: u32) {
        // Where erase blocks of the drives are as large as segments, or segments as several of them, a
        // trimmed segment frees whole ones.
        self.first = (RECORD_BLOCKS + 2 * self.region_blocks).next_multiple_of(u64::from(self.segment));
        self.rows = (end.saturating_sub(self.first) / u64::from(self.segment)) as u32;
        let usable = u64::from(self.rows.saturating_sub(RESERVE + 2)) * u64::from(self.groups);
        let filled = usable * u64::from(self.user_positions());
        let kept = u128::from(filled) * u128::from(1_000_000 - spare) / 1_000_000;
        self.host_blocks = kept as u64;
        if self.region_blocks == 0 {
            let entries = self.host_blocks + u64::from(self.rows) * u64::from(self.groups);
            let drives = u64::from(self.groups * self.width);
            let blocks = u64::from(self.rows) * u64::from(self.segment);
            self.map_blocks = entries.div_ceil(DUMP_ENTRIES);
            self.sums_blocks = if self.has_checksums { blocks.div_ceil(DUMP_SUMS) } else { 0 };
            self.dump_blocks = self.map_blocks + self.sums_blocks * drives;
            self.region_blocks = 1 + self.dump_blocks.div_ceil(drives) * self.copies() as u64;
        }
    }

    /// True if a checksum of each block is kept.
    pub fn has_checksums(&self) -> bool {
        self.has_checksums
    }

    /// Drive and block of a position of a row.
    pub fn block_at(&self, row: Row, position: u32) -> (DriveId, u64) {
        let column = self.data_column(row, position % self.data);
        (self.drive(row, column), self.address(row) + u64::from(position / self.data))
    }

    /// Rows of all groups.
    pub fn all_rows(&self) -> u32 {
        self.rows * self.groups
    }

    /// Stripes of a row that hold data and descriptors: all but that of the summaries.
    pub fn stripes(&self) -> u32 {
        self.segment - 1
    }

    /// Positions of a row.
    pub fn positions(&self) -> u32 {
        self.stripes() * self.data
    }

    /// Positions of a row that can be relied on for data when it is written without flushes.
    pub fn user_positions(&self) -> u32 {
        let descriptors = self.positions().div_ceil(super::descriptor::ENTRIES_MAX) + 1;
        self.positions() - 2 * self.data - descriptors
    }

    /// Positions of a row that moved blocks and the commits between them can use; see [`Geometry::victim_most`].
    fn moved_positions(&self) -> u32 {
        let descriptors = self.positions().div_ceil(super::descriptor::ENTRIES_MAX);
        self.positions().saturating_sub(descriptors + (self.data + 2) + self.data)
    }

    fn gaining_most(&self) -> u32 {
        self.moved_positions().saturating_sub(self.data + 1)
    }

    fn hop_most(&self) -> u32 {
        self.moved_positions() + self.data + 1
    }

    fn set_victims(&mut self, kept: u32) {
        (self.victim_most, self.cost_of_hop) = if self.has_room_to_gain(kept) {
            (self.gaining_most(), self.hop_most())
        } else {
            (self.user_positions() - 1, 1)
        };
    }

    /// The most valid blocks of a victim whose collection frees more than it takes, whatever happens meanwhile.
    ///
    /// A row of moved blocks ends when `data + 2` positions or fewer are left (the descriptor of a commit with the
    /// rest of its stripe, and the last descriptor). Each row that is closed makes at most one checkpoint due,
    /// which commits: a descriptor and the rest of a stripe, `data` positions. Full descriptors take one position of
    /// [`ENTRIES_MAX`](super::descriptor::ENTRIES_MAX). What is left of a row are its `moved_positions`, `q`.
    /// A victim with `v` valid blocks takes of them `v`, and `data` for its barrier: so with
    /// `v <= q - data - 1` it frees a row and takes less than one, at least one part of `q` less. Without writes of
    /// the host collection therefore ends: free rows, counted in such parts, only become more, and there are
    /// `rows`. With a larger `v` it could move blocks to and fro without end.
    ///
    /// Arrays that were made when [`misfit`] did not see to it that such victims exist take any that
    /// hold fewer blocks than a row of the host does.
    pub fn victim_most(&self) -> u32 {
        self.victim_most
    }

    /// What the collection of victims has to free, in positions, before the stream of moved blocks changes groups for
    /// it: what a change costs, the rest of the row that the stream leaves and the commit of a checkpoint.
    pub fn cost_of_hop(&self) -> u32 {
        self.cost_of_hop
    }

    /// What collecting a victim with so many valid blocks frees, in positions; 0 if it is no victim.
    pub fn gain(&self, valid: u32) -> u32 {
        match valid {
            0 => self.positions(),
            valid => (self.victim_most + 1).saturating_sub(valid),
        }
    }

    /// True when something can be gained whenever the host has no room left.
    ///
    /// It has none when each group has at most `RESERVE + kept` free rows. Two rows are open, and all others can be
    /// collected once a checkpoint covers them. If nothing is gained in the group that moved blocks go to, each of
    /// its rows holds more than [`Geometry::victim_most`]; in each of the others the rows together lack less of
    /// that than a change of groups costs. The blocks that the host can use must be fewer than all these would hold.
    fn has_room_to_gain(&self, kept: u32) -> bool {
        let full = u64::from(self.groups * self.rows.saturating_sub(RESERVE + kept)).saturating_sub(2);
        let held = full * u64::from(self.gaining_most() + 1);
        let lacking = u64::from(self.groups - 1) * u64::from(self.hop_most());
        self.host_blocks < held.saturating_sub(lacking)
    }

    /// All groups, in ascending order.
    pub fn group_ids(&self) -> impl DoubleEndedIterator<Item = GroupId> + Clone + use<> {
        GroupId::first(self.groups as usize)
    }

    /// The group whose turn follows that of `group`: the same, if there is no other.
    pub fn group_after(&self, group: GroupId) -> GroupId {
        GroupId::new((group.get() + 1) % self.groups)
    }

    /// The groups other than `group`, in the order of their turns behind it.
    pub fn groups_after(&self, group: GroupId) -> impl Iterator<Item = GroupId> + use<> {
        let groups = self.groups;
        (1..groups).map(move |turn| GroupId::new((group.get() + turn) % groups))
    }

    /// The group of a row.
    pub fn group_of(&self, row: Row) -> GroupId {
        GroupId::new(row.get() / self.rows)
    }

    /// The rows of a group, in ascending order.
    pub fn rows_of(&self, group: GroupId) -> impl Iterator<Item = Row> + use<> {
        (group.get() * self.rows..(group.get() + 1) * self.rows).map(Row::new)
    }

    /// First block of a row on each of its drives.
    pub fn address(&self, row: Row) -> u64 {
        self.first + u64::from(row.get() % self.rows) * u64::from(self.segment)
    }

    /// The row that a block of a drive is part of.
    pub fn row_at(&self, drive: DriveId, block: u64) -> Option<Row> {
        let within = block.checked_sub(self.first)? / u64::from(self.segment);
        let (group, _) = self.column_of(drive);
        (within < u64::from(self.rows)).then(|| Row::new(group.get() * self.rows + within as u32))
    }

    /// The column that holds the parity of a row, if there is one.
    pub fn parity(&self, row: Row) -> Option<Column> {
        if self.data == self.width {
            None
        } else if self.rotates {
            Some(Column::new(row.get() % self.rows % self.width))
        } else {
            Some(Column::new(self.width - 1))
        }
    }

    /// The column that is data column `k` of a row.
    pub fn data_column(&self, row: Row, k: u32) -> Column {
        nth_data_column(self.parity(row), k)
    }

    /// Which data column of a row a column is that does not hold its parity.
    pub fn data_index(&self, row: Row, column: Column) -> u32 {
        column.get() - u32::from(self.parity(row).is_some_and(|parity| parity < column))
    }

    /// The position of a stripe's block on a column that does not hold the parity of the row.
    pub fn position_of(&self, row: Row, column: Column, stripe: u32) -> u32 {
        stripe * self.data + self.data_index(row, column)
    }

    /// All columns, in ascending order.
    pub fn columns(&self) -> impl DoubleEndedIterator<Item = Column> + ExactSizeIterator + Clone + use<> {
        Column::first(self.width as usize)
    }

    /// The drive of a column of a row.
    pub fn drive(&self, row: Row, column: Column) -> DriveId {
        self.r_groups().drive(self.group_of(row), column)
    }

    /// The drives of a row's group, in ascending order.
    pub fn drives(&self, row: Row) -> impl Iterator<Item = DriveId> + use<> {
        self.r_groups().drives(self.group_of(row))
    }

    fn r_groups(&self) -> RGroups {
        RGroups::new(self.width as usize)
    }

    /// The group of a drive, and which column of it the drive is.
    pub fn column_of(&self, drive: DriveId) -> (GroupId, Column) {
        (self.r_groups().group_of(drive), self.r_groups().column_of(drive))
    }

    /// The place of a position of a row.
    pub fn place(&self, row: Row, position: u32) -> Place {
        let column = self.data_column(row, position % self.data);
        self.place_of(row, column, position / self.data)
    }

    /// The place of a stripe's block on a column.
    pub fn place_of(&self, row: Row, column: Column, stripe: u32) -> Place {
        let segment = u64::from(row.get()) * u64::from(self.width) + u64::from(column.get());
        Place(segment * u64::from(self.segment) + u64::from(stripe))
    }

    /// True when a place is one for data: neither parity nor summary, nor behind the last row.
    pub fn holds_data(&self, place: Place) -> bool {
        let rows = place.0 / (u64::from(self.segment) * u64::from(self.width));
        if rows >= u64::from(self.all_rows()) {
            return false;
        }
        let (row, column, stripe) = self.locate(place);
        self.parity(row) != Some(column) && stripe < self.stripes()
    }

    /// Row, column and stripe of a place.
    pub fn locate(&self, place: Place) -> (Row, Column, u32) {
        let (segment, stripe) = (place.0 / u64::from(self.segment), place.0 % u64::from(self.segment));
        let (row, column) = (segment / u64::from(self.width), segment % u64::from(self.width));
        (Row::new(row as u32), Column::new(column as u32), stripe as u32)
    }
}

/// Column `k` of those without the parity.
pub(super) fn nth_data_column(parity: Option<Column>, k: u32) -> Column {
    match parity {
        Some(parity) if k >= parity.get() => Column::new(k + 1),
        _ => Column::new(k),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::LayoutKind;

    fn geometry(layout: LayoutKind, groups: u32) -> Geometry {
        let config = ArrayConfig { drives: 8, groups, layout, ..ArrayConfig::default() };
        Geometry::new(&config, 100_000)
    }

    /// What [`Geometry::victim_most`] promises, for the least spare space that configurations allow: they have victims that
    /// gain, or are refused.
    #[test]
    fn collection_can_gain_wherever_an_array_can_be_made() {
        let (mut made, mut refused) = (0, 0);
        for layout in [LayoutKind::LogRaid0, LayoutKind::LogRaid5, LayoutKind::Swan0, LayoutKind::Swan5] {
            for (groups, width, segment, spare) in (1..5).flat_map(|groups| {
                [3, 5, 16].into_iter().flat_map(move |width| {
                    [16, 64, 256].into_iter().flat_map(move |segment| {
                        [50_000, 100_000, 200_000].map(|spare| (groups, width, segment, spare))
                    })
                })
            }) {
                let mut config =
                    ArrayConfig { drives: groups * width, groups, layout, ..ArrayConfig::default() };
                (config.log.segment, config.log.spare) = (segment * BLOCK_BYTES, spare);
                for rows in [30, 100, 1000] {
                    let blocks = rows * segment;
                    if misfit(&config, blocks).is_some() {
                        refused += 1;
                        continue;
                    }
                    made += 1;
                    let geometry = Geometry::new(&config, blocks);
                    assert_eq!(geometry.victim_most, geometry.gaining_most(), "{config:?}");
                    // Were every row as full as could be without a victim, the host would have more than it can.
                    let rows = u64::from(geometry.all_rows() - groups * (RESERVE + rows as u32 / 64) - 2);
                    let lacking = u64::from(groups - 1) * u64::from(geometry.cost_of_hop);
                    let full = rows * u64::from(geometry.victim_most + 1);
                    assert!(full > geometry.host_blocks + lacking);
                }
            }
        }
        println!("{made} can be made, {refused} are refused");
        assert!(made > 4 * refused && refused > 0, "{made} {refused}");
    }

    #[test]
    fn places_and_positions_agree() {
        for (layout, groups) in [
            (LayoutKind::LogRaid0, 1),
            (LayoutKind::Swan4, 2),
            (LayoutKind::Swan5, 2),
            (LayoutKind::Swan0, 4),
        ] {
            let geometry = geometry(layout, groups);
            for row in [0, 1, geometry.rows, geometry.all_rows() - 1].map(Row::new) {
                for position in [0, 1, geometry.data, geometry.positions() - 1] {
                    let place = geometry.place(row, position);
                    let (found, column, stripe) = geometry.locate(place);
                    assert_eq!((found, stripe), (row, position / geometry.data));
                    assert_ne!(Some(column), geometry.parity(row));
                    assert_eq!(geometry.place_of(row, column, stripe), place);
                }
            }
        }
    }

    #[test]
    fn copies_of_a_checkpoint_lie_apart_and_inside_of_the_region() {
        let geometry = geometry(LayoutKind::Swan4, 2);
        let mut seen = std::collections::BTreeSet::new();
        for region in Region::BOTH {
            for index in 0..geometry.dump_blocks {
                let places = [0, 1].map(|copy| geometry.dump_place(region, index, copy));
                assert_ne!(places[0].0, places[1].0);
                assert_eq!(places[0].0.get() / 4, places[1].0.get() / 4);
                for (drive, block) in places {
                    assert!(seen.insert((drive, block)));
                    assert!(block > geometry.header_block(region) && block < geometry.address(Row::FIRST));
                    assert!(block < geometry.header_block(region) + geometry.region_blocks);
                }
            }
        }
    }
}
