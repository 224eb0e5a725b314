//! A power cut at every step: small scripts that make an array do all that it does beside serving - collect,
//! write checkpoints, rotate its front-end, go on without a drive, rebuild - are run once for each of their events,
//! with the power cut there; and once more with a second cut while the array recovers from the first.
//!
//! `TAILCUT_CASES=n` cuts recovery n times at each event.

use tailcut_sim::torture::{Canary, EveryStep, Plan, Tally, attempt};

/// Overwrites of a log on small drives until it collects; trims, flushes, and reads of it all.
const CHURN: &str = "write 0+16; write 16+16; write 32+16; flush; write 3+8; write 20+8; trim 6+4; write 0+16; \
                     write 16+8 fua; read 0+40; write 5+1; write 9+1; write 30+12; flush; write 0+12; trim 40+4; \
                     write 12+12; write 2+1; write 24+16; read 0+40; write 0+16; write 13+9";

/// A drive goes, another comes in its place, while the host goes on.
const REBUILD: &str = "write 0+16; write 16+16; flush; write 3+5; kill 1; write 1+9; write 20+4; read 0+24; replace; \
                       write 2+2; trim 8+3; write 17+6 fua; read 0+16; wait; write 0+3; flush; write 5+1; scrub; \
                       write 9+4";

/// Parts of rows, whole rows, and rows in the midst of being written.
const PARTS: &str = "write 0+12; write 1+1; write 5+2 fua; flush; write 4+8; trim 2+3; write 2+1; write 3+1; \
                     read 0+12; write 7+1; flush; write 0+3; write 6+6; write 11+1 fua; read 0+12; trim 0+1; write 1+2";

struct Script {
    shape: &'static str,
    steps: &'static str,
    /// At every event of so many.
    stride: usize,
}

impl Script {
    fn plan(&self) -> Plan {
        format!("{}; {}", self.shape, self.steps).parse().expect("a plan")
    }

    /// Cuts at each event in turn; the first that shows something.
    fn first(&self, canary: Option<Canary>) -> (Option<String>, Tally) {
        let plan = self.plan();
        let steps = EveryStep::of(&plan, canary).unwrap_or_else(|outcome| panic!("{:?}", outcome.wrong));
        let mut tally = Tally::default();
        for event in (0..steps.events()).step_by(self.stride) {
            for again in again(event) {
                let plan = steps.cut_at(event, &again);
                let outcome = attempt(&plan, canary);
                if let Some(wrong) = outcome.wrong {
                    return (Some(format!("{wrong}\n--plan '{}'", plan.in_line())), tally);
                }
                tally.merge(&outcome.tally);
            }
        }
        (None, tally)
    }

    fn holds(&self) -> Tally {
        let started = std::time::Instant::now();
        let (wrong, tally) = self.first(None);
        println!("{}: {} cuts in {:?}", self.shape, tally.cuts, started.elapsed());
        if let Some(wrong) = wrong {
            panic!("{wrong}");
        }
        tally
    }
}

/// No second cut, or a second one so many events after the power has come back.
fn again(event: u64) -> Vec<Vec<u32>> {
    let cases = std::env::var("TAILCUT_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let late = |case: u64| vec![((event + case) * 7 % 60) as u32];
    let first = if event % 2 == 0 { vec![] } else { late(0) };
    std::iter::once(first).chain((1..=cases).map(late)).collect()
}

#[test]
fn logs() {
    for (shape, steps) in [
        ("layout=log-raid0 drives=1 blocks=164 segment=8 most=8 checkpoint=125000 queue=4 seed=1", CHURN),
        ("layout=log-raid4 drives=3 blocks=164 segment=8 most=8 checkpoint=125000 queue=4 seed=2", REBUILD),
        ("layout=log-raid5 drives=3 blocks=164 segment=8 most=8 checkpoint=125000 queue=4 seed=3", CHURN),
        ("layout=log-raid5 drives=3 blocks=164 segment=8 most=8 checkpoint=125000 queue=4 seed=4", REBUILD),
    ] {
        Script { shape, steps, stride: 1 }.holds();
    }
}

#[test]
fn swan() {
    for (shape, steps) in [
        ("layout=swan0 groups=2 drives=2 blocks=164 segment=8 most=8 checkpoint=125000 queue=4 seed=1", CHURN),
        ("layout=swan4 groups=2 drives=6 blocks=164 segment=8 most=8 checkpoint=125000 queue=4 seed=2", CHURN),
        ("layout=swan5 groups=2 drives=6 blocks=164 segment=8 most=8 checkpoint=125000 queue=4 seed=3", REBUILD),
    ] {
        Script { shape, steps, stride: 1 }.holds();
    }
}

#[test]
fn in_place() {
    for (shape, steps) in [
        ("layout=raid4 drives=3 blocks=48 chunk=2 journal=12 write_hole=journal queue=4 seed=1", PARTS),
        ("layout=raid5 drives=4 blocks=48 chunk=1 journal=12 write_hole=journal queue=4 seed=2", PARTS),
        ("layout=raid5 drives=3 blocks=48 chunk=2 journal=12 write_hole=journal queue=4 seed=3", REBUILD),
        ("layout=raid4 drives=3 blocks=48 chunk=2 write_hole=resync queue=4 seed=4", PARTS),
        ("layout=raid5 drives=4 blocks=48 chunk=1 write_hole=resync queue=4 seed=5", PARTS),
    ] {
        Script { shape, steps, stride: 1 }.holds();
    }
}
