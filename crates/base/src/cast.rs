//! Conversions to narrower numbers, which the language has only as `as`: one function for each intention.
//!
//! - [`to_usize`] loses nothing: the project supports 64-bit targets only, and WebAssembly, whose memory ends
//!   before 2^32 elements.
//! - [`to_u64`], [`to_u32`], [`to_u16`] and [`to_u8`] are for values that an invariant of the caller bounds.
//!   Debug builds panic if it does not hold; release builds keep the low bits and have no branch.
//! - [`low_u64`], [`low_u32`], [`low_u16`] and [`low_u8`] keep the low bits on purpose: hashes, random bits
//!   and bit fields.
//! - [`whole`] is the whole part of a float.
//!
//! Where a violated bound should stop a release build too, `try_from` is right.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "this is what the module is for"
)]

const _: () = assert!(
    usize::BITS == 64 || cfg!(target_arch = "wasm32"),
    "only 64-bit targets and WebAssembly are supported"
);

/// An unsigned integer of at most 64 bits.
pub trait Unsigned: Copy {
    /// The same value in 64 bits.
    fn widened(self) -> u64;
}

impl Unsigned for u8 {
    #[inline(always)]
    fn widened(self) -> u64 {
        u64::from(self)
    }
}

impl Unsigned for u16 {
    #[inline(always)]
    fn widened(self) -> u64 {
        u64::from(self)
    }
}

impl Unsigned for u32 {
    #[inline(always)]
    fn widened(self) -> u64 {
        u64::from(self)
    }
}

impl Unsigned for u64 {
    #[inline(always)]
    fn widened(self) -> u64 {
        self
    }
}

impl Unsigned for usize {
    #[inline(always)]
    fn widened(self) -> u64 {
        self as u64
    }
}

/// The value `value` as a length or an index in memory.
#[inline(always)]
pub const fn to_usize(value: u64) -> usize {
    debug_assert!(usize::BITS == 64 || value <= u32::MAX as u64, "a length or index in memory");
    value as usize
}

/// The value `value` in 64 bits. It must be below 2^64: otherwise debug builds panic, and others drop its
/// high bits.
#[inline(always)]
#[track_caller]
pub const fn to_u64(value: u128) -> u64 {
    debug_assert!(value <= u64::MAX as u128, "a value of at most 64 bits");
    value as u64
}

/// The value `value` in 32 bits. It must be below 2^32: otherwise debug builds panic, and others drop its
/// high bits.
#[inline(always)]
#[track_caller]
pub fn to_u32(value: impl Unsigned) -> u32 {
    let value = value.widened();
    debug_assert!(value <= u64::from(u32::MAX), "{value} in 32 bits");
    value as u32
}

/// The value `value` in 16 bits. It must be below 2^16: otherwise debug builds panic, and others drop its
/// high bits.
#[inline(always)]
#[track_caller]
pub fn to_u16(value: impl Unsigned) -> u16 {
    let value = value.widened();
    debug_assert!(value <= u64::from(u16::MAX), "{value} in 16 bits");
    value as u16
}

/// The value `value` in 8 bits. It must be below 2^8: otherwise debug builds panic, and others drop its high
/// bits.
#[inline(always)]
#[track_caller]
pub fn to_u8(value: impl Unsigned) -> u8 {
    let value = value.widened();
    debug_assert!(value <= u64::from(u8::MAX), "{value} in 8 bits");
    value as u8
}

/// The low 64 bits of `bits`; the high 64 bits are dropped.
#[inline(always)]
pub const fn low_u64(bits: u128) -> u64 {
    bits as u64
}

/// The low 32 bits of `bits`; the high 32 bits are dropped.
#[inline(always)]
pub const fn low_u32(bits: u64) -> u32 {
    bits as u32
}

/// The low 16 bits of `bits`; the high 48 bits are dropped.
#[inline(always)]
pub const fn low_u16(bits: u64) -> u16 {
    bits as u16
}

/// The low 8 bits of `bits`; the high 56 bits are dropped.
#[inline(always)]
pub const fn low_u8(bits: u64) -> u8 {
    bits as u8
}

/// The whole part of a number, rounded towards zero: 0 for a negative number and for NaN, `u64::MAX` for a
/// number that is larger.
#[inline(always)]
pub fn whole(number: f64) -> u64 {
    number as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_within_their_bounds_are_kept() {
        assert_eq!(to_usize(u64::MAX), usize::MAX);
        assert_eq!(to_u64(u128::from(u64::MAX)), u64::MAX);
        assert_eq!((to_u32(u64::from(u32::MAX)), to_u32(7usize)), (u32::MAX, 7));
        assert_eq!((to_u16(65_535usize), to_u8(255u32)), (65_535, 255));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "4294967296 in 32 bits")]
    fn a_value_beyond_its_bound_is_noticed() {
        to_u32(1u64 << 32);
    }

    #[test]
    fn low_bits_are_cut_off() {
        assert_eq!(low_u64(3 << 64 | 5), 5);
        let bits = 0x0123_4567_89AB_CDEF;
        assert_eq!((low_u32(bits), low_u16(bits), low_u8(bits)), (0x89AB_CDEF, 0xCDEF, 0xEF));
    }

    #[test]
    fn floats_are_rounded_towards_zero_and_saturate() {
        assert_eq!([0.99, 1.0, 2.5, -3.0, f64::NAN].map(whole), [0, 1, 2, 0, 0]);
        assert_eq!(whole(1e30), u64::MAX);
    }
}
