//! Something that is shown unless the work ends soon.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Shows something after a delay, from a thread of its own, so the working thread need not poll a clock. What
/// is shown goes away when this is dropped, which also ends the delay.
pub(super) struct Delayed {
    /// Ends the thread when it is dropped.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Delayed {
    /// Calls `show` after `delay`, and drops what it returns at the end.
    pub(super) fn new<T>(delay: Duration, show: impl FnOnce() -> T + Send + 'static) -> Delayed {
        let (stop, stopped) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            if stopped.recv_timeout(delay) == Err(RecvTimeoutError::Timeout) {
                let shown = show();
                // An error is the end: nothing is ever sent.
                let _ = stopped.recv();
                drop(shown);
            }
        });
        Delayed { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Delayed {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported, and costs no result.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn it_is_shown_after_the_delay_and_until_the_end() {
        let (tell, told) = mpsc::channel();
        let shown = Arc::new(());
        let kept = shown.clone();
        let delayed = Delayed::new(Duration::ZERO, move || {
            tell.send(()).expect("the test waits");
            kept
        });
        told.recv().expect("it is shown");
        assert_eq!(Arc::strong_count(&shown), 2);
        drop(delayed);
        assert_eq!(Arc::strong_count(&shown), 1);
    }

    #[test]
    fn what_ends_before_is_never_shown() {
        let (tell, told) = mpsc::channel();
        drop(Delayed::new(Duration::from_secs(3600), move || tell.send(())));
        assert!(told.recv().is_err());
    }
}
