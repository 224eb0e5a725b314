//! Keys of a host and of a server that have no effect.

use super::{Ineffective, add};
use crate::path::Background;
use crate::scenario::Scenario;
use tailcut_base::Nanos;
use tailcut_host::array::LayoutKind;
use tailcut_host::path::{Strategy, Wait};

/// Keys of parts that the host does not have, or that its strategy does not use.
pub(super) fn add_idle_parts(found: &mut Vec<Ineffective>, scenario: &Scenario) {
    let host = &scenario.host;
    if scenario.kv.enabled {
        let because = "the server gives the requests to its storage classes of their own (kv.enabled)";
        for source in ["workload", "beside"] {
            add(found, source, &["read_class", "write_class"], because);
        }
    }
    let Ok(strategy) = Strategy::parse(&host.strategy) else { return };
    if !host.is_on() {
        return;
    }
    if scenario.array.drives == 0 {
        let because = "there is no array whose own work a thread would do (array.drives)";
        add(found, "host", &["array_priority", "array_core"], because);
    }
    let is_copied = scenario.array.drives > 0
        && scenario.array.layout != LayoutKind::Raid0
        && !scenario.array.layout.is_mirrored();
    if !is_copied {
        let because = "there is no array that copies what it writes: one with a log or parity \
                       (array.drives, array.layout)";
        add(found, "host", &["array_block", "array_thread"], because);
    } else if host.array_block == Nanos::ZERO {
        let because = "the array's writes take no time on a core (host.array_block)";
        add(found, "host", &["array_thread"], because);
    }
    let because = format!("host.background is \"{}\"", host.background);
    match host.background {
        Background::None => add(found, "host", &["background_threads", "background_latency"], &because),
        Background::Cpu => add(found, "host", &["background_latency"], &because),
        Background::Io => {}
    }
    let because = format!("host.strategy is \"{}\"", host.strategy);
    if !strategy.has_poll_thread && !strategy.adapts {
        add(found, "host", &["poll_interval"], &format!("{because}, which has no poll thread: add \"poll\""));
    }
    if strategy.wait != Wait::UntilNotice && !strategy.adapts {
        let because = format!("{because}, which announces no end of a read: add \"precomplete\"");
        add(found, "host", &["window", "window_feedback"], &because);
    }
}
