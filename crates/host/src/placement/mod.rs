//! Data placement: which reclaim unit handle a write names on disks that have several.

mod passing;
mod policy;
mod recency;
mod sequences;

pub use passing::HostHandles;
pub use policy::{PlacementPolicy, Placer};
use tailcut_base::fdp::HandleId;

/// What a layer of the host writes to the disk below it. Data of one kind is overwritten together, and that
/// of different kinds at different times, so each kind has a reclaim unit handle of its own on disks that
/// have enough of them (NVM Express Base Specification 2.1, Flexible Data Placement).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteKind {
    /// Data of the user: blocks of an array in place or in its log, records of a store as they come; and what
    /// rebuilds or repairs them.
    #[default]
    Data,
    /// Data of the user that the host placed by this handle of the disk.
    Named(HandleId),
    /// Parity, which every write to its stripe changes: in an array of `n` drives it is overwritten up to
    /// `n - 1` times as often as data.
    Parity,
    /// What collection of a log has moved: it has outlived what was written with it.
    Moved,
    /// What a layer keeps for itself and overwrites block by block: superblocks, journals, write-intent
    /// bitmaps, checksums, descriptors, checkpoints, the ends of segments.
    Metadata,
}

impl WriteKind {
    /// The handle that a write of this kind names on a disk with `handles` of them, at least 1. Where there
    /// are too few, kinds share the last one; [`WriteKind::Data`] shares with others on a disk without data
    /// placement only.
    #[inline]
    pub fn handle(self, handles: u32) -> HandleId {
        let wanted = match self {
            WriteKind::Data => 0,
            WriteKind::Named(handle) => handle.get(),
            WriteKind::Parity | WriteKind::Moved => 1,
            WriteKind::Metadata => 2,
        };
        HandleId::new(wanted.min(handles.saturating_sub(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::config::Choice;
    use tailcut_base::{Command, CommandId, Op};

    #[test]
    fn kinds_share_the_last_handle_where_there_are_too_few() {
        let of = |handles: u32| {
            [WriteKind::Data, WriteKind::Parity, WriteKind::Moved, WriteKind::Metadata]
                .map(|kind| kind.handle(handles).get())
        };
        assert_eq!((of(0), of(1), of(2)), ([0; 4], [0; 4], [0, 1, 1, 1]));
        assert_eq!((of(3), of(8)), ([0, 1, 1, 2], [0, 1, 1, 2]));
    }

    fn write(sector: u64, sectors: u32) -> Command {
        Command { op: Op::Write, stream: 7, sector, sectors, ..Command::flush(CommandId(0)) }
    }

    #[test]
    fn only_writes_are_placed_and_only_where_there_is_a_choice() {
        for policy in PlacementPolicy::all() {
            let (one, two) = (Placer::new(*policy, 1 << 20, 1), Placer::new(*policy, 1 << 20, 2));
            let read = Command { op: Op::Read, ..write(0, 8) };
            assert_eq!((one.choose(&write(0, 8)).get(), two.choose(&read).get()), (7, 7), "{policy}");
        }
        assert_eq!(Placer::new(PlacementPolicy::Named, 1 << 20, 2).placed(write(0, 8)).stream, 7);
    }

    #[test]
    fn short_and_long_writes_are_apart() {
        let of = |handles: u32, sectors: u32| {
            Placer::new(PlacementPolicy::Size, 1 << 20, handles).choose(&write(0, sectors)).get()
        };
        assert_eq!([1, 8, 31, 32, 127, 128, 2048].map(|sectors| of(8, sectors)), [0, 0, 0, 1, 1, 2, 4]);
        assert_eq!([1, 8, 31, 32, 127, 128, 2048].map(|sectors| of(2, sectors)), [0, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn what_is_overwritten_soon_is_apart() {
        let mut placer = Placer::new(PlacementPolicy::Recency, 1 << 16, 3);
        // Every other write is to the same block; the others take all of the device in turn.
        for block in 1..8000 {
            for write in [write(0, 8), write(block * 8, 8)] {
                placer.record(&write);
            }
        }
        let chosen = [write(0, 8), write(7000 * 8, 8), write(8, 8)].map(|write| placer.choose(&write).get());
        assert_eq!(chosen, [2, 1, 0], "16,000 of 65,536 sectors have been written since block 7000");
        assert_eq!(placer.choose(&write(8100 * 8, 8)).get(), 0, "it was never written");
    }

    #[test]
    fn sequences_take_the_other_handles_in_turn() {
        let mut placer = Placer::new(PlacementPolicy::Sequence, 1 << 20, 3);
        for number in 0..32 {
            for write in [write(number * 128, 128), write((1 << 19) | (number * 128), 128)] {
                placer.record(&write);
            }
        }
        let chosen = [write(32 * 128, 8), write((1 << 19) | (32 * 128), 8), write(77, 8)];
        assert_eq!(chosen.map(|write| placer.choose(&write).get()), [1, 2, 0]);
    }
}
