//! The emulated drive without its data: commands in, completions out at the times of the model.

use super::Account;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::device::Identify;
use tailcut_base::{Command, Completion, Device, Submit, Time};
use tailcut_ssd::{Prediction, Ssd};

/// Input of a drive. `asked` is the time of submission by its user.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ask {
    /// A command.
    Command {
        /// Time of submission.
        asked: Time,
        /// The command.
        command: Command,
    },
    /// A call of the control interface.
    Control {
        /// Time of submission.
        asked: Time,
        /// The call.
        call: Control,
    },
}

/// Output of a drive.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are completions, and a box would be an allocation for each"
)]
#[derive(Clone, Copy, Debug)]
pub(super) enum DriveOutput {
    /// A command has completed.
    Completion(Completion),
    /// The reply to a call.
    Reply(Control, ControlReply),
}

/// The model of the drive, which has always been advanced up to some time.
#[derive(Debug)]
pub(super) struct Timing {
    ssd: Ssd,
    served: Time,
    completions: Vec<Completion>,
    /// The drive's predictions for future requests, whose accuracy is measured.
    predictions: Vec<Prediction>,
}

impl Timing {
    /// The model of a drive in its initial state.
    pub(super) fn new(mut ssd: Ssd) -> Timing {
        ssd.track_behaviour();
        Timing { ssd, served: Time::ZERO, completions: Vec::new(), predictions: Vec::new() }
    }

    /// Identity and capacity of the drive.
    pub(super) fn identify(&self) -> Identify {
        self.ssd.identify()
    }

    /// Submits a command or call; output up to then is appended. It reaches the drive at its time of
    /// submission, but never before the time up to which the model has advanced: the transfer between threads
    /// is not part of the modelled latency.
    #[inline]
    pub(super) fn ask(&mut self, ask: Ask, told: &mut Vec<DriveOutput>) {
        match ask {
            Ask::Command { asked, command } => {
                self.serve(asked, told);
                let answer = self.ssd.submit(self.served, &command);
                assert_eq!(answer, Submit::Accepted, "the user keeps to what the drive says of itself");
            }
            Ask::Control { asked, call } => {
                self.serve(asked, told);
                told.push(DriveOutput::Reply(call, self.ssd.control(self.served, call)));
            }
        }
    }

    /// Processes all events up to `until`.
    #[inline]
    pub(super) fn serve(&mut self, until: Time, told: &mut Vec<DriveOutput>) {
        if until < self.served {
            return;
        }
        self.served = until;
        if self.ssd.next_event() <= until {
            while !self.ssd.advance(until, &mut self.completions) {}
            told.extend(self.completions.drain(..).map(DriveOutput::Completion));
            self.ssd.take_predictions(&mut self.predictions);
            self.predictions.clear();
        }
    }

    /// Time of the drive's next event.
    #[inline]
    pub(super) fn next_event(&self) -> Time {
        self.ssd.next_event()
    }

    /// Counters and state of the drive.
    pub(super) fn account(&self) -> Account {
        Account {
            figures: self.ssd.figures(self.served),
            erased_blocks: self.ssd.erased_blocks(),
            collects: self.ssd.collects(),
            buffer_room: self.ssd.buffer_room(),
            predictions: self.ssd.prediction_accuracy(),
        }
    }
}
