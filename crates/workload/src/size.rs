//! How large requests are: one size, several with weights, or a range.

use super::address::WHOLE;
use tailcut_base::quantity::{exact_bytes, parse_bytes};
use tailcut_base::random::Stream;
use tailcut_base::{BadValue, SECTOR_BYTES};

/// The sizes of the requests of a lane, in sectors of 512 B; always at least one sector.
///
/// # Examples
/// ```
/// use tailcut_workload::size::Sizes;
///
/// let sizes = Sizes::parse("4KiB/60:64KiB/40").expect("two sizes");
/// assert_eq!((sizes.smallest(), sizes.largest()), (8, 128));
/// assert!(Sizes::parse("4KiB/60:64KiB/30").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// All of one size.
    Fixed(u32),
    /// Several sizes, each with its share of the requests (fio's `bssplit`).
    Split(Split),
    /// Every multiple of `step` from `smallest` to `largest`, equally likely (fio's `bsrange`).
    Range {
        /// The smallest size in sectors.
        smallest: u32,
        /// The largest size; a multiple of `step` above `smallest`.
        largest: u32,
        /// The difference between neighbouring sizes.
        step: u32,
    },
}

/// Sizes of requests with the weight of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Size and the sum of the weights up to and including it, in parts per million. The last sum
    /// is 100 %.
    parts: Vec<(u32, u32)>,
}

impl Split {
    /// From sizes in sectors and weights in parts per million. A weight of `None` is an equal
    /// share of what the others leave.
    ///
    /// # Errors
    /// There is no size, one is 0, or the weights do not add up to 100 %.
    pub fn new(parts: &[(u32, Option<u32>)]) -> Result<Split, BadValue> {
        let given: u64 = parts.iter().filter_map(|(_, weight)| *weight).map(u64::from).sum();
        let open = parts.iter().filter(|(_, weight)| weight.is_none()).count() as u64;
        let whole = u64::from(WHOLE);
        if parts.is_empty() || parts.iter().any(|&(sectors, _)| sectors == 0) {
            return Err(BadValue::new("a split needs sizes of at least 512 bytes"));
        }
        if given > whole || (open == 0 && given != whole) {
            return Err(BadValue::new(format!(
                "the shares add up to {} %, not to 100 %",
                given as f64 / 1e4
            )));
        }
        let mut sums = Vec::with_capacity(parts.len());
        let (mut sum, mut nth) = (0u64, 0u64);
        for &(sectors, weight) in parts {
            sum += match weight {
                Some(weight) => u64::from(weight),
                None => {
                    // Differences of rounded multiples: the shares add up exactly.
                    nth += 1;
                    (whole - given) * nth / open - (whole - given) * (nth - 1) / open
                }
            };
            sums.push((sectors, sum as u32));
        }
        // A size that is never drawn must not count as the smallest.
        let mut before = 0;
        sums.retain(|&(_, sum)| std::mem::replace(&mut before, sum) != sum);
        Ok(Split { parts: sums })
    }
}

impl Sizes {
    /// A size, or sizes with percentages: `4KiB`, or `4KiB/60:64KiB/40`; an empty percentage takes
    /// an equal share of the rest.
    ///
    /// # Errors
    /// What fio would refuse as well, a size that is no multiple of 512 bytes, or shares that do not add up
    /// to 100 %.
    pub fn parse(text: &str) -> Result<Sizes, BadValue> {
        let size = |text: &str| sectors_of(parse_bytes(text).map_err(|e| e.message)?);
        if !text.contains(['/', ':']) {
            return Ok(Sizes::Fixed(size(text)?));
        }
        let mut parts = Vec::new();
        for part in text.split(':') {
            let (bytes, weight) = part.split_once('/').unwrap_or((part, ""));
            parts.push((size(bytes)?, parse_percent(weight)?));
        }
        Ok(Sizes::Split(Split::new(&parts)?))
    }

    /// The smallest size in sectors.
    #[expect(clippy::missing_panics_doc, reason = "a split has at least one size")]
    pub fn smallest(&self) -> u32 {
        match self {
            Sizes::Fixed(sectors) => *sectors,
            Sizes::Split(split) => split.parts.iter().map(|p| p.0).min().expect("a split has sizes"),
            Sizes::Range { smallest, .. } => *smallest,
        }
    }

    /// The largest size in sectors.
    #[expect(clippy::missing_panics_doc, reason = "a split has at least one size")]
    pub fn largest(&self) -> u32 {
        match self {
            Sizes::Fixed(sectors) => *sectors,
            Sizes::Split(split) => split.parts.iter().map(|p| p.0).max().expect("a split has sizes"),
            Sizes::Range { largest, .. } => *largest,
        }
    }

    /// The mean size in sectors.
    pub fn mean(&self) -> f64 {
        match self {
            Sizes::Fixed(sectors) => f64::from(*sectors),
            Sizes::Split(split) => {
                let mut before = 0;
                let weighted = split.parts.iter().map(|&(sectors, sum)| {
                    let weight = sum - std::mem::replace(&mut before, sum);
                    f64::from(sectors) * f64::from(weight)
                });
                weighted.sum::<f64>() / f64::from(WHOLE)
            }
            Sizes::Range { smallest, largest, .. } => (f64::from(*smallest) + f64::from(*largest)) / 2.0,
        }
    }

    /// The next size. Draws nothing from the stream when there is but one.
    #[inline]
    pub fn draw(&self, stream: &mut Stream) -> u32 {
        match self {
            Sizes::Fixed(sectors) => *sectors,
            Sizes::Split(split) => {
                let at = stream.below(u64::from(WHOLE)) as u32;
                split.parts[split.parts.partition_point(|part| part.1 <= at)].0
            }
            Sizes::Range { smallest, largest, step } => {
                let choices = u64::from((largest - smallest) / step) + 1;
                smallest + stream.below(choices) as u32 * step
            }
        }
    }
}

/// A size of `bytes` bytes in sectors of 512 bytes.
///
/// # Errors
/// The size is 0, no multiple of 512 bytes, or above 1 GiB.
pub fn sectors_of(bytes: u64) -> Result<u32, BadValue> {
    if bytes == 0 {
        return Err(BadValue::new("a request of 0 bytes; the smallest is 512"));
    }
    if !bytes.is_multiple_of(SECTOR_BYTES) {
        return Err(BadValue::new(format!(
            "{bytes} bytes is no multiple of 512, the sector of the interface"
        )));
    }
    if bytes > LARGEST_BYTES {
        return Err(BadValue::new(format!(
            "{} is too large for a request; the largest is 1GiB",
            exact_bytes(bytes)
        )));
    }
    Ok((bytes / SECTOR_BYTES) as u32)
}

/// A percentage such as `60` or `12.5`, with or without a percent sign, as parts per million;
/// nothing for an empty text.
pub(crate) fn parse_percent(text: &str) -> Result<Option<u32>, BadValue> {
    let text = text.trim().trim_end_matches('%').trim_end();
    if text.is_empty() {
        return Ok(None);
    }
    tailcut_base::quantity::parse_share(&format!("{text}%"))
        .map(Some)
        .map_err(|_| BadValue::new(format!("'{text}' is no percentage; write a number from 0 to 100")))
}

/// The largest request.
const LARGEST_BYTES: u64 = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_fio_writes_splits() {
        assert_eq!(Sizes::parse("4KiB"), Ok(Sizes::Fixed(8)));
        let Ok(Sizes::Split(split)) = Sizes::parse("4k/50:1k/:32k/") else { panic!("a split") };
        assert_eq!(split.parts, [(8, 500_000), (2, 750_000), (64, 1_000_000)]);
    }

    #[test]
    fn a_size_that_is_never_drawn_is_not_the_smallest() {
        let sizes = Sizes::parse("512/0:4k/100").expect("a split");
        assert_eq!((sizes.smallest(), sizes.largest(), sizes.mean()), (8, 8, 8.0));
    }

    #[test]
    fn what_is_no_size_is_refused_in_words() {
        for (text, word) in [
            ("0", "0 bytes"),
            ("1000", "multiple of 512"),
            ("2GiB", "too large"),
            ("4k/60:8k/60", "120 %"),
            ("4k/60", "60 %"),
            ("4k/x:8k/", "no percentage"),
            ("", "not a size"),
        ] {
            let message = Sizes::parse(text).expect_err(text).message;
            assert!(message.contains(word), "{text}: {message}");
        }
    }
}
