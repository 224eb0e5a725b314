//! I/O strategies as data: which context fetches, post-processes and issues, when to poll and when to spin.
//!
//! A strategy is a list of names joined by `+`, each of which changes a part of the description:
//! `coop+precomplete` is the cooperative path whose threads spin once the drive has announced the completion.

use super::hybrid::Mode;
use tailcut_base::BadValue;
use tailcut_base::config::Choice;

tailcut_base::choice! {
    /// The name of a part of a strategy.
    pub enum StrategyName {
        /// Linux's SCSI path: interrupt, software interrupt steered to the issuing core, waiter; a background
        /// thread issues requests that found no tag (Shin 2017, figure 3.3, I/O thread 1).
        Scsi = "scsi",
        /// Linux's first NVMe driver: direct issue, threaded interrupt, waiter (figure 3.3, I/O thread 2).
        Nvme = "nvme",
        /// A software FIFO; the interrupt handler post-processes, and issues with the tags that it frees
        /// (figure
        /// 3.6 b).
        NonBlocking = "nonblocking",
        /// Post-processing in the waiting thread, on the core where it slept (figure 3.6 c).
        Lazy = "lazy",
        /// Lazy; in addition, every thread that enters the path fetches and issues for others (figure 3.6 d).
        Coop = "coop",
        /// Interrupts off; one thread polls for completions on a timer (figure 3.10, "Async poll").
        Poll = "poll",
        /// Poll, with cooperation (figures 3.6 e and 3.10, "w/ Coop Poll").
        CoopPoll = "coop-poll",
        /// Every thread polls for its own completion without yielding its core (Yang et al., FAST 2012).
        Spin = "spin",
        /// A thread sleeps until the drive announces the completion of its read, then spins (section 4.3.2).
        Precomplete = "precomplete",
        /// A thread spins for a write that fits in the drive's buffer (section 4.3.2).
        BufferSpin = "buffer-spin",
        /// A thread spins until the drive reports whether a read hits its memory, and on if it does (the
        /// future work of section 4.3.1).
        HitSpin = "hit-spin",
        /// If the drive reports that its buffer is full, the thread of a write sleeps until the drive
        /// announces the completion (the future work of section 4.3.1).
        RoomNotice = "room-notice",
        /// Interrupts, notices or polling, selected by load (see [`hybrid`](super::hybrid)).
        Hybrid = "hybrid",
    }
}

/// The software layers that a request passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layers {
    /// Block layer request queue, SCSI and ATA layers.
    Scsi,
    /// A single driver, without the layers of SCSI.
    Direct,
}

/// How many completions an interrupt handler serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// Those found at its start.
    AsFound,
    /// All, until none is left.
    UntilEmpty,
}

/// The context that post-processes a completion and wakes its waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finisher {
    /// The context that fetched it.
    Fetcher,
    /// A software interrupt on the issuing core.
    SoftInterrupt,
    /// A thread that the interrupt handler wakes.
    InterruptThread,
    /// The waiting thread, woken by the context that fetched the completion; it stays on its core.
    Waiter,
}

/// The context that issues a request that found no tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issuer {
    /// A background thread, woken for it.
    QueueRun,
    /// The context that freed a tag.
    WhoFrees,
}

/// How a thread waits for its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It sleeps until it is woken.
    Sleep,
    /// It spins until its request has completed.
    Spin,
    /// It sleeps until the drive announces the completion, then spins.
    UntilNotice,
}

/// Use of the hints that a drive gives when it receives a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Whether a read hits the drive's memory: if so, the thread spins.
    pub hits: bool,
    /// Whether a write fits in the drive's buffer: if not, the thread does not spin.
    pub room: bool,
}

impl Hints {
    /// Read size in sectors from which on drives give no hints (8 KiB; Shin 2017, section 4.3.1).
    pub const READS_BELOW: u32 = 16;
}

/// An I/O strategy: how requests are issued, how completions are found, and how threads wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// The software layers that a request passes on its way to the driver.
    pub layers: Layers,
    /// Whether completions raise interrupts; otherwise threads poll for them.
    pub interrupts: bool,
    /// Number of completions that an interrupt handler serves.
    pub drain: Drain,
    /// The context that post-processes completions and wakes the waiting threads.
    pub finisher: Finisher,
    /// The context that issues requests that found no tag.
    pub issuer: Issuer,
    /// Every thread that enters the path serves one completion of another thread on entry, and one on exit.
    pub cooperates: bool,
    /// Whether a thread polls for completions on a timer.
    pub has_poll_thread: bool,
    /// Whether a thread waits for its request asleep, spinning, or asleep until the drive announces its
    /// completion.
    pub wait: Wait,
    /// Whether a thread spins for a write that fits in the drive's buffer.
    pub spins_on_buffer_hits: bool,
    /// Which of the drive's hints on arriving requests threads use.
    pub hints: Hints,
    /// A handler leaves its interrupt masked, as Linux's network drivers do (NAPI), until the last thread
    /// that it has woken, or that has entered the path since, sleeps.
    pub rests_interrupts: bool,
    /// The description changes with the load (see [`hybrid`](super::hybrid)).
    pub adapts: bool,
}

impl Strategy {
    /// Common base of all strategies but the two baselines (see [`StrategyName::NonBlocking`]).
    const DIRECT: Strategy = Strategy {
        layers: Layers::Direct,
        interrupts: true,
        drain: Drain::AsFound,
        finisher: Finisher::Fetcher,
        issuer: Issuer::WhoFrees,
        cooperates: false,
        has_poll_thread: false,
        wait: Wait::Sleep,
        spins_on_buffer_hits: false,
        hints: Hints { hits: false, room: false },
        rests_interrupts: false,
        adapts: false,
    };

    /// The strategy with this name.
    pub fn of(name: StrategyName) -> Strategy {
        Strategy::DIRECT.with(name).begun()
    }

    /// Parses names joined by `+`.
    ///
    /// # Errors
    /// Names the unknown part, or the two parts that exclude each other.
    pub fn parse(text: &str) -> Result<Strategy, BadValue> {
        let mut strategy = Strategy::DIRECT;
        for part in text.split('+').map(str::trim) {
            let name = StrategyName::all().iter().find(|name| name.name() == part);
            let Some(&name) = name else {
                let names: Vec<&str> = StrategyName::all().iter().map(|name| name.name()).collect();
                return Err(BadValue::new(format!(
                    "'{part}' is no strategy; join any of {} by '+'",
                    names.join(", ")
                )));
            };
            strategy = strategy.with(name);
        }
        strategy.check().map(|()| strategy.begun())
    }

    pub(super) fn with(self, name: StrategyName) -> Strategy {
        let polling =
            Strategy { interrupts: false, has_poll_thread: true, finisher: Finisher::Waiter, ..self };
        match name {
            StrategyName::Scsi => Strategy {
                layers: Layers::Scsi,
                finisher: Finisher::SoftInterrupt,
                issuer: Issuer::QueueRun,
                ..self
            },
            StrategyName::Nvme => Strategy { finisher: Finisher::InterruptThread, ..self },
            StrategyName::NonBlocking => Strategy { issuer: Issuer::WhoFrees, ..self },
            StrategyName::Lazy => Strategy { finisher: Finisher::Waiter, ..self },
            StrategyName::Coop => Strategy { finisher: Finisher::Waiter, cooperates: true, ..self },
            StrategyName::Poll => polling,
            StrategyName::CoopPoll => Strategy { cooperates: true, ..polling },
            StrategyName::Spin => Strategy { interrupts: false, wait: Wait::Spin, ..self },
            StrategyName::Precomplete => Strategy { wait: Wait::UntilNotice, ..self },
            StrategyName::BufferSpin => Strategy { spins_on_buffer_hits: true, ..self },
            StrategyName::HitSpin => Strategy { hints: Hints { hits: true, ..self.hints }, ..self },
            StrategyName::RoomNotice => Strategy { hints: Hints { room: true, ..self.hints }, ..self },
            StrategyName::Hybrid => Strategy { adapts: true, ..self },
        }
    }

    /// An adaptive strategy starts in its first mode.
    fn begun(self) -> Strategy {
        if self.adapts { self.in_mode(Mode::ALL[0]) } else { self }
    }

    /// This strategy in another mode of a hybrid. Its treatment of buffered writes and of the drive's hints
    /// stays.
    pub fn in_mode(&self, mode: Mode) -> Strategy {
        let Strategy { spins_on_buffer_hits, hints, .. } = *self;
        Strategy { spins_on_buffer_hits, hints, ..mode.strategy() }
    }

    /// True if the strategy uses hints or notices from the drive.
    pub fn listens(&self) -> bool {
        self.wait == Wait::UntilNotice || self.adapts || self.hints != Hints::default()
    }

    fn check(&self) -> Result<(), BadValue> {
        let (hints, spins_on_buffer_hits) = (Hints::default(), false);
        let rest = Strategy { adapts: false, spins_on_buffer_hits, hints, ..*self };
        if self.adapts && rest != Strategy::DIRECT {
            return Err(BadValue::new(
                "\"hybrid\" decides on everything but \"buffer-spin\", \"hit-spin\" and \"room-notice\": \
                    leave the others out",
            ));
        }
        if self.layers == Layers::Scsi && (self.finisher != Finisher::SoftInterrupt || !self.interrupts) {
            return Err(BadValue::new(
                "the SCSI path has its own post-processing and needs interrupts: use \"scsi\" alone, or a \
                    path without it",
            ));
        }
        if !self.interrupts && !self.has_poll_thread && self.wait != Wait::Spin {
            return Err(BadValue::new(
                "without interrupts somebody must look for completions: add \"poll\" or \"spin\"",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_strategy_that_works() {
        for name in StrategyName::all() {
            assert_eq!(Strategy::parse(name.name()), Ok(Strategy::of(*name)));
        }
    }

    #[test]
    fn parts_add_up() {
        let both = Strategy::parse("coop + precomplete").expect("it is a strategy");
        assert!(both.cooperates && both.wait == Wait::UntilNotice && both.finisher == Finisher::Waiter);
        assert_eq!(Strategy::parse("lazy+coop"), Strategy::parse("coop"), "coop is lazy");
        let hints = Strategy::parse("lazy+hit-spin+room-notice").expect("it is a strategy");
        assert!(hints.hints.hits && hints.hints.room && hints.listens() && hints.wait == Wait::Sleep);
    }

    #[test]
    fn a_hybrid_decides_on_all_but_writes_that_hit_the_buffer() {
        let both = Strategy::parse("hybrid+buffer-spin").expect("it is a strategy");
        assert_eq!(Strategy::parse("buffer-spin+hybrid"), Ok(both));
        assert!(both.adapts && both.spins_on_buffer_hits);
    }

    #[test]
    fn what_does_not_work_is_refused_with_a_remedy() {
        for text in [
            "warp",
            "",
            "scsi+lazy",
            "scsi+poll",
            "spin+precomplete",
            "hybrid+poll",
            "scsi+hybrid",
            "spin+hybrid+coop",
        ] {
            assert!(Strategy::parse(text).is_err(), "'{text}'");
        }
    }
}
