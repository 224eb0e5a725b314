//! SWAN, figure 1: what a log over all drives does when it has gone round once.

use super::swan::{Shape, mean, rounds, run, variation};
use super::{Basis, Options, Row, Study};
use tailcut_host::array::LayoutKind;
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_ssd::precondition::PreparedState;

/// Log-RAID0 before and after collection begins.
pub(crate) struct Fluctuation;

const SHAPE: Shape = Shape::flat(LayoutKind::LogRaid0, 8);

/// Seconds after which the log has surely gone round: its space over half of its drives' bandwidth.
const ROUND: usize = 18;

impl Study for Fluctuation {
    fn id(&self) -> &'static str {
        "swan-1"
    }

    fn title(&self) -> &'static str {
        "Random writes of 8 KiB to a new Log-RAID0 of eight drives: before and after its collection begins"
    }

    fn source(&self) -> &'static str {
        "Kim et al., SWAN, USENIX ATC 2019, section 1, figure 1"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let mut scenario = SHAPE.random_writes(options, if options.quick { 24 } else { 90 });
        scenario.precondition.state = PreparedState::Empty;
        vec![run("new".into(), scenario)]
    }

    fn rows(&self, _: &Options, done: &[Measured]) -> Vec<Row> {
        let seconds = rounds(find(done, "new"));
        let first = seconds.first().copied().unwrap_or(0.0);
        let after = &seconds[ROUND.min(seconds.len().saturating_sub(1))..];
        let least = after.iter().copied().fold(f64::INFINITY, f64::min);
        let most = after.iter().copied().fold(0.0, f64::max);
        let case = SHAPE.name();
        let row = |quantity: &str, mb_per_s: f64| Row::new(&*case, quantity, "B/s", mb_per_s * 1e6);
        vec![
            row("first second", first).paper(8.0 * 140e6).basis(Basis::Derived, EIGHT_DRIVES).explain(FIRST),
            row("slowest second once collection runs", least).paper(300e6).explain(AFTER),
            row("best second once collection runs", most).paper(750e6).explain(AFTER),
            row("mean once collection runs", mean(after)),
            Row::new(&*case, "variation of seconds once collection runs", "share", variation(after)),
            Row::new(&*case, "fall", "x", mean(after) / first)
                .paper(525.0 / 1120.0)
                .basis(Basis::Derived, "the middle of 300 to 750 MB/s over 8 x 140 MB/s")
                .explain(AFTER),
        ]
    }
}

/// What "first second" is compared with.
const EIGHT_DRIVES: &str = "8 x 140 MB/s, what the text gives for one drive";

const FIRST: &str = "\
The paper's Log-RAID writes 140 MB/s to each drive even before anything is collected, a third of the 400 \
MB/s which the same drives write in order under SWAN (figure 6): something in its host, such as one thread \
for all appends, held it back. Ours writes as fast as eight drives take it.";

const AFTER: &str = "\
Follows from the first second: ours falls from a higher level. The reason to fall is the same, writes share \
all drives with what collection reads and writes; see 'fall' for the level against that of the beginning.";
