//! What requests waited for, as bars.

use crate::terminal::{Bars, ColorMode, wrapped};
use tailcut_base::Cause;
use tailcut_base::quantity::show_time;
use tailcut_sim::report::Wait;

/// Causes that get a bar of their own.
const MOST: usize = 6;

/// The largest parts, and the others together; times are means per request.
pub fn bars(waits: &[Wait], width: usize, tone: ColorMode) -> String {
    let shown = if waits.len() == MOST + 1 { MOST + 1 } else { MOST.min(waits.len()) };
    let (large, small) = waits.split_at(shown);
    let mut bars = Bars::new();
    for wait in large {
        bars.add(wait.cause.clone(), wait.share, show_time(wait.mean_ns));
    }
    if !small.is_empty() {
        let (share, mean) = small.iter().fold((0.0, 0.0), |(s, m), wait| (s + wait.share, m + wait.mean_ns));
        bars.add(format!("{} others", small.len()), share, show_time(mean));
    }
    bars.render(width, tone)
}

/// The meanings of the causes, one sentence each, for the first of them.
pub fn meanings(waits: &[Wait], width: usize) -> String {
    let meaning = |wait: &Wait| {
        let cause = Cause::ALL.into_iter().find(|cause| cause.label() == wait.cause)?;
        Some(wrapped(&format!("  {:<16} ", cause.label()), cause.meaning(), width))
    };
    waits.iter().take(MOST).filter_map(meaning).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_parts_share_a_bar() {
        let wait = |i: usize| Wait { cause: format!("cause {i}"), mean_ns: 10.0, share: 0.1 };
        let shown = |count: usize| bars(&(0..count).map(wait).collect::<Vec<_>>(), 60, ColorMode::Plain);
        assert_eq!(shown(7).lines().count(), 7);
        assert!(shown(10).ends_with('\n') && shown(10).contains("4 others"));
    }
}
