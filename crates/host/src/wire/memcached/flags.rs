//! The flags of a meta command: words of one letter behind its key, some with a value.

use super::base64::Decoded;
use super::expiry::Expiry;
use super::number;
use super::refusal::Refusal;
use tailcut_base::cast::to_u8;

/// The flags of one meta command.
///
/// As in memcached, any flag may follow any command; flags that a command does not use are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetaFlags {
    /// `T`: new expiry time, as for [`Expiry::new`].
    pub exptime: Option<i64>,
    /// `N`: autovivify: create a missing item with this expiry time.
    pub autovivify: Option<i64>,
    /// `R`: the client wins the right to recache if less than this time is left before expiry.
    pub recache: Option<i64>,
    /// `C`: CAS value that the item must have; for `ma`, 0 is any. For `mg`, the value that the client has:
    /// it is not sent again if the item still has this CAS value.
    pub cas: Option<u64>,
    /// `E`: CAS value to set, if the command sets one.
    pub new_cas: Option<u64>,
    /// `F`: client flags to store; 0 if absent.
    pub client_flags: u32,
    /// `D`: by how much a count changes the number; `None` if absent.
    pub delta: Option<u64>,
    /// `J`: initial value of an autovivified count.
    pub initial: u64,
    /// `M`: mode letter, the first behind it; a space if there is none.
    pub mode: Option<u8>,
    letters: u64,
    order: [u8; MOST_FLAGS],
    count: u8,
    opaque: [u8; OPAQUE_BYTES],
    opaque_bytes: u8,
}

/// Largest number of flags of a command. Name, key and flags are at most 20 words.
pub const MOST_FLAGS: usize = 18;

/// Longest opaque token in bytes, without its letter.
pub const OPAQUE_BYTES: usize = 31;

impl MetaFlags {
    /// Parses the words behind `key`, which is decoded if a flag demands it. Of several errors the last is
    /// reported, except that one that stops parsing is reported at once; memcached does the same.
    pub(super) fn read(words: &[&[u8]], key: &[u8], decoded: &mut Decoded) -> Result<MetaFlags, Refusal> {
        let (mut flags, mut wrong) = (MetaFlags::default(), None);
        decoded.clear();
        for word in words {
            flags.note(word[0])?;
            let read = match word[0] {
                b'b' if decoded.set(key) => Ok(()),
                b'b' => Err(Refusal::Base64),
                letter => flags.take(letter, &word[1..], wrong),
            };
            wrong = read.err().or(wrong);
        }
        wrong.map_or(Ok(flags), Err)
    }

    /// True if a word can be a flag at all: memcached refuses a line with any other before it looks at flags.
    pub(super) fn is_word(word: &[u8]) -> bool {
        matches!(word.first(), Some(b'A'..=b'z' | b'0'..=b'9'))
    }

    /// True if the flag is present.
    pub fn has(&self, letter: u8) -> bool {
        bit(letter).is_some_and(|bit| self.letters & bit != 0)
    }

    /// `q`: suppress the expected reply.
    pub fn is_quiet(&self) -> bool {
        self.has(b'q')
    }

    /// `v`: whether the reply is to contain the value.
    pub fn wants_value(&self) -> bool {
        self.has(b'v')
    }

    /// True if `mg` returns the value of an item with this CAS value: not if the client has it already (`C`).
    pub fn returns_value(&self, cas: u64) -> bool {
        self.wants_value() && self.cas != Some(cas)
    }

    /// `I`: `md` marks the item as stale instead of deleting it; `ms` with an older CAS value than the item's
    /// stores nevertheless, as stale.
    pub fn invalidates(&self) -> bool {
        self.has(b'I')
    }

    /// `x`: `md` replaces the item by an empty one, with the client flags and expiry time of this command.
    pub fn empties(&self) -> bool {
        self.has(b'x')
    }

    /// `u`: `mg` does not count as an access.
    pub fn leaves_no_trace(&self) -> bool {
        self.has(b'u')
    }

    /// `b`: the key is in base64. An item stored that way remembers it and is shown with its key in base64.
    pub fn has_base64_key(&self) -> bool {
        self.has(b'b')
    }

    /// `O`: the opaque token repeated in the reply, without its letter.
    pub fn opaque(&self) -> &[u8] {
        &self.opaque[..usize::from(self.opaque_bytes)]
    }

    /// The flag letters in the order of the command.
    pub fn letters(&self) -> &[u8] {
        &self.order[..usize::from(self.count)]
    }

    /// Expiry time of an item after this command, given its previous `expiry`; `is_new` if the command has
    /// created it.
    pub fn expiry(&self, now: u64, expiry: Expiry, is_new: bool) -> Expiry {
        self.letters().iter().fold(expiry, |expiry, &letter| self.step(letter, now, expiry, is_new))
    }

    /// Effect of the flag `letter` on an item's expiry time.
    pub(super) fn step(&self, letter: u8, now: u64, expiry: Expiry, is_new: bool) -> Expiry {
        match (letter, self.exptime, self.autovivify) {
            (b'T', Some(exptime), _) => Expiry::new(now, exptime),
            (b'N', _, Some(exptime)) if is_new => Expiry::new(now, exptime),
            _ => expiry,
        }
    }

    /// Records a flag; an error if it is unknown or a duplicate.
    fn note(&mut self, letter: u8) -> Result<(), Refusal> {
        let bit = bit(letter).ok_or(Refusal::Flag)?;
        if self.letters & bit != 0 {
            return Err(Refusal::DuplicateFlag);
        }
        self.letters |= bit;
        self.order[usize::from(self.count)] = letter;
        self.count += 1;
        Ok(())
    }

    /// Parses the value of a flag. `wrong` is the previous error.
    fn take(&mut self, letter: u8, value: &[u8], wrong: Option<Refusal>) -> Result<(), Refusal> {
        let given = (!value.is_empty()).then_some(value);
        let count = || given.and_then(number::word_u64);
        let time = || {
            let exptime = given.and_then(number::word_i32).ok_or(Refusal::Token);
            exptime.map(|exptime| Some(i64::from(exptime)))
        };
        let version = || count().map(Some).ok_or(Refusal::Token);
        match letter {
            b'T' => self.exptime = time()?,
            b'N' => self.autovivify = time()?,
            b'R' => self.recache = time()?,
            b'C' => self.cas = version()?,
            b'E' => self.new_cas = version()?,
            // memcached sets no error of its own here: a previous one stands.
            b'F' => {
                let client_flags = given.and_then(number::word_u32);
                self.client_flags = client_flags.ok_or(wrong.unwrap_or(Refusal::Format))?;
            }
            b'D' => self.delta = Some(count().ok_or(Refusal::MetaDelta)?),
            b'J' => self.initial = count().ok_or(Refusal::Initial)?,
            b'M' => self.mode = Some(value.first().copied().unwrap_or(b' ')),
            b'O' => self.set_opaque(value),
            _ => {}
        }
        Ok(())
    }

    /// Stores the opaque token; marks it if it is too long.
    fn set_opaque(&mut self, value: &[u8]) {
        let kept = value.len().min(OPAQUE_BYTES);
        self.opaque[..kept].copy_from_slice(&value[..kept]);
        self.opaque_bytes = if value.len() > OPAQUE_BYTES { TOO_LONG } else { to_u8(kept) };
    }

    /// An error if the opaque token is too long.
    pub(super) fn check_opaque(&self) -> Result<(), Refusal> {
        if self.opaque_bytes == TOO_LONG { Err(Refusal::Opaque) } else { Ok(()) }
    }
}

/// Length that marks an opaque token as too long; it is refused before it is read.
const TOO_LONG: u8 = u8::MAX;

/// The bit of a letter; None if there is no such flag.
fn bit(letter: u8) -> Option<u64> {
    let place = letter.checked_sub(b'A').filter(|&place| place < 64)?;
    Some(1 << place).filter(|bit| KNOWN & bit != 0)
}

/// The known letters. `L` and `P` are for proxies; a server ignores them.
const KNOWN: u64 = {
    let letters = b"bcfhklqstuvxCDEFIJLMNOPRT";
    let (mut known, mut at) = (0, 0);
    while at < letters.len() {
        known |= 1 << (letters[at] - b'A');
        at += 1;
    }
    known
};
