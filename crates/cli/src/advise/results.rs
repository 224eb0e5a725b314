//! What advice is made of: the content of `advise.json`.

use crate::sweep::{Outcome, Quantity, Unit};
use serde::{Deserialize, Serialize};

/// The form of [`Advice`]; it changes when a reader of an older form would misread a newer one.
pub const FORMAT: u32 = 1;

/// The result of `tailcut advise`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// Version of this format: [`FORMAT`].
    pub format: u32,
    /// Version of tailcut that gave the advice.
    pub version: String,
    /// The promise in the form in which it was understood.
    pub promise: String,
    /// Bytes of data that every arrangement holds.
    pub data_bytes: u64,
    /// The unit in which costs are given, in words.
    pub cost_unit: String,
    /// The assumption behind the costs, in a sentence.
    pub assumption: String,
    /// The number of the arrangement that is advised, if one keeps the promise: the first of the cheapest
    /// that do.
    pub advised: Option<usize>,
    /// The number of the closest among the arrangements that cost less and do not keep the promise.
    pub next_cheaper: Option<usize>,
    /// What the advice was set against, if the user asked for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Against>,
    /// Every arrangement that was tried, in the order of cost.
    pub tried: Vec<Candidate>,
    /// Arrangements of the catalogue that hold too little data, or that a scenario refuses.
    pub left_out: u64,
    /// Arrangements that cost more than the advised one and were not tried.
    pub not_tried: u64,
    /// False when the user stopped the search before its end.
    pub complete: bool,
}

/// The layouts that an advice was set against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Against {
    /// Name of the group of layouts, as `--against` takes it.
    group: String,
    /// The number of the cheapest arrangement of these layouts that keeps the promise; the closest where none
    /// does; none if none was tried.
    best: Option<usize>,
}

impl Against {
    /// The best arrangement with the layouts of `group`, by its number.
    pub fn new(group: &str, best: Option<usize>) -> Against {
        Against { group: group.to_owned(), best }
    }

    /// Name of the group of layouts.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// The number of the best arrangement of these layouts, if one was tried.
    pub fn best(&self) -> Option<usize> {
        self.best
    }
}

/// An arrangement that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Name of the arrangement: layout, drives, over-provisioning, technique.
    pub name: String,
    /// Name of the layout in the catalogue.
    #[serde(default)]
    pub layout: String,
    /// Sources of the layout and of the technique.
    pub sources: Vec<String>,
    /// Name of the drive's preset.
    pub drive: String,
    /// Number of drives.
    pub drives: u32,
    /// Bytes of raw flash of each drive.
    pub raw_bytes: u64,
    /// Over-provisioning of each drive, as a share of its raw flash.
    pub spare: f64,
    /// Bytes that the host can use, redundancy deducted.
    pub capacity_bytes: u64,
    /// Whether the data survive the loss of any one drive.
    pub survives_a_drive: bool,
    /// Cost of the arrangement, in [`Advice::cost_unit`].
    pub cost: f64,
    /// Settings of the arrangement over the user's scenario, each as `key=value`, except the fill.
    pub settings: Vec<String>,
    /// Whether the arrangement keeps the promise, as far as is known.
    pub verdict: Verdict,
    /// The arrangement's result for each term, in the order of the promise, after its longest run.
    pub terms: Vec<TermResult>,
    /// Write amplification and lifetime of the drives in the longest run.
    #[serde(default)]
    pub wear: Wear,
    /// How the figures of the longest run are to be read.
    #[serde(flatten)]
    pub caveats: Caveats,
    /// Requests of the longest run, without the ramp.
    pub requests: u64,
    /// Digest of the longest run in `points.jsonl`, whose scenario is the same but for the seed's name.
    pub digest: String,
    /// Why the arrangement has no result; `None` if it has one.
    pub error: Option<String>,
}

/// How the figures of a run are to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Caveats {
    overloaded: bool,
    volatile_cache: bool,
}

impl Caveats {
    /// The caveats that the report of a run shows.
    pub fn of(outcome: &Outcome) -> Caveats {
        Caveats {
            overloaded: outcome.report["overload"].is_object(),
            volatile_cache: outcome.report["volatile_cache"] == true,
        }
    }

    /// Requests fell due faster than the drives completed them.
    pub fn is_overloaded(self) -> bool {
        self.overloaded
    }

    /// Writes complete in a volatile cache: a power cut loses them until they are flushed.
    pub fn has_volatile_cache(self) -> bool {
        self.volatile_cache
    }
}

/// What the flash of an arrangement goes through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wear {
    /// Pages programmed per page of the host's data; of an array on all of its drives, with redundancy.
    write_amplification: Option<f64>,
    /// Years until the first drive is worn out at this load.
    life_years: Option<f64>,
    /// False while drives use up blocks that were erased before.
    life_resolved: bool,
}

impl Wear {
    /// The wear in a run; unknown where nothing was written.
    pub fn of(outcome: &Outcome) -> Wear {
        let figure = |name| Quantity::parse(name).ok().and_then(|quantity| quantity.of(outcome));
        let life = figure("life");
        Wear {
            write_amplification: figure("waf").map(|figure| figure.value),
            life_years: life.map(|figure| figure.value),
            life_resolved: life.is_some_and(|figure| figure.resolved),
        }
    }

    /// True if the write amplification or the lifetime is known.
    pub fn is_known(&self) -> bool {
        self.write_amplification.is_some() || self.life_years.is_some()
    }

    /// The write amplification for a table.
    pub fn amplification(&self) -> String {
        self.write_amplification.map_or(String::from("-"), |waf| format!("{waf:.2}"))
    }

    /// The life for a table, with a `?` while drives use up blocks that were erased before.
    pub fn life(&self) -> String {
        let doubt = if self.life_resolved { "" } else { " ?" };
        self.life_years.map_or(String::from("-"), |years| format!("{}{doubt}", Unit::Years.show(years)))
    }
}

/// What became of an arrangement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A short run broke the promise already.
    BrokenSoon,
    /// A long run broke it, or could not show that it is kept.
    Broken,
    /// It keeps the promise.
    Kept,
    /// It keeps the promise as far as its requests go, which are too few for a percentile or a life.
    KeptTooFew,
    /// It was not run.
    Unknown,
}

/// How an arrangement stands to a term.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TermResult {
    /// The term as the promise states it.
    pub term: String,
    /// The figure, in the unit of its quantity: ns, bytes per second, years; none where nothing is known of
    /// it.
    pub value: Option<f64>,
    /// The figure with its unit, as tables print it.
    pub shown: String,
    /// The distance to the bound, as a share of the bound; below 0 where the term is broken.
    pub margin: Option<f64>,
    /// Whether the figure keeps the term.
    pub kept: bool,
    /// False for a percentile that fewer than ten requests exceed, and for the life of drives that still use
    /// up erased blocks.
    pub resolved: bool,
}
