//! Counters of epochs.

use super::StageTimes;
use tailcut_base::Nanos;

/// Counters of an array with epochs, since it was created or opened, or since its preparation
/// ([`Array::count_epochs_anew`](crate::array::Array::count_epochs_anew)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EpochFigures {
    /// Epochs that have begun, of all token groups.
    pub epochs: u64,
    /// Length of the longest epoch that has ended.
    pub longest_epoch: Nanos,
    /// Blocks written to drives for the host, repair and rebuilding; each copy counts.
    pub written: u64,
    /// Copies that were never written because the block was overwritten before.
    pub superseded: u64,
    /// Blocks of descriptors written, with those that only merge others.
    pub descriptors: u64,
    /// Descriptor blocks written only to merge the entries of others.
    pub merges: u64,
    /// Blocks of reads served from the cache.
    pub from_cache: u64,
    /// Reads of blocks with one copy on a drive with the token that were sent to the other.
    pub diverted: u64,
    /// Reads that went to a drive with the token because there was no choice.
    pub met: u64,
    /// Requests that waited for room in the cache or the dirty lists.
    pub throttled: u64,
    /// Longest time that a copy waited for the token.
    pub longest_wait: Nanos,
    /// Copies that waited for the token for longer than `epoch.deadline`.
    pub late: u64,
    /// Times that a drive instructed to collect had garbage to collect.
    pub collections: u64,
    /// Times that a drive was polled for quiescence.
    pub polls: u64,
    /// Times that the token passed on although a drive had not quiesced.
    pub restless: u64,
    /// Time per stage with the token, summed over the drives.
    pub times: StageTimes,
    /// Time that drives had the token but waited for others of their group, summed over the drives.
    pub waiting: Nanos,
    /// Drives that do not support the control interface although it is enabled.
    pub without_control: u32,
}

impl EpochFigures {
    /// The difference to an earlier snapshot. Maxima are not reset.
    #[must_use]
    pub fn since(self, before: &EpochFigures) -> EpochFigures {
        EpochFigures {
            epochs: self.epochs - before.epochs,
            longest_epoch: self.longest_epoch,
            written: self.written - before.written,
            superseded: self.superseded - before.superseded,
            descriptors: self.descriptors - before.descriptors,
            merges: self.merges - before.merges,
            from_cache: self.from_cache - before.from_cache,
            diverted: self.diverted - before.diverted,
            met: self.met - before.met,
            throttled: self.throttled - before.throttled,
            longest_wait: self.longest_wait,
            late: self.late - before.late,
            collections: self.collections - before.collections,
            polls: self.polls - before.polls,
            restless: self.restless - before.restless,
            times: self.times.since(&before.times),
            waiting: self.waiting - before.waiting,
            without_control: self.without_control,
        }
    }

    /// Sets the longest epoch and the longest wait to zero.
    pub fn forget_longest(&mut self) {
        (self.longest_epoch, self.longest_wait) = (Nanos::ZERO, Nanos::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_is_that_of_the_time_between() {
        let figures = |scale: u64| EpochFigures {
            epochs: scale,
            longest_epoch: Nanos(9),
            written: 2 * scale,
            superseded: 3 * scale,
            descriptors: 4 * scale,
            merges: 5 * scale,
            from_cache: 6 * scale,
            diverted: 7 * scale,
            met: 8 * scale,
            throttled: 9 * scale,
            longest_wait: Nanos(9),
            late: 10 * scale,
            collections: 11 * scale,
            polls: 12 * scale,
            restless: 13 * scale,
            times: StageTimes {
                draining: Nanos(14 * scale),
                writing: Nanos(15 * scale),
                flushing: Nanos(16 * scale),
                collecting: Nanos(17 * scale),
                settling: Nanos(18 * scale),
            },
            waiting: Nanos(19 * scale),
            without_control: 1,
        };
        assert_eq!(figures(7).since(&figures(2)), figures(5));
    }
}
