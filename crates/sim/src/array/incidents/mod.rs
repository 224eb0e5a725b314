//! Incidents of a simulated array: drives that are removed, come back, stall or become slow, and scrubs, at
//! times of a schedule.

mod schedule;

pub use schedule::{Incident, parse};

use std::collections::VecDeque;
use tailcut_base::fetch_gate::FetchGate;
use tailcut_base::ids::IdVec;
use tailcut_base::{Cause, Command, CommandId, Completion, Nanos, Spans, Status, Time};
use tailcut_host::Fingerprint;
use tailcut_host::array::drives::Presence;
use tailcut_host::array::{Array, DriveId};

/// An incident that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    incident: Incident,
    at: Time,
    /// A rebuild or scrub has been seen under way.
    is_under_way: bool,
    done: Option<Time>,
}

impl Begun {
    /// The kind of incident, and its drive.
    pub fn incident(&self) -> Incident {
        self.incident
    }

    /// True if a rebuild or a scrub has begun for it.
    pub fn has_work(&self) -> bool {
        self.is_under_way
    }

    /// When it began.
    pub fn at(&self) -> Time {
        self.at
    }

    /// Time of the rebuild of a drive that came back, or of the scrub; `None` until it is complete, and for
    /// all other incidents.
    pub fn took(&self) -> Option<Nanos> {
        self.done.map(|done| done.since(self.at))
    }
}

/// A drive between the array and its simulation.
#[derive(Debug, Default)]
struct Lane {
    /// Commands that the drive has not fetched yet.
    gate: FetchGate<Command>,
    /// Commands that it has fetched and not completed.
    in_flight: u32,
    /// The array has lost it.
    is_gone: bool,
    /// It comes back once it has completed everything from before.
    returns: bool,
    /// How much later than submitted commands in flight were fetched, for those that were late.
    late: Vec<(CommandId, Nanos)>,
}

impl Lane {
    /// Fetches the next command, if it is due.
    fn fetch(&mut self, now: Time) -> Option<Command> {
        let (command, held) = self.gate.fetch(now)?;
        self.in_flight += 1;
        self.late.push((command.id, held));
        Some(command)
    }
}

/// What the owner of the drives has to do next.
#[derive(Debug)]
pub(super) enum Due {
    /// Submit a command to a drive.
    Fetch(DriveId, Command),
    /// Complete a command without a drive.
    Complete(DriveId, Box<Completion>),
    /// Tell the array of a loss.
    Lose(DriveId),
    /// Tell the array that a drive is back.
    GiveBack(DriveId),
    /// Tell the array to scrub.
    Scrub,
}

/// The incidents of an array, and where they hold commands back. A machine without a clock: the owner of the
/// drives passes it commands and completions, and carries out what is [`due`](Incidents::due).
#[derive(Debug)]
pub struct Incidents {
    schedule: VecDeque<(Nanos, Incident)>,
    /// When the sources that are measured began.
    began: Option<Time>,
    lanes: IdVec<DriveId, Lane>,
    begun: Vec<Begun>,
    /// Completions that did not come from a drive, and calls that wait for one.
    ready: VecDeque<Due>,
}

impl Incidents {
    /// The incidents of this schedule, for this number of drives.
    pub(super) fn new(schedule: Vec<(Nanos, Incident)>, drives: usize) -> Incidents {
        Incidents {
            schedule: schedule.into(),
            began: None,
            lanes: (0..drives).map(|_| Lane::default()).collect(),
            begun: Vec::new(),
            ready: VecDeque::new(),
        }
    }

    /// The incidents that have begun, in order of time.
    pub fn begun(&self) -> &[Begun] {
        &self.begun
    }

    /// The sources that are measured begin: times of the schedule count from now.
    pub(super) fn begin(&mut self, now: Time) {
        self.began = Some(now);
    }

    /// When something is due next; [`Time::NEVER`] if nothing is.
    pub(super) fn next_event(&self) -> Time {
        let first = self.schedule.front().filter(|_| !self.awaits_return()).zip(self.began);
        let first = first.map(|(&(at, _), began)| began + at);
        let held = self.lanes.iter().map(|lane| lane.gate.next_event());
        held.chain(first).min().unwrap_or(Time::NEVER)
    }

    /// A drive comes back once it has completed everything from before. Later incidents wait, in their order.
    fn awaits_return(&self) -> bool {
        self.lanes.iter().any(|lane| lane.returns)
    }

    /// A command is submitted to a drive. False if it has to be given to the drive at once; otherwise it is
    /// held and [`due`](Incidents::due) later.
    pub(super) fn holds(&mut self, now: Time, drive: DriveId, command: &Command) -> bool {
        let lane = &mut self.lanes[drive];
        let is_fetched = lane.gate.offer(now, *command).is_some();
        lane.in_flight += u32::from(is_fetched);
        !is_fetched
    }

    /// A drive has completed a command: adds the time for which it was held, and fails it if the drive is
    /// gone.
    pub(super) fn completed(&mut self, drive: DriveId, completion: &mut Completion) {
        let lane = &mut self.lanes[drive];
        lane.in_flight -= 1;
        if let Some(at) = lane.late.iter().position(|(id, _)| *id == completion.id) {
            let (_, held) = lane.late.swap_remove(at);
            completion.spans.add(Cause::Tag, held);
        }
        if lane.is_gone {
            completion.status = Status::Gone;
        }
        if lane.returns && lane.in_flight == 0 {
            self.ready.push_back(Due::GiveBack(drive));
        }
    }

    /// What is to be done now, if anything is.
    pub(super) fn due(&mut self, now: Time) -> Option<Due> {
        if let Some(due) = self.ready.pop_front() {
            return Some(self.noted(now, due));
        }
        for drive in self.lanes.ids() {
            if let Some(command) = self.lanes[drive].fetch(now) {
                return Some(Due::Fetch(drive, command));
            }
        }
        let began = self.began?;
        if self.awaits_return() {
            return None;
        }
        while let Some(&(_, incident)) = self.schedule.front().filter(|(at, _)| began + *at <= now) {
            self.schedule.pop_front();
            if let Some(due) = self.befall(now, incident) {
                return Some(self.noted(now, due));
            }
            if self.awaits_return() {
                return None;
            }
        }
        None
    }

    /// Notes when calls to the array are made.
    fn noted(&mut self, now: Time, due: Due) -> Due {
        let incident = match due {
            Due::Fetch(..) | Due::Complete(..) => return due,
            Due::Lose(drive) => Incident::Remove(drive),
            Due::GiveBack(drive) => {
                let lane = &mut self.lanes[drive];
                (lane.is_gone, lane.returns) = (false, false);
                Incident::Return(drive)
            }
            Due::Scrub => Incident::Scrub,
        };
        self.begun.push(Begun { incident, at: now, is_under_way: false, done: None });
        due
    }

    /// Begins an incident. Returns a call that it needs at once.
    fn befall(&mut self, now: Time, incident: Incident) -> Option<Due> {
        match incident {
            Incident::Scrub => return Some(Due::Scrub),
            Incident::Remove(drive) => {
                self.fail_held(now, drive);
                return Some(Due::Lose(drive));
            }
            Incident::Return(drive) if self.lanes[drive].in_flight == 0 => return Some(Due::GiveBack(drive)),
            Incident::Return(drive) => {
                self.lanes[drive].returns = true;
                return None;
            }
            Incident::Stall(drive, time) => self.lanes[drive].gate.stall_until(now + time),
            Incident::Delay(drive, delay) => self.lanes[drive].gate.set_delay(delay),
        }
        self.begun.push(Begun { incident, at: now, is_under_way: false, done: None });
        None
    }

    /// A drive is gone: commands that it has not fetched fail.
    fn fail_held(&mut self, now: Time, drive: DriveId) {
        let lane = &mut self.lanes[drive];
        lane.is_gone = true;
        for (command, held) in lane.gate.clear(now) {
            let mut spans = Spans::new();
            spans.add(Cause::Tag, held);
            let (id, status, busy_for) = (command.id, Status::Gone, Nanos::ZERO);
            let gone = Completion { id, status, at: now, content: 0, busy_for, spans };
            self.ready.push_back(Due::Complete(drive, Box::new(gone)));
        }
    }

    /// Notes which rebuilds and scrubs are complete.
    pub(super) fn look_at(&mut self, now: Time, array: &Array<Fingerprint>) {
        for begun in self.begun.iter_mut().filter(|begun| begun.done.is_none()) {
            let (works, is_over) = match begun.incident {
                Incident::Return(drive) => {
                    let presence = array.core().drives.presence(drive);
                    (presence == Presence::Rebuilding, presence == Presence::InSync)
                }
                Incident::Scrub => {
                    let is_running = array.scrub_status().is_running();
                    (is_running, !is_running)
                }
                _ => continue,
            };
            let is_done = begun.is_under_way && is_over;
            begun.is_under_way |= works;
            if is_done {
                begun.done = Some(now);
            }
        }
    }
}
