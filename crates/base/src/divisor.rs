//! Division by numbers fixed by a configuration.

/// A divisor known before the run. A division is a multiplication by its reciprocal; the processor's division
/// instruction would take several times as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    value: u32,
    /// 2^64 − 1 over the value, rounded down.
    reciprocal: u64,
}

impl Divisor {
    /// The divisor `value`.
    ///
    /// # Panics
    /// If `value` is zero.
    pub fn new(value: u32) -> Divisor {
        assert!(value > 0, "division by zero");
        Divisor { value, reciprocal: u64::MAX / u64::from(value) }
    }

    /// The value of the divisor; never zero.
    #[inline]
    pub fn get(self) -> u32 {
        self.value
    }

    /// `x / self`, rounded down.
    ///
    /// With *m* = (2^64 − 1 − *r*) ÷ *d* for the reciprocal and *x* = *q d* + *s*, (*x* + 1) *m* ÷ 2^64 is
    /// *q* + (*s* + 1) ÷ *d* − *e* with *e* = (*x* + 1) (1 + *r*) ÷ (2^64 *d*). As *x* + 1 and 1 + *r* are at
    /// most 2^32, *e* is at most 1 ÷ *d* and above 0; so the whole part is *q*.
    #[inline]
    pub fn quotient(self, x: u32) -> u32 {
        let product = (u128::from(x) + 1) * u128::from(self.reciprocal);
        crate::cast::to_u32((product >> 64) as u64)
    }

    /// Quotient and remainder of `x / self` where `x` is below 2^48, the divisor at most 2^16, and the
    /// quotient below 2^32. The error of [`Divisor::quotient`] stays below 1 ÷ *d*, as (*x* + 1) (1 + *r*) is
    /// at most 2^64.
    #[inline]
    pub fn divide_wide(self, x: u64) -> (u32, u32) {
        debug_assert!(x < 1 << 48 && self.value <= 1 << 16);
        let product = u128::from(x + 1) * u128::from(self.reciprocal);
        let quotient = (product >> 64) as u64;
        let remainder = x - quotient * u64::from(self.value);
        (crate::cast::to_u32(quotient), crate::cast::to_u32(remainder))
    }

    /// The remainder of `x / self`, below the divisor.
    #[inline]
    pub fn remainder(self, x: u32) -> u32 {
        self.divide(x).1
    }

    /// Quotient and remainder of `x / self`.
    #[inline]
    pub fn divide(self, x: u32) -> (u32, u32) {
        let quotient = self.quotient(x);
        (quotient, x - quotient * self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divides_as_the_processor_does() {
        for value in [1, 2, 3, 4, 7, 768, 1152, 4097, 65_535, 65_536] {
            let divisor = Divisor::new(value);
            let wide = u64::from(value);
            let last = (wide << 32).min(1 << 48) - 1;
            let near =
                [0, 1, wide - 1, wide, wide + 1, u64::from(u32::MAX), 1 << 32, last - wide, last - 1, last];
            for x in near.into_iter().filter(|&x| x <= last) {
                let (quotient, remainder) = divisor.divide_wide(x);
                assert_eq!(
                    (u64::from(quotient), u64::from(remainder)),
                    (x / wide, x % wide),
                    "{x} by {value}"
                );
            }
        }
        for value in [1, 2, 3, 4, 7, 128, 129, 192, 1 << 31, u32::MAX] {
            let divisor = Divisor::new(value);
            for x in [0, 1, 2, 5, 127, 128, 129, 1_000_003, u32::MAX - 1, u32::MAX] {
                assert_eq!(
                    (divisor.quotient(x), divisor.remainder(x)),
                    (x / value, x % value),
                    "{x} by {value}"
                );
            }
        }
    }
}
