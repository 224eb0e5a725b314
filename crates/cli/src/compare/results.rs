//! The results of a comparison: the content of `compare.json`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The form of [`Results`]; it changes when a reader of an older form would misread a newer one.
pub const FORMAT: u32 = 1;

/// A comparison, complete or as far as it came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Version of this format: [`FORMAT`].
    pub format: u32,
    /// Version of tailcut that made the comparison.
    pub version: String,
    /// The base scenario, complete, as TOML: what `tailcut run` takes.
    pub scenario: String,
    /// The quantity by which points are ranked, one of `quantities`.
    pub by: String,
    /// The seeds with which each point was run.
    pub seeds: Vec<u64>,
    /// How the points that were run were chosen from the grid.
    pub design: Design,
    /// The factors that were varied, each with its levels.
    pub factors: Vec<Factor>,
    /// The quantities that the columns of the table show.
    pub quantities: Vec<Head>,
    /// The two quantities of which no other point has both better where [`Point::pareto`] is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pareto: Option<[String; 2]>,
    /// Every point, in the order of the grid: the last factor changes first.
    pub points: Vec<Point>,
    /// The effects of each factor on a quantity, for the quantity of the ranking first, then for the others
    /// of the table.
    pub effects: Vec<Effects>,
}

/// Which points of the grid are run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Design {
    /// `full`, `regular` (an orthogonal fraction) or `spread` (a balanced sample).
    pub kind: String,
    /// Number of points of the full grid.
    pub grid: u64,
    /// Combinations that no scenario can have, and that were left out.
    pub impossible: Vec<Impossible>,
    /// Keys that points set and that have no effect there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ineffective: Vec<Ineffective>,
    /// Points whose results are not known, because the comparison was interrupted.
    pub missing: u64,
    /// For a regular fraction its resolution: effects of one factor are clear of each other from 3 on, of
    /// those of two from 4 on, and effects of two of each other from 5 on. 0 for other designs.
    pub resolution: u32,
}

/// A combination that no scenario can have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Impossible {
    /// The settings that contradict each other, or the one that is wrong by itself.
    pub settings: Vec<String>,
    /// Why the settings contradict each other, as a sentence.
    pub why: String,
    /// Number of points with this combination.
    pub points: u64,
}

/// Keys that have no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ineffective {
    /// The keys that have no effect, and why.
    pub what: String,
    /// Number of points at which the key has no effect.
    pub points: u64,
}

/// Something that has several levels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// Name of the factor: a scenario key, or the name that the user gave it.
    pub name: String,
    /// The levels of the factor, of which the first is that of the base point.
    pub levels: Vec<Level>,
}

/// A level of a factor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// Name of the level: the value of the key, `off`, `on`, or the name that the user gave it.
    pub name: String,
    /// Settings of the level, as `--set` takes them; none where it leaves the scenario as it is.
    pub settings: Vec<String>,
}

/// A column of the table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Name of the quantity, as `--by` takes it.
    pub name: String,
    /// Unit of the quantity's values: `ns`, `B/s`, `1/s`, `years`, `x` (times as much), or nothing.
    pub unit: String,
    /// Whether higher values of the quantity are better.
    pub more_is_better: bool,
}

/// A point of the grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The level of each factor, by number, in the order of [`Results::factors`].
    pub levels: Vec<usize>,
    /// The level of each factor by name.
    pub settings: BTreeMap<String, String>,
    /// Place of the point in the ranking, from 1; `None` for a point without a value of that quantity.
    pub rank: Option<usize>,
    /// Whether no other point is better in one of the two quantities of [`Results::pareto`] and as
    /// good in the other.
    pub pareto: bool,
    /// Its quantities by name, over all seeds: the geometric mean, or the mean where a value is not
    /// positive. None where a run has no such figure.
    pub quantities: BTreeMap<String, Option<f64>>,
    /// Quantities that fewer than ten requests decide, which is little more than chance, and lives of drives
    /// that still use up erased blocks, which are too long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unresolved: Vec<String>,
    /// Percentiles that no request of a run is beyond, and that have no figure therefore: how many more
    /// requests of their kind a run takes, at least.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub requests_missing: BTreeMap<String, u64>,
    /// Whether writes complete in a volatile cache: a power cut loses them until they are flushed.
    #[serde(default)]
    pub volatile_cache: bool,
    /// Whether a run of the point was too slow for an open loop, so that latencies grow with the length of
    /// the run.
    #[serde(default)]
    pub overloaded: bool,
    /// The runs of the point, one for each seed that is done.
    pub runs: Vec<RunOf>,
    /// Why the point has no result: the error of its first run that failed; `None` if it has one.
    pub error: Option<String>,
}

/// One run of a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunOf {
    /// Seed of the run's random streams.
    pub seed: u64,
    /// Its digest in `points.jsonl`: of the resolved scenario, the version and the content of its trace.
    pub digest: String,
    /// The digest of the history of its requests; none when it failed.
    pub history: Option<String>,
    /// The quantities of the run by name; `None` for one that it does not have.
    pub quantities: BTreeMap<String, Option<f64>>,
    /// Why the run has no result; `None` if it has one.
    pub error: Option<String>,
}

/// The effects of the factors on one quantity. A ratio is that of the quantity with the level over without
/// it (with the factor at its first level): 0.8 is a fifth less.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effects {
    /// Name of the quantity that the effects are on.
    pub quantity: String,
    /// Ratios between 1 / (1 + tolerance) and 1 + tolerance are taken as no difference.
    pub tolerance: f64,
    /// The noise of one seed, as a share of the quantity: the standard deviation of its logarithm. `None`
    /// with one seed.
    pub noise: Option<f64>,
    /// Each level but the first of each factor.
    pub mains: Vec<Main>,
    /// Each pair of such levels of two factors.
    pub pairs: Vec<Pair>,
}

/// The effect of a level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Main {
    /// Number of the factor, from 0.
    pub factor: usize,
    /// Number of the level in its factor, from 1.
    pub level: usize,
    /// Ratio by which the level changes the quantity at the base point.
    pub alone: Option<f64>,
    /// Ratio by which the level changes the quantity with all other factors at their last level.
    pub in_company: Option<f64>,
    /// The geometric mean of the ratios over the grid.
    pub average: Option<f64>,
    /// Smallest ratio over the grid.
    pub least: Option<f64>,
    /// Largest ratio over the grid.
    pub most: Option<f64>,
}

/// What two levels do together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// Numbers of the two factors, from 0.
    pub factors: [usize; 2],
    /// Numbers of the two levels in their factors, from 1.
    pub levels: [usize; 2],
    /// The ratio of each alone, at the base point.
    pub alone: [Option<f64>; 2],
    /// The ratio of both together, at the base point.
    pub together: Option<f64>,
    /// The ratio of `together` to the product of the two in `alone`, at the base point.
    pub interaction: Option<f64>,
    /// The geometric mean of `interaction` over the grid.
    pub average: Option<f64>,
    /// How the effect of both levels compares with that of each alone; `None` where that is unknown.
    pub verdict: Option<Verdict>,
}

/// How two techniques get along: see `docs/decisions/compare.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Together they do what both do alone.
    Add,
    /// Together they do less than both alone, but no less than the better one.
    Overlap,
    /// Together they are worse than the better one alone.
    Fight,
    /// Together they do more than both alone.
    Help,
}

impl Verdict {
    /// The word for a table.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Add => "add",
            Verdict::Overlap => "overlap",
            Verdict::Fight => "fight",
            Verdict::Help => "help",
        }
    }

    /// The word and its meaning, for the line below a table.
    pub fn meaning(self) -> &'static str {
        match self {
            Verdict::Add => "add: together they do what both do alone",
            Verdict::Overlap => {
                "overlap: together they do less than both alone, and no less than the better one"
            }
            Verdict::Fight => "fight: together they are worse than the better one alone",
            Verdict::Help => "help: together they do more than both alone",
        }
    }
}
