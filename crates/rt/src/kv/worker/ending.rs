//! The end: what is under way is finished, and what was written is made durable.

use super::super::figures::Figures;
use super::Worker;
use crate::drive::Drive;
use tailcut_base::Time;

/// How far the end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopping {
    /// It serves.
    Not,
    /// What is under way is finished, but nobody is waited for longer than until then.
    Emptying { deadline: Time },
    /// Nobody is connected; what was written becomes durable up to this point. A drive that says nothing until then is given up.
    Settling { point: u64, deadline: Time },
    /// That is done.
    Done { is_durable: bool },
}

impl<D: Drive> Worker<D> {
    /// Somebody has asked it to end.
    pub(super) fn begin_end(&mut self) {
        self.stop.empty();
        self.is_told = true;
        if self.stopping != Stopping::Not {
            return;
        }
        self.door.close();
        self.letters.close();
        self.stopping = Stopping::Emptying { deadline: self.clock.now() + self.limits.patience };
        // Who has nothing under way goes as soon as it is looked at.
        (0..self.seats.len() as u32).for_each(|seat| self.note_answer(seat));
    }

    /// Goes on with finding what is on the drive, while that is of use to anybody. Without all of it nothing is served.
    pub(super) fn recover(&mut self) {
        if !self.is_served() {
            return;
        }
        self.service.recover();
        if self.service.engine().unreadable().is_some() && self.stopping == Stopping::Not {
            self.begin_end();
        }
    }

    /// True if that can go on in another turn.
    pub(super) fn can_recover(&self) -> bool {
        self.is_served() && self.service.engine().can_recover()
    }

    fn is_served(&self) -> bool {
        matches!(self.stopping, Stopping::Not | Stopping::Emptying { .. })
    }

    /// The drive has answered something.
    pub(super) fn note_progress(&mut self, now: Time) {
        if let Stopping::Settling { deadline, .. } = &mut self.stopping {
            *deadline = now + self.limits.patience;
        }
    }

    pub(super) fn wind_down(&mut self, now: Time) {
        match self.stopping {
            Stopping::Not | Stopping::Done { .. } => {}
            Stopping::Emptying { deadline } => {
                if now >= deadline {
                    (0..self.seats.len() as u32).for_each(|seat| self.close(seat));
                }
                if self.seats.len() == self.vacant.len() {
                    let point = self.service.engine_mut().sync();
                    self.stopping = Stopping::Settling { point, deadline: now + self.limits.patience };
                    self.is_told = true;
                }
            }
            Stopping::Settling { point, deadline } => {
                let engine = self.service.engine();
                let is_durable = engine.durable() >= point;
                if is_durable && engine.is_idle() || now >= deadline {
                    self.stopping = Stopping::Done { is_durable };
                }
            }
        }
    }

    pub(super) fn end(self, is_durable: bool) -> (Figures, Option<D>) {
        let (statistics, engine) = (*self.service.statistics(), self.service.engine());
        let figures = Figures {
            statistics,
            engine: *engine.figures(),
            items: engine.items(),
            traffic: self.traffic,
            is_durable,
            unreadable: engine.unreadable(),
        };
        (figures, self.drive)
    }
}
