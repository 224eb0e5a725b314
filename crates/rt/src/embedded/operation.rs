//! Operations on a store, and their results.

use super::error::Error;
use std::ops::Deref;
use std::time::Duration;
use tailcut_host::kv::MOST_KEY;

/// An operation on a store. Key and value share one buffer, which is returned with the completion for reuse,
/// so that operations allocate no memory in the steady state.
#[derive(Debug)]
pub struct Operation {
    pub(super) verb: Verb,
    pub(super) data: Data,
}

/// A key, and a value behind it.
#[derive(Debug, Default)]
pub(super) struct Data {
    bytes: Vec<u8>,
    key: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Get,
    Set { flags: u32, lifetime: Lifetime, when: PutCondition },
    Touch { lifetime: Lifetime },
    Delete,
    Flush,
    Clear,
}

/// Time to live in seconds; 0 for no expiry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lifetime(pub u32);

/// Condition for writing an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PutCondition {
    /// Write in any case.
    #[default]
    Always,
    /// Only if there is no item.
    IfAbsent,
    /// Only if there is an item.
    IfPresent,
    /// Only if the item has this version: it has not changed since it was read.
    IfVersion(u64),
}

/// Result of an operation that was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The item was found; its value is [`Completion::value`].
    Found {
        /// The number that was stored with the item.
        flags: u32,
        /// A number that changes with every change of the item.
        version: u64,
    },
    /// There is no such item to get, touch or delete.
    NotFound,
    /// The item was written.
    Stored {
        /// Its new version.
        version: u64,
    },
    /// The item was not written, because the condition [`PutCondition`] does not hold.
    NotStored,
    /// Any other operation was executed.
    Done,
}

/// Completion of an operation.
#[derive(Debug)]
pub struct Completion {
    /// The number that the operation was submitted with.
    pub user_data: u64,
    /// What the operation returned, or why it failed.
    pub result: Result<Outcome, Error>,
    pub(super) data: Data,
}

/// An item that was found.
#[derive(Debug)]
pub struct Value {
    /// The number that was stored with the item by [`Operation::with_flags`]; 0 by default.
    pub flags: u32,
    /// A number that changes with every change of the item; see [`PutCondition::IfVersion`].
    pub version: u64,
    pub(super) data: Data,
}

impl Operation {
    /// Reads an item.
    ///
    /// # Errors
    /// [`Error::Key`].
    pub fn get(key: &[u8]) -> Result<Operation, Error> {
        Operation::get_in(Vec::new(), key)
    }

    /// Reads an item; reuses the memory of `buffer`, such as that from [`Completion::into_buffer`].
    ///
    /// # Errors
    /// [`Error::Key`].
    pub fn get_in(buffer: Vec<u8>, key: &[u8]) -> Result<Operation, Error> {
        Operation::of(Verb::Get, buffer, key, &[])
    }

    /// Writes an item, without expiry unless [`Operation::for_a_time`] sets one.
    ///
    /// # Errors
    /// [`Error::Key`].
    pub fn set(key: &[u8], value: &[u8]) -> Result<Operation, Error> {
        Operation::set_in(Vec::new(), key, value)
    }

    /// Writes an item, without expiry unless [`Operation::for_a_time`] sets one; reuses the memory of
    /// `buffer`.
    ///
    /// # Errors
    /// [`Error::Key`].
    pub fn set_in(buffer: Vec<u8>, key: &[u8], value: &[u8]) -> Result<Operation, Error> {
        let verb = Verb::Set { flags: 0, lifetime: Lifetime(0), when: PutCondition::Always };
        Operation::of(verb, buffer, key, value)
    }

    /// Changes the expiry of an item: to none, unless [`Operation::for_a_time`] sets one.
    ///
    /// # Errors
    /// [`Error::Key`].
    pub fn touch(key: &[u8]) -> Result<Operation, Error> {
        Operation::of(Verb::Touch { lifetime: Lifetime(0) }, Vec::new(), key, &[])
    }

    /// Deletes an item.
    ///
    /// # Errors
    /// [`Error::Key`].
    pub fn delete(key: &[u8]) -> Result<Operation, Error> {
        Operation::of(Verb::Delete, Vec::new(), key, &[])
    }

    /// Makes changes durable whose operations completed before this one is submitted. In a cache these are
    /// the items on its drive: items only in memory are lost when it ends.
    pub fn flush() -> Operation {
        Operation { verb: Verb::Flush, data: Data::default() }
    }

    /// Deletes all items of the store.
    pub fn clear() -> Operation {
        Operation { verb: Verb::Clear, data: Data::default() }
    }

    fn of(verb: Verb, buffer: Vec<u8>, key: &[u8], value: &[u8]) -> Result<Operation, Error> {
        Ok(Operation { verb, data: Data::new(buffer, key, value)? })
    }

    /// Stores this number with the item; the store does not interpret it.
    #[must_use]
    pub fn with_flags(mut self, number: u32) -> Operation {
        if let Verb::Set { flags, .. } = &mut self.verb {
            *flags = number;
        }
        self
    }

    /// Sets the time to live of the item, rounded up to seconds of the wall clock; the first one is the rest
    /// of the current second.
    #[must_use]
    pub fn for_a_time(mut self, time: Duration) -> Operation {
        if let Verb::Set { lifetime, .. } | Verb::Touch { lifetime } = &mut self.verb {
            *lifetime = Lifetime::of(time);
        }
        self
    }

    /// Makes a write conditional on `case`; other operations stay as they are.
    #[must_use]
    pub fn only(mut self, case: PutCondition) -> Operation {
        if let Verb::Set { when, .. } = &mut self.verb {
            *when = case;
        }
        self
    }

    /// Key of the item; empty for an operation without one.
    pub fn key(&self) -> &[u8] {
        self.data.key()
    }
}

impl Lifetime {
    fn of(time: Duration) -> Lifetime {
        let seconds = time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0));
        // A lifetime of zero ends with the current second; one beyond 2106 is capped there.
        Lifetime(u32::try_from(seconds).unwrap_or(u32::MAX).max(1))
    }

    /// Expiry of a lifetime that begins at `unix`, in seconds of Unix time; 0 for never.
    pub(super) fn from(self, unix: u32) -> u32 {
        if self.0 == 0 { 0 } else { unix.saturating_add(self.0) }
    }
}

impl Data {
    fn new(mut bytes: Vec<u8>, key: &[u8], value: &[u8]) -> Result<Data, Error> {
        if key.is_empty() || key.len() > MOST_KEY {
            return Err(Error::Key(key.len()));
        }
        bytes.clear();
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value);
        Ok(Data { bytes, key: key.len() as u8 })
    }

    #[inline]
    pub(super) fn key(&self) -> &[u8] {
        &self.bytes[..usize::from(self.key)]
    }

    #[inline]
    pub(super) fn value(&self) -> &[u8] {
        &self.bytes[usize::from(self.key)..]
    }

    /// Replaces the value by the given pieces.
    pub(super) fn set_value<'a>(&mut self, pieces: impl Iterator<Item = &'a [u8]>) {
        self.bytes.truncate(usize::from(self.key));
        pieces.for_each(|piece| self.bytes.extend_from_slice(piece));
    }
}

impl Completion {
    /// Key of the item; empty for an operation without one.
    pub fn key(&self) -> &[u8] {
        self.data.key()
    }

    /// The value that was found or was to be written; otherwise empty.
    pub fn value(&self) -> &[u8] {
        self.data.value()
    }

    /// The item of a get; `None` if it was not found.
    ///
    /// # Errors
    /// The reason why the operation was not executed.
    pub fn into_value(self) -> Result<Option<Value>, Error> {
        Ok(match self.result? {
            Outcome::Found { flags, version } => Some(Value { flags, version, data: self.data }),
            _ => None,
        })
    }

    /// The memory of the operation, for reuse by another.
    pub fn into_buffer(self) -> Vec<u8> {
        self.data.bytes
    }
}

impl Deref for Value {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.data.value()
    }
}
