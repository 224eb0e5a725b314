//! The model's version of `sync`: explores every interleaving of threads, and every value that a
//! processor may show them.

pub use loom::sync::Mutex;
pub use loom::sync::atomic::{AtomicU32, Ordering};

use loom::sync::{Arc, Condvar};
use std::cell::Cell;
use std::time::Instant;

/// A ring with exactly the synchronisation of `rtrb`: each side publishes its own count, and a ring is empty
/// while the reader has not seen the writer's count.
pub fn ring<T>(places: usize) -> (Producer<T>, Consumer<T>) {
    let ring = Arc::new(Ring {
        written: AtomicU32::new(0),
        read: AtomicU32::new(0),
        places: (0..places).map(|_| std::sync::Mutex::new(None)).collect(),
    });
    (Producer(ring.clone()), Consumer(ring))
}

#[derive(Debug)]
struct Ring<T> {
    written: AtomicU32,
    read: AtomicU32,
    /// Locks of the standard library: the model does not see them, so they order nothing.
    places: Vec<std::sync::Mutex<Option<T>>>,
}

#[derive(Debug)]
pub struct Producer<T>(Arc<Ring<T>>);

#[derive(Debug)]
pub struct Consumer<T>(Arc<Ring<T>>);

impl<T> Producer<T> {
    pub fn push(&mut self, value: T) -> Result<(), T> {
        let Ring { written, read, places } = &*self.0;
        let at = written.load(Ordering::Relaxed);
        if at - read.load(Ordering::Acquire) == places.len() as u32 {
            return Err(value);
        }
        *places[at as usize % places.len()].lock().unwrap() = Some(value);
        written.store(at + 1, Ordering::Release);
        Ok(())
    }
}

impl<T> Consumer<T> {
    pub fn is_empty(&self) -> bool {
        self.0.read.load(Ordering::Relaxed) == self.0.written.load(Ordering::Acquire)
    }

    pub fn pop(&mut self) -> Result<T, ()> {
        if self.is_empty() {
            return Err(());
        }
        let Ring { read, places, .. } = &*self.0;
        let at = read.load(Ordering::Relaxed);
        let value = places[at as usize % places.len()].lock().unwrap().take();
        read.store(at + 1, Ordering::Release);
        value.ok_or(())
    }
}

pub fn pause() {
    loom::thread::yield_now();
}

/// A futex: the system compares and falls asleep under its own lock, which wakers take as well.
#[derive(Debug, Default)]
pub struct Futex {
    word: AtomicU32,
    bucket: Mutex<()>,
    sleeper: Condvar,
}

impl Futex {
    pub fn swap(&self, value: u32) -> u32 {
        self.word.swap(value, Ordering::AcqRel)
    }

    pub fn wait(&self, value: u32) {
        let bucket = self.bucket.lock().unwrap();
        if self.word.load(Ordering::Relaxed) == value {
            drop(self.sleeper.wait(bucket).unwrap());
        }
    }

    /// Time does not advance in the model: the deadline never comes.
    pub fn wait_until(&self, value: u32, _: Instant) {
        self.wait(value);
    }

    pub fn wake(&self) {
        let _bucket = self.bucket.lock().unwrap();
        self.sleeper.notify_one();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invariant {
    ArmsBeforeItLooks,
    FreedTagsAreUsed,
}

thread_local! {
    /// All threads of a model run on the thread that checks it.
    static BROKEN: Cell<Option<Invariant>> = const { Cell::new(None) };
}

pub fn holds(rule: Invariant) -> bool {
    BROKEN.get() != Some(rule)
}

/// Checks a model in which `rule` is violated; true if it ends with threads that sleep for ever.
pub fn loses_a_wake_up(rule: Invariant, check: impl FnOnce() + std::panic::UnwindSafe) -> bool {
    BROKEN.set(Some(rule));
    let result = std::panic::catch_unwind(check);
    BROKEN.set(None);
    let why = result.err().and_then(|why| why.downcast::<String>().ok());
    why.is_some_and(|why| why.contains("deadlock"))
}
