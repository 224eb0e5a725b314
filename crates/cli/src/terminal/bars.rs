//! Horizontal bars for shares of a whole, such as what the slowest requests waited for.

use super::tone::{ColorMode, TextRole};
use tailcut_base::quantity::show_time;
use unicode_width::UnicodeWidthStr;

/// A chart: one bar for each part, all to one scale.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
struct Part {
    label: String,
    /// Of the whole, 0 to 1.
    share: f64,
    /// A figure beside the share, already formatted; may be empty.
    figure: String,
}

impl Bars {
    /// A bar chart without bars.
    pub fn new() -> Bars {
        Bars::default()
    }

    /// A chart of how a length of time in nanoseconds divides among causes, the largest first;
    /// parts of zero are left out.
    pub fn of_times<'a>(parts: impl IntoIterator<Item = (&'a str, f64)>) -> Bars {
        let mut parts: Vec<(&str, f64)> = parts.into_iter().filter(|&(_, nanos)| nanos > 0.0).collect();
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        let whole: f64 = parts.iter().map(|&(_, nanos)| nanos).sum();
        let mut bars = Bars::new();
        for (label, nanos) in parts {
            bars.add(label, nanos / whole, show_time(nanos));
        }
        bars
    }

    /// Adds a bar. `share` is a part of the whole from 0 to 1; `figure` is shown beside it and may
    /// be empty.
    pub fn add(&mut self, label: impl Into<String>, share: f64, figure: impl Into<String>) -> &mut Bars {
        self.parts.push(Part { label: label.into(), share: share.clamp(0.0, 1.0), figure: figure.into() });
        self
    }

    /// The chart, `width` columns wide at most, each line with its end. The longest bar fills the
    /// place that labels and figures leave; nothing is shown for no parts.
    pub fn render(&self, width: usize, tone: ColorMode) -> String {
        let widest = |text: fn(&Part) -> &str| {
            self.parts.iter().map(|part| text(part).width()).max().unwrap_or_default()
        };
        let (label, figure) = (widest(|part| &part.label), widest(|part| &part.figure));
        let room = width.saturating_sub(INDENT + label + PERCENT + figure + GAPS).clamp(4, LONGEST);
        let longest = self.parts.iter().map(|part| part.share).fold(0.0, f64::max);
        let mut text = String::new();
        for part in &self.parts {
            let bar = bar(if longest > 0.0 { part.share / longest } else { 0.0 }, room);
            let blank = |width: usize, text: &str| " ".repeat(width - text.width());
            let left = format!("{:INDENT$}{}{}", "", part.label, blank(label, &part.label));
            let right = format!("{}{}", blank(figure, &part.figure), part.figure);
            let line = format!(
                "{left}  {:>PERCENT$} %  {right}  {}",
                percent(part.share),
                tone.paint(TextRole::Place, &bar)
            );
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// A bar of `room` columns at most, to an eighth of a column; anything above zero is visible.
fn bar(share: f64, room: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share * room as f64 * 8.0).round() as usize;
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// A share in per cent with one decimal; `<0.1` for shares that would be rounded to 0.
fn percent(share: f64) -> String {
    match share * 100.0 {
        p if p > 0.0 && p < 0.05 => String::from("<0.1"),
        p => format!("{p:.1}"),
    }
}

/// Blanks before a label.
const INDENT: usize = 2;
/// Columns of a share.
const PERCENT: usize = 5;
/// Columns between the others: two before the share, the figure and the bar, and ` %`.
const GAPS: usize = 8;
/// Columns of a bar; longer ones are no easier to compare.
const LONGEST: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_sorted_and_scaled_to_the_longest() {
        let bars =
            Bars::of_times([("bus", 1e3), ("cell time", 6e3), ("link", 0.0), ("erase", 3e3), ("tag", 1.0)]);
        let want = "  cell time   60.0 %  6.00 µs  ████████████
  erase       30.0 %  3.00 µs  ██████
  bus         10.0 %  1.00 µs  ██
  tag         <0.1 %     1 ns  ▏
";
        let shown = bars.render(43, ColorMode::Plain);
        assert_eq!(shown, want, "\n{shown}");
        assert!(shown.lines().all(|line| line.width() <= 43));
    }

    #[test]
    fn a_chart_without_parts_is_empty() {
        assert_eq!(Bars::of_times([("link", 0.0)]).render(80, ColorMode::Plain), "");
        assert!(Bars::new().add("a", 0.0, "").render(80, ColorMode::Plain).contains("0.0 %"));
    }
}
