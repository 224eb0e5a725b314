//! The time account of a core.

use tailcut_base::Nanos;

macro_rules! spent {
    ($($(#[doc = $doc:literal])+ $name:ident = $label:literal,)+) => {
        /// What a core does at a moment; it always does exactly one of these.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Spent { $($(#[doc = $doc])+ $name,)+ }

        impl Spent {
            /// All of them.
            pub const ALL: [Spent; [$($label),+].len()] = [$(Spent::$name),+];

            /// The name used in reports.
            pub fn label(self) -> &'static str {
                match self { $(Spent::$name => $label),+ }
            }
        }
    };
}

spent! {
    /// Nothing.
    Idle = "idle",
    /// The application's own work.
    Application = "application",
    /// From the system call to the command at the controller.
    Issue = "issue",
    /// Post-processing, and the way back to the application.
    Finish = "finish",
    /// Hardware interrupts.
    Interrupt = "interrupts",
    /// Software interrupts.
    SoftInterrupt = "soft interrupts",
    /// Looking for completions and fetching them, in a thread.
    Poll = "polling",
    /// Waiting for a completion without giving up the core.
    Spin = "spinning",
    /// Making threads ready, from a thread.
    Wake = "waking",
    /// Switching from one thread to another.
    Switch = "context switches",
    /// Cold caches after that.
    Refill = "cache refill",
    /// Threads that have nothing to do with the workload.
    Background = "background",
}

/// The time of a core by what it was spent on; adds up to the time that has passed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    nanos: [u64; Spent::ALL.len()],
}

impl CpuTime {
    /// Adds `time` to what the core has spent on `on`.
    #[inline]
    pub fn add(&mut self, on: Spent, time: Nanos) {
        self.nanos[on as usize] += time.0;
    }

    /// Time that the core has spent on `on`.
    pub fn of(&self, on: Spent) -> Nanos {
        Nanos(self.nanos[on as usize])
    }

    /// Time that the account covers, whatever it was spent on.
    pub fn total(&self) -> Nanos {
        Nanos(self.nanos.iter().sum())
    }

    /// Adds the account of another core.
    pub fn merge(&mut self, other: &CpuTime) {
        self.nanos.iter_mut().zip(&other.nanos).for_each(|(sum, time)| *sum += time);
    }

    /// The time spent since `earlier`.
    pub fn since(&self, earlier: &CpuTime) -> CpuTime {
        let nanos = std::array::from_fn(|i| self.nanos[i] - earlier.nanos[i]);
        CpuTime { nanos }
    }
}
