//! Ctrl-C: the first asks a run to stop and print what it knows, the second ends the program.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether somebody asked the run to stop.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
}

impl Interrupt {
    /// Listens for the signals of the terminal and of a batch system (`SIGINT`, `SIGTERM`) from
    /// now on. Fails when the system refuses the handler. Call it once, and only around work that
    /// asks [`Interrupt::asked`] often: a first signal no longer ends the program.
    pub fn listen() -> io::Result<Interrupt> {
        let interrupt = Interrupt::default();
        for signal in [SIGINT, SIGTERM] {
            // Actions run in the order of their registration: the first signal finds the flag
            // down and raises it, the second finds it up and leaves.
            flag::register_conditional_shutdown(signal, EXIT, Arc::clone(&interrupt.asked))?;
            flag::register(signal, Arc::clone(&interrupt.asked))?;
        }
        Ok(interrupt)
    }

    /// Whether to stop now. Cheap enough to be asked for every few hundred events.
    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// The flag itself, for a simulation that knows nothing of signals.
    pub fn flag(&self) -> &AtomicBool {
        &self.asked
    }
}

/// The exit code of a program that was interrupted, as shells count it.
pub const EXIT: i32 = 130;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_signal_only_raises_the_flag() {
        let interrupt = Interrupt::listen().expect("the system lets us listen");
        assert!(!interrupt.asked());
        signal_hook::low_level::raise(SIGTERM).expect("a signal to ourselves");
        assert!(interrupt.asked() && interrupt.flag().load(Ordering::Relaxed));
    }
}
