//! Where a shard is, and what was left there.

use std::hint::spin_loop;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use tailcut_base::Time;
use tailcut_host::kv::session::Shard;
use tailcut_host::kv::session::shard_request::{OwnedShardRequest, Requester};
use tailcut_host::{Bytes, Response};

/// A shard's place. On cache lines of its own (a pair, as processors fetch them).
#[derive(Debug)]
#[repr(align(128))]
pub struct Place {
    shard: Mutex<Shard>,
    left: Mutex<Vec<Deferred>>,
    left_count: AtomicUsize,
    /// When the shard wants to go on by itself, in ns.
    next_event: AtomicU64,
    /// How far it is with finding what is on the drive.
    recovery: AtomicU8,
    /// A thread has panicked in the middle of using the shard: nobody uses it any more.
    has_failed: AtomicBool,
}

/// A shard that nobody else can use at the moment. If its thread panics while it is in use, it has failed: it
/// may be in no order.
#[derive(Debug)]
pub struct Seized<'a> {
    place: &'a Place,
    shard: MutexGuard<'a, Shard>,
    /// Something is done with it; otherwise it is only kept for the next command.
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

/// How far a shard is with finding what is on the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Recovery {
    /// Everything is known.
    Over,
    /// It goes on when the drive has answered.
    Waits,
    /// It can go on.
    GoesOn,
    /// Something cannot be read.
    Failed,
}

/// What was left for a shard by who found it taken.
#[derive(Debug)]
pub enum Deferred {
    /// Something to be done.
    ShardRequest(Requester, OwnedShardRequest),
    /// The drive has answered.
    Response(Box<Response<Bytes>>),
    /// Its time has come.
    Tick,
}

impl Place {
    /// With this shard.
    pub fn new(shard: Shard) -> Place {
        Place {
            shard: Mutex::new(shard),
            left: Mutex::default(),
            left_count: AtomicUsize::new(0),
            next_event: AtomicU64::new(Time::NEVER.0),
            recovery: AtomicU8::new(Recovery::GoesOn as u8),
            has_failed: AtomicBool::new(false),
        }
    }

    /// The shard, unless somebody else has it for longer than a few commands take, or it has failed.
    #[inline]
    pub fn seize(&self) -> Option<Seized<'_>> {
        for _ in 0..LOOKS {
            match self.shard.try_lock() {
                Ok(shard) => return self.seized(shard),
                Err(TryLockError::WouldBlock) => spin_loop(),
                // A panic while it was in use has been noted; one while it was only kept has changed nothing
                // in it.
                Err(TryLockError::Poisoned(shard)) => return self.seized(shard.into_inner()),
            }
        }
        None
    }

    /// The shard, whenever it is free, unless it has failed.
    pub fn wait_for(&self) -> Option<Seized<'_>> {
        self.seized(self.shard.lock().unwrap_or_else(PoisonError::into_inner))
    }

    #[inline]
    fn seized<'a>(&'a self, shard: MutexGuard<'a, Shard>) -> Option<Seized<'a>> {
        (!self.has_failed()).then_some(Seized { place: self, shard, is_in_use: true })
    }

    /// True if nobody uses the shard any more, as a thread has panicked in the middle of it.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    fn fail(&self) {
        // Whoever locks it afterwards sees this.
        self.has_failed.store(true, Ordering::Relaxed);
        self.set_next_event(Time::NEVER);
        self.recovery.store(Recovery::Over as u8, Ordering::Relaxed);
    }

    /// Leaves something. Afterwards one has to try once more to get the shard: who had it may have looked
    /// just before.
    pub fn leave(&self, left: Deferred) {
        let mut all = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(left);
        self.left_count.store(all.len(), Ordering::Relaxed);
        drop(all);
        // Who leaves counts first and then tries the lock; who has the shard unlocks first and then looks at
        // the count: one of them sees what the other has done.
        fence(Ordering::SeqCst);
    }

    /// True if something was left, asked by who has let go of the shard.
    #[inline]
    pub fn has_left(&self) -> bool {
        fence(Ordering::SeqCst);
        self.left_count.load(Ordering::Relaxed) > 0 && !self.has_failed()
    }

    /// What was left, for who has the shard.
    #[inline]
    pub fn take_left(&self) -> Vec<Deferred> {
        if self.left_count.load(Ordering::Relaxed) == 0 {
            return Vec::new();
        }
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        self.left_count.store(0, Ordering::Relaxed);
        std::mem::take(&mut *left)
    }

    /// How far its shard is.
    #[inline]
    pub fn recovery(&self) -> Recovery {
        match self.recovery.load(Ordering::Relaxed) {
            0 => Recovery::Over,
            1 => Recovery::Waits,
            2 => Recovery::GoesOn,
            _ => Recovery::Failed,
        }
    }

    /// Says how far its shard is, for who has it.
    #[inline]
    pub fn note_recovery(&self, shard: &Shard) {
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

    /// When its shard wants to go on by itself.
    pub fn next_event(&self) -> Time {
        Time(self.next_event.load(Ordering::Relaxed))
    }

    /// Says when that is, and returns what was said before.
    #[inline]
    pub fn set_next_event(&self, moment: Time) -> Time {
        Time(self.next_event.swap(moment.0, Ordering::Relaxed))
    }
}

/// How often a shard that is taken is looked at before something is left there. A look takes some tens of
/// nanoseconds, a command some hundreds.
const LOOKS: u32 = 64;
