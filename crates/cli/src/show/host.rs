//! A host at work.

use crate::format::per_cent;
use tailcut_base::quantity::{show_count, show_time};
use tailcut_sim::report::HostReport;

/// The time of the cores, and the cost of requests.
pub(super) fn lines(host: &HostReport) -> String {
    let mut text = format!(
        "  {} on {} hardware threads: {} of their time and {:.2} context switches per request\n",
        host.strategy,
        host.cpus,
        show_time(host.cpu_per_request_ns),
        host.switches_per_request
    );
    let shares: Vec<String> =
        host.cpu_time.iter().map(|part| format!("{} {}", part.on, per_cent(part.share))).collect();
    for line in shares.chunks(4) {
        text += &format!("  {}\n", line.join(", "));
    }
    if host.interrupts_per_request > 0.0 {
        text += &format!(
            "  {:.2} interrupt handlers per request, the longest {}\n",
            host.interrupts_per_request,
            show_time(host.longest_handler_ns as f64)
        );
    }
    if host.background_per_s > 0.0 {
        text += &format!("  background: {} pieces of work per second\n", show_count(host.background_per_s));
    }
    if let Some(error) = host.prediction_error_ns {
        text += &format!("  ends of reads were announced with an error of {}\n", show_time(error));
    }
    if host.spun_for_hits + host.met_full_buffer > 0 {
        text += &format!(
            "  {} reads needed no chip, {} writes met a full buffer, as their drive had said\n",
            show_count(host.spun_for_hits as f64),
            show_count(host.met_full_buffer as f64)
        );
    }
    for part in &host.predictions {
        text += &format!(
            "  predicted: {}, mean {}, error {}\n",
            part.of,
            show_time(part.mean_ns),
            show_time(part.error_ns)
        );
    }
    text
}
