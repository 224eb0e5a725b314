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
