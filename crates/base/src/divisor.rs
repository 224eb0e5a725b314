//! Division by numbers fixed by a configuration, mostly powers of two.

/// A divisor known before the run. If it is a power of two, as most page and block counts are, a division is
/// a shift; the processor's division instruction would take ten times as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor {
    value: u32,
    /// The exponent of a power of two; 32 or more otherwise.
    shift: u32,
}

impl Divisor {
    /// The divisor `value`.
    ///
    /// # Panics
    /// If `value` is zero.
    pub fn new(value: u32) -> Divisor {
        assert!(value > 0, "division by zero");
        let shift = if value.is_power_of_two() { value.trailing_zeros() } else { u32::MAX };
        Divisor { value, shift }
    }

    /// The value of the divisor; never zero.
    #[inline]
    pub fn get(self) -> u32 {
        self.value
    }

    /// `x / self`, rounded down.
    #[inline]
    pub fn quotient(self, x: u32) -> u32 {
        if self.shift < 32 { x >> self.shift } else { x / self.value }
    }

    /// The remainder of `x / self`, below the divisor.
    #[inline]
    pub fn remainder(self, x: u32) -> u32 {
        if self.shift < 32 { x & (self.value - 1) } else { x % self.value }
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
