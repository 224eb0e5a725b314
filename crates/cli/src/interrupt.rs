//! SIGINT and SIGTERM ask a run to stop and print what it knows; a second SIGINT ends the program, and so
//! does a second SIGTERM while a server stops. SIGHUP asks a server to read its files with secrets again, or
//! to stop if it has none.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::low_level::{exit, pipe};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// Whether a signal asked the run to stop.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    asked: Arc<AtomicBool>,
    /// Files are to be read again.
    reload: Arc<AtomicBool>,
    /// Becomes readable at the first signal.
    bell: Option<Arc<UnixStream>>,
    /// Makes it readable.
    ring: Option<Arc<UnixStream>>,
}

/// What `SIGHUP` means to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hangup {
    /// Files are to be read again, as for any daemon.
    Reload,
    /// The terminal is gone, and the server is to stop in order.
    Stop,
}

impl Interrupt {
    /// Listens for the signals of the terminal and of a batch system (`SIGINT`, `SIGTERM`) from
    /// now on. Call it once, and only around work that
    /// asks [`Interrupt::asked`] often: a first signal no longer ends the program.
    ///
    /// # Errors
    /// The system refuses a handler, or the process has too many open files.
    pub fn listen() -> io::Result<Interrupt> {
        let (bell, ring) = UnixStream::pair()?;
        let own_ring = Some(Arc::new(ring.try_clone()?));
        let bell = Some(Arc::new(bell));
        let interrupt = Interrupt { asked: Arc::default(), reload: Arc::default(), bell, ring: own_ring };
        // A write beyond the limit on the size of files (RLIMIT_FSIZE) fails with EFBIG, as on a full disk,
        // and does not end the program.
        flag::register(SIGXFSZ, Arc::default())?;
        for signal in [SIGTERM, SIGINT] {
            // Actions run in the order of their registration: the first signal finds the flag down and raises
            // it, the second finds it up and leaves. A second SIGTERM means nothing: timeout(1) sends one to
            // the process and another to its group, within microseconds.
            if signal == SIGINT {
                flag::register_conditional_shutdown(signal, EXIT, Arc::clone(&interrupt.asked))?;
            }
            flag::register(signal, Arc::clone(&interrupt.asked))?;
            pipe::register(signal, ring.try_clone()?)?;
        }
        Ok(interrupt)
    }

    /// Listens for `SIGHUP`, which ends the program otherwise: a request to read files again, or the end of
    /// the terminal and so a request to stop. The latter is ignored under nohup(1).
    ///
    /// # Errors
    /// The system refuses a handler.
    pub fn listen_for_hangup(&self, hangup: Hangup) -> io::Result<()> {
        match hangup {
            Hangup::Reload => flag::register(SIGHUP, Arc::clone(&self.reload)).map(|_| ()),
            Hangup::Stop if is_ignored(SIGHUP) => Ok(()),
            Hangup::Stop => {
                flag::register(SIGHUP, Arc::clone(&self.asked))?;
                let ring = self.ring.as_ref().map(|ring| ring.try_clone()).transpose()?;
                ring.map_or(Ok(()), |ring| pipe::register(SIGHUP, ring).map(|_| ()))
            }
        }
    }

    /// Whether files are to be read again since the last call.
    pub fn takes_reload(&self) -> bool {
        self.reload.swap(false, Ordering::Relaxed)
    }

    /// Asks to stop, as a signal does.
    pub fn stop(&self) {
        self.asked.store(true, Ordering::Relaxed);
        if let Some(ring) = &self.ring {
            // If it is full, it is readable.
            let _ = (&**ring).write(&[0]);
        }
    }

    /// Whether to stop now. Cheap enough to be asked for every few hundred events.
    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Sleeps until a request to stop, but not longer than `at_most`; true if there was one.
    pub fn wait(&self, at_most: Duration) -> bool {
        if let (false, Some(bell)) = (self.asked(), &self.bell) {
            // The flag distinguishes a signal from a timeout.
            let _ = bell.set_read_timeout(Some(at_most));
            let _ = (&**bell).read(&mut [0]);
        }
        self.asked()
    }

    /// Ends the program at the next signal after the first: for a server that is stopping, which may wait for
    /// a drive.
    pub fn end_at_the_next(&self) {
        let Some(bell) = self.bell.clone() else { return };
        let mut first = self.asked().then(Instant::now);
        let listen = move || {
            // The system refuses no such setting.
            let _ = bell.set_read_timeout(None);
            while let Ok(1) = (&*bell).read(&mut [0]) {
                match first {
                    Some(first) if is_another(first.elapsed()) => exit(EXIT),
                    Some(_) => {}
                    None => first = Some(Instant::now()),
                }
            }
        };
        // Without the thread a second SIGINT still ends the program.
        let _ = Builder::new().name("signals".into()).spawn(listen);
    }

    /// The flag itself, for a simulation that knows nothing of signals.
    pub fn flag(&self) -> &AtomicBool {
        &self.asked
    }
}

/// Whether the process was started with a signal ignored (proc_pid_status(5), SigIgn).
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask & 1 << (signal - 1) != 0
}

/// Whether a signal that comes this long after the first one is another request, and not the first once more:
/// timeout(1) sends two within microseconds.
fn is_another(after: Duration) -> bool {
    after >= Duration::from_millis(200)
}

/// The exit code of a program that was interrupted, as shells count it.
pub const EXIT: i32 = 130;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_signal_of_timeout_is_no_other_request() {
        assert!(!is_another(Duration::from_micros(50)));
        assert!(is_another(Duration::from_secs(1)));
    }

    #[test]
    fn a_termination_signal_only_raises_the_flag_however_often_it_comes() {
        let interrupt = Interrupt::listen().expect("the system lets us listen");
        assert!(!interrupt.asked());
        // As timeout(1) sends it, which must not cost the report.
        for _ in 0..2 {
            signal_hook::low_level::raise(SIGTERM).expect("a signal to ourselves");
        }
        assert!(interrupt.asked() && interrupt.flag().load(Ordering::Relaxed));
        assert!(interrupt.wait(Duration::from_secs(3600)), "who has asked already need not be waited for");
    }
}
