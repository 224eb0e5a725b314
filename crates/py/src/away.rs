//! Long work on a thread of its own, while the calling thread listens for Ctrl-C.

use pyo3::prelude::*;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;
use tailcut::interrupt::Interrupt;

/// State shared by the work and the waiting thread.
#[derive(Default)]
pub(crate) struct Watch {
    /// Stops the work when the waiting thread is interrupted.
    pub interrupt: Interrupt,
    done: AtomicU64,
    all: AtomicU64,
}

impl Watch {
    /// Records how much is done, and of how much if that is known.
    pub(crate) fn note(&self, done: u64, all: Option<u64>) {
        self.done.store(done, Ordering::Relaxed);
        self.all.store(all.unwrap_or(0), Ordering::Relaxed);
    }

    /// Reports progress to Python: `tell(done, all)`, with `None` for an unknown `all`.
    fn report_progress(&self, tell: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let Some(tell) = tell else { return Ok(()) };
        let all = Some(self.all.load(Ordering::Relaxed)).filter(|&all| all > 0);
        tell.call1((self.done.load(Ordering::Relaxed), all)).map(|_| ())
    }
}

/// Runs `job` on another thread, without the interpreter's lock. Twenty times a second the calling thread
/// checks for signals and calls `tell`; if either raises, the work is stopped, awaited, and its result
/// dropped. A panic of the work resumes in the calling thread, where PyO3 turns it into an exception.
pub(crate) fn away<T: Send>(
    py: Python<'_>,
    tell: Option<&Bound<'_, PyAny>>,
    job: impl FnOnce(&Watch) -> T + Send,
) -> PyResult<T> {
    let watch = Watch::default();
    let ended = thread::scope(|scope| {
        let (end, mut ended) = mpsc::channel::<()>();
        let watch = &watch;
        let worker = scope.spawn(move || {
            // Dropped when the work ends, in whatever way.
            let _end = end;
            job(watch)
        });
        let mut heard = Ok(());
        while heard.is_ok() {
            let waited;
            (waited, ended) = py.detach(move || (ended.recv_timeout(TICK), ended));
            if waited != Err(RecvTimeoutError::Timeout) {
                break;
            }
            heard = py.check_signals().and_then(|()| watch.report_progress(tell));
        }
        if heard.is_err() {
            watch.interrupt.flag().store(true, Ordering::Relaxed);
        }
        let result = py.detach(move || worker.join());
        heard.map(|()| result)
    })?;
    Ok(ended.unwrap_or_else(|panic| resume_unwind(panic)))
}

/// Interval of checks for signals.
const TICK: Duration = Duration::from_millis(50);
