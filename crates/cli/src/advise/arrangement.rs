//! The arrangements of the catalogue as scenarios.

use super::Request;
use super::catalogue::{LAYOUTS, Layout, SPARES, TECHNIQUES, Technique};
use super::promise::Promise;
use super::results::{Candidate, Verdict, Wear};
use crate::failure::Failure;
use crate::run::arguments::RunArguments;
use crate::run::{self, NotRun, Scenario};
use crate::scenario::spelling;
use crate::sweep::point::check_workload;
use tailcut_base::config::Choice;
use tailcut_base::quantity::show_bytes;
use tailcut_base::{Nanos, Op, SECTOR_BYTES};
use tailcut_sim::workload::datacenter::Workload;
use tailcut_sim::world::Limits;
use tailcut_ssd::Preset;

/// What can be tried, in the order of cost; equal costs in the order of the catalogue.
#[derive(Debug)]
pub struct Arrangements {
    all: Vec<Arrangement>,
    /// Bytes of data that each holds.
    pub data: u64,
    /// How many of the catalogue hold too little, or are refused.
    pub left_out: u64,
}

/// A candidate arrangement.
#[derive(Clone, Debug)]
pub struct Arrangement {
    /// Its scenario, filled with the data; it measures and ends as that of the user.
    pub scenario: Scenario,
    /// What is known of it before it is run.
    pub tried: Candidate,
}

impl Arrangements {
    /// Takes all arrangements out.
    pub fn take(&mut self) -> Vec<Arrangement> {
        std::mem::take(&mut self.all)
    }

    /// Every arrangement of the catalogue that holds the data.
    ///
    /// # Errors
    /// The scenario of the user is wrong; or there is none.
    pub fn new(request: &Request) -> Result<Arrangements, Failure> {
        let mut base = Scenario::default();
        run::read_and_warn(&mut base, &request.base)?;
        let refuse = |error| run::refuse(NotRun::Input(error), &request.base);
        base.check().map_err(refuse)?;
        check_workload(&base)?;
        if base.kv.enabled {
            let message = "advice is of drives and arrays: set kv.enabled = false, and let [workload] be what the server asks of them";
            return Err(Failure::Input(message.into()));
        }
        let capacity = base.sectors().map_err(refuse)? * SECTOR_BYTES;
        let used = share_used(&base);
        check_offered(&request.promise, &base, capacity / SECTOR_BYTES)?;
        let data = request.data.unwrap_or((capacity as f64 * used) as u64);
        let mut found = Arrangements { all: Vec::new(), data, left_out: 0 };
        let builder = Builder { request, base: &base, data, used };
        for arrangement in builder.all() {
            match arrangement {
                Some(arrangement) => found.all.push(arrangement),
                None => found.left_out += 1,
            }
        }
        if found.all.is_empty() {
            return Err(Failure::Input(format!(
                "no arrangement of up to {} drives holds {}; allow more (--most-drives), other drives (--drive), or store less (--data)",
                request.most_drives,
                show_bytes(data as f64)
            )));
        }
        // Sorting is stable: arrangements of equal cost stay in the order of the catalogue.
        found.all.sort_by(|a, b| a.tried.cost.total_cmp(&b.tried.cost));
        Ok(found)
    }
}

/// Refuses a promised rate above the offered load of an open loop, which no arrangement can reach.
fn check_offered(promise: &Promise, base: &Scenario, sectors: u64) -> Result<(), Failure> {
    if !base.is_synthetic() || base.beside.enabled {
        return Ok(());
    }
    let Ok(recipe) = base.workload.recipe(sectors) else { return Ok(()) };
    for term in &promise.terms {
        let op = match term.quantity.kind() {
            "all" => None,
            "read" => Some(Op::Read),
            "write" => Some(Op::Write),
            "trim" => Some(Op::Trim),
            _ => continue,
        };
        let Some(offered) = recipe.offered(op).and_then(|offered| term.quantity.of_offered(offered)) else {
            continue;
        };
        if term.bound > offered {
            return Err(Failure::Input(format!(
                "the promise is {term}, and the workload offers only {}: raise workload.rate, set workload.pace = \"closed\", or \
                 promise less",
                term.quantity.unit().show(offered)
            )));
        }
    }
    Ok(())
}

/// The largest share of the device that the scenario fills or uses.
fn share_used(scenario: &Scenario) -> f64 {
    let mut used = scenario.precondition.fill;
    if scenario.is_synthetic() {
        used = used.max(scenario.workload.region_share);
    }
    f64::from(used.max(1)) / 1e6
}

struct Builder<'r> {
    request: &'r Request,
    base: &'r Scenario,
    /// Bytes that every arrangement holds.
    data: u64,
    /// The share of its device that they are in the scenario of the user.
    used: f64,
}

impl Builder<'_> {
    /// Each arrangement of the catalogue; none for one that holds too little, or is refused.
    fn all(&self) -> impl Iterator<Item = Option<Arrangement>> {
        let kinds: Vec<Option<Preset>> = match self.request.drives.as_slice() {
            [] => vec![None],
            drives => drives.iter().copied().map(Some).collect(),
        };
        let mut all = Vec::new();
        for kind in kinds {
            let layouts = LAYOUTS.iter().filter(|l| l.survives_a_drive || !self.request.survives_a_drive);
            for (layout, drives) in
                layouts.flat_map(|l| l.drives(self.request.most_drives).map(move |n| (l, n)))
            {
                for spare in self.spares(kind) {
                    let techniques = TECHNIQUES.iter().filter(|t| drives == 1 || t.in_arrays);
                    all.extend(
                        techniques.map(|technique| self.build(kind, layout, drives, spare, technique)),
                    );
                }
            }
        }
        all.into_iter()
    }

    /// That of the drive, and larger ones.
    fn spares(&self, kind: Option<Preset>) -> Vec<Option<u32>> {
        let own = kind.map_or(self.base.device.ftl.spare, |preset| preset.config().ftl.spare);
        let larger = SPARES.into_iter().filter(|spare| *spare > own).map(Some);
        [None].into_iter().chain(larger).collect()
    }

    fn build(
        &self,
        kind: Option<Preset>,
        layout: &Layout,
        drives: u32,
        spare: Option<u32>,
        technique: &Technique,
    ) -> Option<Arrangement> {
        let mut settings = Vec::new();
        settings.extend(kind.map(|preset| format!("device.preset={}", preset.name())));
        settings.extend(spare.map(|spare| format!("device.ftl.spare={}", spelling::share(spare))));
        settings.extend(layout.settings(drives));
        settings.extend(technique.settings.iter().map(|setting| (*setting).to_owned()));
        let mut arguments: RunArguments = self.request.base.clone();
        arguments.options.sets.extend(settings.iter().cloned());
        let mut scenario = Scenario::default();
        run::read(&mut scenario, &arguments).ok()?;
        let capacity = scenario.sectors().ok()? * SECTOR_BYTES;
        self.fill(&mut scenario, capacity)?;
        scenario.check().ok()?;
        let device = &scenario.device;
        let tried = Candidate {
            name: name(&scenario, layout, drives, spare, technique),
            sources: vec![layout.source.to_owned(), technique.source.to_owned()],
            drive: device.preset.name().to_owned(),
            drives,
            raw_bytes: device.geometry.raw_bytes(),
            spare: f64::from(device.ftl.spare) / 1e6,
            capacity_bytes: capacity,
            survives_a_drive: layout.survives_a_drive,
            cost: self.request.prices.cost(device, drives),
            settings,
            verdict: Verdict::Unknown,
            terms: Vec::new(),
            wear: Wear::default(),
            overloaded: false,
            requests: 0,
            digest: String::new(),
            error: None,
        };
        Some(Arrangement { scenario, tried })
    }

    /// Lets the same bytes be stored and used as in the scenario of the user, whatever the capacity; none
    /// when it is too small for them.
    fn fill(&self, scenario: &mut Scenario, capacity: u64) -> Option<()> {
        if capacity < self.data {
            return None;
        }
        let scale = self.data as f64 / capacity as f64 / self.used;
        let scaled = |share: u32| ((f64::from(share) * scale) as u32).clamp(1, 1_000_000);
        let runs = [
            (true, &mut scenario.precondition.fill),
            (true, &mut scenario.workload.region_share),
            (scenario.beside.enabled, &mut scenario.beside.source.region_share),
            (scenario.datacenter.workload != Workload::None, &mut scenario.datacenter.region_share),
            (scenario.lsm.enabled, &mut scenario.lsm.region_share),
        ];
        // A source that does not run keeps its share: a changed one would be reported as without effect.
        runs.into_iter().filter(|(runs, _)| *runs).for_each(|(_, share)| *share = scaled(*share));
        Some(())
    }
}

fn name(
    scenario: &Scenario,
    layout: &Layout,
    drives: u32,
    spare: Option<u32>,
    technique: &Technique,
) -> String {
    let count = if drives == 1 { String::new() } else { format!("{drives} x ") };
    let layout = if drives == 1 { String::new() } else { format!(" as {}", layout.name) };
    let spare = spare.map_or(String::new(), |spare| format!(", {} spare", spelling::share(spare)));
    format!("{count}{}{layout}{spare}, {}", scenario.device.preset.name(), technique.name)
}

impl Arrangement {
    /// Its scenario for a run of `requests` requests after a ramp.
    pub fn for_requests(&self, requests: u64, ramp: Nanos) -> Scenario {
        let run = Limits { ramp, requests, ..Limits::NONE };
        Scenario { run, ..self.scenario.clone() }
    }
}
