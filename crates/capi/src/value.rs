//! Values owned by the caller in C.

use crate::border::reclaim;
use std::ffi::c_void;
use tailcut_rt::embedded::Value;

/// Reads a property of a value; the default for null.
///
/// # Safety
/// The pointer is null, or a value that is aligned, initialised, and not freed or modified until the function
/// returns.
unsafe fn of<R: Default>(value: *const Value, read: impl FnOnce(&Value) -> R) -> R {
    // SAFETY: the caller guarantees that it is null, or aligned, initialised, alive and only shared during
    // the call.
    unsafe { value.as_ref() }.map_or_else(R::default, read)
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_value_data(value: *const Value) -> *const c_void {
    // SAFETY: a value is a handle: null, or aligned, initialised, not freed during the call, and never
    // modified.
    let bytes: &[u8] = unsafe { value.as_ref() }.map_or(&[], |value| value);
    bytes.as_ptr().cast()
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_value_length(value: *const Value) -> usize {
    // SAFETY: a value is a handle: null, or aligned, initialised, not freed during the call, and never
    // modified.
    unsafe { of(value, |value| value.len()) }
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_value_flags(value: *const Value) -> u32 {
    // SAFETY: a value is a handle: null, or aligned, initialised, not freed during the call, and never
    // modified.
    unsafe { of(value, |value| value.flags) }
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_value_version(value: *const Value) -> u64 {
    // SAFETY: a value is a handle: null, or aligned, initialised, not freed during the call, and never
    // modified.
    unsafe { of(value, |value| value.version) }
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_value_free(value: *mut Value) {
    // SAFETY: a handle: null, or from `give` in `tailcut_get` or `tailcut_wait`, freed once, and used by no
    // other thread.
    drop(unsafe { reclaim(value) });
}
