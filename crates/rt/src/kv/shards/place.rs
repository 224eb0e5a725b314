//! The slot of a shard: its lock and the operations deferred to it.

use std::hint::spin_loop;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use tailcut_base::Time;
use tailcut_host::kv::session::Shard;
use tailcut_host::kv::session::hand_over::{Backlog, Deferred};

/// The slot of a shard, on cache lines of its own (a pair, as processors fetch them).
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Place {
    shard: Mutex<Shard>,
    left: Mutex<Backlog>,
    left_count: AtomicUsize,
    /// When the shard's next event is due, in ns.
    next_event: AtomicU64,
    /// Recovery state of the shard.
    recovery: AtomicU8,
    /// A thread has panicked while it used the shard: the shard is not used any more.
    has_failed: AtomicBool,
}

/// Exclusive access to a shard. If the thread panics while the shard is in use, the shard has failed: its
/// state may be inconsistent.
#[derive(Debug)]
pub(super) struct Seized<'a> {
    place: &'a Place,
    shard: MutexGuard<'a, Shard>,
    /// An operation uses the shard; otherwise it is only kept for the next command.
    pub is_in_use: bool,
}

impl Deref for Seized<'_> {
    type Target = Shard;

    #[inline]
    fn deref(&self) -> &Shard {
        &self.shard
    }
}

impl DerefMut for Seized<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Shard {
        &mut self.shard
    }
}

impl Drop for Seized<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.is_in_use && std::thread::panicking() {
            self.place.fail();
        }
    }
}

/// Recovery state of a shard. The greatest state of all shards is that of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Recovery {
    /// Recovery is complete.
    Over,
    /// Recovery waits for a completion of the drive.
    Waits,
    /// Recovery can advance.
    GoesOn,
    /// A block cannot be read.
    Failed,
}

impl Place {
    /// A slot for this shard.
    pub(super) fn new(shard: Shard) -> Place {
        Place {
            shard: Mutex::new(shard),
            left: Mutex::default(),
            left_count: AtomicUsize::new(0),
            next_event: AtomicU64::new(Time::NEVER.0),
            recovery: AtomicU8::new(Recovery::GoesOn as u8),
            has_failed: AtomicBool::new(false),
        }
    }

    /// The shard; `None` if another thread has it for longer than a few commands take, or it has failed.
    #[inline]
    pub(super) fn seize(&self) -> Option<Seized<'_>> {
        for _ in 0..LOOKS {
            match self.shard.try_lock() {
                Ok(shard) => return self.seized(shard),
                Err(TryLockError::WouldBlock) => spin_loop(),
                // A panic while the shard was in use has been recorded; one while it was only kept has
                // changed nothing in it.
                Err(TryLockError::Poisoned(shard)) => return self.seized(shard.into_inner()),
            }
        }
        None
    }

    /// The shard, as soon as it is free; `None` if it has failed. Blocks.
    pub(super) fn wait_for(&self) -> Option<Seized<'_>> {
        self.seized(self.shard.lock().unwrap_or_else(PoisonError::into_inner))
    }

    #[inline]
    fn seized<'a>(&'a self, shard: MutexGuard<'a, Shard>) -> Option<Seized<'a>> {
        (!self.has_failed()).then_some(Seized { place: self, shard, is_in_use: true })
    }

    /// True if the shard has failed, because a thread panicked while it used it.
    #[inline]
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    fn fail(&self) {
        // Every thread that locks the shard afterwards sees this.
        self.has_failed.store(true, Ordering::Relaxed);
        self.set_next_event(Time::NEVER);
        self.recovery.store(Recovery::Over as u8, Ordering::Relaxed);
    }

    /// Defers an operation. The caller then has to try once more to get the shard: the holder may have
    /// checked for deferred operations just before.
    pub(super) fn leave(&self, left: Deferred) {
        let mut all = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(left);
        self.left_count.store(all.len(), Ordering::Relaxed);
        drop(all);
        // A thread that defers stores the count first and then tries the lock; the holder unlocks first and
        // then loads the count: at least one of them sees the store of the other.
        fence(Ordering::SeqCst);
    }

    /// True if operations were deferred; for the thread that has just released the shard.
    #[inline]
    pub(super) fn has_left(&self) -> bool {
        fence(Ordering::SeqCst);
        self.left_count.load(Ordering::Relaxed) > 0 && !self.has_failed()
    }

    /// Takes the deferred operations, if there are any; for the holder of the shard.
    #[inline]
    pub(super) fn take_left(&self) -> Option<Backlog> {
        if self.left_count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        self.left_count.store(0, Ordering::Relaxed);
        Some(std::mem::take(&mut *left))
    }

    /// Recovery state of the shard.
    #[inline]
    pub(super) fn recovery(&self) -> Recovery {
        match self.recovery.load(Ordering::Relaxed) {
            0 => Recovery::Over,
            1 => Recovery::Waits,
            2 => Recovery::GoesOn,
            _ => Recovery::Failed,
        }
    }

    /// Updates the recovery state; for the holder of the shard.
    #[inline]
    pub(super) fn note_recovery(&self, shard: &Shard) {
        if self.recovery() == Recovery::Over {
            return;
        }
        let engine = shard.engine();
        let now = match engine.recovered() {
            None => Recovery::Over,
            Some(_) if engine.unreadable().is_some() => Recovery::Failed,
            Some(_) if engine.can_recover() => Recovery::GoesOn,
            Some(_) => Recovery::Waits,
        };
        self.recovery.store(now as u8, Ordering::Relaxed);
    }

    /// When the shard's next event is due; `Time::NEVER` if it has none.
    pub(super) fn next_event(&self) -> Time {
        Time(self.next_event.load(Ordering::Relaxed))
    }

    /// Sets when the shard's next event is due, and returns the previous value.
    #[inline]
    pub(super) fn set_next_event(&self, moment: Time) -> Time {
        Time(self.next_event.swap(moment.0, Ordering::Relaxed))
    }
}

/// Number of attempts to lock a shard that is taken before an operation is deferred. An attempt takes some
/// tens of nanoseconds, a command some hundreds.
const LOOKS: u32 = 64;
