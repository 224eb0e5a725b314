//! Instructions per simulated request: counted under valgrind, so the same on a busy machine.
//!
//! `cargo install gungraun-runner --version 0.20.0`, then
//! `cargo bench -p tailcut-bench --features instructions --bench instructions`. Each case is a whole run; the
//! difference of the long and the short one, divided by the difference of their requests, is the cost of a
//! request without the preparation of the drive. The cases of the scheduler serve [`SHORT`] memory
//! requests each, those of arrays [`SHORT`] requests, and count the harness around it, too; those of
//! memcached's protocol read [`SHORT`] commands.

#![allow(missing_docs)] // The macros of the bench harness make items without documentation.

use gungraun::{library_benchmark, library_benchmark_group, main};
use std::hint::black_box;
use std::ops::ControlFlow;
use tailcut_base::Nanos;
use tailcut_bench::array::harness::{Harness as ArrayHarness, Load as ArrayLoad};
use tailcut_host::array::LayoutKind;
use tailcut_host::wire::memcached::{Receiver, Step};
use tailcut_sim::Scenario;
use tailcut_ssd::Preset;
use tailcut_ssd::commit::harness::{Harness, Load};
use tailcut_ssd::config::CommitPolicy;
use tailcut_workload::config::PaceKind;

const SHORT: u64 = 50_000;
const LONG: u64 = 150_000;

fn scenario(preset: Preset, read: u32, depth: u32, requests: u64) -> Scenario {
    let mut scenario = Scenario { device: preset.config(), ..Scenario::default() };
    // A small drive: the cost of a request does not depend on its size.
    scenario.device.geometry.blocks = 64;
    scenario.device.ftl.spare = 280_000;
    scenario.precondition.fill = 1_000_000;
    scenario.run.ramp = Nanos(0);
    scenario.run.duration = Nanos(0);
    scenario.workload.pace = PaceKind::Closed;
    scenario.workload.read = read;
    scenario.workload.depth = depth;
    scenario.workload.requests = requests;
    scenario
}

fn run(scenario: Scenario) -> u64 {
    let mut world = scenario.world((), false).expect("the scenario is valid");
    world.run(&mut |_| ControlFlow::Continue(()), &mut |_, _| {}).expect("the run ends");
    world.completed()
}

#[library_benchmark]
#[bench::short(scenario(Preset::M, 1_000_000, 64, SHORT))]
#[bench::long(scenario(Preset::M, 1_000_000, 64, LONG))]
fn reads(scenario: Scenario) -> u64 {
    run(black_box(scenario))
}

#[library_benchmark]
#[bench::short(scenario(Preset::M, 700_000, 16, SHORT))]
#[bench::long(scenario(Preset::M, 700_000, 16, LONG))]
fn mixed(scenario: Scenario) -> u64 {
    run(black_box(scenario))
}

#[library_benchmark]
#[bench::short(scenario(Preset::G, 0, 16, SHORT))]
#[bench::long(scenario(Preset::G, 0, 16, LONG))]
fn writes_under_collection(scenario: Scenario) -> u64 {
    run(black_box(scenario))
}

fn harness(chips: u32, depth: u32) -> Harness {
    let mut harness = Harness::new(CommitPolicy::Sprinkler, Load { chips, depth, pages: 1, fua: 0 });
    harness.settle();
    harness
}

#[library_benchmark]
#[bench::few_chips_short_queue(harness(64, 32))]
#[bench::many_chips_long_queue(harness(4096, 65_536))]
fn scheduling(mut harness: Harness) -> Harness {
    black_box(&mut harness).serve(SHORT);
    harness
}

fn array(layout: LayoutKind, reads: bool) -> ArrayHarness {
    let (groups, drives) = if layout == LayoutKind::Swan5 { (2, 6) } else { (1, 4) };
    let mut harness = ArrayHarness::new(ArrayLoad { layout, groups, drives, blocks: 1 << 14, reads });
    harness.settle();
    harness
}

#[library_benchmark]
#[bench::raid5_writes(array(LayoutKind::Raid5, false))]
#[bench::raid5_reads(array(LayoutKind::Raid5, true))]
#[bench::swan5_writes(array(LayoutKind::Swan5, false))]
#[bench::swan5_reads(array(LayoutKind::Swan5, true))]
#[bench::epochs_writes(array(LayoutKind::Epochs, false))]
#[bench::epochs_reads(array(LayoutKind::Epochs, true))]
fn array_requests(mut harness: ArrayHarness) -> ArrayHarness {
    black_box(&mut harness).serve(SHORT);
    harness
}

fn commands(command: &str) -> Vec<u8> {
    command.repeat(SHORT as usize).into_bytes()
}

#[library_benchmark]
#[bench::get(commands("get user:0123456789abcdef\r\n"))]
#[bench::set(commands("set user:0123456789abcdef 0 0 8\r\n01234567\r\n"))]
#[bench::mg(commands("mg user:0123456789abcdef v\r\n"))]
#[bench::mg_with_seven_flags(commands("mg user:0123456789abcdef v t f c k O123 q\r\n"))]
fn memcached(stream: Vec<u8>) -> u64 {
    let (mut receiver, mut input, mut steps) = (Receiver::default(), &stream[..], 0);
    while black_box(receiver.next(&mut input)) != Step::More {
        steps += 1;
    }
    steps
}

library_benchmark_group!(name = protocols, benchmarks = memcached);
library_benchmark_group!(name = arrays, benchmarks = array_requests);
library_benchmark_group!(name = requests, benchmarks = [reads, mixed, writes_under_collection]);
library_benchmark_group!(name = schedulers, benchmarks = scheduling);
main!(library_benchmark_groups = requests, schedulers, arrays, protocols);
