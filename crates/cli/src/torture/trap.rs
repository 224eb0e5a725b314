//! A panic of the subject is a result like any other, and must not end the search.
//!
//! Where panics unwind they are caught. Where they abort the process (the release profile), the hook that
//! runs before does not return: it notifies the waiting thread and parks its own forever. So guarded work
//! always runs on a thread that is never joined.

use crate::interrupt::Interrupt;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

type Report = Box<dyn FnMut(String)>;

thread_local! {
    /// Who is told of a panic on this thread.
    static REPORT: RefCell<Option<Report>> = const { RefCell::new(None) };
}

/// Does `work`; on a panic `report` receives its message and place, and then this function either returns
/// nothing or never returns.
pub fn guarded<T>(report: impl FnMut(String) + 'static, work: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(set_hook);
    REPORT.set(Some(Box::new(report)));
    let done = panic::catch_unwind(AssertUnwindSafe(work)).ok();
    REPORT.set(None);
    done
}

/// Runs `work` on its own thread. None if `interrupt` is raised before it ends: the thread is left to itself.
///
/// # Errors
/// The message and place of its panic.
pub fn apart<T: Send + 'static>(
    interrupt: &Interrupt,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<Result<T, String>> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let panicked = tell.clone();
        // The receiver waits for just one message.
        let report = move |message| drop(panicked.send(Err(message)));
        if let Some(done) = guarded(report, work) {
            let _ = tell.send(Ok(done));
        }
    });
    loop {
        match told.recv_timeout(TICK) {
            Ok(ended) => return Some(ended),
            Err(RecvTimeoutError::Disconnected) => unreachable!("a thread reports how it ends"),
            Err(RecvTimeoutError::Timeout) if interrupt.asked() => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn set_hook() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| match REPORT.take() {
        Some(mut report) => {
            report(message(info));
            while cfg!(panic = "abort") {
                thread::park();
            }
        }
        None => before(info),
    }));
}

fn message(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    let place =
        info.location().map_or(String::new(), |place| format!(" ({}:{})", place.file(), place.line()));
    format!("{text}{place}")
}

/// How soon an interrupt is noticed while work is under way.
const TICK: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_with_its_place() {
        let interrupt = Interrupt::default();
        assert_eq!(apart(&interrupt, || 7), Some(Ok(7)));
        let ended = apart(&interrupt, || -> u32 { panic!("as planned") });
        let message = ended.expect("it was not interrupted").unwrap_err();
        assert!(message.starts_with("as planned (") && message.contains("trap.rs:"), "{message}");
    }

    #[test]
    fn an_interrupt_does_not_wait_for_work_without_end() {
        let interrupt = Interrupt::default();
        interrupt.flag().store(true, std::sync::atomic::Ordering::Relaxed);
        let work = || -> u32 {
            loop {
                thread::park();
            }
        };
        let ended = apart(&interrupt, work);
        assert_eq!(ended, None);
    }
}
