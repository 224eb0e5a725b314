//! Decimal numbers as memcached parses them, in two ways.
//!
//! Most words are digits and nothing else, and a number beyond the type's range is refused ([`word_u32`] and
//! its like; `mcmc_token_get_…` in `vendor/mcmc/mcmc.c`). Client flags and expiry times of storage commands,
//! and values, are parsed like C's `strtol` family ([`unsigned`] and its like; `safe_strto…` in `util.c`):
//! the digits may be preceded by white space (such as a tab: spaces separate words) and a sign, and followed
//! only by white space, NUL or the end of the word.

use tailcut_base::cast::low_u32;

/// Parses a word of digits as a 32-bit number.
pub fn word_u32(word: &[u8]) -> Option<u32> {
    let digits = (word.len() <= WORD_32_BYTES).then_some(word)?;
    u32::try_from(magnitude(digits)?).ok()
}

/// Parses a word of digits, or of `-` and digits, as a signed 32-bit number. A `-` alone is 0.
pub fn word_i32(word: &[u8]) -> Option<i32> {
    let word = (word.len() <= WORD_32_BYTES).then_some(word)?;
    let (is_negative, digits) = word.strip_prefix(b"-").map_or((false, word), |digits| (true, digits));
    let magnitude = i64::try_from(magnitude(digits)?).ok()?;
    i32::try_from(if is_negative { -magnitude } else { magnitude }).ok()
}

/// Parses a word of digits as a 64-bit number.
pub fn word_u64(word: &[u8]) -> Option<u64> {
    magnitude((word.len() <= WORD_64_BYTES).then_some(word)?)
}

/// The value of digits; None if there is anything else, or if it exceeds 64 bits.
fn magnitude(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |value, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

/// Longest word with a 32-bit number, leading zeros included.
const WORD_32_BYTES: usize = 11;
/// Longest word with a 64-bit number, leading zeros included.
const WORD_64_BYTES: usize = 22;

/// Parses an unsigned 64-bit number. A negative number wraps around, as in C; it is refused if the result
/// exceeds `i64::MAX`, which leaves only extreme values.
pub fn unsigned(word: &[u8]) -> Option<u64> {
    let (is_negative, magnitude) = decimal(word)?;
    let value = if is_negative { magnitude.wrapping_neg() } else { magnitude };
    let is_refused = value > i64::MAX as u64 && word.contains(&b'-');
    (!is_refused).then_some(value)
}

/// Parses an unsigned number and returns its low 32 bits: larger ones wrap around.
pub fn narrow(word: &[u8]) -> Option<u32> {
    unsigned(word).map(low_u32)
}

/// Parses a signed 64-bit number.
pub fn signed(word: &[u8]) -> Option<i64> {
    let (is_negative, magnitude) = decimal(word)?;
    if is_negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// Parses the number at the start of a value, for increments and decrements.
pub fn of_value(value: &[u8]) -> Option<u64> {
    let end = value.iter().position(|&byte| byte == 0).unwrap_or(value.len());
    unsigned(&value[..end])
}

/// Appends a number in decimal.
pub fn append(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Returns whether there is a minus sign, and the magnitude.
fn decimal(word: &[u8]) -> Option<(bool, u64)> {
    let begin = word.iter().position(|&byte| !is_space(byte))?;
    let (is_negative, digits) = match &word[begin..] {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let length = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(length);
    if digits.is_empty() || rest.first().is_some_and(|&byte| byte != 0 && !is_space(byte)) {
        return None;
    }
    Some((is_negative, magnitude(digits)?))
}

/// C's `isspace`.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | 9..=13)
}
