//! The behaviour tracker of a drive: when will this read end, and how much room has the buffer? (Shin 2017, section 4.3.1.)
//!
//! A prediction is made when the command of a read's only page is issued to its chip: from there on nothing queues any
//! more but for bus and link. The predicted rest is the mean of the last three that were observed, of the flash and of the
//! transfer each. Larger reads and all writes are not predicted.

use crate::probe::Probe;
use crate::request::Role;
use crate::ssd::Ssd;
use tailcut_base::{Cause, CommandId, Nanos, Time};

/// Requests from this size on are not predicted: 8 KiB, in sectors.
const SMALL: u32 = 16;

/// When a read is expected to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// The read.
    pub id: CommandId,
    /// When the host will see its end.
    pub ends: Time,
}

/// Times of one part of the drive, and how well they were predicted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Accuracy {
    /// Times observed, and those of them that had been predicted.
    pub observed: u64,
    /// How many predictions.
    pub predicted: u64,
    /// Sum of the observed times in ns.
    pub sum: f64,
    /// Sum of their squares.
    pub squares: f64,
    /// Sum of the predicted times.
    pub predicted_sum: f64,
    /// Sum of the squares of the differences.
    pub error_squares: f64,
}

impl Accuracy {
    /// Mean observed time in ns.
    pub fn mean(&self) -> f64 {
        self.sum / self.observed.max(1) as f64
    }

    /// Standard deviation of the observed times in ns.
    pub fn deviation(&self) -> f64 {
        (self.squares / self.observed.max(1) as f64 - self.mean() * self.mean()).max(0.0).sqrt()
    }

    /// Mean predicted time in ns.
    pub fn predicted_mean(&self) -> f64 {
        self.predicted_sum / self.predicted.max(1) as f64
    }

    /// Root of the mean square of the errors in ns.
    pub fn error(&self) -> f64 {
        (self.error_squares / self.predicted.max(1) as f64).sqrt()
    }

    fn note(&mut self, observed: Nanos, predicted: Option<Nanos>) {
        let observed = observed.0 as f64;
        self.observed += 1;
        self.sum += observed;
        self.squares += observed * observed;
        if let Some(predicted) = predicted {
            let predicted = predicted.0 as f64;
            self.predicted += 1;
            self.predicted_sum += predicted;
            self.error_squares += (predicted - observed) * (predicted - observed);
        }
    }
}

/// The last three times of one part.
#[derive(Clone, Copy, Debug, Default)]
struct LastThree {
    times: [Nanos; 3],
    count: u64,
}

impl LastThree {
    fn add(&mut self, time: Nanos) {
        self.times[(self.count % 3) as usize] = time;
        self.count += 1;
    }

    /// Their mean, rounded down, once there are three.
    fn mean(&self) -> Option<Nanos> {
        (self.count >= 3).then(|| self.times.iter().copied().sum::<Nanos>() / 3)
    }
}

/// What is known of a read whose command has been issued.
#[derive(Clone, Copy, Debug)]
struct Issued {
    at: Time,
    flash: Option<Nanos>,
    transfer: Option<Nanos>,
}

/// The tracker: off until a host asks for predictions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tracker {
    is_on: bool,
    flash: LastThree,
    transfer: LastThree,
    issued: Vec<Option<Issued>>,
    predictions: Vec<Prediction>,
    accuracy: [Accuracy; 2],
}

impl Tracker {
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    fn issued(&mut self, now: Time, tag: u32, id: CommandId) {
        if self.issued.len() <= tag as usize {
            self.issued.resize(tag as usize + 1, None);
        }
        let (flash, transfer) = (self.flash.mean(), self.transfer.mean());
        self.issued[tag as usize] = Some(Issued { at: now, flash, transfer });
        if let (Some(flash), Some(transfer)) = (flash, transfer) {
            self.predictions.push(Prediction { id, ends: now + flash + transfer });
        }
    }

    fn ended(&mut self, now: Time, tag: u32, transfer: Nanos) {
        let Some(issued) = self.issued.get_mut(tag as usize).and_then(Option::take) else { return };
        let flash = now.since(issued.at) - transfer;
        self.accuracy[0].note(flash, issued.flash);
        self.accuracy[1].note(transfer, issued.transfer);
        self.flash.add(flash);
        self.transfer.add(transfer);
    }
}

impl<P: Probe> Ssd<P> {
    /// From now on the ends of small reads are predicted.
    pub fn track_behaviour(&mut self) {
        self.tracker.is_on = true;
    }

    /// Moves predictions that have been made since the last call to `predictions`.
    pub fn take_predictions(&mut self, predictions: &mut Vec<Prediction>) {
        predictions.append(&mut self.tracker.predictions);
    }

    /// How well the flash part and the transfer part of small reads have been predicted.
    pub fn prediction_accuracy(&self) -> [Accuracy; 2] {
        self.tracker.accuracy
    }

    /// Free space of the write buffer in bytes, which every completion carries along.
    pub fn buffer_room(&self) -> u64 {
        self.buffer.room() * self.geometry.page_bytes
    }

    /// The command sequence of a unit's reads has begun.
    #[cold]
    pub(crate) fn track_start(&mut self, now: Time, unit: u32) {
        for &id in self.units[unit].transaction.members() {
            let request = &self.requests[id];
            let t = &self.tags[request.tag];
            if request.role == Role::HostRead && t.pages == 1 && t.command.sectors < SMALL {
                self.tracker.issued(now, request.tag, t.command.id);
            }
        }
    }

    /// A command has ended.
    #[cold]
    pub(crate) fn track_end(&mut self, now: Time, tag: u32) {
        let spans = &self.tags[tag].spans;
        let transfer = spans.of(Cause::LinkWait) + spans.of(Cause::Link) + spans.of(Cause::Controller);
        self.tracker.ended(now, tag, transfer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prediction_is_the_mean_of_the_last_three() {
        let mut tracker = Tracker::default();
        for (flash, transfer) in [(100, 9), (103, 9), (109, 12), (200, 9)] {
            tracker.issued(Time(1000), 0, CommandId(7));
            tracker.ended(Time(1000 + flash + transfer), 0, Nanos(transfer));
        }
        tracker.issued(Time(5000), 0, CommandId(8));
        let ends: Vec<Time> = tracker.predictions.iter().map(|p| p.ends).collect();
        assert_eq!(ends, [Time(1000 + 104 + 10), Time(5000 + 137 + 10)]);
        let [flash, _] = tracker.accuracy;
        assert_eq!((flash.observed, flash.predicted, flash.error()), (4, 1, 96.0));
    }
}
