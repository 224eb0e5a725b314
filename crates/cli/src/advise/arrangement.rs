//! The arrangements of the catalogue as scenarios.

use super::Request;
use super::catalogue::{LAYOUTS, Layout, SPARES, TECHNIQUES, Technique};
use super::offered::{check_kinds, check_rates};
use super::results::{Candidate, Caveats, Verdict, Wear};
use crate::failure::Failure;
use crate::run::arguments::RunArguments;
use crate::run::{self, NotRun, Scenario};
use crate::scenario::spelling;
use crate::sweep::point::check_workload;
use tailcut_base::config::Choice;
use tailcut_base::quantity::{exact_bytes, show_bytes, show_number_of};
use tailcut_base::{Nanos, SECTOR_BYTES};
use tailcut_sim::world::Limits;
use tailcut_ssd::Preset;
use tailcut_workload::datacenter::Workload;

/// What can be tried, in the order of cost; equal costs in the order of the catalogue.
#[derive(Debug)]
pub struct Arrangements {
    all: Vec<Arrangement>,
    /// Bytes of data that each arrangement can hold.
    pub data: u64,
    /// Number of arrangements of the catalogue that hold too little data, or that a scenario refuses.
    pub left_out: u64,
}

/// An arrangement that can be tried: drives under a layout, with over-provisioning and a technique.
#[derive(Clone, Debug)]
pub struct Arrangement {
    /// Its scenario, filled with the data; it measures and ends as that of the user.
    pub scenario: Scenario,
    /// What is known of it before it is run.
    pub tried: Candidate,
}

impl Arrangements {
    /// Takes all arrangements, in the order of cost, and leaves none.
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
            let message = "advice is of drives and arrays: set kv.enabled = false, and let [workload] be \
                what the server asks of them";
            return Err(Failure::Input(message.into()));
        }
        let capacity = base.sectors().map_err(refuse)? * SECTOR_BYTES;
        let used = share_used(&base);
        check_kinds(&request.promise, &base)?;
        check_rates(&request.promise, &base, capacity / SECTOR_BYTES)?;
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
            return Err(builder.refusal());
        }
        // Sorting is stable: arrangements of equal cost stay in the order of the catalogue.
        found.all.sort_by(|a, b| a.tried.cost.total_cmp(&b.tried.cost));
        Ok(found)
    }
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
        let mut all = Vec::new();
        for kind in self.kinds() {
            let layouts = self.layouts();
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

    /// The layouts that are considered, or that others are set against.
    fn layouts(&self) -> impl Iterator<Item = &'static Layout> {
        let layouts = &self.request.layouts;
        LAYOUTS.iter().filter(|layout| layouts.include(layout))
    }

    /// The kinds of drive; `None` is that of the scenario.
    fn kinds(&self) -> Vec<Option<Preset>> {
        match self.request.drives.as_slice() {
            [] => vec![None],
            drives => drives.iter().copied().map(Some).collect(),
        }
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
        let mut settings = place(kind, layout, drives, spare);
        settings.extend(technique.settings.iter().map(|setting| (*setting).to_owned()));
        let (scenario, capacity) = self.unfilled(&settings)?;
        let scenario = self.filled(self.data, &scenario, capacity)?;
        let device = &scenario.device;
        let tried = Candidate {
            name: name(&scenario, layout, drives, spare, technique),
            layout: layout.name.to_owned(),
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
            caveats: Caveats::default(),
            requests: 0,
            digest: String::new(),
            error: None,
        };
        Some(Arrangement { scenario, tried })
    }

    /// The scenario of the user with the settings of an arrangement, and the bytes of its device; none if it
    /// is refused.
    fn unfilled(&self, settings: &[String]) -> Option<(Scenario, u64)> {
        let mut arguments: RunArguments = self.request.base.clone();
        arguments.options.sets.extend(settings.iter().cloned());
        let mut scenario = Scenario::default();
        run::read(&mut scenario, &arguments).ok()?;
        let capacity = scenario.sectors().ok()? * SECTOR_BYTES;
        Some((scenario, capacity))
    }

    /// An arrangement in which `data` bytes are stored and used as in the scenario of the user, whatever the
    /// capacity; none when that is too small for them, or when what they are of it, in parts per million, has
    /// no room for a page or a request.
    fn filled(&self, data: u64, unfilled: &Scenario, capacity: u64) -> Option<Scenario> {
        if capacity < data {
            return None;
        }
        let mut scenario = unfilled.clone();
        let (scale, page) = (data as f64 / capacity as f64 / self.used, unfilled.device.geometry.page_bytes);
        let runs = [
            (scenario.precondition.fill > 0, &mut scenario.precondition.fill),
            (true, &mut scenario.workload.region_share),
            (scenario.beside.enabled, &mut scenario.beside.source.region_share),
            (scenario.datacenter.workload != Workload::None, &mut scenario.datacenter.region_share),
            (scenario.lsm.enabled, &mut scenario.lsm.region_share),
        ];
        // A source that does not run keeps its share: a changed one would be reported as without effect.
        for (_, share) in runs.into_iter().filter(|(runs, _)| *runs) {
            let scaled = (f64::from(*share) * scale) as u32;
            if u128::from(scaled) * u128::from(capacity) < 1_000_000 * u128::from(page) {
                return None;
            }
            *share = scaled.min(1_000_000);
        }
        scenario.check().ok()?;
        Some(scenario)
    }

    /// Why nothing in the catalogue holds the data: it is too much, or too little.
    fn refusal(&self) -> Failure {
        let (data, most) = (show_bytes(self.data as f64), self.request.most_drives);
        let drives = show_number_of(u64::from(most), "drive");
        Failure::Input(match self.least_above() {
            Some(least) => format!(
                "--data: {data} are too little for a page and for the requests of the workload, or for a \
                 share of a drive (0.0001 % at least); the least that works is {}",
                exact_bytes(least)
            ),
            None => format!(
                "no arrangement of up to {drives} holds {data}; allow more (--most-drives), other drives \
                 (--drive), or store less (--data)"
            ),
        })
    }

    /// The least data above that of the request that an arrangement holds, to the KiB; none if there is none.
    fn least_above(&self) -> Option<u64> {
        let all: Vec<(Scenario, u64)> =
            self.places().filter_map(|settings| self.unfilled(&settings)).collect();
        let holds = |data: u64| {
            all.iter().any(|(scenario, capacity)| self.filled(data, scenario, *capacity).is_some())
        };
        let most = all.iter().map(|(_, capacity)| *capacity).max()?;
        let (mut low, mut high) = (self.data, self.data.next_multiple_of(UNIT).max(UNIT));
        while !holds(high) {
            if high > most {
                return None;
            }
            (low, high) = (high, high * 2);
        }
        while high - low > UNIT {
            let middle = (low + (high - low) / 2).next_multiple_of(UNIT);
            if middle == high {
                break;
            }
            if holds(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }

    /// The settings of every arrangement, but for its technique, which changes no capacity.
    fn places(&self) -> impl Iterator<Item = Vec<String>> {
        self.kinds().into_iter().flat_map(move |kind| {
            let layouts = self.layouts();
            let sizes = layouts.flat_map(|l| l.drives(self.request.most_drives).map(move |n| (l, n)));
            sizes.map(move |(layout, drives)| place(kind, layout, drives, None))
        })
    }
}

/// The settings of an arrangement, but for its technique.
fn place(kind: Option<Preset>, layout: &Layout, drives: u32, spare: Option<u32>) -> Vec<String> {
    let mut settings = Vec::new();
    settings.extend(kind.map(|preset| format!("device.preset={}", preset.name())));
    settings.extend(spare.map(|spare| format!("device.ftl.spare={}", spelling::share(spare))));
    settings.extend(layout.settings(drives));
    settings
}

/// The least difference of two amounts of data that an error tells apart, in bytes.
const UNIT: u64 = 1 << 10;

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
    /// The scenario of the arrangement for a run of `requests` requests after a ramp of `ramp`.
    pub fn for_requests(&self, requests: u64, ramp: Nanos) -> Scenario {
        let run = Limits { ramp, requests, ..Limits::NONE };
        Scenario { run, ..self.scenario.clone() }
    }
}
