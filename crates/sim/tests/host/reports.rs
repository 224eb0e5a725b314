//! The host in a report: its figures are of the requests that its cores worked for.

use std::ops::ControlFlow;
use tailcut_base::Nanos;
use tailcut_sim::Scenario;
use tailcut_sim::cpu::Spent;
use tailcut_sim::ending::run_to_end;
use tailcut_sim::report::Report;
use tailcut_sim::world::Limits;
use tailcut_ssd::Preset;
use tailcut_workload::config::PaceKind;

/// A drive that cannot keep up with an open loop: at the end of the ramp many requests wait, and are no part
/// of the latencies that are measured.
#[test]
fn costs_per_request_are_those_of_all_requests_that_ended_in_the_measurement() {
    let mut scenario = Scenario { device: Preset::G.config(), ..Scenario::default() };
    (scenario.device.geometry.channels, scenario.device.geometry.chips) = (1, 1);
    (scenario.device.geometry.blocks, scenario.host.strategy) = (32, "coop".into());
    scenario.run = Limits { ramp: Nanos::millis(50), duration: Nanos::millis(150), ..Limits::NONE };
    (scenario.workload.pace, scenario.workload.read) = (PaceKind::Open, 1_000_000);
    (scenario.workload.rate, scenario.workload.depth) = (40_000, 4096);
    let mut world = scenario.host_world(|| (), false).expect("a good scenario");
    let watch = &mut |_: &_| ControlFlow::Continue(());
    let ends = run_to_end(&mut world, scenario.horizon(), watch).expect("the drive makes progress");
    let report = Report::new(&scenario, &world, &ends.figures(), false);
    let (measured, ended) = (report.all().requests, world.stats.ended());
    assert!(
        ended > measured + measured / 10,
        "{ended} ended, {measured} of them were due in the measurement"
    );
    let host = report.host.as_ref().expect("it is modelled");
    let idle = [Spent::Idle.label(), Spent::Background.label()];
    let busy: f64 =
        host.cpu_time.iter().filter(|part| !idle.contains(&&*part.on)).map(|part| part.share).sum();
    let busy_ns = busy * host.cpus as f64 * report.seconds() * 1e9;
    let counted = host.cpu_per_request_ns * ended as f64;
    assert!((counted - busy_ns).abs() < 0.001 * busy_ns, "{counted} ns of {busy_ns} ns");
}
