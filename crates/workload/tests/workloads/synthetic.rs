//! Synthetic sources match their configuration.

use proptest::prelude::*;
use tailcut_base::config::{Configure, KeyVisitor};
use tailcut_base::{Nanos, Op};
use tailcut_workload::address_config::Distribution;
use tailcut_workload::config::{ArrivalKind, PaceKind};
use tailcut_workload::{Pace, Request, Source, SyntheticConfig};

/// 1 GiB.
const DEVICE: u64 = 1 << 21;

fn requests(config: &SyntheticConfig, seed: u64, n: usize) -> Vec<Request> {
    let mut source = config.source("test", DEVICE, seed).expect("a good configuration");
    std::iter::from_fn(|| source.next()).take(n).collect()
}

fn share(requests: &[Request], of: impl Fn(&Request) -> bool) -> f64 {
    requests.iter().filter(|r| of(r)).count() as f64 / requests.len() as f64
}

#[test]
fn operations_sizes_and_fua_have_their_shares() {
    let config = SyntheticConfig {
        read: 600_000,
        trim: 100_000,
        fua: 250_000,
        read_size: "4KiB/75:64KiB/25".to_string(),
        write_size: "16KiB".to_string(),
        stream: 7,
        read_class: 1,
        ..SyntheticConfig::default()
    };
    let drawn = requests(&config, 1, 200_000);
    let close = |measured: f64, expected: f64| assert!((measured - expected).abs() < 0.006, "{measured}");
    close(share(&drawn, |r| r.op == Op::Read), 0.6);
    close(share(&drawn, |r| r.op == Op::Trim), 0.1);
    let (reads, others): (Vec<_>, Vec<_>) = drawn.into_iter().partition(|r| r.op == Op::Read);
    close(share(&reads, |r| r.sectors == 128), 0.25);
    let writes: Vec<_> = others.into_iter().filter(|r| r.op == Op::Write).collect();
    close(share(&writes, |r| r.fua), 0.25);
    assert!(writes.iter().all(|r| r.sectors == 32 && r.stream == 7 && r.class.number() == 4));
    assert!(reads.iter().all(|r| !r.fua && r.stream == 0 && r.class.number() == 1));
}

#[test]
fn same_seed_same_requests_and_another_purpose_moves_nothing_else() {
    let config = SyntheticConfig::default();
    assert_eq!(requests(&config, 7, 1000), requests(&config, 7, 1000));
    assert_ne!(requests(&config, 7, 1000), requests(&config, 8, 1000));
    // Other sizes leave operations and their order unchanged.
    let split = SyntheticConfig { write_size: "4KiB/50:8KiB/50".to_string(), ..config.clone() };
    let ops = |c: &SyntheticConfig| requests(c, 7, 1000).iter().map(|r| r.op).collect::<Vec<_>>();
    assert_eq!(ops(&config), ops(&split));
}

#[test]
fn writes_that_go_where_reads_go_share_the_hot_pages() {
    let mut config = SyntheticConfig { read: 500_000, ..SyntheticConfig::default() };
    config.addresses.distribution = Distribution::Zipf;
    config.addresses.theta = 1.5;
    let drawn = requests(&config, 3, 50_000);
    let hottest = |op| {
        let mut sectors: Vec<u64> = drawn.iter().filter(|r| r.op == op).map(|r| r.sector).collect();
        sectors.sort_unstable();
        sectors.chunk_by(|a, b| a == b).max_by_key(|c| c.len()).expect("requests")[0]
    };
    assert_eq!(hottest(Op::Read), hottest(Op::Write));
}

#[test]
fn sequential_requests_follow_each_other_and_wrap() {
    let mut config = SyntheticConfig { read: 1_000_000, region_size: 20 << 10, ..SyntheticConfig::default() };
    config.region_offset = 8 << 10;
    config.addresses.distribution = Distribution::Sequential;
    let starts: Vec<u64> = requests(&config, 1, 7).iter().map(|r| r.sector).collect();
    assert_eq!(starts, [16, 24, 32, 40, 48, 16, 24]);
}

#[test]
fn a_sequential_share_follows_the_last_request_of_its_kind() {
    let config = SyntheticConfig { read: 1_000_000, sequential: 300_000, ..SyntheticConfig::default() };
    let drawn = requests(&config, 1, 100_000);
    let follows = drawn.windows(2).filter(|w| w[1].sector == w[0].sector + 8).count();
    assert!((follows as f64 / 1e5 - 0.3).abs() < 0.006);
}

#[test]
fn a_flush_follows_every_nth_write_and_is_not_counted() {
    let config = SyntheticConfig { read: 0, requests: 6, flush_every: 3, ..SyntheticConfig::default() };
    let ops: Vec<Op> = requests(&config, 1, 100).iter().map(|r| r.op).collect();
    let w = Op::Write;
    assert_eq!(ops, [w, w, w, Op::Flush, w, w, w, Op::Flush]);
    let source = config.source("test", DEVICE, 1).expect("good");
    assert_eq!(source.len_hint(), Some(8));
}

#[test]
fn poisson_gaps_are_exponential() {
    let config = SyntheticConfig { pace: PaceKind::Open, rate: 1_000_000, ..SyntheticConfig::default() };
    let drawn = requests(&config, 1, 200_000);
    let gaps: Vec<f64> = drawn.windows(2).map(|w| (w[1].due.0 - w[0].due.0) as f64).collect();
    let n = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / n;
    let deviation = (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / n).sqrt();
    assert!((mean / 1000.0 - 1.0).abs() < 0.01, "mean {mean}");
    assert!((deviation / 1000.0 - 1.0).abs() < 0.02, "deviation {deviation}");
    let longer = gaps.iter().filter(|g| **g > 1000.0).count() as f64 / n;
    assert!((longer - (-1f64).exp()).abs() < 0.006, "longer than the mean: {longer}");
}

#[test]
fn bursts_have_their_rate_within_and_on_average() {
    let config = SyntheticConfig {
        pace: PaceKind::Open,
        arrivals: ArrivalKind::Bursts,
        rate: 100_000,
        burst_time: Nanos::millis(1),
        idle: Nanos::millis(9),
        ..SyntheticConfig::default()
    };
    let drawn = requests(&config, 1, 10_000);
    // 100 requests per millisecond of burst, one burst every ten milliseconds.
    assert!(drawn.iter().all(|r| r.due.0 % 10_000_000 < 1_000_000));
    assert_eq!(drawn[9_999].due.0, 99 * 10_000_000 + 990_000);
    assert_eq!(config.source("test", DEVICE, 1).expect("good").pace(), Pace::Open { depth: 16 });
}

/// Collects the errors of a configuration.
#[derive(Default)]
struct Complaints(Vec<String>);

#[rustfmt::skip]
impl KeyVisitor for Complaints {
    fn section(&mut self, _: &'static str, _: &'static str, part: &mut dyn Configure) { part.configure(self); }
    fn time(&mut self, _: &'static str, _: &'static str, v: &mut Nanos, r: std::ops::RangeInclusive<Nanos>) { assert!(r.contains(v)); }
    fn times(&mut self, _: &'static str, _: &'static str, _: &mut Vec<Nanos>, _: std::ops::RangeInclusive<Nanos>) {}
    fn bytes(&mut self, _: &'static str, _: &'static str, v: &mut u64, r: std::ops::RangeInclusive<u64>) { assert!(r.contains(v)); }
    fn rate(&mut self, _: &'static str, _: &'static str, v: &mut u64, r: std::ops::RangeInclusive<u64>) { assert!(r.contains(v)); }
    fn share(&mut self, _: &'static str, _: &'static str, v: &mut u32, r: std::ops::RangeInclusive<u32>) { assert!(r.contains(v)); }
    fn number(&mut self, _: &'static str, _: &'static str, v: &mut f64, r: std::ops::RangeInclusive<f64>) { assert!(r.contains(v)); }
    // The least is raised to what is allowed, as a reader would refuse it.
    fn count(&mut self, _: &'static str, _: &'static str, v: &mut u64, r: std::ops::RangeInclusive<u64>) { assert!(*v <= *r.end()); }
    fn flag(&mut self, _: &'static str, _: &'static str, _: &mut bool) {}
    fn choice(&mut self, _: &'static str, _: &'static str, v: &mut usize, names: tailcut_base::config::Names) { assert!(*v < names.shown.len()); }
    fn text(&mut self, _: &'static str, _: &'static str, _: &mut String) {}
    fn problem(&mut self, key: &'static str, message: String) { self.0.push(format!("{key}: {message}")); }
}

fn complaints(mut config: SyntheticConfig) -> Vec<String> {
    let mut visit = Complaints::default();
    config.configure(&mut visit);
    visit.0
}

#[test]
fn the_default_configuration_is_good() {
    assert_eq!(complaints(SyntheticConfig::default()), Vec::<String>::new());
}

#[test]
fn a_configuration_without_requests_is_refused_with_its_keys() {
    let sizes = SyntheticConfig {
        read_size: "0".to_string(),
        write_size: "100".to_string(),
        ..SyntheticConfig::default()
    };
    assert_eq!(
        complaints(sizes),
        [
            "read_size: a request of 0 bytes; the smallest is 512",
            "write_size: 100 bytes is no multiple of 512, the sector of the interface",
        ]
    );
    let shares = SyntheticConfig { trim: 900_000, ..SyntheticConfig::default() };
    assert_eq!(complaints(shares), ["trim: the shares of reads and trims add up to more than 100 %"]);
    let deep = SyntheticConfig { depth: 0, ..SyntheticConfig::default() };
    assert_eq!(complaints(deep), ["depth: a depth of 0 never issues a request; the minimum is 1"]);
    let mut same = SyntheticConfig::default();
    same.addresses.distribution = Distribution::Same;
    let message = "addresses: 'same' is for write_addresses; reads need a distribution of their own";
    assert_eq!(complaints(same), [message]);
    let mut skewed = SyntheticConfig::default();
    skewed.addresses.distribution = Distribution::ZipfianYcsb;
    skewed.addresses.theta = 1.2;
    let message =
        "theta is 1.2; it must be between 0 and 1 for YCSB's formula; 'zipf' takes any theta above 0";
    assert_eq!(complaints(skewed), [format!("theta: {message}")]);
    let mut zoned = SyntheticConfig::default();
    (zoned.addresses.distribution, zoned.addresses.zones) = (Distribution::Zoned, "60/10".into());
    let message = "the accesses of the zones add up to 60 %, not to 100 %";
    assert_eq!(complaints(zoned), [format!("zones: {message}")]);
}

#[test]
fn what_does_not_fit_the_device_is_refused() {
    let refused = |config: SyntheticConfig, sectors| {
        let problems = config.source("test", sectors, 1).expect_err("does not fit");
        problems.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let config = SyntheticConfig::default();
    assert_eq!(refused(config.clone(), 0), ["region_share: the region ends beyond the device, which has 0B"]);
    let message = "the region has no sector; give the device or the region a size";
    let none = SyntheticConfig { region_share: 0, ..config.clone() };
    assert_eq!(refused(none, 2048), [format!("region_share: {message}")]);
    let large = SyntheticConfig { read_size: "2MiB".to_string(), ..config.clone() };
    assert_eq!(refused(large, 2048), ["read_size: a request of 2MiB does not fit into the region of 1MiB"]);
    let far = SyntheticConfig { region_offset: 1 << 30, ..config };
    assert_eq!(refused(far, DEVICE), ["region_offset: the region ends beyond the device, which has 1GiB"]);
}

fn distributions() -> impl Strategy<Value = Distribution> {
    use Distribution::*;
    prop::sample::select(vec![Uniform, Cover, Sequential, Zipf, ZipfianYcsb, Pareto, Normal, HotCold, Zoned])
}

proptest! {
    #[test]
    fn requests_stay_in_the_region_aligned_and_of_their_sizes(
        distribution in distributions(),
        offset in 0u64..1000,
        region in 32u64..5000,
        align in prop::sample::select(vec![0u64, 512, 1024, 4096, 6144]),
        read in 0u32..=1_000_000,
        sequential in prop::sample::select(vec![0u32, 400_000]),
        seed: u64,
    ) {
        let mut config = SyntheticConfig {
            read,
            align,
            sequential,
            region_offset: offset * 512,
            region_size: region * 512,
            read_size: "512/30:4KiB/30:16KiB/40".to_string(),
            write_size: "3KiB".to_string(),
            ..SyntheticConfig::default()
        };
        config.addresses.distribution = distribution;
        for request in requests(&config, seed, 300) {
            prop_assert!(request.sector >= offset);
            prop_assert!(request.sector + u64::from(request.sectors) <= offset + region);
            let (sizes, smallest): (&[u32], u64) =
                if request.op == Op::Read { (&[1, 8, 32], 1) } else { (&[6], 6) };
            prop_assert!(sizes.contains(&request.sectors));
            let align = if align == 0 { smallest } else { align / 512 };
            if sequential == 0 && distribution != Distribution::Sequential {
                prop_assert_eq!((request.sector - offset) % align, 0);
            }
        }
    }

    #[test]
    fn dues_never_decrease(
        arrivals in prop::sample::select(vec![ArrivalKind::Uniform, ArrivalKind::Poisson, ArrivalKind::Bursts]),
        rate in 1u64..=1_000_000_000,
        burst_requests in 0u64..5,
        burst in 1u64..1_000_000,
        idle in 0u64..1_000_000,
        seed: u64,
    ) {
        let config = SyntheticConfig {
            pace: PaceKind::Open,
            arrivals,
            rate,
            burst_requests,
            burst_time: Nanos(burst),
            idle: Nanos(idle),
            ..SyntheticConfig::default()
        };
        let drawn = requests(&config, seed, 300);
        prop_assert!(drawn.windows(2).all(|w| w[0].due <= w[1].due));
    }
}

#[test]
#[allow(clippy::disallowed_types, reason = "a measurement in real time")]
#[ignore = "a measurement: cargo test --release -p tailcut-workload --test workload synthetic -- --ignored \
    --nocapture"]
fn cost_of_a_request() {
    let uniform = SyntheticConfig::default();
    let reads = SyntheticConfig { read: 1_000_000, ..SyntheticConfig::default() };
    let mut zipf = SyntheticConfig::default();
    zipf.addresses.distribution = Distribution::Zipf;
    for (name, config) in [("uniform reads", reads), ("uniform 70/30", uniform), ("zipf 70/30", zipf)] {
        let mut source = config.source("test", DEVICE, 1).expect("good");
        let n = 20_000_000u64;
        let start = std::time::Instant::now();
        let sum = (0..n).filter_map(|_| source.next()).fold(0u64, |sum, r| sum.wrapping_add(r.sector));
        let nanos = start.elapsed().as_nanos() as f64 / n as f64;
        println!("{name}: {nanos:.1} ns per request (sum {sum})");
    }
}
