//! Return values, and the message of the last error.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use tailcut_rt::embedded::{CannotOpen, Error, Outcome};

/// Return values, as in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// The operation was carried out.
    Ok = 0,
    /// The item does not exist.
    NotFound = 1,
    /// The item was not written, because its condition does not hold.
    NotStored = 2,
    /// An argument is invalid.
    Argument = -1,
    /// A key is invalid.
    Key = -2,
    /// The item is too large.
    TooLarge = -3,
    /// The store has no room.
    Full = -4,
    /// The queue has no room.
    Busy = -5,
    /// The drive cannot read.
    Unreadable = -6,
    /// The drive cannot write.
    DriveFailed = -7,
    /// The store is closed.
    Closed = -8,
    /// The store cannot be opened.
    Open = -9,
    /// The store has no such drive.
    NoDrive = -10,
    /// The array controls its drives by itself.
    Steered = -11,
    /// The drive does not support the call.
    Unsupported = -12,
    /// The drive refuses the call.
    Refused = -13,
    /// A panic in the library: an invariant was broken.
    Bug = -14,
    /// The system refuses a resource.
    System = -15,
}

impl Status {
    /// All return values.
    pub const ALL: [Status; 18] = [
        Status::Ok,
        Status::NotFound,
        Status::NotStored,
        Status::Argument,
        Status::Key,
        Status::TooLarge,
        Status::Full,
        Status::Busy,
        Status::Unreadable,
        Status::DriveFailed,
        Status::Closed,
        Status::Open,
        Status::NoDrive,
        Status::Steered,
        Status::Unsupported,
        Status::Refused,
        Status::Bug,
        Status::System,
    ];

    /// Its meaning, for completions, which have no message of their own.
    fn text(self) -> &'static CStr {
        match self {
            Status::Ok => c"done",
            Status::NotFound => c"there is no such item",
            Status::NotStored => c"the item was not written, as there is another one, or none",
            Status::Argument => c"an argument cannot be: see tailcut.h",
            Status::Key => c"a key has 1 to 250 bytes",
            Status::TooLarge => {
                c"the item is too large: open the store with a larger \
                tailcut_options_most_item"
            }
            Status::Full => c"the store is full: delete items, give it larger drives, or open it as a cache",
            Status::Busy => {
                c"the queue is full: take completions with tailcut_wait, or open one with more \
                room"
            }
            Status::Unreadable => {
                c"the item cannot be read: the drive has failed, or has changed what was \
                written"
            }
            Status::DriveFailed => {
                c"the drive has failed, and nothing more can be made durable: close the store and replace \
                    the drive"
            }
            Status::Closed => c"the store is closed: open it again",
            Status::Open => c"the store cannot be opened",
            Status::NoDrive => c"the store has no drive of this number: they count from 0",
            Status::Steered => c"the array steers its drives by itself: they can only be asked",
            Status::Unsupported => c"the drive does not know this call: emulated drives do",
            Status::Refused => c"the values do not fit the drive or its state",
            Status::Bug => c"a bug in tailcut",
            Status::System => c"the system refuses a descriptor or a thread",
        }
    }
}

/// An error to be returned to the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The status that the function returns.
    pub status: Status,
    /// What is wrong, and what helps.
    pub message: String,
}

impl Failure {
    /// A failure with [`Status::Argument`]: `message` names the argument and what would be right.
    pub fn argument(message: impl Into<String>) -> Failure {
        Failure { status: Status::Argument, message: message.into() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure { status: status_of(error), message: error.to_string() }
    }
}

impl From<CannotOpen> for Failure {
    fn from(error: CannotOpen) -> Failure {
        let status = if let CannotOpen::Bug(_) = error { Status::Bug } else { Status::Open };
        Failure { status, message: error.to_string() }
    }
}

/// The return value for an error.
pub fn status_of(error: Error) -> Status {
    match error {
        Error::Key(_) => Status::Key,
        Error::TooLarge { .. } => Status::TooLarge,
        Error::Full => Status::Full,
        Error::Busy => Status::Busy,
        Error::Unreadable => Status::Unreadable,
        Error::DriveFailed => Status::DriveFailed,
        Error::NoDrive(_) => Status::NoDrive,
        Error::Steered => Status::Steered,
        Error::Bug => Status::Bug,
        Error::Closed => Status::Closed,
    }
}

/// The return value for the result of an operation.
pub fn status_from(result: Result<Outcome, Error>) -> Status {
    match result {
        Ok(Outcome::Found { .. } | Outcome::Stored { .. } | Outcome::Done) => Status::Ok,
        Ok(Outcome::NotFound) => Status::NotFound,
        Ok(Outcome::NotStored) => Status::NotStored,
        Err(why) => status_of(why),
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Stores a message for [`tailcut_error`].
pub fn keep(message: &str) {
    // A path may contain any byte but NUL, which would end the message.
    let text: Vec<u8> = message.bytes().take_while(|&byte| byte != 0).collect();
    LAST.with(|last| *last.borrow_mut() = CString::new(text).unwrap_or_default());
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn tailcut_error() -> *const c_char {
    LAST.with(|last| last.borrow().as_ptr())
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn tailcut_status_text(status: c_int) -> *const c_char {
    let known = Status::ALL.iter().find(|&&known| known as c_int == status);
    known.map_or(c"no status of tailcut", |known| known.text()).as_ptr()
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn tailcut_version() -> *const c_char {
    VERSION.as_ptr()
}

/// See the header.
#[unsafe(no_mangle)]
pub extern "C" fn tailcut_abi() -> u32 {
    ABI
}

/// Version of the binary interface; the name of the shared library ends with it.
pub const ABI: u32 = 0;

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => panic!("a version holds no zero"),
};
