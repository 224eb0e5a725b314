//! Asynchronous operations.

use crate::border::{Out, behind, bytes, cross, give, reclaim};
use crate::failure::{Failure, Status, status_from};
use crate::store::{Write, for_a_time, set_in};
use std::ffi::{c_int, c_void};
use std::os::fd::AsRawFd;
use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tailcut_rt::embedded::{Completion, Operation, Outcome, Queue, Store, Value, Wait};

/// A queue, and buffers of completed operations for reuse.
#[derive(Debug)]
pub struct Handle {
    queue: Queue,
    spare: Mutex<Spare>,
}

#[derive(Debug, Default)]
struct Spare {
    buffers: Vec<Vec<u8>>,
    completions: Vec<Completion>,
}

/// A completion, as in the header.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CompletionRecord {
    /// The user data of the submission.
    pub user_data: *mut c_void,
    /// The value that a get has found, to be released by the caller; null otherwise.
    pub value: *mut Value,
    /// The version of the item that was found or stored; 0 otherwise.
    pub version: u64,
    /// The result of the operation, as a [`Status`].
    pub status: i32,
    /// Room for later versions of the structure: zero.
    pub reserved: i32,
}

impl Handle {
    fn spare(&self) -> MutexGuard<'_, Spare> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn submit(&self, operation: Operation, user_data: *mut c_void) -> Result<Status, Failure> {
        let user_data = user_data.expose_provenance() as u64;
        self.queue.submit(operation, user_data).map_err(|refused| refused.why)?;
        Ok(Status::Ok)
    }

    /// The completion as in the header. Keeps the buffers of operations that found nothing for reuse.
    fn told(&self, completion: Completion) -> CompletionRecord {
        let user_data = with_exposed_provenance_mut(completion.user_data as usize);
        let (status, mut value) = (status_from(completion.result) as i32, null_mut());
        let version = match completion.result {
            Ok(Outcome::Found { version, .. } | Outcome::Stored { version }) => version,
            _ => 0,
        };
        if let Ok(Outcome::Found { .. }) = completion.result {
            value = completion.into_value().ok().flatten().map_or(null_mut(), give);
        } else {
            self.keep(completion.into_buffer());
        }
        CompletionRecord { user_data, value, version, status, reserved: 0 }
    }

    fn keep(&self, buffer: Vec<u8>) {
        let mut spare = self.spare();
        if buffer.capacity() <= MOST_KEPT && spare.buffers.len() < self.queue.room().min(MOST_BUFFERS) {
            spare.buffers.push(buffer);
        }
    }
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_queue_open(
    store: *mut Store,
    room: usize,
    queue: *mut *mut Handle,
) -> c_int {
    cross(|| {
        // SAFETY: an output: null, or aligned, writable, and accessed by nothing else during the call.
        let queue = unsafe { Out::new(queue, "queue") }?;
        queue.write(null_mut());
        // SAFETY: a store is a handle, made by `tailcut_open`: null, or aligned, initialised, only shared,
        // and not closed during the call.
        let store: &Store = unsafe { behind(store, "store") }?;
        if !(1..=MOST_ROOM).contains(&room) {
            return Err(Failure::argument(format!(
                "a queue has room for 1 to {MOST_ROOM} operations, and not {room}"
            )));
        }
        queue.write(give(Handle { queue: store.queue(room), spare: Mutex::default() }));
        Ok(Status::Ok)
    })
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_queue_close(queue: *mut Handle) {
    // SAFETY: a handle: null, or from `give` in `tailcut_queue_open`, closed once, and used by no other
    // thread meanwhile or later.
    drop(unsafe { reclaim(queue) });
}

/// Submits an operation made from a spare buffer and a key.
///
/// # Safety
/// Queue and key are each null, or aligned, initialised and alive until the function returns; the queue is
/// only shared, and the key is not written.
unsafe fn submit(
    queue: *const Handle,
    (key, length): (*const c_void, usize),
    user_data: *mut c_void,
    make: impl FnOnce(Vec<u8>, &[u8]) -> Result<Operation, Failure>,
) -> c_int {
    cross(|| {
        // SAFETY: the caller guarantees that the queue is null, or aligned, initialised, only shared, and not
        // closed during the call.
        let queue = unsafe { behind(queue, "queue") }?;
        // SAFETY: the caller guarantees that the key is null, or readable and initialised in its whole
        // length, and not written during the call.
        let key = unsafe { bytes(key, length, "key") }?;
        let buffer = queue.spare().buffers.pop().unwrap_or_default();
        queue.submit(make(buffer, key)?, user_data)
    })
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_submit_get(
    queue: *mut Handle,
    key: *const c_void,
    key_length: usize,
    user_data: *mut c_void,
) -> c_int {
    // SAFETY: a handle and an input: each null, or aligned, initialised and alive during the call; the queue
    // is only shared, and the key is not written.
    unsafe { submit(queue, (key, key_length), user_data, |buffer, key| Ok(Operation::get_in(buffer, key)?)) }
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_submit_set(
    queue: *mut Handle,
    key: *const c_void,
    key_length: usize,
    value: *const c_void,
    value_length: usize,
    how: *const Write,
    user_data: *mut c_void,
) -> c_int {
    // SAFETY: inputs: each null, or aligned, readable and initialised in its whole length, and not written
    // during the call.
    let make = |buffer, _: &[u8]| unsafe { set_in(buffer, (key, key_length), (value, value_length), how) };
    // SAFETY: a handle and an input: each null, or aligned, initialised and alive during the call; the queue
    // is only shared, and the key is not written.
    unsafe { submit(queue, (key, key_length), user_data, make) }
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_submit_touch(
    queue: *mut Handle,
    key: *const c_void,
    key_length: usize,
    lifetime: u32,
    user_data: *mut c_void,
) -> c_int {
    let make = |_, key: &[u8]| Ok(for_a_time(Operation::touch(key)?, lifetime));
    // SAFETY: a handle and an input: each null, or aligned, initialised and alive during the call; the queue
    // is only shared, and the key is not written.
    unsafe { submit(queue, (key, key_length), user_data, make) }
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_submit_delete(
    queue: *mut Handle,
    key: *const c_void,
    key_length: usize,
    user_data: *mut c_void,
) -> c_int {
    // SAFETY: a handle and an input: each null, or aligned, initialised and alive during the call; the queue
    // is only shared, and the key is not written.
    unsafe { submit(queue, (key, key_length), user_data, |_, key| Ok(Operation::delete(key)?)) }
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_submit_flush(queue: *mut Handle, user_data: *mut c_void) -> c_int {
    cross(|| {
        // SAFETY: a queue is a handle, made by `tailcut_queue_open`: null, or aligned, initialised, only
        // shared, and not closed during the call.
        let queue: &Handle = unsafe { behind(queue, "queue") }?;
        queue.submit(Operation::flush(), user_data)
    })
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_queue_descriptor(queue: *mut Handle, descriptor: *mut c_int) -> c_int {
    cross(|| {
        // SAFETY: a queue is a handle, made by `tailcut_queue_open`: null, or aligned, initialised, only
        // shared, and not closed during the call.
        let queue: &Handle = unsafe { behind(queue, "queue") }?;
        // SAFETY: an output: null, or aligned, writable, and accessed by nothing else during the call.
        let descriptor = unsafe { Out::new(descriptor, "descriptor") }?;
        let wakes = queue.queue.wakes();
        let wakes = wakes.map_err(|why| Failure {
            status: Status::System,
            message: format!("the system refuses a descriptor: {why}"),
        });
        descriptor.write(wakes?.as_raw_fd());
        Ok(Status::Ok)
    })
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_wait(
    queue: *mut Handle,
    completions: *mut CompletionRecord,
    room: usize,
    timeout: i64,
    count: *mut usize,
) -> c_int {
    cross(|| {
        // SAFETY: a queue is a handle, made by `tailcut_queue_open`: null, or aligned, initialised, only
        // shared, and not closed during the call.
        let queue: &Handle = unsafe { behind(queue, "queue") }?;
        // SAFETY: an output: null, or aligned, writable, and accessed by nothing else during the call.
        let count = unsafe { Out::new(count, "count") }?;
        if completions.is_null() || room == 0 {
            return Err(Failure::argument("completions want room for one at least"));
        }
        let wait = match timeout {
            FOREVER => Wait::ForOne,
            0 => Wait::Not,
            1.. => Wait::AtMost(Duration::from_nanos(timeout as u64)),
            _ => {
                return Err(Failure::argument(format!(
                    "a timeout of {timeout} ns is over: give 0, or TAILCUT_FOREVER"
                )));
            }
        };
        let mut taken = std::mem::take(&mut queue.spare().completions);
        count.write(queue.queue.take(&mut taken, room, wait));
        for (place, completion) in taken.drain(..).enumerate() {
            // SAFETY: `completions` is one object with room for `room` completions, and `place` is below
            // `room`.
            let to = unsafe { completions.add(place) };
            // SAFETY: within that room: aligned, writable, and accessed by nothing else during the call. It
            // may be uninitialised, and is not read.
            unsafe { to.write(queue.told(completion)) };
        }
        queue.spare().completions = taken;
        Ok(Status::Ok)
    })
}

/// Maximum capacity of a queue. Entries take memory only as they are used.
const MOST_ROOM: usize = 1 << 20;
/// Buffers kept for reuse: the maximum size of each, and their maximum number.
const MOST_KEPT: usize = 64 << 10;
const MOST_BUFFERS: usize = 256;
const FOREVER: i64 = -1;
