//! Keys and values: what they hold follows from the number of the item and the version of its value.

use tailcut_base::random::mix64;

/// Bytes of a key: "user" and a number, as YCSB's (`CoreWorkload.buildKeyName`), with all 20 digits.
pub(super) const KEY_BYTES: usize = 24;

/// The least bytes of a value: it contains the numbers of its item and version.
pub(super) const LEAST_VALUE: usize = 16;

/// Appends the key of an item.
pub(super) fn append_key(item: u64, out: &mut Vec<u8>) {
    let mut digits = [b'0'; KEY_BYTES];
    digits[..4].copy_from_slice(b"user");
    let mut number = mix64(item);
    for digit in digits[4..].iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&digits);
}

/// Appends the value of a version of an item.
pub(super) fn append_value(item: u64, version: u64, bytes: usize, out: &mut Vec<u8>) {
    let end = out.len() + bytes;
    words(item, version).take(bytes.div_ceil(8)).for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    out.truncate(end);
}

/// The version of an item that a value is, if all of it is right.
pub(super) fn version_of(item: u64, value: &[u8]) -> Option<u64> {
    let head: [u8; 8] = value.get(8..LEAST_VALUE)?.try_into().ok()?;
    let version = u64::from_le_bytes(head);
    let is_right = |(piece, word): (&[u8], u64)| *piece == word.to_le_bytes()[..piece.len()];
    value.chunks(8).zip(words(item, version)).all(is_right).then_some(version)
}

fn words(item: u64, version: u64) -> impl Iterator<Item = u64> {
    let filling = (0u64..).scan(mix64(item ^ version.rotate_left(32)), |state, number| {
        *state = (*state ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        Some(*state)
    });
    [item, version].into_iter().chain(filling)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_tells_its_version_and_nothing_else_passes_for_it() {
        for bytes in [16, 17, 1000] {
            let mut value = Vec::new();
            append_value(7, 3, bytes, &mut value);
            assert_eq!((value.len(), version_of(7, &value)), (bytes, Some(3)));
            assert_eq!(version_of(8, &value), None, "another item's");
            for at in [0, 12, bytes - 1] {
                let mut wrong = value.clone();
                wrong[at] ^= 1;
                assert_eq!(version_of(7, &wrong).filter(|_| bytes > 16), None, "byte {at} of {bytes}");
            }
        }
        assert_eq!(version_of(0, &[]), None);
    }

    #[test]
    fn keys_differ_and_have_one_length() {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        append_key(1, &mut one);
        append_key(2, &mut other);
        assert!(one != other && one.len() == KEY_BYTES && other.len() == KEY_BYTES);
        assert!(one.starts_with(b"user") && one[4..].iter().all(u8::is_ascii_digit));
    }
}
