//! Text broken into lines.

use unicode_width::UnicodeWidthStr;

/// A text behind `lead`, broken at blanks so that no line is longer than `width`; further lines
/// begin below the first word.
pub fn wrapped(lead: &str, text: &str, width: usize) -> String {
    let indent = lead.width();
    let (mut lines, mut column) = (lead.to_string(), indent);
    for word in text.split_whitespace() {
        if column > indent && column + 1 + word.width() > width {
            lines.push_str(&format!("\n{:indent$}", ""));
            column = indent;
        } else if column > indent {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += word.width();
    }
    lines.push('\n');
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_wrapped_below_the_first() {
        assert_eq!(wrapped("- ", "one two three", 9), "- one two\n  three\n");
    }
}
