//! What a store is asked for, and what came of it.

use super::error::Error;
use std::ops::Deref;
use std::time::Duration;
use tailcut_host::kv::MOST_KEY;

/// Something that is to be done. Key and value stand in one buffer, which comes back with the completion and
/// can be used again, so that operations need no memory once a few were carried out.
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
    Set { flags: u32, lifetime: Lifetime, when: When },
    Touch { lifetime: Lifetime },
    Delete,
    Flush,
    Clear,
}

/// In seconds; 0 is for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lifetime(pub u32);

/// When an item is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// Whatever is there.
    #[default]
    Always,
    /// Only if there is none.
    IfAbsent,
    /// Only if there is one.
    IfPresent,
    /// Only if there is one of this version: nobody has changed it since it was read.
    IfVersion(u64),
}

/// What came of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The item, whose value is [`Completion::value`].
    Found {
        /// The number that was set with it.
        flags: u32,
        /// A number that changes whenever the item does.
        version: u64,
    },
    /// There is no such item: nothing to get, touch or delete.
    NotFound,
    /// It was written.
    Stored {
        /// Its version from now on.
        version: u64,
    },
    /// It was not, as [`When`] says.
    NotStored,
    /// The rest was done.
    Done,
}

/// An operation has ended.
#[derive(Debug)]
pub struct Completion {
    /// What the operation was submitted with.
    pub user_data: u64,
    /// What came of it.
    pub result: Result<Outcome, Error>,
    pub(super) data: Data,
}

/// An item that was found.
#[derive(Debug)]
pub struct Value {
    /// The number that was set with it.
    pub flags: u32,
    /// A number that changes whenever the item does; see [`When::IfVersion`].
    pub version: u64,
    pub(super) data: Data,
}

impl Operation {
    /// Looks for an item.
    ///
    /// # Errors
    /// [`Error::Key`], as all of these.
    pub fn get(key: &[u8]) -> Result<Operation, Error> {
        Operation::get_in(Vec::new(), key)
    }

    /// The same with memory that is there, as from [`Completion::into_buffer`].
    ///
    /// # Errors
    /// [`Error::Key`].
    pub fn get_in(buffer: Vec<u8>, key: &[u8]) -> Result<Operation, Error> {
        Operation::of(Verb::Get, buffer, key, &[])
    }

    /// Writes an item, for ever unless [`Operation::for_a_time`] says otherwise.
    ///
    /// # Errors
    /// [`Error::Key`].
    pub fn set(key: &[u8], value: &[u8]) -> Result<Operation, Error> {
        Operation::set_in(Vec::new(), key, value)
    }

    /// The same with memory that is there.
    ///
    /// # Errors
    /// [`Error::Key`].
    pub fn set_in(buffer: Vec<u8>, key: &[u8], value: &[u8]) -> Result<Operation, Error> {
        let verb = Verb::Set { flags: 0, lifetime: Lifetime(0), when: When::Always };
        Operation::of(verb, buffer, key, value)
    }

    /// Gives an item another time to live, for ever unless [`Operation::for_a_time`] says otherwise.
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

    /// Makes durable what was changed by operations that have completed before it is submitted. In a cache
    /// that is what it has on its drive: what is only in memory is lost with it.
    pub fn flush() -> Operation {
        Operation { verb: Verb::Flush, data: Data::default() }
    }

    /// Forgets all items.
    pub fn clear() -> Operation {
        Operation { verb: Verb::Clear, data: Data::default() }
    }

    fn of(verb: Verb, buffer: Vec<u8>, key: &[u8], value: &[u8]) -> Result<Operation, Error> {
        Ok(Operation { verb, data: Data::new(buffer, key, value)? })
    }

    /// What is set has this number beside its value, of which the store makes nothing.
    #[must_use]
    pub fn with_flags(mut self, number: u32) -> Operation {
        if let Verb::Set { flags, .. } = &mut self.verb {
            *flags = number;
        }
        self
    }

    /// What is set or touched is there for a time, rounded up to seconds. The first one is what is left of
    /// the second that runs on the clock on the wall.
    #[must_use]
    pub fn for_a_time(mut self, time: Duration) -> Operation {
        if let Verb::Set { lifetime, .. } | Verb::Touch { lifetime } = &mut self.verb {
            *lifetime = Lifetime::of(time);
        }
        self
    }

    /// It is set only in this case.
    #[must_use]
    pub fn only(mut self, case: When) -> Operation {
        if let Verb::Set { when, .. } = &mut self.verb {
            *when = case;
        }
        self
    }

    /// Its key; empty if it is about none.
    pub fn key(&self) -> &[u8] {
        self.data.key()
    }
}

impl Lifetime {
    fn of(time: Duration) -> Lifetime {
        let seconds = time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0));
        // What is over at once is over with the second that is running; what would outlive 2106 ends then.
        Lifetime(u32::try_from(seconds).unwrap_or(u32::MAX).max(1))
    }

    /// When that is over, in seconds of Unix time; 0 for never.
    pub fn from(self, unix: u32) -> u32 {
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
    pub fn key(&self) -> &[u8] {
        &self.bytes[..usize::from(self.key)]
    }

    #[inline]
    pub fn value(&self) -> &[u8] {
        &self.bytes[usize::from(self.key)..]
    }

    /// Puts pieces of a value in place of the one that is there.
    pub fn set_value<'a>(&mut self, pieces: impl Iterator<Item = &'a [u8]>) {
        self.bytes.truncate(usize::from(self.key));
        pieces.for_each(|piece| self.bytes.extend_from_slice(piece));
    }
}

impl Completion {
    /// The key; empty if the operation was about none.
    pub fn key(&self) -> &[u8] {
        self.data.key()
    }

    /// The value that was found, or was to be set; else empty.
    pub fn value(&self) -> &[u8] {
        self.data.value()
    }

    /// The item that was looked for, if it was found.
    ///
    /// # Errors
    /// Why the operation was not carried out.
    pub fn into_value(self) -> Result<Option<Value>, Error> {
        Ok(match self.result? {
            Outcome::Found { flags, version } => Some(Value { flags, version, data: self.data }),
            _ => None,
        })
    }

    /// Its memory, for another operation.
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
