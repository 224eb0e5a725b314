//! The flags of a meta command: words behind its key of one letter each, some with a value.

use super::base64::Decoded;
use super::expiry::Expiry;
use super::number;
use super::refusal::Refusal;

/// The flags of one meta command.
///
/// All of them may stand behind any of the commands, as in the program; what a command has no use for is
/// ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetaFlags {
    /// `T`: the time at which the value is to end, as [`Expiry::new`] takes it.
    pub exptime: Option<i64>,
    /// `N`: a value that is missing is made, to end then.
    pub vivify: Option<i64>,
    /// `R`: who finds that the value ends sooner than this is to make it anew.
    pub recache: Option<i64>,
    /// `C`: the version that the value must have. For `ma` 0 is any version.
    pub cas: Option<u64>,
    /// `E`: the version that the value gets, wherever the command gives it one. Newer than the program that
    /// we compare with (1.6.18).
    pub new_cas: Option<u64>,
    /// `F`: the client's own flags for what is stored.
    pub client_flags: u32,
    /// `D`: the step of a count.
    pub delta: Option<u64>,
    /// `J`: what a count that is made begins with.
    pub initial: u64,
    /// `M`: the letter of a mode.
    pub mode: Option<u8>,
    letters: u64,
    order: [u8; MOST_FLAGS],
    count: u8,
    opaque: [u8; OPAQUE_BYTES],
    opaque_bytes: u8,
}

/// The most flags that a command can have.
pub const MOST_FLAGS: usize = 17;

/// The longest opaque word, without its letter.
pub const OPAQUE_BYTES: usize = 31;

impl MetaFlags {
    /// Reads the words behind `key`, which is decoded if they say so. Of several mistakes the last is told,
    /// but one with which reading ends at once; so does the program.
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

    /// The flag was given.
    pub fn has(&self, letter: u8) -> bool {
        bit(letter).is_some_and(|bit| self.letters & bit != 0)
    }

    /// `q`: what was to be expected is not said.
    pub fn is_quiet(&self) -> bool {
        self.has(b'q')
    }

    /// `v`: the value is wanted.
    pub fn wants_value(&self) -> bool {
        self.has(b'v')
    }

    /// `I`: `md` marks the value as stale instead of deleting it; `ms` with an older version than the value
    /// has stores it nevertheless, as stale.
    pub fn invalidates(&self) -> bool {
        self.has(b'I')
    }

    /// `x`: `md` leaves the value, but empty and without the client's flags. Newer than the program that we
    /// compare with (1.6.18).
    pub fn empties(&self) -> bool {
        self.has(b'x')
    }

    /// `u`: `mg` does not count as an access.
    pub fn leaves_no_trace(&self) -> bool {
        self.has(b'u')
    }

    /// `b`: the key came in base64. Who stores under it keeps that, and shows the key so again.
    pub fn has_base64_key(&self) -> bool {
        self.has(b'b')
    }

    /// `O`: the word that comes back in the answer, without its letter.
    pub fn opaque(&self) -> &[u8] {
        &self.opaque[..usize::from(self.opaque_bytes)]
    }

    /// The letters, in the order in which they came.
    pub fn letters(&self) -> &[u8] {
        &self.order[..usize::from(self.count)]
    }

    /// When a value ends after this command, that ended at `expiry` before; `is_new` says that the command
    /// has made it.
    pub fn expiry(&self, now: u64, expiry: Expiry, is_new: bool) -> Expiry {
        self.letters().iter().fold(expiry, |expiry, &letter| self.step(letter, now, expiry, is_new))
    }

    /// What the flag `letter` makes of a value's end.
    pub(super) fn step(&self, letter: u8, now: u64, expiry: Expiry, is_new: bool) -> Expiry {
        match (letter, self.exptime, self.vivify) {
            (b'T', Some(exptime), _) => Expiry::new(now, exptime),
            (b'N', _, Some(exptime)) if is_new => Expiry::new(now, exptime),
            _ => expiry,
        }
    }

    /// Notes that a flag is there, once.
    fn note(&mut self, letter: u8) -> Result<(), Refusal> {
        if letter >= 127 {
            return Err(Refusal::DuplicateFlag);
        }
        let bit = bit(letter).ok_or(Refusal::Flag)?;
        if self.letters & bit != 0 {
            return Err(Refusal::DuplicateFlag);
        }
        self.letters |= bit;
        self.order[usize::from(self.count)] = letter;
        self.count += 1;
        Ok(())
    }

    /// Reads what stands behind a letter. `wrong` is what was wrong before.
    fn take(&mut self, letter: u8, value: &[u8], wrong: Option<Refusal>) -> Result<(), Refusal> {
        let time = || number::signed(value).map(Some).ok_or(Refusal::Token);
        let version = || number::unsigned(value).map(Some).ok_or(Refusal::Token);
        match letter {
            b'T' => self.exptime = time()?,
            b'N' => self.vivify = time()?,
            b'R' => self.recache = time()?,
            b'C' => self.cas = version()?,
            b'E' => self.new_cas = version()?,
            // The program says nothing of its own here: what was said before stands.
            b'F' => self.client_flags = number::narrow(value).ok_or(wrong.unwrap_or(Refusal::Format))?,
            b'D' => self.delta = Some(number::unsigned(value).ok_or(Refusal::MetaDelta)?),
            b'J' => self.initial = number::unsigned(value).ok_or(Refusal::Initial)?,
            b'M' if value.len() == 1 => self.mode = Some(value[0]),
            b'M' => return Err(Refusal::ModeLength),
            b'O' => self.set_opaque(value),
            _ => {}
        }
        Ok(())
    }

    /// Keeps the opaque word; of one that is too long, that it is.
    fn set_opaque(&mut self, value: &[u8]) {
        let kept = value.len().min(OPAQUE_BYTES);
        self.opaque[..kept].copy_from_slice(&value[..kept]);
        self.opaque_bytes = if value.len() > OPAQUE_BYTES { TOO_LONG } else { kept as u8 };
    }

    /// Whether the opaque word is short enough.
    pub(super) fn check_opaque(&self) -> Result<(), Refusal> {
        if self.opaque_bytes == TOO_LONG { Err(Refusal::Opaque) } else { Ok(()) }
    }
}

/// In place of a length: a word that is refused before anybody sees it.
const TOO_LONG: u8 = u8::MAX;

/// The bit of a letter, if it is one of those that there are.
fn bit(letter: u8) -> Option<u64> {
    let place = letter.checked_sub(b'A').filter(|&place| place < 64)?;
    Some(1 << place).filter(|bit| KNOWN & bit != 0)
}

/// The letters that there are. `L` and `P` are for proxies, and mean nothing to a server.
const KNOWN: u64 = {
    let letters = b"bcfhklqstuvxCDEFIJLMNOPRT";
    let (mut known, mut at) = (0, 0);
    while at < letters.len() {
        known |= 1 << (letters[at] - b'A');
        at += 1;
    }
    known
};
