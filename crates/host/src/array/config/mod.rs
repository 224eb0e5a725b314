//! The configuration of an array, as a part of a scenario.

use super::epoch::EpochConfig;
use super::log::LogConfig;
use super::raid::RaidConfig;
use super::superblock::MemberSuperblock;
use crate::disk::BLOCK_BYTES;
use crate::placement::{HostHandles, WriteKind};
use tailcut_base::Nanos;
use tailcut_base::cast::to_u32;
use tailcut_base::config::{Configure, KeyVisitor, choose, count_u32};
use tailcut_base::quantity::show_number_of;

tailcut_base::choice! {
    /// How an array lays data out.
    pub enum LayoutKind {
        /// In place, striped, without redundancy.
        Raid0 = "raid0",
        /// In place, parity on the last drive (Patterson, Gibson, Katz, SIGMOD 1988).
        Raid4 = "raid4",
        /// In place, parity on all drives in turn.
        Raid5 = "raid5",
        /// One log over all drives.
        LogRaid0 = "log-raid0",
        /// One log, parity on the last drive.
        LogRaid4 = "log-raid4",
        /// One log, parity on all drives in turn.
        LogRaid5 = "log-raid5",
        /// SWAN: one R-group is written while another is collected (Kim et al., ATC 2019).
        Swan0 = "swan0",
        /// SWAN with parity on the last drive of each R-group.
        Swan4 = "swan4",
        /// SWAN with parity on all drives of an R-group in turn.
        Swan5 = "swan5",
        /// In place, copies on drives of different token groups, of which one at a time is written
        /// (Shin 2017, chapter 5).
        Epochs = "epochs" | "mirror" | "raid1" | "raid10",
    }
}

tailcut_base::choice! {
    /// Kind of the members of an array.
    pub enum Members {
        /// Separate drives.
        Drives = "drives",
        /// The NVM sets of one drive.
        Sets = "sets",
    }
}

tailcut_base::choice! {
    /// Which reads avoid an available drive by reading from the others of its group.
    pub enum ReadPolicy {
        /// None: a read waits for the drive that holds its data.
        Direct = "direct",
        /// Reads from a drive or R-group that the array itself is collecting (SWAN, section 3.3, as future
        /// work).
        AroundCollection = "around-collection",
        /// Reads that the drive declines for now (IODA, SOSP 2021, section 3.2). In layouts that write in
        /// place, this includes the reads of a write for its parity.
        FailFast = "fail-fast",
    }
}

tailcut_base::choice! {
    /// Whether a layout that writes in place keeps a checksum of each block.
    pub enum InPlaceChecksums {
        /// No checksums.
        Off = "off",
        /// A block that fails its checksum is reconstructed from its stripe or read from another copy;
        /// otherwise the read fails.
        On = "on",
    }
}

impl LayoutKind {
    /// True if the layout tolerates the loss of a drive.
    pub fn is_redundant(self) -> bool {
        self.has_parity() || self.is_mirrored()
    }

    /// True if each stripe has parity.
    pub fn has_parity(self) -> bool {
        use LayoutKind::*;
        matches!(self, Raid4 | Raid5 | LogRaid4 | LogRaid5 | Swan4 | Swan5)
    }

    /// True if each block has copies.
    pub fn is_mirrored(self) -> bool {
        self == LayoutKind::Epochs
    }

    /// True if the parity rotates over the drives.
    pub fn rotates(self) -> bool {
        matches!(self, LayoutKind::Raid5 | LayoutKind::LogRaid5 | LayoutKind::Swan5)
    }

    /// True if blocks are updated in place.
    pub fn is_in_place(self) -> bool {
        use LayoutKind::*;
        matches!(self, Raid0 | Raid4 | Raid5 | Epochs)
    }

    /// True if R-groups of drives take turns.
    pub fn is_swan(self) -> bool {
        matches!(self, LayoutKind::Swan0 | LayoutKind::Swan4 | LayoutKind::Swan5)
    }
}

/// The configuration of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayConfig {
    /// Number of members, which are drives or NVM sets; 0 for a single drive without an array.
    pub drives: u32,
    /// Whether the members are whole drives or the NVM sets of one drive.
    pub members: Members,
    /// How blocks of the host are placed on the members, and what makes them redundant.
    pub layout: LayoutKind,
    /// R-groups of a SWAN array, token groups of epochs; 1 for all others.
    pub groups: u32,
    /// Maximum number of requests of the host that the array works on at a time.
    pub depth: u32,
    /// Maximum number of requests in flight on each drive.
    pub drive_depth: u32,
    /// Which reads avoid a drive that is busy, and are reconstructed from the others.
    pub reads: ReadPolicy,
    /// Length of the window in which one drive of a group at a time collects garbage; 0 for no windows.
    pub turns: Nanos,
    /// Time at the end of its window in which a drive starts no collection: as long as its longest chip
    /// operation, so that this ends before the window of the next drive.
    pub turn_pause: Nanos,
    /// A read that takes longer than this is reconstructed, block by block; 0 for never.
    pub slow_after: Nanos,
    /// Block checksums of `raid0`, `raid4`, `raid5` and `epochs`. Log layouts use [`LogConfig::checksums`].
    pub checksums: InPlaceChecksums,
    /// Idle time after which the checksums of a region (about 4 MiB of a drive) are written to the drive.
    pub checksums_idle: Nanos,
    /// Bytes per second that rebuilding and scrubbing read from each drive; 0 for no limit.
    pub background_rate: u64,
    /// Settings of the layouts that write in place: `raid0`, `raid4` and `raid5`.
    pub raid: RaidConfig,
    /// Settings of the layouts that write a log.
    pub log: LogConfig,
    /// Settings of `epochs`, and of logs with tokens.
    pub epoch: EpochConfig,
}

impl Default for ArrayConfig {
    fn default() -> ArrayConfig {
        ArrayConfig {
            drives: 0,
            members: Members::Drives,
            layout: LayoutKind::Raid5,
            groups: 1,
            depth: 4096,
            drive_depth: 256,
            reads: ReadPolicy::Direct,
            turns: Nanos::ZERO,
            turn_pause: Nanos::ZERO,
            slow_after: Nanos::ZERO,
            checksums: InPlaceChecksums::Off,
            checksums_idle: Nanos::secs(5),
            background_rate: 0,
            raid: RaidConfig::default(),
            log: LogConfig::default(),
            epoch: EpochConfig::default(),
        }
    }
}

impl ArrayConfig {
    /// The handles that the array offers to its host when each drive has at least `handles`: those that it
    /// does not need for parity and metadata. A log has one; it writes in the order of time.
    pub fn host_handles(&self, handles: u32) -> HostHandles {
        let layout = self.layout;
        let own: &[WriteKind] = match layout {
            LayoutKind::Raid0 if self.has_checksums_in_place() => &[WriteKind::Metadata],
            LayoutKind::Raid0 => &[],
            _ if layout.is_mirrored() => &[WriteKind::Metadata],
            _ if layout.is_in_place() => &[WriteKind::Parity, WriteKind::Metadata],
            _ => return HostHandles::ONE,
        };
        HostHandles::beside(own, handles)
    }

    /// Drives per R-group. If the layout is redundant, one of them may be lost.
    pub fn width(&self) -> usize {
        if self.layout.is_mirrored() {
            return self.drives as usize;
        }
        (self.drives / self.groups.max(1)) as usize
    }

    /// Number of data blocks in each stripe: one for each drive, without parity.
    pub fn data_width(&self) -> usize {
        self.width() - usize::from(self.layout.has_parity())
    }

    /// Least number of drives per group for the layout.
    fn least_width(&self) -> u32 {
        if self.layout.is_redundant() { 3 } else { 1 }
    }

    /// This configuration for an array with this superblock: what is fixed when an array is created is as
    /// the superblock has it.
    pub fn as_created(&self, superblock: &MemberSuperblock) -> ArrayConfig {
        let checksums = match superblock.has_checksums_in_place() {
            true => InPlaceChecksums::On,
            false => InPlaceChecksums::Off,
        };
        let (drives, layout, groups) =
            (to_u32(superblock.presence.len()), superblock.layout, superblock.groups);
        let mut config = ArrayConfig { drives, layout, groups, checksums, ..self.clone() };
        if layout.is_mirrored() {
            config.epoch.keep(superblock.shape);
        } else if layout.is_in_place() {
            config.raid.keep(superblock.shape);
        } else {
            config.log.keep(superblock.shape);
        }
        config
    }

    /// True if a log is written in epochs: heavy requests wait at a drive's gate for its token.
    pub fn has_gates(&self) -> bool {
        !self.layout.is_in_place() && self.log.tokens
    }

    /// True for a layout that writes in place and keeps checksums of its blocks.
    pub fn has_checksums_in_place(&self) -> bool {
        self.layout.is_in_place() && self.checksums == InPlaceChecksums::On
    }

    /// The first invalid setting of a log with tokens.
    fn gate_problems(&self) -> Option<(&'static str, String)> {
        let layout = self.layout;
        if layout.is_in_place() || !layout.has_parity() {
            let message = format!(
                "{layout} cannot do without the drive that has the token: set log.tokens = false, or choose \
                 log-raid4, log-raid5, swan4 or swan5 (the layout epochs has tokens of its own)"
            );
            return Some(("log.tokens", message));
        }
        if self.turns > Nanos::ZERO {
            let message = "with log.tokens drives collect while they have the token: set turns = 0";
            return Some(("turns", message.into()));
        }
        if self.reads == ReadPolicy::AroundCollection {
            let message = "with log.tokens reads go around the drive that has the token, and no other needs \
                           it: set reads = direct or fail-fast";
            return Some(("reads", message.into()));
        }
        self.epoch.problems(to_u32(self.width()))
    }

    /// The first invalid setting of an array with token groups.
    fn epoch_problems(&self) -> Option<(&'static str, String)> {
        let (drives, groups) = (self.drives, self.groups);
        if groups < 2 {
            let message =
                "epochs (also mirror, raid1, raid10) keeps copies on at least 2 token groups: set groups = 2"
                    .into();
            return Some(("groups", message));
        }
        if groups > drives {
            return Some(("groups", format!("{drives} drives do not make {groups} token groups")));
        }
        let copies = self.epoch.copies;
        if copies > groups {
            let message = format!(
                "{copies} copies on drives of different token groups need as many groups: raise groups to \
                    {copies}, or lower epoch.copies"
            );
            return Some(("groups", message));
        }
        if copies > 2 && !drives.is_multiple_of(groups) {
            let message = format!(
                "with more than two copies (epoch.copies) all token groups have as many drives: {drives} \
                 drives do not make {groups} equal groups"
            );
            return Some(("drives", message));
        }
        if self.turns > Nanos::ZERO {
            return Some((
                "turns",
                "with epochs drives collect while they have the token: set turns = 0".into(),
            ));
        }
        self.epoch.problems(groups)
    }

    /// All invalid settings: the key, and a message with the error and the valid range.
    pub fn problems(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        if self.drives == 0 {
            return problems;
        }
        let layout = self.layout;
        if self.log.tokens {
            problems.extend(self.gate_problems());
        }
        if !layout.is_in_place() && self.checksums == InPlaceChecksums::On {
            let message = format!(
                "{layout} writes a log, whose block checksums are set with array.log.checksums: set that, \
                 and leave array.checksums out"
            );
            problems.push(("checksums", message));
        }
        if layout.is_mirrored() {
            problems.extend(self.epoch_problems());
            return problems;
        }
        if layout.is_swan() && self.groups < 2 {
            problems.push((
                "groups",
                format!("{layout} needs at least 2 R-groups, one to write and one to collect"),
            ));
        }
        if !layout.is_swan() && self.groups != 1 {
            let message = format!(
                "only SWAN layouts and epochs divide their drives into groups, and {layout} protects all its \
                 drives as one: leave groups out (or groups = 1), or choose a layout such as swan5"
            );
            problems.push(("groups", message));
        }
        if !self.drives.is_multiple_of(self.groups.max(1)) {
            let message =
                format!("{} drives do not make {} R-groups of equal size", self.drives, self.groups);
            problems.push(("groups", message));
        } else if self.drives / self.groups.max(1) < self.least_width() {
            let least = self.least_width() * self.groups.max(1);
            problems.push((
                "drives",
                format!(
                    "{layout} with {} needs at least {least} drives",
                    show_number_of(self.groups.into(), "group")
                ),
            ));
        } else if self.width() > 64 {
            problems.push(("drives", "a group has at most 64 drives: use more R-groups".into()));
        } else if self.turn_pause > Nanos::ZERO && self.turn_pause >= self.turns {
            problems.push(("turn_pause", "the pause must be shorter than a turn: raise turns".into()));
        } else if layout.is_in_place() && layout.is_redundant() {
            problems.extend(self.raid.problems(self.width()));
        }
        problems
    }
}

impl Configure for ArrayConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        count_u32(
            visit,
            "drives",
            "Drives in the array; 0 for a single drive without an array.",
            &mut self.drives,
            0..=1024,
        );
        choose(
            visit,
            "members",
            "What these drives are: drives of their own, or the NVM sets of one drive, each of which appears \
                as a drive.",
            &mut self.members,
        );
        choose(visit, "layout", "How data is laid out.", &mut self.layout);
        count_u32(
            visit,
            "groups",
            "R-groups of a SWAN layout, token groups of epochs; 1 for every other.",
            &mut self.groups,
            1..=512,
        );
        count_u32(
            visit,
            "depth",
            "Requests of the host that the array works on at a time.",
            &mut self.depth,
            1..=65_536,
        );
        count_u32(
            visit,
            "drive_depth",
            "Requests in flight on each drive at a time, as far as the drive takes so many.",
            &mut self.drive_depth,
            1..=65_536,
        );
        choose(
            visit,
            "reads",
            "Which reads go around a drive, to the others of its stripe.",
            &mut self.reads,
        );
        visit.time(
            "turns",
            "Drives of a group collect garbage in turn, for so long each; 0 for whenever they like.",
            &mut self.turns,
            Nanos::ZERO..=Nanos::secs(3600),
        );
        visit.time(
            "turn_pause",
            "At the end of its turn a drive begins nothing more for so long; below the length of a turn.",
            &mut self.turn_pause,
            Nanos::ZERO..=Nanos::secs(1),
        );
        visit.time(
            "slow_after",
            "A read that a drive has not answered by then is reconstructed from the others; 0 for never.",
            &mut self.slow_after,
            Nanos::ZERO..=Nanos::secs(60),
        );
        choose(
            visit,
            "checksums",
            "Keeps a checksum of each block of raid0, raid4, raid5 and epochs, and compares it with every \
                read: a wrong block is reconstructed from its stripe or read from another copy, or the read \
                fails. For files and devices, which have no protection information. Costs 4 bytes of memory \
                and of the drive per block, and three extra writes and a flush per 4 MiB region that is \
                written after an idle time. After a power cut, blocks of regions written within \
                array.checksums_idle are accepted unchecked until they are rewritten or scrubbed. Fixed when \
                the array is created. Log layouts use array.log.checksums.",
            &mut self.checksums,
        );
        visit.time(
            "checksums_idle",
            "Time without a write to a 4 MiB region after which its checksums are written to the drive. \
                Longer means fewer extra writes and more regions unchecked after a power cut.",
            &mut self.checksums_idle,
            Nanos::millis(1)..=Nanos::secs(3600),
        );
        visit.rate(
            "background_rate",
            "What rebuilding and scrubbing read from each drive; 0 for no limit.",
            &mut self.background_rate,
            0..=1 << 40,
        );
        visit.section("raid", "Layouts that write in place.", &mut self.raid);
        visit.section("log", "Layouts that write a log.", &mut self.log);
        visit.section(
            "epoch",
            "The layout with token groups, and logs with tokens (log.tokens).",
            &mut self.epoch,
        );
        for (key, message) in self.problems() {
            visit.problem(key, message);
        }
    }
}

/// Checks a size in bytes that must be a whole number of blocks.
pub(crate) fn whole_blocks(visit: &mut dyn KeyVisitor, key: &'static str, bytes: u64) {
    if !bytes.is_multiple_of(BLOCK_BYTES) {
        visit.problem(key, format!("{bytes} bytes are no whole number of blocks of {BLOCK_BYTES} bytes"));
    }
}

#[cfg(test)]
mod tests;
