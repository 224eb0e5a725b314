//! The options with which a store is opened.

use crate::border::{behind, behind_mut, cross, give, reclaim, text};
use crate::failure::{Failure, Status};
use std::ffi::{c_char, c_int};
use std::path::PathBuf;
use tailcut_base::config::Choice;
use tailcut_host::array::LayoutKind;
use tailcut_rt::embedded::{Keep, Options, Place};

/// The options set so far.
#[derive(Clone, Debug, Default)]
pub struct OptionValues {
    memory: Option<u64>,
    most_item: Option<u64>,
    is_store: bool,
    is_durable: bool,
    is_new: bool,
    is_degraded_accepted: bool,
    paths: Vec<PathBuf>,
    file_bytes: u64,
    emulated: u32,
    memory_drive: u64,
    layout: Option<(LayoutKind, u32)>,
}

impl OptionValues {
    /// The complete options.
    ///
    /// # Errors
    /// The options contradict each other.
    pub fn options(&self) -> Result<Options, Failure> {
        let given = [!self.paths.is_empty(), self.emulated > 0, self.memory_drive > 0];
        if given.iter().filter(|&&is_given| is_given).count() > 1 {
            return Err(wrong(
                "devices, emulated drives and a drive in memory exclude each other: give one kind",
            ));
        }
        let drives = self.emulated.max(self.paths.len() as u32);
        if self.layout.is_some() && drives == 0 {
            return Err(wrong("an array needs drives: give devices, or emulated ones"));
        }
        if self.layout.is_none() && drives > 1 {
            return Err(wrong(
                "several drives need a layout: give one with tailcut_options_array, or one drive",
            ));
        }
        let mut options = match given {
            [true, ..] => Options::on_devices(self.paths.clone(), self.layout),
            [_, true, _] => Options::emulated(self.emulated, self.layout),
            _ => Options::in_memory(),
        };
        match &mut options.place {
            Place::Devices { file_bytes, .. } => *file_bytes = self.file_bytes,
            place if self.memory_drive > 0 => *place = Place::MemoryDrive(self.memory_drive),
            _ => {}
        }
        options.keep = if self.is_store { Keep::Everything } else { Keep::WhatIsUsed };
        (options.is_durable, options.create) = (self.is_durable, self.is_new);
        options.degraded = self.is_degraded_accepted;
        options.memory = self.memory.unwrap_or(options.memory);
        options.most_item = self.most_item.unwrap_or(options.most_item);
        Ok(options)
    }
}

fn wrong(message: &str) -> Failure {
    Failure { status: Status::Open, message: message.into() }
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn tailcut_options_new() -> *mut OptionValues {
    give(OptionValues::default())
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_options_free(options: *mut OptionValues) {
    // SAFETY: a handle: null, or from `give` in `tailcut_options_new`, freed once, and used by no other
    // thread.
    drop(unsafe { reclaim(options) });
}

/// Changes options.
///
/// # Safety
/// They are null, or aligned, initialised, alive, and used by this thread alone.
unsafe fn change(
    options: *mut OptionValues,
    change: impl FnOnce(&mut OptionValues) -> Result<(), Failure>,
) -> c_int {
    cross(|| {
        // SAFETY: the caller guarantees that they are null, or aligned, initialised, alive and used by this
        // thread alone.
        let options = unsafe { behind_mut(options, "options") }?;
        change(options).map(|()| Status::Ok)
    })
}

/// A function that sets one option.
macro_rules! setter {
    ($name:ident($value:ident: $kind:ty), $options:ident => $set:expr) => {
        /// See the header.
        ///
        /// # Safety
        /// The pointers satisfy the rules of the header.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(options: *mut OptionValues, $value: $kind) -> c_int {
            // SAFETY: options are a handle: null, or aligned, initialised, alive, and used by this thread
            // alone.
            unsafe { change(options, |$options| $set) }
        }
    };
}

setter!(tailcut_options_memory(bytes: u64), options => {
    options.memory = Some(bytes);
    Ok(())
});
setter!(tailcut_options_most_item(bytes: u64), options => {
    options.most_item = Some(bytes);
    Ok(())
});
setter!(tailcut_options_keep(keep: c_int), options => match keep {
    0 | 1 => {
        options.is_store = keep == 1;
        Ok(())
    }
    _ => Err(Failure::argument(format!("keep is TAILCUT_CACHE or TAILCUT_STORE, and not {keep}"))),
});
setter!(tailcut_options_durable(is_durable: c_int), options => {
    options.is_durable = is_durable != 0;
    Ok(())
});
setter!(tailcut_options_create(is_new: c_int), options => {
    options.is_new = is_new != 0;
    Ok(())
});
setter!(tailcut_options_degraded(is_accepted: c_int), options => {
    options.is_degraded_accepted = is_accepted != 0;
    Ok(())
});
setter!(tailcut_options_file_bytes(bytes: u64), options => {
    options.file_bytes = bytes;
    Ok(())
});
setter!(tailcut_options_emulated(drives: u32), options => match drives {
    1..=MOST_DRIVES => {
        options.emulated = drives;
        Ok(())
    }
    _ => Err(Failure::argument(format!("there can be 1 to {MOST_DRIVES} emulated drives, and not {drives}"))),
});
setter!(tailcut_options_memory_drive(bytes: u64), options => {
    options.memory_drive = bytes;
    Ok(())
});

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_options_device(options: *mut OptionValues, path: *const c_char) -> c_int {
    let add = |options: &mut OptionValues| {
        // SAFETY: an input: null, or a readable text with a NUL at its end that is not written during the
        // call.
        let path = unsafe { text(path, "path") }?;
        if path.is_empty() || options.paths.len() >= MOST_DRIVES as usize {
            return Err(Failure::argument(format!(
                "a path is not empty, and there are at most {MOST_DRIVES}"
            )));
        }
        options.paths.push(path.into());
        Ok(())
    };
    // SAFETY: options are a handle: null, or aligned, initialised, alive, and used by this thread alone.
    unsafe { change(options, add) }
}

/// See the header.
///
/// # Safety
/// The pointers satisfy the rules of the header.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tailcut_options_array(
    options: *mut OptionValues,
    layout: *const c_char,
    groups: u32,
) -> c_int {
    let set = |options: &mut OptionValues| {
        // SAFETY: an input: null, or a readable text with a NUL at its end that is not written during the
        // call.
        let name = unsafe { text(layout, "layout") }?;
        let layout = LayoutKind::all().iter().find(|layout| layout.name() == name);
        let names = || {
            Failure::argument(format!(
                "there is no layout {name}: give one of {}",
                LayoutKind::NAMES.join(", ")
            ))
        };
        options.layout = Some((*layout.ok_or_else(names)?, groups));
        Ok(())
    };
    // SAFETY: options are a handle: null, or aligned, initialised, alive, and used by this thread alone.
    unsafe { change(options, set) }
}

/// The options that were set; the defaults for null.
///
/// # Safety
/// They are null, or aligned, initialised, alive, and not modified meanwhile.
///
/// # Errors
/// The options contradict each other.
pub unsafe fn read(options: *const OptionValues) -> Result<Options, Failure> {
    if options.is_null() {
        return OptionValues::default().options();
    }
    // SAFETY: the caller guarantees that they are null, or aligned, initialised, alive and used by this
    // thread alone.
    unsafe { behind(options, "options") }?.options()
}

/// Maximum number of drives below a store.
const MOST_DRIVES: u32 = 64;
