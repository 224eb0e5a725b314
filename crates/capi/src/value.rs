//! Values owned by the caller in C.

use crate::border::reclaim;
use std::ffi::c_void;
use tailcut_rt::embedded::Value;

/// Reads a property of a value; the default for null.
///
/// # Safety
/// The pointer is null, or a value that was not freed.
unsafe fn of<R: Default>(value: *const Value, read: impl FnOnce(&Value) -> R) -> R {
    // SAFETY: the caller guarantees that it is null or valid.
    unsafe { value.as_ref() }.map_or_else(R::default, read)
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_value_data(value: *const Value) -> *const c_void {
    // SAFETY: a value is valid until it is freed.
    let bytes: &[u8] = unsafe { value.as_ref() }.map_or(&[], |value| value);
    bytes.as_ptr().cast()
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_value_length(value: *const Value) -> usize {
    // SAFETY: a value is valid until it is freed.
    unsafe { of(value, |value| value.len()) }
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_value_flags(value: *const Value) -> u32 {
    // SAFETY: a value is valid until it is freed.
    unsafe { of(value, |value| value.flags) }
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_value_version(value: *const Value) -> u64 {
    // SAFETY: a value is valid until it is freed.
    unsafe { of(value, |value| value.version) }
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_value_free(value: *mut Value) {
    // SAFETY: values come from this library, and belong to the caller that frees them.
    drop(unsafe { reclaim(value) });
}
