//! Values that belong to the other side.

use crate::border::take_back;
use std::ffi::c_void;
use tailcut_rt::embedded::Value;

/// Reads something of a value; the default of null.
///
/// # Safety
/// It is null, or a value that was not freed.
unsafe fn of<R: Default>(value: *const Value, read: impl FnOnce(&Value) -> R) -> R {
    // SAFETY: the caller vouches for it.
    unsafe { value.as_ref() }.map_or_else(R::default, read)
}

/// See the header.
///
/// # Safety
/// As the header says of all pointers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_value_data(value: *const Value) -> *const c_void {
    // SAFETY: values are there until they are freed.
    let bytes: &[u8] = unsafe { value.as_ref() }.map_or(&[], |value| value);
    bytes.as_ptr().cast()
}

/// See the header.
///
/// # Safety
/// As the header says of all pointers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_value_length(value: *const Value) -> usize {
    // SAFETY: values are there until they are freed.
    unsafe { of(value, |value| value.len()) }
}

/// See the header.
///
/// # Safety
/// As the header says of all pointers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_value_flags(value: *const Value) -> u32 {
    // SAFETY: values are there until they are freed.
    unsafe { of(value, |value| value.flags) }
}

/// See the header.
///
/// # Safety
/// As the header says of all pointers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_value_version(value: *const Value) -> u64 {
    // SAFETY: values are there until they are freed.
    unsafe { of(value, |value| value.version) }
}

/// See the header.
///
/// # Safety
/// As the header says of all pointers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_value_free(value: *mut Value) {
    // SAFETY: values come from here, and belong to who frees them.
    drop(unsafe { take_back(value) });
}
