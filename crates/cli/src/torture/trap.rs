//! A panic of what is tortured is an answer like any other, and must not end the search for more.
//!
//! Where panics unwind they are caught. Where they abort the process (the release profile), the hook that
//! runs before does not return: it tells whoever waits and leaves the thread asleep for good. So every
//! guarded piece of work runs on a thread that nobody joins.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Once, mpsc};
use std::thread;

type Report = Box<dyn FnMut(String)>;

thread_local! {
    /// Who is told of a panic on this thread.
    static REPORT: RefCell<Option<Report>> = const { RefCell::new(None) };
}

/// Does `work`; `report` is told of a panic with its message and place, and then this function either
/// returns nothing or never returns.
pub fn guarded<T>(report: impl FnMut(String) + 'static, work: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(set_hook);
    REPORT.set(Some(Box::new(report)));
    let done = panic::catch_unwind(AssertUnwindSafe(work)).ok();
    REPORT.set(None);
    done
}

/// Does `work` on a thread of its own.
///
/// # Errors
/// The message and place of its panic.
pub fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let panicked = tell.clone();
        // The receiver waits for just one message.
        let report = move |message| drop(panicked.send(Err(message)));
        if let Some(done) = guarded(report, work) {
            let _ = tell.send(Ok(done));
        }
    });
    told.recv().expect("a thread tells how it ends")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_with_its_place() {
        assert_eq!(apart(|| 7), Ok(7));
        let message = apart(|| -> u32 { panic!("as planned") }).unwrap_err();
        assert!(message.starts_with("as planned (") && message.contains("trap.rs:"), "{message}");
    }
}
