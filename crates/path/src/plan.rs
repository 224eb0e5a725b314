//! How real threads implement a strategy.
//!
//! User space has no interrupts. Where a description wants one, the device wakes a *completion thread* on the
//! core that waits: two hand-offs, from the device to that thread and from it to the waiter. So an interrupt
//! handler and its thread, which differ in a kernel, are the same here, and `nvme` and `nonblocking` are
//! implemented alike. Request queue and SCSI layers, software interrupts and free space in a drive's buffer
//! do not exist here; strategies that need them are refused.

use tailcut_base::{BadValue, Nanos};
use tailcut_host::path::strategy::Hints;
use tailcut_host::path::{Drain, Finisher, Issuer, Layers, Strategy, Wait};

/// The thread that polls for completions in addition to threads that enter the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// None: each thread polls for its own completions.
    Nobody,
    /// A thread that the device wakes.
    Notifier,
    /// A thread that polls by itself.
    Poller(Poller),
}

/// When a poll thread polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poller {
    /// On a timer, this long after the previous poll.
    Timer(Nanos),
    /// Continuously at idle priority: on a core that has nothing else to do.
    Idle,
}

/// A strategy as implemented by real threads.
///
/// # Examples
/// ```
/// use tailcut_base::Nanos;
/// use tailcut_host::path::Strategy;
/// use tailcut_path::{Plan, Poller, Watch};
///
/// let poller = Poller::Timer(Nanos::micros(10));
/// let plan = Plan::of(&Strategy::parse("coop-poll").expect("it is known"), poller).expect("it is possible");
/// assert_eq!(plan.watch, Watch::Poller(poller));
/// let scsi = Strategy::parse("scsi").expect("it is known");
/// assert!(Plan::of(&scsi, poller).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Which thread polls for completions.
    pub watch: Watch,
    /// Whether the polling thread continues until no completions are left, instead of serving only those it
    /// found at first.
    pub until_empty: bool,
    /// Whether the thread that fetches a completion post-processes it; otherwise the waiter does.
    pub fetcher_finishes: bool,
    /// Whether threads that enter the path serve the completions of others.
    pub cooperates: bool,
    /// Whether a thread waits for its request asleep, spinning, or asleep until it is announced.
    pub wait: Wait,
}

impl Plan {
    /// The plan for a strategy; `poller` is its poll thread, if it has one.
    ///
    /// # Errors
    /// A message with the feature of the strategy that real threads cannot implement, and its replacement.
    pub fn of(strategy: &Strategy, poller: Poller) -> Result<Plan, BadValue> {
        if strategy.layers == Layers::Scsi || strategy.finisher == Finisher::SoftInterrupt {
            return Err(BadValue::new(
                "user space has no SCSI layers and no software interrupts: \"nvme\" is the same with a \
                    completion thread",
            ));
        }
        if strategy.issuer == Issuer::QueueRun {
            return Err(BadValue::new(
                "user space has no request queue whose background thread could issue: who frees a tag issues",
            ));
        }
        if strategy.adapts {
            return Err(BadValue::new(
                "real threads keep to one way of waiting: name it instead of \"hybrid\", such as \
                    \"coop-poll\"",
            ));
        }
        if strategy.spins_on_buffer_hits {
            return Err(BadValue::new(
                "no drive tells user space how much room its buffer has: leave \"buffer-spin\" away",
            ));
        }
        if strategy.hints != Hints::default() {
            return Err(BadValue::new(
                "no drive tells user space what its memory holds: leave \"hit-spin\" and \"room-notice\" \
                    away",
            ));
        }
        if strategy.finisher == Finisher::InterruptThread && !strategy.interrupts {
            return Err(BadValue::new("without interrupts there is no thread of one: leave \"nvme\" away"));
        }
        Ok(Plan {
            watch: match (strategy.interrupts, strategy.has_poll_thread) {
                (_, true) => Watch::Poller(poller),
                (true, false) => Watch::Notifier,
                (false, false) => Watch::Nobody,
            },
            until_empty: strategy.drain == Drain::UntilEmpty,
            fetcher_finishes: strategy.finisher != Finisher::Waiter,
            cooperates: strategy.cooperates,
            wait: strategy.wait,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Result<Plan, BadValue> {
        Plan::of(&Strategy::parse(text).expect("it is a strategy"), Poller::Idle)
    }

    #[test]
    fn what_user_space_does_not_have_is_refused_with_a_remedy() {
        for (text, word) in [
            ("scsi", "nvme"),
            ("coop+buffer-spin", "leave"),
            ("coop+hit-spin", "leave"),
            ("hybrid", "coop-poll"),
            ("poll+nvme", "leave"),
        ] {
            let why = plan(text).expect_err("it cannot be carried out").message;
            assert!(why.contains(word), "{text}: {why}");
        }
    }

    #[test]
    fn an_interrupt_is_a_notifying_thread() {
        assert_eq!(plan("nvme"), plan("nonblocking"));
        let plan = plan("coop").expect("it can be carried out");
        assert_eq!((plan.watch, plan.fetcher_finishes, plan.cooperates), (Watch::Notifier, false, true));
    }

    #[test]
    fn who_polls_has_no_notifying_thread() {
        let polled = plan("coop-poll").expect("it can be carried out");
        assert_eq!(polled.watch, Watch::Poller(Poller::Idle));
        assert_eq!(plan("spin").expect("it can be carried out").watch, Watch::Nobody);
    }
}
