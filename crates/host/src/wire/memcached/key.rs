//! Keys of items.

/// A key: 1 to [`KEY_BYTES`] bytes.
///
/// A key sent as text contains no space, newline or NUL. The protocol also forbids other control characters,
/// but memcached accepts them, and so does this. A key sent in base64 may contain any byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key<'a>(&'a [u8]);

/// Longest key in bytes as sent in its command (`KEY_MAX_LENGTH` of memcached).
pub const KEY_BYTES: usize = 250;

impl<'a> Key<'a> {
    /// A key; None if `bytes` is empty or too long.
    pub fn new(bytes: &'a [u8]) -> Option<Key<'a>> {
        (1..=KEY_BYTES).contains(&bytes.len()).then_some(Key(bytes))
    }

    /// The bytes of the key.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}
