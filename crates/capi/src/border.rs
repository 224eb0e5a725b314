//! The checks of everything that crosses the C interface, in one place.
//!
//! What the header asks of callers, in the terms of the `SAFETY` comments:
//!
//! - A *handle* (options, store, queue, value) is null, or comes from the function of this library that makes
//!   it and has not been given back: it is aligned, initialised and allocated by [`give`], and lives at least
//!   until the call returns. Stores and queues are shared by threads, so only shared references to them
//!   exist. Options and values are used by one thread at a time, so a reference to them is the only one.
//! - An *input* (bytes with their length, a text, a structure behind a `const` pointer) is null, or aligned,
//!   valid for reads of its whole length and initialised, and is not written until the call returns.
//! - An *output* is null, or aligned and valid for writes of its type, and nothing else accesses it until the
//!   call returns. It may be uninitialised, so it is written by [`Out`] and no reference to it exists.
//!
//! References to inputs and handles have lifetimes that the compiler cannot check: they end before the
//! function does that was called from C.

use crate::failure::{Failure, Status, keep};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::slice;

/// Runs the body of a function: errors and panics become its return value and the error message of the
/// thread.
pub fn cross(work: impl FnOnce() -> Result<Status, Failure>) -> c_int {
    // State that a panic left half changed is behind the locks of the store, or abandoned with it.
    let failure = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(status)) => return status as c_int,
        Ok(Err(failure)) => failure,
        Err(panic) => {
            let said = panic.downcast_ref::<&str>().map(|text| text.to_string());
            let said = said.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            Failure { status: Status::Bug, message: format!("a bug in tailcut, please report it: {said}") }
        }
    };
    keep(&failure.message);
    failure.status as c_int
}

/// The value behind a pointer.
///
/// # Safety
/// The pointer is null, or aligned, and its target is initialised, lives for `'a` and is not written
/// meanwhile, except within an [`UnsafeCell`](std::cell::UnsafeCell).
///
/// # Errors
/// The pointer is null.
pub unsafe fn behind<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: the caller guarantees that it is null, or aligned, initialised, alive for `'a` and only shared.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::argument(format!("{what} is NULL")))
}

/// The value behind a pointer, mutable.
///
/// # Safety
/// The pointer is null, or aligned, and its target is initialised, lives for `'a` and is accessed by nothing
/// else meanwhile.
///
/// # Errors
/// The pointer is null.
pub unsafe fn behind_mut<'a, T>(pointer: *mut T, what: &str) -> Result<&'a mut T, Failure> {
    // SAFETY: the caller guarantees that it is null, or aligned, initialised, alive for `'a` and not aliased.
    unsafe { pointer.as_mut() }.ok_or_else(|| Failure::argument(format!("{what} is NULL")))
}

/// Where the caller in C wants a result: written, never read, and never behind a reference, as it may be
/// uninitialised.
#[derive(Debug)]
pub struct Out<T>(NonNull<T>);

impl<T> Out<T> {
    /// The output behind a pointer.
    ///
    /// # Errors
    /// The pointer is null.
    ///
    /// # Safety
    /// As for [`Out::optional`].
    pub unsafe fn new(pointer: *mut T, what: &str) -> Result<Out<T>, Failure> {
        // SAFETY: the caller guarantees the same.
        unsafe { Out::optional(pointer) }.ok_or_else(|| Failure::argument(format!("{what} is NULL")))
    }

    /// The output behind a pointer; none if that is null.
    ///
    /// # Safety
    /// The pointer is null, or, as long as the output is used, aligned and valid for writes of a `T`, with
    /// nothing else that accesses its target.
    pub unsafe fn optional(pointer: *mut T) -> Option<Out<T>> {
        NonNull::new(pointer).map(Out)
    }

    /// Writes the result. What was there is not dropped: it may have been anything.
    pub fn write(&self, value: T) {
        // SAFETY: who made it has guaranteed that it is aligned, valid for writes, and accessed by nothing
        // else.
        unsafe { self.0.write(value) };
    }
}

/// `length` bytes from a pointer on; it may be null if there are none.
///
/// # Safety
/// The pointer is null, or valid for reads of `length` bytes of one object, which are initialised, live for
/// `'a` and are not written meanwhile.
///
/// # Errors
/// The pointer is null although `length` is not 0, or `length` is above `isize::MAX`.
pub unsafe fn bytes<'a>(pointer: *const c_void, length: usize, what: &str) -> Result<&'a [u8], Failure> {
    if length == 0 {
        return Ok(&[]);
    }
    if pointer.is_null() {
        return Err(Failure::argument(format!("{what} is NULL, and {length} bytes long")));
    }
    if length > isize::MAX as usize {
        return Err(Failure::argument(format!("{what} of {length} bytes cannot be")));
    }
    // SAFETY: it is not null, bytes are always aligned, the length is at most `isize::MAX`, and the caller
    // guarantees that `length` bytes are readable, initialised, and neither freed nor written during `'a`.
    Ok(unsafe { slice::from_raw_parts(pointer.cast(), length) })
}

/// A NUL-terminated text.
///
/// # Safety
/// The pointer is null, or valid for reads up to a NUL of the same object, which is at most `isize::MAX`
/// bytes away; the text lives for `'a` and is not written meanwhile.
///
/// # Errors
/// The pointer is null, or the text is not UTF-8.
pub unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure::argument(format!("{what} is NULL")));
    }
    // SAFETY: it is not null, and the caller guarantees that it is readable up to its NUL, alive for `'a` and
    // not written meanwhile.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|why| Failure::argument(format!("{what} is not UTF-8: {why}")))
}

/// Transfers ownership of a value to the caller in C.
pub fn give<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Takes ownership back; `None` for null.
///
/// # Safety
/// The pointer is null, or comes from [`give`] with the same `T` and has not been taken back; no reference to
/// its target exists, and it is not used any more.
pub unsafe fn reclaim<T>(pointer: *mut T) -> Option<Box<T>> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: it is not null, and the caller guarantees that it comes from `Box::into_raw` for this type,
    // once, and that nothing refers to its target.
    Some(unsafe { Box::from_raw(pointer) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::MaybeUninit;

    #[test]
    fn an_output_is_written_without_looking_at_what_was_there() {
        let mut place = MaybeUninit::<u64>::uninit();
        // SAFETY: it is room for a number, aligned and ours.
        let out = unsafe { Out::new(place.as_mut_ptr(), "count") };
        out.expect("it is not null").write(7);
        // SAFETY: it was just written.
        assert_eq!(unsafe { place.assume_init() }, 7);
        // SAFETY: null is allowed.
        let none = unsafe { Out::<u64>::new(std::ptr::null_mut(), "count") };
        assert_eq!(none.expect_err("it is null").message, "count is NULL");
        // SAFETY: null is allowed.
        assert!(unsafe { Out::<u64>::optional(std::ptr::null_mut()) }.is_none());
    }
}
