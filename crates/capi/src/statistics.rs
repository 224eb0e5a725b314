//! Statistics and status of a store.

use crate::border::{Out, behind, cross};
use crate::failure::{Failure, Status};
use std::ffi::{c_char, c_int};
use tailcut_rt::embedded::Store;

/// Statistics of a store, as in the header.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
#[expect(missing_docs, reason = "the header says what they are")]
pub struct Figures {
    pub size: usize,
    pub hits: u64,
    pub misses: u64,
    pub sets: u64,
    pub not_stored: u64,
    pub deletes: u64,
    pub touches: u64,
    pub errors: u64,
    pub items: u64,
    pub index_bytes: u64,
    pub waiting: u64,
    pub drive_bytes: u64,
    pub hits_on_flash: u64,
    pub evicted: u64,
    pub expired: u64,
    pub written: u64,
    pub copied: u64,
    pub damaged: u64,
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_stats(store: *mut Store, statistics: *mut Figures) -> c_int {
    cross(|| {
        // SAFETY: a store is a handle, made by `tailcut_open`: null, or aligned, initialised, only shared,
        // and not closed during the call.
        let store: &Store = unsafe { behind(store, "store") }?;
        if statistics.is_null() {
            return Err(Failure::argument("statistics is NULL"));
        }
        // SAFETY: not null; the caller has set the first field, which is readable and aligned as the
        // structure is.
        let size = unsafe { statistics.cast::<usize>().read() };
        if !(size_of::<usize>()..=MOST_SIZE).contains(&size) {
            let message = format!("statistics.size is {size}: set it to sizeof(tailcut_statistics)");
            return Err(Failure::argument(message));
        }
        let all = store.statistics()?;
        let figures = Figures {
            size,
            hits: all.hits,
            misses: all.misses,
            sets: all.sets,
            not_stored: all.not_stored,
            deletes: all.deletes,
            touches: all.touches,
            errors: all.errors,
            items: all.items,
            index_bytes: all.index_bytes,
            waiting: all.waiting,
            drive_bytes: all.drive_bytes,
            hits_on_flash: all.engine.hits_on_flash,
            evicted: all.engine.evicted,
            expired: all.engine.expired,
            written: all.engine.written,
            copied: all.engine.copied,
            damaged: all.engine.damaged,
        };
        // SAFETY: the structure has `size` bytes as its caller knows it: writable, and accessed by nothing
        // else during the call.
        unsafe { statistics.cast::<u8>().write_bytes(0, size) };
        let known = size.min(size_of::<Figures>());
        // SAFETY: both have at least `known` bytes; ours are integers without padding, so initialised, and on
        // our own stack, so the two do not overlap.
        unsafe { (&raw const figures).cast::<u8>().copy_to_nonoverlapping(statistics.cast(), known) };
        Ok(Status::Ok)
    })
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_describe(
    store: *mut Store,
    text: *mut c_char,
    room: usize,
    length: *mut usize,
) -> c_int {
    cross(|| {
        // SAFETY: a store is a handle, made by `tailcut_open`: null, or aligned, initialised, only shared,
        // and not closed during the call.
        let store: &Store = unsafe { behind(store, "store") }?;
        if text.is_null() && room > 0 {
            return Err(Failure::argument("text is NULL, and room is not 0"));
        }
        let all = store.status()?;
        // SAFETY: an output: null, or aligned, writable, and accessed by nothing else during the call.
        if let Some(length) = unsafe { Out::optional(length) } {
            length.write(all.len());
        }
        let Some(most) = room.checked_sub(1) else { return Ok(Status::Ok) };
        let shown = all.len().min(most);
        // SAFETY: `text` has `room` bytes, which are writable, more than `shown`, and accessed by nothing
        // else; the source is memory of ours, so the two do not overlap.
        unsafe { all.as_ptr().copy_to_nonoverlapping(text.cast(), shown) };
        // SAFETY: `shown` is less than the `room` bytes of that object.
        let end = unsafe { text.add(shown) };
        // SAFETY: within the buffer: writable, and accessed by nothing else during the call.
        unsafe { end.write(0) };
        Ok(Status::Ok)
    })
}

/// Maximum size to which structures can grow; a larger one is an error.
const MOST_SIZE: usize = 4096;
