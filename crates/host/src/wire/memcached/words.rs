//! A line as words.

/// The words of one line: those between spaces. Only the first [`MOST_WORDS`] are looked at; no command but
/// those with many keys has as many.
#[derive(Clone, Copy)]
pub struct Words<'a> {
    words: [&'a [u8]; MOST_WORDS],
    count: usize,
}

/// How many words the program takes apart at once.
pub const MOST_WORDS: usize = 23;

impl<'a> Words<'a> {
    /// Takes a line apart.
    pub fn new(line: &'a [u8]) -> Words<'a> {
        let mut words = Words { words: [&[]; MOST_WORDS], count: 0 };
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

    /// All of them.
    pub fn all(&self) -> &[&'a [u8]] {
        &self.words[..self.count]
    }

    /// The last is `noreply`, whatever it stands behind.
    pub fn ask_no_reply(&self) -> bool {
        self.all().last().is_some_and(|&word| word == b"noreply")
    }
}

/// The first word and what stands behind it.
pub fn split(line: &[u8]) -> (&[u8], &[u8]) {
    let begin = line.iter().position(|&byte| byte != b' ').unwrap_or(line.len());
    let line = &line[begin..];
    let end = line.iter().position(|&byte| byte == b' ').unwrap_or(line.len());
    line.split_at(end)
}
