//! A device that answers at once, to measure all that is around a device.

use std::collections::VecDeque;
use tailcut_base::control::{Control, ControlReply};
use tailcut_base::device::Identify;
use tailcut_base::{Cause, Command, Completion, Device, Nanos, Spans, Status, Submit, Time};

/// Answers every command after one microsecond.
#[derive(Debug)]
pub(super) struct Instant {
    sectors: u64,
    pending: VecDeque<Completion>,
}

/// How long a command takes.
const LATENCY: Nanos = Nanos::micros(1);

impl Instant {
    /// A device of `sectors` sectors.
    pub(super) fn new(sectors: u64) -> Instant {
        Instant { sectors, pending: VecDeque::new() }
    }
}

impl Device for Instant {
    fn identify(&self) -> Identify {
        let model = String::from("instant");
        Identify {
            model,
            sectors: self.sectors,
            page_sectors: 8,
            queue_depth: u32::MAX,
            max_sectors: 65_536,
            block_sectors: 1,
            volatile_cache: false,
            handles: 1,
        }
    }

    #[inline]
    fn submit(&mut self, now: Time, command: &Command) -> Submit {
        let mut spans = Spans::new();
        spans.add(Cause::Cell, LATENCY);
        let at = now + LATENCY;
        self.pending.push_back(Completion {
            id: command.id,
            status: Status::Success,
            at,
            content: 0,
            busy_for: Nanos::ZERO,
            spans,
        });
        Submit::Accepted
    }

    #[inline]
    fn next_event(&self) -> Time {
        self.pending.front().map_or(Time::NEVER, |completion| completion.at)
    }

    #[inline]
    fn advance(&mut self, until: Time, completions: &mut Vec<Completion>) -> bool {
        let next = self.next_event();
        if next > until {
            return true;
        }
        completions.extend(self.pending.pop_front());
        false
    }

    fn expect(&self, _: &[Command]) -> u64 {
        0
    }

    fn control(&mut self, _: Time, _: Control) -> ControlReply {
        ControlReply::Unsupported
    }
}
