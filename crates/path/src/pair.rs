//! A queue pair in shared memory, between the threads of one core and a device.
//!
//! Two rings, each with one writer and one reader (the host's side is used by the holder of its
//! [`CoreQueue`](super::core_queue::CoreQueue)), a count of completion entries that any thread may read
//! without taking them, and an event for each side. The device wakes a thread for entries only where the
//! strategy wants interrupts.

use super::sync::{AtomicU32, Consumer, Ordering, Producer, ring};
use super::wake_event::WakeEvent;
use std::sync::Arc;
use tailcut_host::path::RequestId;
use tailcut_host::{Bytes, Request, Response};

/// A completion entry.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a box would be made for each request, a ring's places once")]
pub enum CompletionEntry {
    /// This request will complete soon.
    Soon(RequestId),
    /// A request has completed.
    Ended(Response<Bytes>),
}

/// State that both sides share.
#[derive(Debug)]
struct Shared {
    /// Completion entries posted so far, modulo 2^32.
    posted: AtomicU32,
    /// Event of the thread that entries interrupt.
    host: WakeEvent,
    /// Event of the device, which several pairs share.
    device: Arc<WakeEvent>,
}

/// The host's end of a queue pair.
#[derive(Debug)]
pub struct HostEnd {
    submissions: Producer<Request<Bytes>>,
    completions: Consumer<CompletionEntry>,
    view: HostView,
}

/// What host threads see of a pair without holding it.
#[derive(Clone, Debug)]
pub struct HostView(Arc<Shared>);

/// The device's end of a queue pair.
#[derive(Debug)]
pub struct DeviceEnd {
    submissions: Consumer<Request<Bytes>>,
    completions: Producer<CompletionEntry>,
    shared: Arc<Shared>,
    posted: u32,
    rings: bool,
}

/// A pair for `depth` requests in flight, each with at most two completion entries. With `rings`, entries
/// interrupt.
pub fn queue_pair(depth: usize, rings: bool, device: Arc<WakeEvent>) -> (HostEnd, DeviceEnd) {
    let (to_device, submissions) = ring(depth);
    let (completions, from_device) = ring(2 * depth);
    let shared = Arc::new(Shared { posted: AtomicU32::new(0), host: WakeEvent::default(), device });
    let view = HostView(shared.clone());
    let host = HostEnd { submissions: to_device, completions: from_device, view };
    (host, DeviceEnd { submissions, completions, shared, posted: 0, rings })
}

impl HostEnd {
    /// Submits a request; the device has to be woken for it.
    ///
    /// # Panics
    /// If the device has not taken any of the last `depth` requests.
    #[inline]
    pub fn submit(&mut self, request: Request<Bytes>) {
        self.submissions.push(request).expect("the ring has a place for each tag");
    }

    /// Takes the oldest completion entry.
    #[inline]
    pub fn take(&mut self) -> Option<CompletionEntry> {
        self.completions.pop().ok()
    }

    /// The part of the pair that is readable without holding it.
    pub fn view(&self) -> HostView {
        self.view.clone()
    }
}

impl HostView {
    /// Number of completion entries posted so far, modulo 2^32.
    #[inline]
    pub fn posted(&self) -> u32 {
        self.0.posted.load(Ordering::Acquire)
    }

    /// Wakes the thread of the device if it sleeps.
    #[inline]
    pub fn ring_device(&self) {
        self.0.device.wake();
    }

    /// The event of the thread that completion entries interrupt.
    pub fn event(&self) -> &WakeEvent {
        &self.0.host
    }
}

impl DeviceEnd {
    /// Takes the oldest request that was submitted; `None` if there is none.
    #[inline]
    pub fn take(&mut self) -> Option<Request<Bytes>> {
        self.submissions.pop().ok()
    }

    /// True if a request is pending.
    #[inline]
    pub fn has_requests(&self) -> bool {
        !self.submissions.is_empty()
    }

    /// Posts an entry without waking a thread.
    ///
    /// # Panics
    /// If the host has not taken any of the last `2 * depth` entries.
    #[inline]
    pub fn post(&mut self, posting: CompletionEntry) {
        self.completions.push(posting).expect("the ring has two places for each tag");
        self.posted = self.posted.wrapping_add(1);
        self.shared.posted.store(self.posted, Ordering::Release);
    }

    /// Raises an interrupt for posted entries, if the strategy wants one. True if a thread had to be woken.
    #[inline]
    pub fn interrupt(&self) -> bool {
        self.rings && self.shared.host.wake()
    }
}
