//! Decimal numbers as memcached parses them: like C's `strtol` family, then narrowed.
//!
//! The digits may be preceded by white space (such as a tab: spaces separate words) and a sign, and followed
//! only by white space or the end of the word. The source is `safe_strto…` in `util.c`.

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
    unsigned(word).map(|value| value as u32)
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
