//! I/O strategies as data: who fetches, post-processes and issues, when to poll and when to spin.
//!
//! A strategy is built of names joined by `+`, each of which changes a part of the description:
//! `coop+precomplete` is the cooperative path whose threads wait for a notice of the drive before they spin.

use super::hybrid::Mode;
use tailcut_base::config::Choice;

tailcut_base::choice! {
    /// A part of a strategy, by name.
    pub enum StrategyName {
        /// Linux's SCSI path: interrupt, software interrupt steered to the issuing core, waiter; a background
        /// thread issues what found no tag (Shin 2017, figure 3.3, I/O thread 1).
        Scsi = "scsi",
        /// Linux's first NVMe driver: direct issue, threaded interrupt, waiter (figure 3.3, I/O thread 2).
        Nvme = "nvme",
        /// A software FIFO; the interrupt post-processes, and issues with the tags that it frees (figure 3.6
        /// b).
        NonBlocking = "nonblocking",
        /// Post-processing in the waiting thread, on the core where it slept (figure 3.6 c).
        Lazy = "lazy",
        /// Lazy, and every thread that enters the path fetches and issues for others too (figure 3.6 d).
        Coop = "coop",
        /// Interrupts off, one thread looks for completions on a timer (figure 3.10, "Async poll").
        Poll = "poll",
        /// Poll, with cooperation (figures 3.6 e and 3.10, "w/ Coop Poll").
        CoopPoll = "coop-poll",
        /// Every thread looks for the end of its own request without giving up its core (Yang et al., FAST
        /// 2012).
        Spin = "spin",
        /// A thread sleeps until the drive announces the end of its read, and spins from then on (section
        /// 4.3.2).
        Precomplete = "precomplete",
        /// A write that the drive's buffer has room for is waited for by spinning (section 4.3.2).
        BufferSpin = "buffer-spin",
        /// A thread spins until the drive has said whether it has the page of a read in its memory, and on if
        /// it has (the future work of section 4.3.1).
        HitSpin = "hit-spin",
        /// A write of which the drive says that its buffer is full is not waited for by spinning: its thread
        /// sleeps until the drive announces its end (the same).
        RoomNotice = "room-notice",
        /// Interrupts, notices or polling, by load (see [`hybrid`](super::hybrid)).
        Hybrid = "hybrid",
    }
}

/// Whose code a request goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layers {
    /// Request queue, SCSI and ATA layers.
    Scsi,
    /// One driver.
    Direct,
}

/// How long the handler of an interrupt goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// It serves the completions that it found when it began.
    AsFound,
    /// Until there is none.
    UntilEmpty,
}

/// Who post-processes a completion and wakes its waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finisher {
    /// Whoever has fetched it.
    Fetcher,
    /// The software interrupt of the core that issued it.
    SoftInterrupt,
    /// The thread of the interrupt.
    InterruptThread,
    /// The thread that waits for it, which whoever has fetched it wakes; it stays on its core.
    Waiter,
}

/// Who issues a request that found no tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issuer {
    /// A background thread that is woken for it.
    QueueRun,
    /// Whoever has freed a tag.
    WhoFrees,
}

/// How a thread waits for its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It gives up its core until it is woken.
    Sleep,
    /// It looks for the end and does nothing else.
    Spin,
    /// It gives up its core until the drive announces the end, then it spins.
    UntilNotice,
}

/// What a thread uses of that which a drive says of a request when it has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Whether its memory has the pages of a read: then the thread spins.
    pub hits: bool,
    /// Whether its buffer has room for a write: if not, the thread does not spin.
    pub room: bool,
}

impl Hints {
    /// Of reads from this size on, in sectors, drives say nothing (8 KiB; Shin 2017, section 4.3.1).
    pub const READS_BELOW: u32 = 16;
}

/// An I/O strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// Whose code a request goes through.
    pub layers: Layers,
    /// Completions interrupt.
    pub interrupts: bool,
    /// How long the handler goes on.
    pub drain: Drain,
    /// Who post-processes.
    pub finisher: Finisher,
    /// Who issues what found no tag.
    pub issuer: Issuer,
    /// Every thread that enters the path serves one completion of others on its way in, and one on its way
    /// out.
    pub cooperates: bool,
    /// A thread looks for completions on a timer.
    pub has_poll_thread: bool,
    /// How a thread waits.
    pub wait: Wait,
    /// A thread spins for a write that the drive's buffer has room for.
    pub spins_on_buffer_hits: bool,
    /// What is made of what the drive says.
    pub hints: Hints,
    /// A handler leaves its interrupt switched off, as Linux's network drivers do (NAPI), until the last
    /// thread that it has woken, or that has come by since, goes to sleep.
    pub rests_interrupts: bool,
    /// By load another description takes the place of this one (see [`hybrid`](super::hybrid)).
    pub adapts: bool,
}

impl Strategy {
    /// What all but the two baselines start from (see [`StrategyName::NonBlocking`]).
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

    /// The strategy of one name.
    pub fn of(name: StrategyName) -> Strategy {
        Strategy::DIRECT.with(name).begun()
    }

    /// The strategy that names joined by `+` describe.
    ///
    /// # Errors
    /// Says which name is none, or which two do not go together.
    pub fn parse(text: &str) -> Result<Strategy, String> {
        let mut strategy = Strategy::DIRECT;
        for part in text.split('+').map(str::trim) {
            let name = StrategyName::all().iter().find(|name| name.name() == part);
            let Some(&name) = name else {
                let names: Vec<&str> = StrategyName::all().iter().map(|name| name.name()).collect();
                return Err(format!("'{part}' is no strategy; join any of {} by '+'", names.join(", ")));
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

    /// One that moves begins with the first of its modes.
    fn begun(self) -> Strategy {
        if self.adapts { self.in_mode(Mode::ALL[0]) } else { self }
    }

    /// The same in another mode of a hybrid: what it makes of writes that hit the buffer and of what drives
    /// say stays.
    pub fn in_mode(&self, mode: Mode) -> Strategy {
        let Strategy { spins_on_buffer_hits, hints, .. } = *self;
        Strategy { spins_on_buffer_hits, hints, ..mode.strategy() }
    }

    /// True when it needs what drives say of requests.
    pub fn listens(&self) -> bool {
        self.wait == Wait::UntilNotice || self.adapts || self.hints != Hints::default()
    }

    fn check(&self) -> Result<(), String> {
        let (hints, spins_on_buffer_hits) = (Hints::default(), false);
        let rest = Strategy { adapts: false, spins_on_buffer_hits, hints, ..*self };
        if self.adapts && rest != Strategy::DIRECT {
            return Err(
                "\"hybrid\" decides on everything but \"buffer-spin\", \"hit-spin\" and \"room-notice\": leave the others out"
                    .into(),
            );
        }
        if self.layers == Layers::Scsi && (self.finisher != Finisher::SoftInterrupt || !self.interrupts) {
            return Err("the SCSI path has its own post-processing and needs interrupts: use \"scsi\" alone, or a path without it".into());
        }
        if !self.interrupts && !self.has_poll_thread && self.wait != Wait::Spin {
            return Err(
                "without interrupts somebody must look for completions: add \"poll\" or \"spin\"".into()
            );
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
