//! The fields of one line, read where they stand: nothing is copied unless something is wrong.

use super::error::{Fault, excerpt};
use memchr::memchr;

/// Reads the fields of a line from left to right. `COMMA` chooses between commas (with optional
/// blanks around a field) and runs of blanks between fields.
pub(super) struct Fields<'a, const COMMA: bool> {
    line: &'a [u8],
    /// The first byte not yet read; beyond the line's end when its last field was read.
    at: usize,
    field: u32,
}

/// Fields separated by blanks.
pub(super) type Words<'a> = Fields<'a, false>;
/// Fields separated by commas.
pub(super) type Cells<'a> = Fields<'a, true>;

type Read<T> = Result<T, Box<Fault>>;

impl<'a, const COMMA: bool> Fields<'a, COMMA> {
    pub(super) fn new(line: &'a [u8]) -> Self {
        Fields { line, at: 0, field: 0 }
    }

    /// A whole number.
    #[inline]
    pub(super) fn number(&mut self, name: &'static str) -> Read<u64> {
        let start = self.begin(name)?;
        let (value, end) = digits(self.line, start);
        // 19 digits always fit; longer ones are checked apart.
        if end == start || end - start > 19 || !self.ends_at(end) {
            return self.odd_number(name, start);
        }
        self.finish(end);
        Ok(value)
    }

    /// A whole number that fits 32 bits.
    #[inline]
    pub(super) fn number32(&mut self, name: &'static str) -> Read<u32> {
        let start = self.at;
        let value = self.number(name)?;
        u32::try_from(value).map_err(|_| self.fault_at(start, name, "too large: at most 4294967295"))
    }

    /// A number in decimal notation, in units of `unit` nanoseconds: the result is whole
    /// nanoseconds, rounded down.
    #[inline]
    pub(super) fn time(&mut self, name: &'static str, unit: u64) -> Read<u64> {
        let start = self.begin(name)?;
        let (whole, point) = digits(self.line, start);
        if point == start || point - start > 19 {
            return Err(self.fault_at(start, name, "no time"));
        }
        let whole = whole.checked_mul(unit);
        let mut end = point;
        let mut part = 0;
        if self.line.get(point) == Some(&b'.') {
            (part, end) = fraction(self.line, point + 1, unit);
        }
        if !self.ends_at(end) {
            return Err(self.fault_at(start, name, "no time"));
        }
        self.finish(end);
        whole
            .and_then(|whole| whole.checked_add(part))
            .ok_or_else(|| self.fault_at(start, name, "too late: times beyond 584 years do not fit"))
    }

    /// Any text without separators; blanks around it are dropped.
    #[inline]
    pub(super) fn text(&mut self, name: &'static str) -> Read<&'a [u8]> {
        let start = self.begin(name)?;
        let end = self.end_of_field(start);
        self.finish(end);
        Ok(self.line[start..end].trim_ascii_end())
    }

    /// 0 or 1.
    #[inline]
    pub(super) fn bit(&mut self, name: &'static str) -> Read<bool> {
        let start = self.at;
        match self.text(name)? {
            b"0" => Ok(false),
            b"1" => Ok(true),
            _ => Err(self.fault_at(start, name, "neither 0 nor 1")),
        }
    }

    /// Nothing but blanks may be left.
    #[inline]
    pub(super) fn end(&mut self) -> Read<()> {
        let rest = self.line.get(self.at..).unwrap_or_default();
        if rest.trim_ascii().is_empty() && (!COMMA || self.at > self.line.len()) {
            return Ok(());
        }
        let (most, rest) = (self.field, excerpt(rest));
        Err(Fault::new(format!("more than the {most} fields of the format: '{rest}'")))
    }

    /// The unread rest of the line.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.line.get(self.at..).unwrap_or_default().trim_ascii()
    }

    /// A fault in the field that begins at or behind `start`.
    #[cold]
    pub(super) fn fault_at(&self, start: usize, name: &str, problem: &str) -> Box<Fault> {
        let start = self.skip_blanks(start.min(self.line.len()));
        let text = excerpt(&self.line[start..self.end_of_field(start)]);
        Fault::new(format!("field {} ({name}) is '{text}': {problem}", self.field))
    }

    /// Where the next field begins, for [`Fields::fault_at`].
    pub(super) fn place(&self) -> usize {
        self.at
    }

    #[inline]
    fn begin(&mut self, name: &'static str) -> Read<usize> {
        self.field += 1;
        let start = self.skip_blanks(self.at);
        let missing = if COMMA { self.at > self.line.len() } else { start >= self.line.len() };
        if missing {
            let (has, line) = (self.field - 1, excerpt(self.line));
            return Err(Fault::new(format!(
                "ends after {has} fields, before field {} ({name}): '{line}'",
                self.field
            )));
        }
        Ok(start)
    }

    #[inline]
    fn skip_blanks(&self, mut at: usize) -> usize {
        while at < self.line.len() && is_blank(self.line[at]) {
            at += 1;
        }
        at
    }

    /// True when a field may end at `end`.
    #[inline]
    fn ends_at(&self, end: usize) -> bool {
        match self.line.get(end) {
            None => true,
            Some(b',') => COMMA,
            Some(&byte) => is_blank(byte) && (!COMMA || self.only_blanks(end)),
        }
    }

    #[cold]
    fn only_blanks(&self, at: usize) -> bool {
        let next = self.skip_blanks(at);
        self.line.get(next).is_none_or(|&byte| byte == b',')
    }

    #[inline]
    fn finish(&mut self, end: usize) {
        let mut end = end;
        if COMMA {
            end = self.skip_blanks(end);
        }
        self.at = end + 1;
    }

    #[inline]
    fn end_of_field(&self, start: usize) -> usize {
        let rest = self.line.get(start..).unwrap_or_default();
        let len = if COMMA { memchr(b',', rest) } else { rest.iter().position(|&byte| is_blank(byte)) };
        start + len.unwrap_or(rest.len())
    }

    #[cold]
    fn odd_number(&mut self, name: &'static str, start: usize) -> Read<u64> {
        let end = self.end_of_field(start);
        let text = self.line[start..end].trim_ascii_end();
        let all_digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
        let value = std::str::from_utf8(text).ok().filter(|_| all_digits).and_then(|text| text.parse().ok());
        let problem =
            if all_digits { "too large: at most 18446744073709551615" } else { "not a whole number" };
        let value = value.ok_or_else(|| self.fault_at(start, name, problem))?;
        self.finish(end);
        Ok(value)
    }
}

/// The number that the digits from `start` on make, modulo 2^64, and where they end.
#[inline]
fn digits(line: &[u8], start: usize) -> (u64, usize) {
    let mut value = 0u64;
    let mut at = start;
    while at < line.len() {
        let digit = line[at].wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    (value, at)
}

/// The digits behind a decimal point, in units of `unit`, rounded down, and where they end.
#[inline]
fn fraction(line: &[u8], start: usize, unit: u64) -> (u64, usize) {
    let (mut value, mut weight, mut at) = (0, unit, start);
    while at < line.len() && line[at].is_ascii_digit() {
        weight /= 10;
        value += u64::from(line[at] - b'0') * weight;
        at += 1;
    }
    (value, at)
}

#[inline]
fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t' || byte == b'\r'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_to_their_last_bit_and_not_beyond() {
        assert_eq!(Words::new(b" 18446744073709551615 ").number("n").unwrap(), u64::MAX);
        assert_eq!(Words::new(b"00000000000000000000007").number("n").unwrap(), 7);
        assert!(Words::new(b"18446744073709551616").number("n").unwrap_err().what.contains("too large"));
        for text in ["", "x", "1x", "-1", "1.5", "+3", "1e3"] {
            assert!(Words::new(text.as_bytes()).number("n").is_err(), "{text}");
        }
    }

    #[test]
    fn times_keep_every_nanosecond() {
        let time = |text: &str, unit| Cells::new(text.as_bytes()).time("t", unit).ok();
        assert_eq!(time("22.810", 1_000_000), Some(22_810_000));
        assert_eq!(time("0.000000697", 1_000_000_000), Some(697));
        assert_eq!(time("7.", 1_000), Some(7_000));
        assert_eq!(time("1.0000000009", 1_000_000_000), Some(1_000_000_000));
        assert_eq!(time("99999999999999999999", 1), None);
        assert_eq!(time("18446744073.9", 1_000_000_000), None);
        assert_eq!(time("1.2.3", 1_000), None);
    }

    #[test]
    fn cells_may_be_empty_and_padded_but_words_may_not() {
        let mut cells = Cells::new(b"a,, 7 ,last\r");
        assert_eq!(cells.text("1").unwrap(), b"a");
        assert_eq!(cells.text("2").unwrap(), b"");
        assert_eq!(cells.number("3").unwrap(), 7);
        assert_eq!(cells.text("4").unwrap(), b"last");
        cells.end().unwrap();
        assert!(cells.text("5").unwrap_err().what.contains("ends after 4 fields"));
        let mut words = Words::new(b"a  b c");
        assert_eq!((words.text("1").unwrap(), words.text("2").unwrap()), (&b"a"[..], &b"b"[..]));
        assert!(words.end().unwrap_err().what.contains("'c'"));
    }
}
