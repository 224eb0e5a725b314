//! The emulated drive without its data: commands go in, completions come out at the model's moments.

use super::Account;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::device::Identify;
use tailcut_base::{Command, Completion, Device, Submit, Time};
use tailcut_ssd::{Prediction, Ssd};

/// What a drive is told. `asked` is the moment at which its user did so.
#[derive(Clone, Copy, Debug)]
pub enum Ask {
    /// A command.
    Command {
        /// When.
        asked: Time,
        /// Which.
        command: Command,
    },
    /// A call of the control interface.
    Control {
        /// When.
        asked: Time,
        /// Which.
        call: Control,
    },
}

/// What it says.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are completions, and a box would be an allocation for each"
)]
#[derive(Clone, Copy, Debug)]
pub enum Told {
    /// A command has ended.
    Completion(Completion),
    /// The reply to a call.
    Reply(Control, ControlReply),
}

/// The machine of the drive, which is always served up to some moment.
#[derive(Debug)]
pub struct Timing {
    ssd: Ssd,
    served: Time,
    completions: Vec<Completion>,
    /// What the drive says of requests to come; it is counted how right it was.
    predictions: Vec<Prediction>,
}

impl Timing {
    /// Of a drive at its beginning.
    pub fn new(mut ssd: Ssd) -> Timing {
        ssd.track_behaviour();
        Timing { ssd, served: Time::ZERO, completions: Vec::new(), predictions: Vec::new() }
    }

    /// Identity and capacity of the drive.
    pub fn identify(&self) -> Identify {
        self.ssd.identify()
    }

    /// Tells it something; what it says by then is appended. To the drive it comes when it was asked, but
    /// never before what has been served: how long it took to get here is no part of what the model says.
    #[inline]
    pub fn ask(&mut self, ask: Ask, told: &mut Vec<Told>) {
        match ask {
            Ask::Command { asked, command } => {
                self.serve(asked, told);
                let answer = self.ssd.submit(self.served, &command);
                assert_eq!(answer, Submit::Accepted, "the user keeps to what the drive says of itself");
            }
            Ask::Control { asked, call } => {
                self.serve(asked, told);
                told.push(Told::Reply(call, self.ssd.control(self.served, call)));
            }
        }
    }

    /// Serves all events up to `until`.
    #[inline]
    pub fn serve(&mut self, until: Time, told: &mut Vec<Told>) {
        if until < self.served {
            return;
        }
        self.served = until;
        if self.ssd.next_event() <= until {
            while !self.ssd.advance(until, &mut self.completions) {}
            told.extend(self.completions.drain(..).map(Told::Completion));
            self.ssd.take_predictions(&mut self.predictions);
            self.predictions.clear();
        }
    }

    /// When the drive goes on by itself.
    #[inline]
    pub fn next_event(&self) -> Time {
        self.ssd.next_event()
    }

    /// What it has done, and how it is.
    pub fn account(&self) -> Account {
        Account {
            figures: self.ssd.figures(self.served),
            erased_blocks: self.ssd.erased_blocks(),
            collects: self.ssd.collects(),
            buffer_room: self.ssd.buffer_room(),
            predictions: self.ssd.prediction_accuracy(),
        }
    }
}
