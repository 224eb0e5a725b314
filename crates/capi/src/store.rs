//! A store, and its synchronous operations.

use crate::border::{Out, behind, bytes, cross, give, reclaim};
use crate::failure::{Failure, Status, status_from};
use crate::options::{self, OptionValues};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::time::Duration;
use tailcut_rt::embedded::{Error, Operation, Outcome, PutCondition, Store, Value};

/// How an item is written, as in the header.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Write {
    /// Size of the structure in bytes, as the caller knows it.
    pub size: usize,
    /// A number that is stored with the value and not interpreted.
    pub flags: u32,
    /// Time until the item expires, in seconds; 0 for no expiry.
    pub lifetime: u32,
    /// The condition under which the item is written: `TAILCUT_ALWAYS` (0) to `TAILCUT_IF_VERSION` (3).
    pub when: u32,
    /// Room for later versions of the structure: zero.
    pub reserved: u32,
    /// The version that the item must have, if `when` is `TAILCUT_IF_VERSION`; ignored otherwise.
    pub version: u64,
}

impl Write {
    /// Applies these settings to an operation.
    fn apply(&self, operation: Operation) -> Result<Operation, Failure> {
        if self.reserved != 0 {
            return Err(not_initialised());
        }
        let when = match self.when {
            0 => PutCondition::Always,
            1 => PutCondition::IfAbsent,
            2 => PutCondition::IfPresent,
            3 => PutCondition::IfVersion(self.version),
            when => {
                return Err(Failure::argument(format!(
                    "when is TAILCUT_ALWAYS to TAILCUT_IF_VERSION, and not {when}"
                )));
            }
        };
        Ok(for_a_time(operation.with_flags(self.flags).only(when), self.lifetime))
    }
}

fn not_initialised() -> Failure {
    Failure::argument("how an item is written: begin with TAILCUT_WRITE_INIT, which sets size and reserved")
}

/// Limits the lifetime of the item in seconds; 0 for no expiry.
pub fn for_a_time(operation: Operation, lifetime: u32) -> Operation {
    match lifetime {
        0 => operation,
        seconds => operation.for_a_time(Duration::from_secs(seconds.into())),
    }
}

/// A set operation in an existing buffer.
///
/// # Safety
/// Key, value and `how` are each null, or aligned, readable and initialised in their whole length, and not
/// written until the function returns.
///
/// # Errors
/// A null pointer with a length, a key or value that is too long, or a `how` without its size.
pub unsafe fn set_in(
    buffer: Vec<u8>,
    (key, key_length): (*const c_void, usize),
    (value, value_length): (*const c_void, usize),
    how: *const Write,
) -> Result<Operation, Failure> {
    // SAFETY: the caller guarantees that the key is null, or readable and initialised in its whole length,
    // and not written during the call.
    let key = unsafe { bytes(key, key_length, "key") }?;
    // SAFETY: the caller guarantees that the value is null, or readable and initialised in its whole length,
    // and not written during the call.
    let value = unsafe { bytes(value, value_length, "value") }?;
    let operation = Operation::set_in(buffer, key, value)?;
    if how.is_null() {
        return Ok(operation);
    }
    // SAFETY: the caller guarantees that it is aligned and not written during the call; whatever its version,
    // the structure begins with its size.
    let size = unsafe { how.cast::<usize>().read() };
    if size < size_of::<Write>() {
        return Err(not_initialised());
    }
    // SAFETY: the caller guarantees that it is aligned, readable and initialised in its whole size, which was
    // checked, and not written during the call.
    unsafe { behind(how, "how") }?.apply(operation)
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_open(options: *const OptionValues, store: *mut *mut Store) -> c_int {
    cross(|| {
        // SAFETY: an output: null, or aligned, writable, and accessed by nothing else during the call.
        let store = unsafe { Out::new(store, "store") }?;
        store.write(null_mut());
        // SAFETY: options are a handle: null, or aligned, initialised, alive, and used by this thread alone.
        let options = unsafe { options::read(options) }?;
        store.write(give(Store::open(options)?));
        Ok(Status::Ok)
    })
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_close(store: *mut Store) -> c_int {
    cross(|| {
        // SAFETY: a handle: null, or from `give` in `tailcut_open`, closed once, and used by no other thread
        // meanwhile or later.
        match unsafe { reclaim(store) } {
            Some(store) => Ok(store.close().map(|_| Status::Ok)?),
            None => Ok(Status::Ok),
        }
    })
}

/// Executes an operation; returns its status, and the version if one was written.
///
/// # Safety
/// The store is null, or aligned, initialised, only shared, and not closed until the function returns.
unsafe fn carry_out(store: *const Store, operation: Operation) -> Result<(Status, u64), Failure> {
    // SAFETY: the caller guarantees that it is null, or aligned, initialised, alive and only shared during
    // the call.
    let store = unsafe { behind(store, "store") }?;
    let result = store.carry_out(operation)?.result;
    let version = if let Outcome::Stored { version } = result? { version } else { 0 };
    Ok((status_from(result), version))
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_get(
    store: *mut Store,
    key: *const c_void,
    key_length: usize,
    value: *mut *mut Value,
) -> c_int {
    cross(|| {
        // SAFETY: an output: null, or aligned, writable, and accessed by nothing else during the call.
        let value = unsafe { Out::new(value, "value") }?;
        value.write(null_mut());
        // SAFETY: a store is a handle, made by `tailcut_open`: null, or aligned, initialised, only shared,
        // and not closed during the call.
        let store: &Store = unsafe { behind(store, "store") }?;
        // SAFETY: an input: null, or as many readable, initialised bytes that are not written during the
        // call.
        let key = unsafe { bytes(key, key_length, "key") }?;
        let Some(found) = store.get(key)? else { return Ok(Status::NotFound) };
        value.write(give(found));
        Ok(Status::Ok)
    })
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_set(
    store: *mut Store,
    key: *const c_void,
    key_length: usize,
    value: *const c_void,
    value_length: usize,
    how: *const Write,
    version: *mut u64,
) -> c_int {
    cross(|| {
        // SAFETY: inputs: each null, or aligned, readable and initialised in its whole length, and not
        // written during the call.
        let operation = unsafe { set_in(Vec::new(), (key, key_length), (value, value_length), how) }?;
        // SAFETY: a store is a handle, made by `tailcut_open`: null, or aligned, initialised, only shared,
        // and not closed during the call.
        let (status, new) = unsafe { carry_out(store, operation) }?;
        // SAFETY: an output: null, or aligned, writable, and accessed by nothing else during the call.
        if let Some(version) = unsafe { Out::optional(version) }.filter(|_| status == Status::Ok) {
            version.write(new);
        }
        Ok(status)
    })
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_touch(
    store: *mut Store,
    key: *const c_void,
    key_length: usize,
    lifetime: u32,
) -> c_int {
    // SAFETY: a handle and an input: each null, or aligned, initialised and alive during the call; the store
    // is only shared, and the key is not written.
    unsafe { about_key(store, (key, key_length), |key| Ok(for_a_time(Operation::touch(key)?, lifetime))) }
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_delete(store: *mut Store, key: *const c_void, key_length: usize) -> c_int {
    // SAFETY: a handle and an input: each null, or aligned, initialised and alive during the call; the store
    // is only shared, and the key is not written.
    unsafe { about_key(store, (key, key_length), Operation::delete) }
}

/// Executes an operation on a key.
///
/// # Safety
/// Store and key are each null, or aligned, initialised and alive until the function returns; the store is
/// only shared, and the key is not written.
unsafe fn about_key(
    store: *const Store,
    (key, length): (*const c_void, usize),
    make: impl FnOnce(&[u8]) -> Result<Operation, Error>,
) -> c_int {
    cross(|| {
        // SAFETY: the caller guarantees that the key is null, or readable and initialised in its whole
        // length, and not written during the call.
        let operation = make(unsafe { bytes(key, length, "key") }?)?;
        // SAFETY: the caller guarantees that the store is null, or aligned, initialised, only shared, and not
        // closed during the call.
        unsafe { carry_out(store, operation) }.map(|(status, _)| status)
    })
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_flush(store: *mut Store) -> c_int {
    // SAFETY: a store is a handle, made by `tailcut_open`: null, or aligned, initialised, only shared, and
    // not closed during the call.
    cross(|| unsafe { carry_out(store, Operation::flush()) }.map(|(status, _)| status))
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_clear(store: *mut Store) -> c_int {
    // SAFETY: a store is a handle, made by `tailcut_open`: null, or aligned, initialised, only shared, and
    // not closed during the call.
    cross(|| unsafe { carry_out(store, Operation::clear()) }.map(|(status, _)| status))
}
