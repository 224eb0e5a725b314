//! What runs have done and what they have reached: no violation means little where nothing happened.

use super::fault::FaultKind;
use tailcut_base::config::Choice;

tailcut_base::choice! {
    /// Something worth reaching.
    pub enum Reached {
        /// The power went while nothing was under way.
        CutAtRest = "power cut at rest",
        /// While requests of the host were unanswered.
        CutUnderLoad = "power cut with requests in flight",
        /// Before an array was ready that had been opened after another power cut, or made.
        CutInRecovery = "power cut during recovery",
        /// While a drive was missing.
        CutDegraded = "power cut while a drive is missing",
        /// While a drive was being rebuilt.
        CutInRebuild = "power cut during a rebuild",
        /// A write that was cut off arrived in part.
        TornWrite = "write torn between its blocks",
        /// A block that a drive had acknowledged and not flushed fell back to an older version.
        LostCached = "cached block lost",
        /// A block arrived although an older one of the same drive was lost.
        Reordered = "cached blocks kept out of order",
        /// Opened from its drives.
        Recovered = "recovery",
        /// Opened with a drive missing.
        RecoveredDegraded = "recovery with a drive missing",
        /// A drive that had missed writes was recognised and left out.
        StaleRefused = "stale drive refused",
        /// A drive had shrunk, and the array was refused until it had its size back.
        ShrunkRefused = "shrunk drive refused",
        /// A drive that had been away came back and was taken as it was.
        ReturnTaken = "drive came back and was up to date",
        /// A drive that had been replaced was back in the place of its successor, and was left out.
        PredecessorLeftOut = "replaced drive came back and was left out",
        /// The same, where the layout could not do without the successor: the array was refused.
        PredecessorRefused = "array refused because of a replaced drive",
        /// A part of an array was opened without the rest, and served everything.
        PartServed = "part of an array served",
        /// A part of an array was not enough, and was refused.
        PartRefused = "part of an array refused",
        /// Two parts of an array that had both served were refused together.
        DivergedRefused = "diverged parts refused",
        /// One of them was chosen and opened.
        PartKept = "diverged part kept",
        /// A drive was replaced.
        Replaced = "drive replaced",
        /// A rebuild came to its end.
        Rebuilt = "rebuild completed",
        /// Everything was read and compared, on request.
        Scrubbed = "scrub completed",
        /// A read found something else than was written.
        FoundCorrupt = "corrupt block found by a read",
        /// A scrub did, or found a parity that did not belong to its data.
        FoundByScrub = "damage found by a scrub",
        /// What was found was written again.
        Repaired = "block repaired",
        /// A read was answered from the other drives because one was missing or gave an error.
        DegradedRead = "read without the drive that has the data",
        /// Because a drive was slow.
        HedgedRead = "read around a slow drive",
        /// A log emptied a row of segments.
        Collected = "row collected by a log",
        /// A log wrote its map.
        Checkpointed = "checkpoint written by a log",
        /// Another group of a SWAN array became the front-end.
        Rotated = "front-end of a SWAN array moved on",
        /// A read was answered while a write of one of its blocks was unanswered.
        ReadDuringWrite = "read while a write of the block is in flight",
        /// A write came while another of the same block was unanswered.
        WriteDuringWrite = "write while another of the block is in flight",
        /// A block was found after a power cut as one of several versions that were allowed.
        Undecided = "block open between versions after a power cut",
        /// A cache has missed, or a store has lost the only copy of an item.
        Missed = "item missed by a cache",
        /// A block was read that had been trimmed.
        ReadTrimmed = "read of a trimmed block",
        /// A request was answered with an error that the fault model allows.
        HonestError = "error reported as an error",
        /// A block of a drive's flash went bad: a program or an erase failed.
        BadBlock = "flash block gone bad",
        /// A drive had no spare blocks left and became read-only.
        WornOut = "drive worn out",
        /// A drive emptied a block of its flash.
        CollectedByDrive = "garbage collected by a drive",
        /// A drive would rather not have served a read then.
        Contended = "read refused by a busy drive",
        /// A write found no room on a drive.
        NoRoom = "write without room on a drive",
        /// A request was answered with an error because of that.
        RefusedForRoom = "request refused for lack of room",
        /// All was read with one drive of each group taken away.
        ProbedWithout = "all read with a drive of each group taken away",
    }
}

/// Counts of one run or of many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Requests of the host that were answered.
    pub requests: u64,
    /// Requests to drives that were answered.
    pub drive_requests: u64,
    /// Events while the steps of the plan were carried out: a command of a drive is half done or answered, or
    /// the subject does something by itself. What comes after them, repair and the last looks, does not
    /// count.
    pub events: u64,
    /// Number of power cuts.
    pub cuts: u64,
    /// The most blocks that drives were asked to read between the power coming back and the
    /// subject taking requests.
    pub longest_recovery: u64,
    faults: [u64; FaultKind::NAMES.len()],
    reached: [u64; Reached::NAMES.len()],
}

impl Default for Tally {
    fn default() -> Tally {
        Tally {
            requests: 0,
            drive_requests: 0,
            events: 0,
            cuts: 0,
            longest_recovery: 0,
            faults: [0; FaultKind::NAMES.len()],
            reached: [0; Reached::NAMES.len()],
        }
    }
}

impl Tally {
    /// Counts a fault that has taken effect.
    pub fn fault(&mut self, kind: FaultKind) {
        self.faults[kind.index()] += 1;
    }

    /// Counts `times` more occurrences of `what`.
    pub fn reach(&mut self, what: Reached, times: u64) {
        self.reached[what.index()] += times;
    }

    /// Number of times that faults of this kind have taken effect.
    pub fn faults(&self, kind: FaultKind) -> u64 {
        self.faults[kind.index()]
    }

    /// Number of times that the run has reached `what`.
    pub fn reached(&self, what: Reached) -> u64 {
        self.reached[what.index()]
    }

    /// Adds the counts of another run.
    pub fn merge(&mut self, other: &Tally) {
        self.requests += other.requests;
        self.drive_requests += other.drive_requests;
        self.events += other.events;
        self.cuts += other.cuts;
        self.longest_recovery = self.longest_recovery.max(other.longest_recovery);
        for (mine, theirs) in self.faults.iter_mut().zip(other.faults) {
            *mine += theirs;
        }
        for (mine, theirs) in self.reached.iter_mut().zip(other.reached) {
            *mine += theirs;
        }
    }
}
