//! The points of a design as scenarios, and which of them cannot be.

use super::design::Design;
use super::request::Request;
use super::results::{Factor, Impossible, Ineffective as IneffectiveKeys};
use crate::failure::Failure;
use crate::run::arguments::RunArguments;
use crate::run::{self, NotRun, Scenario};
use crate::scenario::Problems;
use crate::sweep::Point;
use crate::sweep::point::{Identities, check_workload};
use crate::terminal::ColorMode;
use tailcut_base::SECTOR_BYTES;
use tailcut_base::quantity::{exact_bytes, show_number_of};
use tailcut_sim::scenario::Ineffective;
use tailcut_workload::size::Sizes;

/// A point of the grid, as it is run.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The level of each factor, by number.
    pub levels: Vec<usize>,
    /// The resolved scenario of the point with each seed.
    pub runs: Vec<Point>,
}

/// The points of a design with their scenarios, and the refused points.
#[derive(Debug)]
pub struct Cells {
    /// The scenario of the base point.
    pub base: Scenario,
    /// The points that can be run, in the order of the design.
    pub cells: Vec<Cell>,
    /// The points that no scenario can have, grouped by conflict.
    pub impossible: Vec<Impossible>,
    /// Keys without effect at points that can be run, with the number of points.
    pub ineffective: Vec<IneffectiveKeys>,
}

impl Cells {
    /// Reads the scenario of every point.
    ///
    /// # Errors
    /// The base point cannot be run; or others cannot, and they are not to be left out.
    pub fn new(request: &Request, design: &Design) -> Result<Cells, Failure> {
        let reader = Reader { request };
        let (base, _) = reader.read(&vec![0; request.factors.len()])?;
        check_workload(&base)?;
        if let Some(why) = reader.equal_levels() {
            return Err(Failure::Input(why));
        }
        let mut identities = Identities::default();
        let mut found = Cells { base, cells: Vec::new(), impossible: Vec::new(), ineffective: Vec::new() };
        let mut conflicts: Vec<Conflict> = Vec::new();
        for levels in &design.points {
            match reader.read(levels) {
                Ok((scenario, warnings)) => {
                    found.cells.push(cell(scenario, levels, request.seeds, &mut identities)?);
                    warnings.list().iter().for_each(|warning| found.note_ineffective(&warning.message));
                }
                Err(why) => match conflicts.iter_mut().find(|conflict| conflict.is_in(levels)) {
                    Some(known) => known.points += 1,
                    None => conflicts.push(reader.conflict(levels, why)),
                },
            }
        }
        if !conflicts.is_empty() && !request.skip_impossible {
            return Err(reader.refuse(&conflicts, design.points.len()));
        }
        if let Some(why) = found.idle_factor(&request.factors) {
            return Err(Failure::Input(why));
        }
        found.impossible = conflicts.iter().map(|conflict| reader.impossible(conflict)).collect();
        Ok(found)
    }

    /// Why a factor changes nothing: no key of it has an effect at any point.
    fn idle_factor(&self, factors: &[Factor]) -> Option<String> {
        let scenarios = self.cells.iter().filter_map(|cell| Some(&cell.runs.first()?.scenario));
        let idle: Vec<Vec<Ineffective>> = scenarios.map(Scenario::ineffective).collect();
        let covering = |idle: &[Ineffective], key: &str| {
            idle.iter().find(|keys| keys.covers(key)).map(|keys| keys.because.clone())
        };
        factors.iter().find_map(|factor| {
            let keys = factor.keys();
            let key = keys.first()?;
            let because = covering(idle.first()?, key)?;
            let is_idle = |idle: &Vec<Ineffective>| keys.iter().all(|key| covering(idle, key).is_some());
            idle.iter().all(is_idle).then(|| {
                format!("'{}' has no effect at any point: {because}; vary something else", factor.name)
            })
        })
    }

    /// Counts a point at which keys have no effect.
    fn note_ineffective(&mut self, what: &str) {
        match self.ineffective.iter_mut().find(|known| known.what == what) {
            Some(known) => known.points += 1,
            None => self.ineffective.push(IneffectiveKeys { what: what.to_owned(), points: 1 }),
        }
    }
}

fn cell(
    scenario: Scenario,
    levels: &[usize],
    seeds: u64,
    identities: &mut Identities,
) -> Result<Cell, Failure> {
    let with_seed = |offset| Scenario { seed: scenario.seed.wrapping_add(offset), ..scenario.clone() };
    let runs: Result<Vec<Point>, Failure> =
        (0..seeds).map(|offset| identities.point(with_seed(offset))).collect();
    Ok(Cell { levels: levels.to_vec(), runs: runs? })
}

/// Levels of some factors that do not go together.
struct Conflict {
    /// Factor and level; at least one.
    levels: Vec<(usize, usize)>,
    why: String,
    /// The first point that has them.
    example: Vec<usize>,
    points: u64,
}

impl Conflict {
    fn is_in(&self, levels: &[usize]) -> bool {
        self.levels.iter().all(|&(factor, level)| levels[factor] == level)
    }
}

struct Reader<'r> {
    request: &'r Request,
}

impl Reader<'_> {
    /// The scenario of a point, checked as far as that goes without preparing its drive, and what has no
    /// effect in it.
    fn read(&self, levels: &[usize]) -> Result<(Scenario, Problems), Failure> {
        let mut scenario = Scenario::default();
        let arguments = self.arguments(levels);
        let warnings = run::read_with_warnings(&mut scenario, &arguments)?;
        scenario.check().map_err(|error| run::refuse(NotRun::Input(error), &arguments))?;
        Ok((scenario, warnings))
    }

    /// The first two levels of a factor that set the same keys to equal values, such as 4KiB and 4096.
    fn equal_levels(&self) -> Option<String> {
        let base = vec![0; self.request.factors.len()];
        self.request.factors.iter().enumerate().find_map(|(index, factor)| {
            let scenario = |level: usize| Some(canonical(self.read(&with(&base, index, level)).ok()?.0));
            let all: Vec<Option<Scenario>> = (0..factor.levels.len()).map(scenario).collect();
            let are_equal = |a: usize, b: usize| {
                all[a].is_some() && all[a] == all[b] && factor.levels[a].keys() == factor.levels[b].keys()
            };
            let pairs = (0..all.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
            let (a, b) = pairs.into_iter().find(|&(a, b)| are_equal(a, b))?;
            let [a, b] = [a, b].map(|level| &factor.levels[level].name);
            Some(format!("the levels '{a}' and '{b}' of '{}' are equal: leave out one", factor.name))
        })
    }

    fn arguments(&self, levels: &[usize]) -> RunArguments {
        let mut arguments = self.request.base.clone();
        let chosen = self.request.factors.iter().zip(levels).map(|(factor, &level)| &factor.levels[level]);
        arguments.options.sets.extend(chosen.flat_map(|level| level.settings.iter().cloned()));
        arguments
    }

    /// The smallest set of levels of a refused point that conflict. Base levels are included: a technique may
    /// require another one that is off at the base point.
    fn conflict(&self, levels: &[usize], why: Failure) -> Conflict {
        let (mut fewest, mut why) = (levels.to_vec(), why);
        for factor in 0..levels.len() {
            let without = with(&fewest, factor, 0);
            if fewest[factor] != 0
                && let Err(still) = self.read(&without)
            {
                (fewest, why) = (without, still);
            }
        }
        let matters = |factor: usize| fewest[factor] != 0 || self.is_needed(&fewest, factor);
        let levels_of = (0..fewest.len()).filter(|&factor| matters(factor));
        Conflict {
            levels: levels_of.map(|factor| (factor, fewest[factor])).collect(),
            why: message(&why),
            example: levels.to_vec(),
            points: 1,
        }
    }

    /// Whether another level of the factor would make a refused point possible.
    fn is_needed(&self, refused: &[usize], factor: usize) -> bool {
        let others = 0..self.request.factors[factor].levels.len();
        others
            .filter(|&other| other != refused[factor])
            .any(|other| self.read(&with(refused, factor, other)).is_ok())
    }

    /// The settings of the levels; a level without any is named.
    fn settings(&self, conflict: &Conflict) -> Vec<String> {
        let mut settings = Vec::new();
        for &(index, level) in &conflict.levels {
            let factor = &self.request.factors[index];
            let of_level = &factor.levels[level].settings;
            if of_level.is_empty() {
                settings.push(name((factor, &level)));
            }
            settings.extend(of_level.iter().cloned());
        }
        settings
    }

    fn impossible(&self, conflict: &Conflict) -> Impossible {
        Impossible { settings: self.settings(conflict), why: conflict.why.clone(), points: conflict.points }
    }

    /// The failure of a comparison with such points.
    fn refuse(&self, conflicts: &[Conflict], all: usize) -> Failure {
        let points: u64 = conflicts.iter().map(|conflict| conflict.points).sum();
        let mut text = format!("{points} of {} cannot be run, so nothing was run", counted(all as u64));
        for conflict in conflicts.iter().take(SHOWN) {
            let settings = self.settings(conflict).join(" and ");
            let wrong = if conflict.levels.len() > 1 { "contradict each other" } else { "is refused" };
            let named: Vec<String> = self.request.factors.iter().zip(&conflict.example).map(name).collect();
            text += &format!(
                "\n\n  {settings}: {wrong}, at {} such as {}\n    {}",
                counted(conflict.points),
                named.join(", "),
                conflict.why.replace('\n', "\n    ")
            );
        }
        if conflicts.len() > SHOWN {
            text += &format!(
                "\n\n  and {} beside",
                show_number_of((conflicts.len() - SHOWN) as u64, "combination")
            );
        }
        Failure::Input(text + "\n\nvary something else, or leave such points out with --skip-impossible")
    }
}

/// A scenario in which sizes that are texts are spelled in one way.
fn canonical(mut scenario: Scenario) -> Scenario {
    for source in [&mut scenario.workload, &mut scenario.beside.source] {
        for size in [&mut source.read_size, &mut source.write_size, &mut source.trim_size] {
            if let Ok(Sizes::Fixed(sectors)) = Sizes::parse(size) {
                *size = exact_bytes(u64::from(sectors) * SECTOR_BYTES);
            }
        }
    }
    scenario
}

fn name((factor, &level): (&Factor, &usize)) -> String {
    format!("{}={}", factor.name, factor.levels[level].name)
}

fn with(levels: &[usize], factor: usize, level: usize) -> Vec<usize> {
    let mut levels = levels.to_vec();
    levels[factor] = level;
    levels
}

/// A number of points in words: `1 point`, `2 points`.
pub fn counted(points: u64) -> String {
    show_number_of(points, "point")
}

/// The problems without their places: the settings of a point are nowhere written together.
fn message(failure: &Failure) -> String {
    let Failure::Scenario(problems) = failure else {
        let text = failure.render(ColorMode::Plain);
        return text.trim_end().trim_start_matches("error: ").to_owned();
    };
    let each = |problem: &crate::scenario::Problem| match &problem.remedy {
        Some(remedy) => format!("{}; {remedy}", problem.message),
        None => problem.message.clone(),
    };
    problems.list().iter().map(each).collect::<Vec<String>>().join("\n")
}

/// Combinations that an error lists.
const SHOWN: usize = 8;
