//! Decimal numbers as the program reads them: as C's `strtol` and its kin do, then narrowed.
//!
//! In front of the digits there may be white space (a tab, say: a space divides words) and a sign; behind
//! them nothing but the end of the word or white space. The source is `safe_strto…` in `util.c`.

/// An unsigned number of 64 bits. What is negative wraps around, as in C; it is refused if it is then above
/// `i64::MAX`, which leaves only a few absurd ones.
pub fn unsigned(word: &[u8]) -> Option<u64> {
    let (is_negative, magnitude) = decimal(word)?;
    let value = if is_negative { magnitude.wrapping_neg() } else { magnitude };
    let is_refused = value > i64::MAX as u64 && word.contains(&b'-');
    (!is_refused).then_some(value)
}

/// The low 32 bits of an unsigned number: what is larger wraps around.
pub fn narrow(word: &[u8]) -> Option<u32> {
    unsigned(word).map(|value| value as u32)
}

/// A signed number of 64 bits.
pub fn signed(word: &[u8]) -> Option<i64> {
    let (is_negative, magnitude) = decimal(word)?;
    if is_negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() }
}

/// What an increment or decrement counts from: the number at the front of a value.
pub fn of_value(value: &[u8]) -> Option<u64> {
    let end = value.iter().position(|&byte| byte == 0).unwrap_or(value.len());
    unsigned(&value[..end])
}

/// Appends a number in decimal.
pub fn append(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Whether there is a minus, and the digits' value.
fn decimal(word: &[u8]) -> Option<(bool, u64)> {
    let begin = word.iter().position(|&byte| !is_space(byte))?;
    let (is_negative, digits) = match &word[begin..] {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let length = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(length);
    if digits.is_empty() || rest.first().is_some_and(|&byte| !is_space(byte)) {
        return None;
    }
    let add = |value: u64, &digit: &u8| value.checked_mul(10)?.checked_add(u64::from(digit - b'0'));
    Some((is_negative, digits.iter().try_fold(0, add)?))
}

/// C's `isspace`.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | 9..=13)
}
