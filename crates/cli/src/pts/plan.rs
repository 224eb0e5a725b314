//! The stages of a test in words, before it is carried out.

use tailcut_base::Nanos;
use tailcut_base::quantity::{exact_time, show_bytes};
use tailcut_pts::{Cell, Limits, Rounds, Stage, Work};

/// A stage with what is done in it, in one line.
pub fn line(stage: &Stage) -> String {
    format!("{}: {}", stage.name, work(&stage.work))
}

fn work(work: &Work) -> String {
    match work {
        Work::Purge => String::from("the drive as if nothing had ever been written"),
        Work::Write { cell, bytes } => format!("{} of {}", show_bytes(*bytes as f64), load(cell)),
        Work::Rounds(rounds) => of_rounds(rounds),
        Work::Series { cell, each, count, rest } => {
            let rest =
                if *rest > Nanos::ZERO { format!(" and a rest of {}", time(*rest)) } else { String::new() };
            format!("{} of {}{rest}", times(*count, *each), load(cell))
        }
        Work::Histogram { cell, time: long } => {
            format!("{} of {}, every response time counted", time(*long), load(cell))
        }
        Work::Points { settle, each, time: long } => format!(
            "for the loads of the last round with the most, the middle and the fewest IOPS {} of their \
             writes, then {} of them, every response time counted",
            times(*settle, *each),
            time(*long)
        ),
    }
}

fn of_rounds(rounds: &Rounds) -> String {
    let before = rounds.before.map(|(cell, long)| format!("{} of {}, then ", time(long), load(&cell)));
    let tracks: Vec<String> = rounds
        .tracked
        .iter()
        .map(|&(place, metric)| format!("{} {}", rounds.cells[place], metric.name().0))
        .collect();
    format!(
        "a round is {}{}; until steady: {}{}",
        before.unwrap_or_default(),
        cells(&rounds.cells, rounds.each),
        tracks.join(", "),
        limits(&rounds.limits)
    )
}

/// The loads of a round: by name where they are all alike.
fn cells(cells: &[Cell], each: Nanos) -> String {
    let (first, last) = (&cells[0], &cells[cells.len() - 1]);
    if first == last {
        return format!("{} of {}", times(cells.len() as u32, each), load(first));
    }
    format!("{} loads of {} each, from {} to {}", cells.len(), time(each), load(first), load(last))
}

fn limits(limits: &Limits) -> String {
    let rounds = (limits.rounds < u32::MAX).then(|| format!("{} rounds", limits.rounds));
    let bytes = (limits.bytes < u64::MAX).then(|| show_bytes(limits.bytes as f64));
    let long = (limits.time.0 < u64::MAX).then(|| time(limits.time));
    let all: Vec<String> = [rounds, bytes, long].into_iter().flatten().collect();
    format!("; {} at the most", all.join(" or "))
}

/// `RND 4KiB 65/35 at T4Q32`.
fn load(cell: &Cell) -> String {
    format!("{cell} at {}", cell.demand())
}

fn times(count: u32, each: Nanos) -> String {
    if count == 1 { time(each) } else { format!("{count} times {}", time(each)) }
}

/// In minutes and hours where they are whole.
fn time(time: Nanos) -> String {
    const MINUTE: u64 = Nanos::secs(60).0;
    match time.0 {
        n if n.is_multiple_of(60 * MINUTE) => format!("{}h", n / (60 * MINUTE)),
        n if n.is_multiple_of(MINUTE) => format!("{}min", n / MINUTE),
        _ => exact_time(time),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_pts::{Form, Procedure, Settings, Test};

    fn lines(test: Test) -> Vec<String> {
        let settings = Settings::conforming(Form::Enterprise, 1 << 30);
        Procedure::new(test, settings).stages().iter().map(line).collect()
    }

    #[test]
    fn every_kind_of_stage_has_its_words() {
        let want = [
            "purge: the drive as if nothing had ever been written",
            "precondition SEQ 128KiB: 2.00 GiB of SEQ 128KiB 0/100 at T4Q32",
            "rounds: a round is 9 loads of 1min each, from RND 8KiB 100/0 at T1Q1 to RND 0.5KiB 0/100 at \
             T1Q1; until steady: RND 4KiB 0/100 average latency; 25 rounds at the most",
            "histogram: 20min of RND 4KiB 0/100 at T1Q1, every response time counted",
        ];
        assert_eq!(lines(Test::Latency), want);
        let saturation = &lines(Test::WriteSaturation)[1];
        let want = "saturation: a round is 30 times 1min of RND 4KiB 0/100 at T4Q32; until steady: RND 4KiB \
                    0/100 IOPS; 4.00 GiB or 6h at the most";
        assert_eq!(saturation, want);
        let idle = &lines(Test::HostIdleRecovery)[2];
        assert_eq!(idle, "wait 5 s: 360 times 5s of RND 4KiB 0/100 at T4Q32 and a rest of 5s");
        let demand = lines(Test::DemandIntensity);
        assert!(
            demand[2].starts_with("rounds: a round is 5min of RND 8KiB 0/100 at T32Q32, then 49 loads"),
            "{demand:?}"
        );
        assert!(demand[3].contains("60 times 1min of their writes, then 10min of them"), "{demand:?}");
    }
}
