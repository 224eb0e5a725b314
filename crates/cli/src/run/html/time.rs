//! How a run went over time.

use super::latency::plural;
use crate::html::Page;
use crate::html::markup::chart;
use tailcut_base::quantity::show_time;
use tailcut_sim::timeline::{HELD_BY, Timeline};

/// Requests over time, what chips did, and what drives of an array did.
pub(super) fn sections(page: &mut Page, timeline: &Timeline) {
    page.section("Over time", requests(timeline));
    page.section("Chips", chips(timeline));
    if timeline.drives.len() > 1 {
        page.section("Drives over time", drives(timeline));
    }
    if !timeline.members.is_empty() {
        page.section("Tokens and epochs", tokens(timeline));
    }
    if !timeline.groups.is_empty() {
        page.section("R-groups over time", roles());
    }
}

fn requests(timeline: &Timeline) -> String {
    let intro = format!(
        "<p class=\"soft\">{} slots of {}. Drag the bar below a chart, or turn the wheel with Ctrl, to look \
            closer: the charts move together.</p>\n",
        timeline.slots,
        show_time(timeline.slot_ns as f64)
    );
    let caption = "Above: requests that ended, per second, and the limit that the busiest resource sets. \
        Below: pages that garbage collection and wear levelling moved, and blocks erased.";
    let mut html = intro + &chart("throughput", "Throughput, collection and erases", caption, &[], "");
    html += "<div class=\"charts\">\n";
    for kind in timeline.kinds.iter().filter(|kind| kind.max_ns.iter().any(|&longest| longest > 0)) {
        let title = format!("{}: latency over time", plural(&kind.kind));
        let caption =
            "Percentiles within each slot, at most 1/16 too high; none where a slot has too few requests.";
        html += &chart("latencies", &title, caption, &[("kind", &kind.kind)], "");
    }
    html + "</div>\n"
}

fn chips(timeline: &Timeline) -> String {
    let shares = timeline.chips.rows.iter().any(|row| row.chips > 1);
    let caption = format!(
        "Share of the time that the ready/busy line of a chip was held{}. A kind of work alone has a scale \
            of its own.",
        if shares { ", mean of the chips of a row" } else { "" }
    );
    chart("chips", "What chips did", &caption, &[("holder", "all")], &choice())
}

/// Buttons for all work together and for each kind.
fn choice() -> String {
    let button = |value: &str, text: &str, pressed: bool| {
        format!("<button type=\"button\" value=\"{value}\" aria-pressed=\"{pressed}\">{text}</button>")
    };
    let mut html = String::from(
        "<div class=\"choice\" data-sets=\"holder\" role=\"group\" aria-label=\"Kind of work\">",
    );
    html += &button("all", "all work", true);
    for (holder, _) in HELD_BY {
        html += &button(holder, holder, false);
    }
    html + "</div>\n"
}

fn drives(timeline: &Timeline) -> String {
    let caption =
        "Commands completed per second, all drives on one scale, and blocks erased per second behind them.";
    let title = format!("Each of {} drives", timeline.drives.len());
    chart("drives", &title, caption, &[], "")
}

fn tokens(timeline: &Timeline) -> String {
    let epochs: u64 = timeline.epochs.iter().sum();
    let caption = format!(
        "The share of the time that each drive spent with its token, by what it did: {epochs} epochs began \
         during the measurement. Reads go to drives without it where they can."
    );
    let mut html = chart("tokens", "Who had the token, and for what", &caption, &[], "");
    if !timeline.epochs.is_empty() {
        html += &chart("epochs", "Epochs", "Epochs that began, per second, of all groups together.", &[], "");
    }
    html
}

fn roles() -> String {
    let caption = "The front end is the group that is written; of the others one at a time is collected, and \
        the rest are idle and serve reads in peace. Looked at four times in each slot.";
    chart("roles", "Roles of R-groups", caption, &[], "")
}
