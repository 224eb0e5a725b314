//! The checks of everything that crosses the C interface, in one place.

use crate::failure::{Failure, Status, keep};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
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
/// If not null, the pointer is aligned and its target valid, and nothing modifies the target while the
/// reference is in use.
pub unsafe fn behind<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: the caller guarantees that a non-null pointer is valid.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::argument(format!("{what} is NULL")))
}

/// The value behind a pointer, mutable.
///
/// # Safety
/// As for [`behind`], and nothing else reads the target meanwhile.
pub unsafe fn behind_mut<'a, T>(pointer: *mut T, what: &str) -> Result<&'a mut T, Failure> {
    // SAFETY: the caller guarantees that a non-null pointer is valid.
    unsafe { pointer.as_mut() }.ok_or_else(|| Failure::argument(format!("{what} is NULL")))
}

/// `length` bytes from a pointer on; it may be null if there are none.
///
/// # Safety
/// If not null, the pointer is valid for `length` bytes, and nothing modifies them while the slice is in use.
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
    // SAFETY: it is not null, the length is at most `isize::MAX`, and the caller guarantees the rest.
    Ok(unsafe { slice::from_raw_parts(pointer.cast(), length) })
}

/// A NUL-terminated text.
///
/// # Safety
/// If not null, the text is NUL-terminated, and nothing modifies it while it is in use.
pub unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure::argument(format!("{what} is NULL")));
    }
    // SAFETY: it is not null, and the caller guarantees the rest.
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
/// The pointer comes from [`give`], is taken back once, and is no longer used.
pub unsafe fn reclaim<T>(pointer: *mut T) -> Option<Box<T>> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: it is not null, and the caller guarantees the rest.
    Some(unsafe { Box::from_raw(pointer) })
}
