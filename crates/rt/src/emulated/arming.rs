//! Wakeups between two threads, sent only when the other thread has announced that it sleeps.
//!
//! A sleeper arms itself, and then checks once more for work; a poster posts, and then checks whether the
//! sleeper is armed. In either order, one of the two sees the other: either the sleeper does not sleep, or
//! the poster wakes it. This is Dekker's argument, and needs a full fence between the two steps on both
//! sides. A poster pays for a wakeup at most once per sleep, and for a fence otherwise.

use std::sync::atomic::{AtomicBool, Ordering, fence};

/// A flag between two threads, with a fence that orders it against everything else. Its own trait, so that
/// the protocol can be model-checked as it stands.
pub(super) trait Flag {
    /// Sets it.
    fn set(&self, value: bool);
    /// Reads it.
    fn get(&self) -> bool;
    /// A full fence (sequentially consistent).
    fn fence();
}

impl Flag for AtomicBool {
    fn set(&self, value: bool) {
        self.store(value, Ordering::Relaxed);
    }

    fn get(&self) -> bool {
        self.load(Ordering::Relaxed)
    }

    fn fence() {
        fence(Ordering::SeqCst);
    }
}

/// Whether a thread sleeps, or is about to.
#[derive(Debug, Default)]
pub(super) struct Arming<F = AtomicBool>(F);

impl<F: Flag> Arming<F> {
    /// No thread sleeps.
    pub(super) fn new(flag: F) -> Arming<F> {
        Arming(flag)
    }

    /// Announces that the sleeper is about to sleep. False if `is_ready` finds work; the sleeper must not
    /// sleep then.
    pub(super) fn arm(&self, is_ready: impl FnOnce() -> bool) -> bool {
        self.0.set(true);
        F::fence();
        if is_ready() {
            self.0.set(false);
            return false;
        }
        true
    }

    /// Announces that the sleeper is awake.
    pub(super) fn disarm(&self) {
        self.0.set(false);
    }

    /// Called by the poster after it has posted: true if it must wake the sleeper now. The wakeup may hit the
    /// sleeper's next sleep instead of the present one; only the thread that clears the flag wakes, so that
    /// sleep is short.
    #[inline]
    pub(super) fn must_wake(&self) -> bool {
        F::fence();
        let is_armed = self.0.get();
        if is_armed {
            self.0.set(false);
        }
        is_armed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::sync::atomic as model;

    impl Flag for model::AtomicBool {
        fn set(&self, value: bool) {
            self.store(value, Ordering::Relaxed);
        }

        fn get(&self) -> bool {
            self.load(Ordering::Relaxed)
        }

        fn fence() {
            model::fence(Ordering::SeqCst);
        }
    }

    /// The flag without its fence.
    struct Unfenced(model::AtomicBool);

    impl Flag for Unfenced {
        fn set(&self, value: bool) {
            self.0.set(value);
        }

        fn get(&self) -> bool {
            self.0.get()
        }

        fn fence() {}
    }

    /// A poster posts `posts` times; a sleeper takes what it finds, and otherwise sleeps. The model explores
    /// all interleavings with a bounded number of preemptions, and reports a deadlock if the sleeper waits
    /// for ever.
    fn model<F: Flag + Send + Sync + 'static>(posts: usize, preemptions: Option<usize>, flag: fn() -> F) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = preemptions;
        builder.check(move || {
            let arming = Arc::new(Arming::new(flag()));
            let posted = Arc::new(model::AtomicUsize::new(0));
            let event = Arc::new(loom::sync::Notify::new());
            let poster = {
                let (arming, posted, event) = (arming.clone(), posted.clone(), event.clone());
                loom::thread::spawn(move || {
                    for number in 1..=posts {
                        posted.store(number, Ordering::Release);
                        if arming.must_wake() {
                            event.notify();
                        }
                    }
                })
            };
            let mut taken = 0;
            while taken < posts {
                taken = posted.load(Ordering::Acquire);
                if taken < posts && arming.arm(|| posted.load(Ordering::Acquire) > taken) {
                    event.wait();
                    arming.disarm();
                }
            }
            poster.join().expect("it only posts");
        });
    }

    #[test]
    fn no_post_is_slept_through() {
        model(1, None, || model::AtomicBool::new(false));
        model(2, Some(3), || model::AtomicBool::new(false));
    }

    #[test]
    #[should_panic(expected = "deadlock")]
    fn without_the_fence_one_is() {
        model(1, None, || Unfenced(model::AtomicBool::new(false)));
    }
}
