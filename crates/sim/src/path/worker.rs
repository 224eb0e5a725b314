//! A thread of the workload and the request that it waits for.

use super::account::Account;
use super::duty::Duty;
use tailcut_base::{Command, CommandId, Nanos, Op, Status, Time};
use tailcut_host::path::{Mode, QueueId, RequestId, Vector, Wait};
use tailcut_ssd::Prediction;

/// The activity of a thread, named by the piece of work that it has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing: it has no request, or has just been given one.
    Rest,
    /// Its application.
    Application,
    /// The submitting thread, from the system call to the command.
    Enter,
    /// Issuing what else the array has made of its request.
    Launching,
    /// Looking whether others have something to be done, on the way in or out.
    Check {
        /// Its own request is done.
        is_out: bool,
    },
    /// Doing it.
    Helping {
        /// Its own request is done.
        is_out: bool,
    },
    /// Asleep, or about to look why it was woken.
    Wait,
    /// Looking for the end of its request without a pause.
    Spin,
    /// Fetching its own completion.
    FetchOwn,
    /// Post-processing.
    Finish,
    /// On the way back to the application.
    Return,
    /// Switching an interrupt on again, before it sleeps.
    EndRest {
        /// Which one.
        vector: Vector,
    },
}

/// A thread of the workload.
#[derive(Clone, Debug)]
pub(super) struct Worker {
    pub stage: Stage,
    pub duty: Duty,
    /// What its application asks for.
    pub op: Op,
    pub name: CommandId,
    /// The request that it waits for, if it is just one.
    pub own: Option<RequestId>,
    /// The queue at whose vector it looks.
    pub queue: QueueId,
    pub has_request: bool,
    /// Its request is on its way, under a strategy of which the next two are parts.
    pub is_entered: bool,
    pub wait: Wait,
    pub mode: Option<Mode>,
    /// The request has its answer, which the thread takes to its application.
    pub is_answered: bool,
    /// The device has announced the end, or the thread spins: it looks by itself.
    pub looks_itself: bool,
    /// It waits for the drive's prediction about its request; `said` is the prediction, once it is known.
    pub asked: bool,
    pub said: Option<Prediction>,
    /// The vector that it looks at while it is awake.
    pub awake_at: Option<Vector>,
    /// When its request went on its way, and when the host could see its end.
    pub entered_at: Time,
    pub visible_at: Time,
    /// Counts the thread's requests, modulo 2^32: a notice or prediction with another count is for an
    /// earlier request.
    pub generation: u32,
    pub submitted: Time,
    /// When the drive announced its end; never, once the thread has been on a core since then.
    pub noticed: Time,
    /// The thread's debt to its competitors when it was given its last answer (see
    /// [`Machine::owes`](crate::cpu::Machine::owes)).
    pub owed: Nanos,
    pub account: Account,
    pub status: Status,
    pub content: u64,
    pub busy_for: Nanos,
}

impl Worker {
    /// One that sleeps.
    pub(super) fn new() -> Worker {
        Worker {
            stage: Stage::Rest,
            duty: Duty::default(),
            op: Op::Flush,
            name: CommandId(0),
            own: None,
            queue: 0,
            has_request: false,
            is_entered: false,
            wait: Wait::Sleep,
            mode: None,
            is_answered: false,
            looks_itself: false,
            asked: false,
            said: None,
            awake_at: None,
            entered_at: Time::ZERO,
            visible_at: Time::ZERO,
            generation: 0,
            submitted: Time::ZERO,
            noticed: Time::NEVER,
            owed: Nanos::ZERO,
            account: Account::begin(Time::ZERO),
            status: Status::Success,
            content: 0,
            busy_for: Nanos::ZERO,
        }
    }

    /// Gives the thread a request.
    pub(super) fn take(&mut self, now: Time, command: &Command) {
        assert!(!self.has_request, "a thread has one request at a time");
        *self = Worker {
            stage: self.stage,
            queue: self.queue,
            generation: self.generation.wrapping_add(1),
            awake_at: self.awake_at,
            owed: self.owed,
            op: command.op,
            name: command.id,
            has_request: true,
            submitted: now,
            account: Account::begin(now),
            ..Worker::new()
        };
    }
}
