//! What is checked of all that comes from the other side, in one place.

use crate::failure::{Failure, Status, keep};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

/// Does the work of a function: errors become what it returns and the message of the thread, and so do
/// panics.
pub fn cross(work: impl FnOnce() -> Result<Status, Failure>) -> c_int {
    // What a panic has left half done is behind the locks of the store, or given up with it.
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

/// What a pointer names.
///
/// # Safety
/// If it is not null, it is aligned, and what it names is there and changed by nobody as long as the
/// reference is used.
pub unsafe fn behind<'a, T>(pointer: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: the caller vouches for what is not null.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::argument(format!("{what} is NULL")))
}

/// The same, to be changed.
///
/// # Safety
/// As for [`behind`], and nobody else reads it meanwhile.
pub unsafe fn behind_mut<'a, T>(pointer: *mut T, what: &str) -> Result<&'a mut T, Failure> {
    // SAFETY: the caller vouches for what is not null.
    unsafe { pointer.as_mut() }.ok_or_else(|| Failure::argument(format!("{what} is NULL")))
}

/// So many bytes from a pointer on; it may be null if there are none.
///
/// # Safety
/// If it is not null, so many bytes are there and changed by nobody as long as the slice is used.
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
    // SAFETY: it is not null, the length is one that can be, and the caller vouches for the rest.
    Ok(unsafe { slice::from_raw_parts(pointer.cast(), length) })
}

/// A text that ends with a zero.
///
/// # Safety
/// If it is not null, there is a zero, and up to it nothing is changed by anybody as long as the text is
/// used.
pub unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure::argument(format!("{what} is NULL")));
    }
    // SAFETY: it is not null, and the caller vouches for the rest.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|why| Failure::argument(format!("{what} is not UTF-8: {why}")))
}

/// Hands a value over to the other side.
pub fn give<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Takes it back; nothing for null.
///
/// # Safety
/// It comes from [`give`], is taken back once, and used by nobody any more.
pub unsafe fn take_back<T>(pointer: *mut T) -> Option<Box<T>> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: it is not null, and the caller vouches for the rest.
    Some(unsafe { Box::from_raw(pointer) })
}
