//! A thread of the workload and the request that it waits for.

use super::duty::Duty;
use tailcut_base::{Cause, Command, CommandId, Nanos, Op, Spans, Status, Time};
use tailcut_host::path::{Finisher, Mode, QueueId, Vector, Wait};
use tailcut_ssd::Prediction;

/// What a thread is doing, named by the piece of work that it has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing: it has no request, or has just been given one.
    Rest,
    /// Its application.
    Application,
    /// From the system call to the command.
    Enter,
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
    /// The request, as its drive sees it.
    pub command: Command,
    pub drive: usize,
    pub queue: QueueId,
    /// Where it was issued.
    pub cpu: usize,
    pub has_request: bool,
    /// It stands in a FIFO.
    pub is_queued: bool,
    /// Its drive has it.
    pub is_sent: bool,
    /// The device has finished, and the host can see it.
    pub is_visible: bool,
    /// Its completion has been taken from the controller.
    pub is_fetched: bool,
    /// It has been post-processed.
    pub is_finished: bool,
    /// The device has announced the end, or the thread spins: it looks by itself.
    pub looks_itself: bool,
    /// It waits for what the drive has to say of its request, and that, once it has been said.
    pub asked: bool,
    pub said: Option<Prediction>,
    /// It has been put into a FIFO, under a strategy of which the next three are parts.
    pub is_entered: bool,
    pub finisher: Finisher,
    pub wait: Wait,
    pub mode: Option<Mode>,
    /// The vector that it looks at while it is awake.
    pub awake_at: Option<Vector>,
    /// When it was put into a FIFO, and when the host could see its end.
    pub entered_at: Time,
    pub visible_at: Time,
    /// Of its present request, to tell late notices apart.
    pub generation: u32,
    pub submitted: Time,
    /// When the drive announced its end; never, once the thread has been on a core since then.
    pub noticed: Time,
    /// What the thread owed to its competitors when it was given its last answer (see [`Machine::owes`](crate::cpu::Machine::owes)).
    pub owed: Nanos,
    /// What a read must return.
    pub expected: u64,
    /// Up to where its latency is accounted for.
    pub mark: Time,
    pub spans: Spans,
    pub status: Status,
    pub content: u64,
    pub busy_for: Nanos,
}

impl Worker {
    pub fn new(id: u32) -> Worker {
        Worker {
            stage: Stage::Rest,
            duty: Duty::default(),
            command: Command {
                id: CommandId(id),
                op: Op::Flush,
                fua: false,
                class: Default::default(),
                fail_fast: false,
                stream: 0,
                sector: 0,
                sectors: 0,
                content: 0,
            },
            drive: 0,
            queue: 0,
            cpu: 0,
            has_request: false,
            is_queued: false,
            is_sent: false,
            is_visible: false,
            is_fetched: false,
            is_finished: false,
            looks_itself: false,
            asked: false,
            said: None,
            is_entered: false,
            finisher: Finisher::Fetcher,
            wait: Wait::Sleep,
            mode: None,
            awake_at: None,
            entered_at: Time::ZERO,
            visible_at: Time::ZERO,
            generation: 0,
            submitted: Time::ZERO,
            noticed: Time::NEVER,
            owed: Nanos::ZERO,
            expected: 0,
            mark: Time::ZERO,
            spans: Spans::new(),
            status: Status::Success,
            content: 0,
            busy_for: Nanos::ZERO,
        }
    }

    /// It is given a request.
    pub fn take(&mut self, now: Time, command: Command, drive: usize) {
        assert!(!self.has_request, "a thread has one request at a time");
        *self = Worker {
            stage: self.stage,
            generation: self.generation.wrapping_add(1),
            awake_at: self.awake_at,
            owed: self.owed,
            command,
            drive,
            has_request: true,
            submitted: now,
            mark: now,
            ..Worker::new(command.id.0)
        };
    }

    /// All time since the last mark had one cause.
    #[inline]
    pub fn lap(&mut self, now: Time, cause: Cause) {
        self.spans.add(cause, now.since(self.mark));
        self.mark = now;
    }

    /// The time since the last mark was the thread's own, but for what it waited for a core and what interrupts took.
    #[inline]
    pub fn lap_own(&mut self, now: Time, (delayed, stolen): (Nanos, Nanos)) {
        let elapsed = now.since(self.mark);
        let delayed = delayed.min(elapsed);
        let stolen = stolen.min(elapsed - delayed);
        self.spans.add(Cause::Scheduling, delayed);
        self.spans.add(Cause::Interrupt, stolen);
        self.spans.add(Cause::HostWork, elapsed - delayed - stolen);
        self.mark = now;
    }
}
