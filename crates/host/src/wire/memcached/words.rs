//! Splits a line into words.

/// The words of one line, separated by spaces. Only the first [`MOST_WORDS`] are kept; memcached ignores the
/// rest of the line.
#[derive(Clone, Copy)]
pub(super) struct CommandWords<'a> {
    words: [&'a [u8]; MOST_WORDS],
    count: usize,
}

/// Number of words that memcached parses at once.
pub(super) const MOST_WORDS: usize = 23;

impl<'a> CommandWords<'a> {
    /// Splits a line.
    pub(super) fn new(line: &'a [u8]) -> CommandWords<'a> {
        let mut words = CommandWords { words: [&[]; MOST_WORDS], count: 0 };
        let mut rest = line;
        while words.count < MOST_WORDS {
            let (word, behind) = split(rest);
            if word.is_empty() {
                break;
            }
            words.words[words.count] = word;
            words.count += 1;
            rest = behind;
        }
        words
    }

    /// All words.
    pub(super) fn all(&self) -> &[&'a [u8]] {
        &self.words[..self.count]
    }

    /// True if the last word is `noreply`, whatever precedes it.
    pub(super) fn ask_no_reply(&self) -> bool {
        self.all().last().is_some_and(|&word| word == b"noreply")
    }
}

/// The first word and the rest.
pub(super) fn split(line: &[u8]) -> (&[u8], &[u8]) {
    let begin = line.iter().position(|&byte| byte != b' ').unwrap_or(line.len());
    let line = &line[begin..];
    let end = line.iter().position(|&byte| byte == b' ').unwrap_or(line.len());
    line.split_at(end)
}
