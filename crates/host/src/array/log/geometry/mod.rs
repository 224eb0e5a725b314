//! Layout of the drives: checkpoint regions, then rows of segments.
//!
//! Each drive holds the superblock, two checkpoint regions, and then segments. Segment `r` of all drives of a
//! group form a *row*. The last block of each segment is for the summary; of the other stripes, position `i`
//! of the row lies in stripe `i / d` on the data column `i % d`, where `d` is the number of data columns.

mod regions;

pub(super) use regions::Region;
use tailcut_base::cast::{to_u32, to_u64};

use super::config::LogConfig;
use crate::array::config::ArrayConfig;
use crate::array::superblock::SUPERBLOCK_BLOCKS;
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
pub(super) struct Place(pub u64);

/// Geometry of a log.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    /// Number of R-groups of the array.
    pub groups: u32,
    /// Number of drives in each R-group, those with parity included.
    pub width: u32,
    /// Number of data columns in each row, without the parity.
    pub data: u32,
    /// The parity rotates from row to row.
    rotates: bool,
    /// Number of blocks of 4 KiB in a segment.
    pub segment: u32,
    /// Number of rows in each R-group.
    pub rows: u32,
    /// First block of the first segment.
    first: u64,
    /// Number of blocks of the host.
    pub host_blocks: u64,
    /// Blocks of a checkpoint, without its header: the map and the ages of rows, then the checksums of each
    /// drive.
    pub dump_blocks: u64,
    /// Blocks of a checkpoint for the map and the ages.
    map_blocks: u64,
    /// Blocks of a checkpoint for the checksums of one drive; 0 if there are none.
    sums_blocks: u64,
    has_checksums: bool,
    /// Blocks of a checkpoint region on each drive, including the header in front.
    region_blocks: u64,
    /// Largest number of valid blocks of a victim; see [`Geometry::victim_most`].
    victim_most: u32,
    /// See [`Geometry::cost_of_hop`].
    cost_of_hop: u32,
}

/// Entries of 5 bytes per block of a checkpoint.
pub(super) const DUMP_ENTRIES: u64 = 809;

/// Checksums per block of a checkpoint.
pub(super) const DUMP_SUMS: u64 = 1011;

/// Victims collected concurrently however little room there is. More of them need rows that the host may then
/// not open; see [`Log::available`](super::Log).
pub(super) const JOBS_ALWAYS: u32 = 2;

/// Rows of each group that only collection may open.
///
/// A victim moves less than it holds, so two victims need at most two rows beside the open one, and free as
/// many when they are done; one more row is needed when the stream of moved blocks changes groups, and one
/// for the row closing then. So a collection that has begun always completes, and the capacity withheld from
/// the host ensures that some collection frees more than it takes. After a power loss in the middle of all
/// that, each stream starts a new row: two more.
pub(super) const RESERVE: u32 = JOBS_ALWAYS + 4;

/// Least number of blocks of a segment for which [`validation_error`] requires that collection always gains.
const SEGMENT_LEAST: u32 = 16;

/// Least number of rows of a group.
const ROWS_LEAST: u32 = 3 * RESERVE;

/// Largest number of rows beyond [`RESERVE`] that the host leaves to collection, in a group of `rows`: one of
/// 64.
pub(super) fn kept_rows(config: &LogConfig, rows: u32) -> u32 {
    config.collect_victims.min(rows / 64)
}

/// True if a log of this configuration has enough rows on drives of `blocks` blocks.
pub(crate) fn fits(config: &ArrayConfig, blocks: u64) -> bool {
    Geometry::of(config, blocks).rows >= ROWS_LEAST
}

/// Why a log does not fit drives of `blocks` blocks.
pub(crate) fn validation_error(config: &ArrayConfig, blocks: u64) -> Option<(&'static str, String)> {
    let geometry = Geometry::of(config, blocks);
    let rows = geometry.rows;
    let kept = kept_rows(&config.log, rows);
    // Segments smaller than a configuration permits are for tests.
    let is_large = geometry.segment >= SEGMENT_LEAST;
    if rows >= ROWS_LEAST && is_large && !geometry.has_room_to_gain(kept) {
        let message = format!(
            "{rows} segments of {} bytes on each drive leave collection too little: use larger segments or \
             drives, or more log.spare",
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
    /// The geometry of `config` on drives whose blocks are usable up to `end`.
    pub(super) fn new(config: &ArrayConfig, end: u64) -> Geometry {
        let geometry = Geometry::of(config, end);
        assert!(geometry.rows >= ROWS_LEAST, "the drives fit the array");
        geometry
    }

    fn of(config: &ArrayConfig, end: u64) -> Geometry {
        let segment = config.log.segment_blocks();
        let mut geometry = Geometry {
            groups: config.groups,
            width: to_u32(config.width()),
            data: to_u32(config.data_width()),
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
        // The checkpoint takes space from the data it describes: the larger geometry bounds its size.
        geometry.size(end, spare);
        geometry.size(end, spare);
        geometry.set_victims(kept_rows(&config.log, geometry.rows));
        geometry
    }

    fn size(&mut self, end: u64, spare: u32) {
        // If the erase blocks of the drives are as large as segments, or segments are several of them, a
        // trimmed segment frees whole ones.
        self.first = (SUPERBLOCK_BLOCKS + 2 * self.region_blocks).next_multiple_of(u64::from(self.segment));
        self.rows = to_u32(end.saturating_sub(self.first) / u64::from(self.segment));
        let usable = u64::from(self.rows.saturating_sub(RESERVE + 2)) * u64::from(self.groups);
        let filled = usable * u64::from(self.user_positions());
        let kept = u128::from(filled) * u128::from(1_000_000 - spare) / 1_000_000;
        self.host_blocks = to_u64(kept);
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
    pub(super) fn has_checksums(&self) -> bool {
        self.has_checksums
    }

    /// Drive and block of a position of a row.
    pub(super) fn block_at(&self, row: Row, position: u32) -> (DriveId, u64) {
        let column = self.data_column(row, position % self.data);
        (self.drive(row, column), self.address(row) + u64::from(position / self.data))
    }

    /// Number of rows in all groups.
    pub(super) fn all_rows(&self) -> u32 {
        self.rows * self.groups
    }

    /// Stripes of a row that hold data and descriptors: all but that of the summaries.
    pub(super) fn stripes(&self) -> u32 {
        self.segment - 1
    }

    /// Number of positions of a row.
    pub(super) fn positions(&self) -> u32 {
        self.stripes() * self.data
    }

    /// Positions of a row that are guaranteed for data when it is written without flushes.
    pub(super) fn user_positions(&self) -> u32 {
        let descriptors = self.positions().div_ceil(super::descriptor::ENTRIES_MAX) + 1;
        self.positions() - 2 * self.data - descriptors
    }

    /// Positions of a row for moved blocks and the commits between them; see [`Geometry::victim_most`].
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

    /// Largest number of valid blocks of a victim whose collection frees more than it takes in any case.
    ///
    /// A row of moved blocks ends when `data + 2` positions or fewer are left (the descriptor of a commit
    /// with the rest of its stripe, and the last descriptor). Each closed row makes at most one checkpoint
    /// due, which commits: a descriptor and the rest of a stripe, `data` positions. Full descriptors take one
    /// position of [`ENTRIES_MAX`](super::descriptor::ENTRIES_MAX). The rest of a row are its
    /// `moved_positions`, `q`. A victim with `v` valid blocks takes `v` of them, and `data` for its barrier:
    /// so with `v <= q - data - 1` it frees a row and takes less than one, by at least one part of `q`.
    /// Without writes of the host, collection therefore terminates: free rows, counted in such parts, only
    /// increase, and there are `rows`. With a larger `v` it could move blocks back and forth without end.
    ///
    /// Arrays created before [`validation_error`] ensured that such victims exist accept any victim with
    /// fewer blocks than a row of the host holds.
    pub(super) fn victim_most(&self) -> u32 {
        self.victim_most
    }

    /// Number of positions that collection must free before the stream of moved blocks changes groups for it:
    /// the cost of a change, which is the rest of the row that the stream leaves and the commit of a
    /// checkpoint.
    pub(super) fn cost_of_hop(&self) -> u32 {
        self.cost_of_hop
    }

    /// Number of positions freed by collecting a victim with `valid` valid blocks; 0 if it is no victim.
    pub(super) fn gain(&self, valid: u32) -> u32 {
        match valid {
            0 => self.positions(),
            valid => (self.victim_most + 1).saturating_sub(valid),
        }
    }

    /// True if collection can gain something whenever the host has no room left.
    ///
    /// The host has none when each group has at most `RESERVE + kept` free rows. Two rows are open, and all
    /// others can be collected once a checkpoint covers them. If nothing can be gained in the group that
    /// receives moved blocks, each of its rows holds more than [`Geometry::victim_most`]; in each of the
    /// others, the rows together lack less of that than a change of groups costs. The capacity of the host
    /// must be less than all these would hold.
    fn has_room_to_gain(&self, kept: u32) -> bool {
        let full = u64::from(self.groups * self.rows.saturating_sub(RESERVE + kept)).saturating_sub(2);
        let held = full * u64::from(self.gaining_most() + 1);
        let lacking = u64::from(self.groups - 1) * u64::from(self.hop_most());
        self.host_blocks < held.saturating_sub(lacking)
    }

    /// All groups, in ascending order.
    pub(super) fn group_ids(&self) -> impl DoubleEndedIterator<Item = GroupId> + Clone + use<> {
        GroupId::first(self.groups as usize)
    }

    /// The group whose turn follows that of `group`: `group` itself if it is the only one.
    pub(super) fn group_after(&self, group: GroupId) -> GroupId {
        GroupId::new((group.get() + 1) % self.groups)
    }

    /// The groups other than `group`, in the order of their turns behind it.
    pub(super) fn groups_after(&self, group: GroupId) -> impl Iterator<Item = GroupId> + use<> {
        let groups = self.groups;
        (1..groups).map(move |turn| GroupId::new((group.get() + turn) % groups))
    }

    /// The group of a row.
    pub(super) fn group_of(&self, row: Row) -> GroupId {
        GroupId::new(row.get() / self.rows)
    }

    /// The rows of a group, in ascending order.
    pub(super) fn rows_of(&self, group: GroupId) -> impl Iterator<Item = Row> + use<> {
        (group.get() * self.rows..(group.get() + 1) * self.rows).map(Row::new)
    }

    /// First block of a row on each of its drives.
    pub(super) fn address(&self, row: Row) -> u64 {
        self.first + u64::from(row.get() % self.rows) * u64::from(self.segment)
    }

    /// The row that contains a block of a drive; None if it is outside of all rows.
    pub(super) fn row_at(&self, drive: DriveId, block: u64) -> Option<Row> {
        let within = block.checked_sub(self.first)? / u64::from(self.segment);
        let (group, _) = self.column_of(drive);
        (within < u64::from(self.rows)).then(|| Row::new(group.get() * self.rows + to_u32(within)))
    }

    /// The column that holds the parity of a row, if there is one.
    pub(super) fn parity(&self, row: Row) -> Option<Column> {
        if self.data == self.width {
            None
        } else if self.rotates {
            Some(Column::new(row.get() % self.rows % self.width))
        } else {
            Some(Column::new(self.width - 1))
        }
    }

    /// The column that is data column `k` of a row.
    pub(super) fn data_column(&self, row: Row, k: u32) -> Column {
        nth_data_column(self.parity(row), k)
    }

    /// Data column number of a column of a row that does not hold its parity.
    pub(super) fn data_index(&self, row: Row, column: Column) -> u32 {
        column.get() - u32::from(self.parity(row).is_some_and(|parity| parity < column))
    }

    /// Position of the block at a column and stripe of a row; the column must not hold its parity.
    pub(super) fn position_of(&self, row: Row, column: Column, stripe: u32) -> u32 {
        stripe * self.data + self.data_index(row, column)
    }

    /// All columns, in ascending order.
    pub(super) fn columns(
        &self,
    ) -> impl DoubleEndedIterator<Item = Column> + ExactSizeIterator + Clone + use<> {
        Column::first(self.width as usize)
    }

    /// The drive of a column of a row.
    pub(super) fn drive(&self, row: Row, column: Column) -> DriveId {
        self.r_groups().drive(self.group_of(row), column)
    }

    /// The drives of a row's group, in ascending order.
    pub(super) fn drives(&self, row: Row) -> impl Iterator<Item = DriveId> + use<> {
        self.r_groups().drives(self.group_of(row))
    }

    fn r_groups(&self) -> RGroups {
        RGroups::new(self.width as usize)
    }

    /// The group of a drive, and its column there.
    pub(super) fn column_of(&self, drive: DriveId) -> (GroupId, Column) {
        (self.r_groups().group_of(drive), self.r_groups().column_of(drive))
    }

    /// Place of a position of a row.
    pub(super) fn place(&self, row: Row, position: u32) -> Place {
        let column = self.data_column(row, position % self.data);
        self.place_of(row, column, position / self.data)
    }

    /// Place of the block at a column and stripe of a row.
    pub(super) fn place_of(&self, row: Row, column: Column, stripe: u32) -> Place {
        let segment = u64::from(row.get()) * u64::from(self.width) + u64::from(column.get());
        Place(segment * u64::from(self.segment) + u64::from(stripe))
    }

    /// True if a place is for data: neither parity nor summary, nor behind the last row.
    pub(super) fn holds_data(&self, place: Place) -> bool {
        let rows = place.0 / (u64::from(self.segment) * u64::from(self.width));
        if rows >= u64::from(self.all_rows()) {
            return false;
        }
        let (row, column, stripe) = self.locate(place);
        self.parity(row) != Some(column) && stripe < self.stripes()
    }

    /// Row, column and stripe of a place.
    pub(super) fn locate(&self, place: Place) -> (Row, Column, u32) {
        let (segment, stripe) = (place.0 / u64::from(self.segment), place.0 % u64::from(self.segment));
        let (row, column) = (segment / u64::from(self.width), segment % u64::from(self.width));
        (Row::new(to_u32(row)), Column::new(to_u32(column)), to_u32(stripe))
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

    /// Verifies [`Geometry::victim_most`] for the smallest spare space that valid configurations permit: in
    /// every accepted geometry, some victim frees space; all others are rejected.
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
                    if validation_error(&config, blocks).is_some() {
                        refused += 1;
                        continue;
                    }
                    made += 1;
                    let geometry = Geometry::new(&config, blocks);
                    assert_eq!(geometry.victim_most, geometry.gaining_most(), "{config:?}");
                    // If every row were too full to be a victim, the host would hold more than its capacity.
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
