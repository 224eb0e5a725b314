//! PAReset, figures 12 and 13: a log-structured merge store whose reads carry classes.

use super::pareset::{Cached, RESET, SOS, SUSPEND, mean, percentile, reads, rocksdb, rows_of, wear};
use super::{NO_CAUSE, Options, Row, Study};
use tailcut_sim::measured::{Measured, Run, find};
use tailcut_ssd::SsdConfig;
use tailcut_ssd::config::{Classes, CommitPolicy};

/// SOS, suspending, resetting, and PAReset.
pub(crate) struct Classed;

/// A scheme under comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Sos,
    Suspend,
    Reset,
    PaReset,
    /// PAReset that resets an operation once at the most.
    Once,
    /// PAReset above another commit scheduler.
    Above(CommitPolicy),
}

/// The thesis' four, and what goes beyond.
const SCHEMES: [Scheme; 8] = [
    Scheme::Sos,
    Scheme::Suspend,
    Scheme::Reset,
    Scheme::PaReset,
    Scheme::Once,
    Scheme::Above(CommitPolicy::Vas),
    Scheme::Above(CommitPolicy::Pas),
    Scheme::Above(CommitPolicy::Sprinkler),
];

impl Scheme {
    fn name(self) -> String {
        match self {
            Scheme::Sos => "SOS".into(),
            Scheme::Suspend => "SOS + suspend".into(),
            Scheme::Reset => "SOS + reset".into(),
            Scheme::PaReset => "PAReset".into(),
            Scheme::Once => "PAReset, once".into(),
            Scheme::Above(policy) => format!("PAReset on {policy}"),
        }
    }

    fn drive(self) -> SsdConfig {
        match self {
            Scheme::Sos => SOS.drive(),
            Scheme::Suspend => SUSPEND.drive(),
            Scheme::Reset => RESET.drive(),
            _ => {
                let mut device = RESET.drive();
                device.schedule.classes = Classes::Told;
                match self {
                    Scheme::Once => device.preempt.resets = 1,
                    Scheme::Above(policy) => device.schedule.commit = policy,
                    _ => {}
                }
                device
            }
        }
    }
}

/// The readings of the load, with their names in labels and cases.
const LOADS: [(Cached, &str, &str); 2] =
    [(Cached::Nothing, "direct", "direct reads"), (Cached::Most, "cached", "page cache")];

/// The main reading: see `docs/decisions/how-we-read-pareset.md`.
const MAIN_LOAD: &str = "direct";

fn label(load: &str, scheme: Scheme) -> String {
    format!("{load}/{}", scheme.name().replace([' ', ','], ""))
}

impl Study for Classed {
    fn id(&self) -> &'static str {
        "pareset-12"
    }

    fn title(&self) -> &'static str {
        "A log-structured merge store: reads of gets before those of compactions, and resets for them alone"
    }

    fn source(&self) -> &'static str {
        "Lee, PAReset, Seoul National University 2018, section 5, figures 12 and 13"
    }

    fn next(&self, options: &Options, done: &[Measured]) -> Vec<Run> {
        if !done.is_empty() {
            return Vec::new();
        }
        let run =
            |(cached, name, _), scheme: Scheme| rocksdb(options, label(name, scheme), scheme.drive(), cached);
        LOADS.into_iter().flat_map(|load| SCHEMES.map(|scheme| run(load, scheme))).collect()
    }

    fn rows(&self, _: &Options, done: &[Measured]) -> Vec<Row> {
        let mut rows = Vec::new();
        for (_, load, title) in LOADS {
            for scheme in SCHEMES {
                let measured = find(done, &label(load, scheme));
                rows.extend(rows_of(&format!("{title}, {}", scheme.name()), measured));
                let case = format!("{title}, {}", scheme.name());
                rows.push(Row::new(case, "reads of gets", "1/s", reads(measured).requests_per_s));
            }
        }
        for (_, load, title) in LOADS {
            let claims = Compared { done, load, title }.rows().into_iter();
            let order = [Scheme::Sos, Scheme::Suspend, Scheme::Reset, Scheme::PaReset]
                .map(|scheme| format!("{title}, {}", scheme.name()));
            let order = order.each_ref().map(String::as_str);
            let orders = [Row::order(&rows, "read latency, mean", &order).explain(NO_CAUSE)];
            let claims: Vec<Row> = claims.chain(orders).collect();
            rows.extend(
                claims.into_iter().map(|row| if load == MAIN_LOAD { row } else { row.of_reading(title) }),
            );
        }
        rows
    }
}

/// The schemes under one reading of the load, held against each other.
struct Compared<'m> {
    done: &'m [Measured],
    load: &'static str,
    title: &'static str,
}

impl Compared<'_> {
    fn of(&self, scheme: Scheme) -> &Measured {
        find(self.done, &label(self.load, scheme))
    }

    fn ratio(&self, of: impl Fn(&Measured) -> Option<f64>, a: Scheme, b: Scheme) -> Option<f64> {
        of(self.of(a)).zip(of(self.of(b))).map(|(a, b)| a / b)
    }

    fn rows(&self) -> Vec<Row> {
        use Scheme::{PaReset, Reset, Sos, Suspend};
        let row = |scheme: Scheme, quantity: &str, measured| {
            Row::new(format!("{}, {}", self.title, scheme.name()), quantity, "x", measured)
        };
        let means = |a, b| self.ratio(|m| Some(mean(m)), a, b);
        let tails = |a, b| self.ratio(|m| percentile(m, 99.99), a, b);
        let lives = |a, b| self.ratio(|m| Some(1.0 / wear(m)), a, b);
        vec![
            row(Suspend, "mean / SOS", means(Suspend, Sos)),
            row(Reset, "mean / suspend", means(Reset, Suspend)).paper(0.813).effect().explain(MEAN),
            row(PaReset, "mean / reset", means(PaReset, Reset)).paper(0.91).effect().explain(MEAN),
            row(PaReset, "99.99 % / reset", tails(PaReset, Reset)).paper(0.931).effect().explain(TAIL),
            row(PaReset, "99.99 % / reset, beside figure 13", tails(PaReset, Reset))
                .paper(0.875)
                .effect()
                .of_reading("the text beside figure 13")
                .explain(TAIL),
            row(PaReset, "life / reset", lives(PaReset, Reset)).paper(1.2).effect().explain(LIFE),
            row(PaReset, "life / SOS", lives(PaReset, Sos)).paper(0.972).effect().explain(LIFE),
        ]
    }
}

const MEAN: &str = "\
What resetting gains over suspending is 120 µs for each read of a get that meets a program, and what classes \
gain over resetting for all is the wait behind reads of compactions: both follow from how busy the chips are \
with compactions, and how many of the reads are theirs. Neither is in the thesis.";

const TAIL: &str = "\
At 'direct reads' the slowest reads are those that meet an erase which has been held off for 10 ms \
(schedule.write_patience) and must finish, with and without classes. With the page cache gets are few enough \
for that not to happen under PAReset, while the reads of compactions make it happen where all reads reset. \
The text beside the thesis' figure 13 has 0.875.";

const LIFE: &str = "\
Wear follows the resets, and these the reads that may reset. With 'direct reads' gets cause nearly all of \
the resets, so sparing the reads of compactions saves little; with the page cache they cause a quarter, and \
the order of the thesis comes out: much longer than with resets for all, shorter than without. In the thesis \
nearly all resets were those of compactions. Each reset of a program costs two pages of MLC and the \
collection that they cause; how often the same operation is reset is bounded by nothing but the patience, \
see 'once'.";
