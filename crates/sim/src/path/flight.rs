//! A request on its way to a drive and back.

use super::account::Account;
use crate::cpu::ThreadId;
use tailcut_base::{Command, CommandId, Nanos, Status, Time};
use tailcut_host::path::{Finisher, QueueId};

/// What stands in a FIFO, or is with a drive, or comes back from it.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    /// The command as its drive sees it.
    pub command: Command,
    pub drive: usize,
    /// The thread that waits for just this.
    pub owner: Option<ThreadId>,
    pub queue: QueueId,
    /// Number of the core on which the request was made ready for its drive.
    pub cpu: usize,
    pub finisher: Finisher,
    /// True while the request waits in a FIFO.
    pub is_queued: bool,
    /// True once the request has been sent to its drive.
    pub is_sent: bool,
    /// The device has finished, and the host can see it.
    pub is_visible: bool,
    /// True once the completion of the request has been taken from the controller.
    pub is_fetched: bool,
    /// The request has been post-processed.
    pub is_finished: bool,
    /// When the host could see its end.
    pub visible_at: Time,
    /// The expected content of a read.
    pub expected: u64,
    pub account: Account,
    pub status: Status,
    pub content: u64,
    pub busy_for: Nanos,
}

impl Flight {
    /// A place for one.
    pub(super) fn none() -> Flight {
        Flight::new(Time::ZERO, Command::flush(CommandId(0)), 0, None)
    }

    /// One that begins now.
    pub(super) fn new(now: Time, command: Command, drive: usize, owner: Option<ThreadId>) -> Flight {
        Flight {
            command,
            drive,
            owner,
            queue: 0,
            cpu: 0,
            finisher: Finisher::Fetcher,
            is_queued: false,
            is_sent: false,
            is_visible: false,
            is_fetched: false,
            is_finished: false,
            visible_at: Time::ZERO,
            expected: 0,
            account: Account::begin(now),
            status: Status::Success,
            content: 0,
            busy_for: Nanos::ZERO,
        }
    }
}
