//! What a value is found by.

/// A key: 1 to [`KEY_BYTES`] bytes.
///
/// One that came as text has no space, newline or NUL in it. The protocol's text forbids other control
/// characters, too, but the program lets them through, and so does this. One that came in base64 is of any
/// bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key<'a>(&'a [u8]);

/// The longest key, as it stands in its command (`KEY_MAX_LENGTH` of the program).
pub const KEY_BYTES: usize = 250;

impl<'a> Key<'a> {
    /// Nothing if it is empty or too long.
    pub fn new(bytes: &'a [u8]) -> Option<Key<'a>> {
        (1..=KEY_BYTES).contains(&bytes.len()).then_some(Key(bytes))
    }

    /// Its bytes.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}
