//! What goes first.

use tailcut_base::Nanos;
use tailcut_base::config::{Configure, KeyVisitor, choose, count_u32};

tailcut_base::choice! {
    /// Which of the work that is committed to a chip goes first.
    pub enum ChipPolicy {
        /// Whatever was committed first.
        Fifo = "fifo",
        /// User reads by class, then user writes, then garbage collection; garbage collection goes
        /// before user writes while a plane is short of blocks (PAReset, table 2).
        ReadsFirst = "reads-first",
    }
}

tailcut_base::choice! {
    /// What the class of a read is worth.
    pub enum Classes {
        /// Its command says it (PAReset, table 2).
        Told = "told",
        /// All reads are equal: any of them may preempt what reads may preempt at all.
        Equal = "equal",
        /// The drive finds out by itself which reads somebody waits for: those are of class 1, the others
        /// of class 3.
        Inferred = "inferred",
    }
}

tailcut_base::choice! {
    /// What a read that asks rather to fail (`Command::fail_fast`) does not wait for.
    pub enum FailFast {
        /// Garbage collection, wear levelling and erases (IODA, SOSP 2021).
        Collection = "collection",
        /// These, and programs of the host's data.
        Writes = "writes",
        /// Anything that its chip does before it: other reads of the host, and the time that it takes to
        /// preempt a program or erase.
        Anything = "anything",
    }
}

/// Configuration of the schedulers: what is committed to chips, and what they serve first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleConfig {
    /// The policy by which waiting requests are committed to chips.
    pub commit: CommitPolicy,
    /// Which of the work that is committed to a chip goes first.
    pub chip: ChipPolicy,
    /// Where the class of a read comes from: its command, the drive's own inference, or nowhere, as all reads
    /// are equal.
    pub classes: Classes,
    /// How long a LUN may serve nothing but reads while other work waits or stands suspended.
    pub write_patience: Nanos,
    /// PAS commits an I/O request when all of its chips are free (Sprinkler, section 3), instead of letting
    /// the oldest one take each chip as it becomes free (section 5.1).
    pub whole_requests: bool,
    /// Transactions of a chip by which its oldest waiting request may be passed over.
    pub passes: u32,
    /// The layout of waiting requests follows pages that garbage collection moves.
    pub readdressing: bool,
    /// Transactions may span planes of a die.
    pub plane_sharing: bool,
    /// Transactions may span dies of a chip.
    pub die_interleaving: bool,
    /// Programs that wait for a busy chip move to an idle one.
    pub level_queues: bool,
    /// What is queued for a program answers reads, and takes in later writes to its page.
    pub hit_manager: bool,
    /// Of the planes of a die, the one whose write frontier is behind is served first.
    pub level_frontiers: bool,
    /// Programs of several dies share a transaction only if their pages take equally long.
    pub match_cell_times: bool,
    /// What a read that asks rather to fail does not wait for.
    pub fail_fast: FailFast,
}

impl Configure for ScheduleConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        choose(visit, "commit", "Commit scheduler.", &mut self.commit);
        choose(visit, "chip", "Which of the work committed to a chip goes first.", &mut self.chip);
        choose(
            visit,
            "classes",
            "Whether a read's class is told by its command, inferred from size and place, or all reads are \
                equal.",
            &mut self.classes,
        );
        visit.time(
            "write_patience",
            "How long a chip may serve nothing but reads while other work waits or stands suspended (chip = \
                \"reads-first\").",
            &mut self.write_patience,
            Nanos(0)..=Nanos::secs(10),
        );
        visit.flag(
            "whole_requests",
            "Requests of several pages start when all of their chips are free (commit = \"pas\").",
            &mut self.whole_requests,
        );
        count_u32(
            visit,
            "passes",
            "Transactions by which a chip's oldest waiting request may be passed over (commit = \"faro\", \
                \"sprinkler\", or \"pas\" with whole requests).",
            &mut self.passes,
            0..=1 << 20,
        );
        visit.flag(
            "readdressing",
            "Waiting requests follow pages that move (commit = \"faro\", \"rios\", \"sprinkler\").",
            &mut self.readdressing,
        );
        visit.flag(
            "plane_sharing",
            "Transactions may span planes of a die (same page offset).",
            &mut self.plane_sharing,
        );
        visit.flag(
            "die_interleaving",
            "Transactions may span dies behind one ready/busy line.",
            &mut self.die_interleaving,
        );
        visit.flag(
            "level_queues",
            "Programs that wait for a busy chip move to an idle one (dynamic allocation by page).",
            &mut self.level_queues,
        );
        visit.flag(
            "hit_manager",
            "Data queued for a program answers reads, and later writes to its page replace it; else they \
                wait for the program.",
            &mut self.hit_manager,
        );
        visit.flag(
            "level_frontiers",
            "Of the planes of a die, serve the one whose write frontier is behind first, so that they can \
                share programs.",
            &mut self.level_frontiers,
        );
        visit.flag(
            "match_cell_times",
            "Programs of several dies share a transaction only if their pages (fast, slow) take equally \
                long.",
            &mut self.match_cell_times,
        );
        choose(
            visit,
            "fail_fast",
            "What a read that asks rather to fail does not wait for: the drive's own collection; writes of \
                the host as well; or anything, other reads and preemption included.",
            &mut self.fail_fast,
        );
    }
}

tailcut_base::choice! {
    /// Which commit scheduler.
    pub enum CommitPolicy {
        /// Virtual address scheduler: strictly in order; an I/O request that collides with earlier ones
        /// holds up everything.
        Vas = "vas",
        /// Physical address scheduler: I/O requests in order of arrival; those that meet busy chips are
        /// passed over by those that meet only free ones.
        Pas = "pas",
        /// FARO alone (SPK1): I/O requests in order of arrival, over-committed to their chips.
        Faro = "faro",
        /// RIOS alone (SPK2): each chip gets the oldest request that waits for it.
        Rios = "rios",
        /// RIOS and FARO (SPK3): each chip gets the set of requests with the most overlap.
        Sprinkler = "sprinkler",
        /// Software-based out-of-order scheduling: every request goes to its chip's queue at once.
        Sos = "sos",
    }
}
