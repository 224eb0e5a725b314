//! One job: the keys of a section made into a source.

use super::ini::Section;
use super::options::{BlockSize, Engine, Options};
use super::problem::{Findings, FioError, FioErrors, FioNote};
use super::value::Extent;
use crate::address::{Pattern, WHOLE};
use crate::arrival::ArrivalPlan;
use crate::lane::LanePlan;
use crate::recipe::Recipe;
use crate::size::Sizes;
use crate::{Schedule, Synthetic};
use tailcut_base::{Nanos, Problem, SECTOR_BYTES};

/// A job of a job file: one clone of one section.
#[derive(Clone, Debug)]
pub struct FioJob {
    /// The section's name, with the number of the clone where `numjobs` is above 1.
    pub name: String,
    /// Jobs of a group run together; groups run one after another (`stonewall`).
    pub group: u32,
    file: String,
    section: String,
    line: u32,
    clone: u32,
    options: Options,
}

impl FioJob {
    pub(super) fn new(file: &str, section: &Section, options: &Options, clone: u32, group: u32) -> FioJob {
        let name = &section.name;
        FioJob {
            name: if options.numjobs > 1 { format!("{name}.{clone}") } else { name.clone() },
            group,
            file: file.to_string(),
            section: name.clone(),
            line: section.line,
            clone,
            options: options.clone(),
        }
    }

    /// The job as a source on a device of `sectors` sectors, in the run with `seed`. Jobs of
    /// different names draw different requests.
    ///
    /// # Errors
    /// Every option that does not fit the device or the other options, with its line.
    pub fn source(&self, sectors: u64, seed: u64) -> Result<Synthetic, FioErrors> {
        let recipe = self.recipe(sectors)?;
        Synthetic::new(&self.name, &recipe, seed).map_err(|problems| self.attribute(problems))
    }

    /// The job in absolute terms, on a device of `sectors` sectors.
    ///
    /// # Errors
    /// Every option that does not fit the device or the other options, with its line.
    pub fn recipe(&self, sectors: u64) -> Result<Recipe, FioErrors> {
        let o = &self.options;
        let (first, region) = self.region(sectors)?;
        let mut recipe = Recipe::new(region);
        recipe.first = first;
        (recipe.read_ppm, recipe.trim_ppm) = o.shares();
        for (i, lane) in [&mut recipe.read, &mut recipe.write, &mut recipe.trim].into_iter().enumerate() {
            *lane = LanePlan { class: lane.class, ..o.lane(i) };
        }
        recipe.flush_every = [o.fsync, o.fdatasync].into_iter().filter(|&n| n > 0).min().unwrap_or(0);
        recipe.fua_ppm = if o.sync { WHOLE } else { 0 };
        recipe.streams = o.placement.streams();
        recipe.depth = o.depth();
        recipe.think = o.think;
        recipe.think_every = o.think_blocks;
        recipe.arrivals = o.arrivals();
        recipe.requests = o.number_ios;
        recipe.sectors = (!o.time_based).then(|| o.total(region));
        recipe.schedule = Schedule {
            group: self.group,
            start: o.start,
            ramp: o.ramp,
            until: o.runtime.map(|runtime| runtime + o.ramp),
        };
        let problems = recipe.problems();
        if problems.is_empty() { Ok(recipe) } else { Err(self.attribute(problems)) }
    }

    /// What becomes of writes that name another than the first `count` placement identifiers, if any do.
    pub(super) fn beyond(&self, count: u32) -> Option<FioNote> {
        let most = self.most_identifier().filter(|&most| u32::from(most) >= count)?;
        let message = format!(
            "the drive has placement identifiers 0 to {} (device.fdp.handles, or device.ftl.streams), and no \
             {most}: it does not keep what names others apart",
            count - 1
        );
        Some(self.note_identifiers(message))
    }

    /// A note if writes name a placement identifier while the host chooses them for all writes.
    pub(super) fn overruled(&self) -> Option<FioNote> {
        self.most_identifier()?;
        let message = "the host chooses the handles of all writes (placement.policy)";
        Some(self.note_identifiers(message.to_string()))
    }

    /// The highest placement identifier that writes name; `None` if they name none.
    fn most_identifier(&self) -> Option<u8> {
        self.options.placement.most().filter(|_| self.options.direction.write)
    }

    fn note_identifiers(&self, message: String) -> FioNote {
        let line = self.options.lines.get("plids").copied().unwrap_or(self.line);
        FioNote { line, key: "plids".to_string(), message }
    }

    /// First sector and number of sectors that the job may touch.
    fn region(&self, device: u64) -> Result<(u64, u64), FioErrors> {
        let o = &self.options;
        let block = u64::from(o.smallest_block());
        // fio aligns an offset in percent to the block size.
        let aligned = |extent| match extent {
            Extent::Bytes(bytes) => bytes / SECTOR_BYTES,
            Extent::Share(ppm) => part(device, ppm) / block * block,
        };
        let step = aligned(o.offset_increment).saturating_mul(u64::from(self.clone));
        let first = aligned(o.offset).saturating_add(step);
        let capacity = device.saturating_mul(SECTOR_BYTES);
        if first >= device {
            let message =
                format!("{} starts at or beyond the end of the device of {capacity} bytes", self.name);
            return Err(self.error("offset", message));
        }
        let room = device - first;
        let region = match o.size {
            Extent::Bytes(bytes) => bytes / SECTOR_BYTES,
            Extent::Share(ppm) => part(room, ppm),
        };
        if region > room {
            let message = format!(
                "{} ends beyond the device of {capacity} bytes; use size=100% for all that there is",
                self.name
            );
            return Err(self.error("size", message));
        }
        Ok((first, region))
    }

    fn error(&self, key: &str, message: String) -> FioErrors {
        FioErrors(vec![self.at(key, message)])
    }

    /// An error at the line of `key`, or at the section where the key is not written.
    fn at(&self, key: &str, message: String) -> FioError {
        let line = self.options.lines.get(key).copied();
        let shown = if line.is_some() { key.to_string() } else { format!("[{}]", self.section) };
        FioError { file: self.file.clone(), line: line.unwrap_or(self.line), key: shown, message }
    }

    /// Problems of the recipe in terms of the job file.
    fn attribute(&self, problems: Vec<Problem>) -> FioErrors {
        let place = |problem: Problem| {
            let keys: &[&str] = match problem.key {
                "read_size" | "write_size" | "trim_size" => &["bs", "bssplit", "bsrange"],
                "addresses" | "write_addresses" => &["random_distribution"],
                "region_size" => &["size"],
                "region_offset" => &["offset"],
                "rate" => &["rate_iops", "rate"],
                "align" => &["ba"],
                "depth" => &["iodepth"],
                "requests" => &["number_ios", "io_size", "size"],
                _ => &[],
            };
            let key = keys
                .iter()
                .filter(|key| self.options.lines.contains_key(*key))
                .max_by_key(|key| self.options.lines[*key]);
            self.at(key.copied().unwrap_or(""), problem.message)
        };
        FioErrors(problems.into_iter().map(place).collect())
    }
}

/// Reports keys that do not go together, and notes what is done otherwise than in fio.
pub(super) fn check(section: &Section, o: &Options, findings: &mut Findings) {
    let line = |key: &str| o.lines.get(key).copied().unwrap_or(section.line);
    if o.time_based && o.runtime.is_none() {
        findings.error(line("time_based"), "time_based", "needs a runtime; add runtime=60, for example");
    }
    if o.rate.is_some() && o.rate_iops.is_some() {
        findings.error(line("rate"), "rate", "cannot be combined with rate_iops; keep one of them");
    }
    let rate_key = if o.rate.is_some() { "rate" } else { "rate_iops" };
    let limited = o.limited();
    if limited.iter().any(|(used, rate)| *used && rate.is_some()) {
        if limited.iter().any(|(used, rate)| *used && rate.is_none()) {
            let message =
                "limits one direction only, which is not supported; give a rate for reads and writes";
            findings.error(line(rate_key), rate_key, message);
        } else if o.direction.read && o.direction.write {
            findings.note(line(rate_key), rate_key, "the rates decide the share of reads");
        }
        if o.think > Nanos::ZERO {
            findings.error(
                line("thinktime"),
                "thinktime",
                "cannot be combined with a rate here; keep one of them",
            );
        }
    }
    if !o.direction.random && o.rw_suffix.is_some_and(|gap| !gap.is_multiple_of(SECTOR_BYTES)) {
        findings.error(line("rw"), "rw", "the gap after the colon must be a multiple of 512 bytes");
    }
    if o.direction.write && o.placement.is_open() {
        let message = "all writes name placement identifier 0, where fio would use all of the drive's in turn; \
                       plids chooses";
        let key = if o.lines.contains_key("fdp") { "fdp" } else { "dataplacement" };
        findings.note(line(key), key, message);
    }
    if o.iodepth > 1 {
        note_depth(o, line("iodepth"), findings);
    }
}

fn note_depth(o: &Options, line: u32, findings: &mut Findings) {
    if o.engine == Some(Engine::Synchronous) {
        findings.note(line, "iodepth", "a synchronous ioengine keeps one request in flight, as in fio");
    } else if o.engine.is_none() {
        let message = "taken as written, although fio's default ioengine keeps only one request in flight";
        findings.note(line, "iodepth", message);
    }
    if o.depth() < o.iodepth && o.engine != Some(Engine::Synchronous) {
        findings.note(
            line,
            "iodepth",
            "thinktime lets only thinktime_blocks requests be in flight, as in fio",
        );
    }
}

impl Options {
    /// Shares of reads and trims, in parts per million.
    fn shares(&self) -> (u32, u32) {
        let d = self.direction;
        if d.trim {
            return (0, WHOLE);
        }
        let mixed = d.read && d.write;
        if !mixed {
            return (if d.read { WHOLE } else { 0 }, 0);
        }
        // Where every direction has its own rate, the rates decide the mix.
        match self.requests_per_second() {
            [Some(reads), Some(writes), _] => {
                ((reads / (reads + writes) * f64::from(WHOLE)).round() as u32, 0)
            }
            _ => (self.read_percent_ppm, 0),
        }
    }

    /// The rate of each direction in requests, where there is one.
    fn requests_per_second(&self) -> [Option<f64>; 3] {
        let mut rates = self.rate_iops.unwrap_or_default().map(|rate| rate.map(|r| r as f64));
        for (i, bytes) in self.rate.unwrap_or_default().into_iter().enumerate() {
            if let Some(bytes) = bytes {
                rates[i] = Some(bytes as f64 / (self.sizes(i).mean() * SECTOR_BYTES as f64));
            }
        }
        rates
    }

    /// Whether each direction is used, and its rate.
    fn limited(&self) -> [(bool, Option<u64>); 3] {
        let d = self.direction;
        let rates = self.rate.or(self.rate_iops).unwrap_or_default();
        [(d.read, rates[0]), (d.write, rates[1]), (d.trim, rates[2])]
    }

    fn arrivals(&self) -> ArrivalPlan {
        let used = self.limited().into_iter().filter(|(used, _)| *used);
        let total = used.filter_map(|(_, rate)| rate).fold(0u64, u64::saturating_add);
        match (total, self.poisson, self.rate.is_some()) {
            (0, ..) => ArrivalPlan::Closed,
            (rate, false, true) => ArrivalPlan::Bandwidth { rate },
            (rate, false, false) => ArrivalPlan::Uniform { rate },
            (rate, true, false) => ArrivalPlan::Poisson { rate },
            (_, true, true) => {
                let used = self.limited().map(|(used, _)| used);
                let rates = self.requests_per_second().into_iter().zip(used);
                let rate: f64 = rates.filter(|(_, used)| *used).filter_map(|(rate, _)| rate).sum();
                ArrivalPlan::Poisson { rate: (rate.round() as u64).max(1) }
            }
        }
    }

    /// Sizes of direction `i`.
    fn sizes(&self, i: usize) -> Sizes {
        match &self.sizes[i] {
            BlockSize::Fixed(sectors) => Sizes::Fixed(*sectors),
            BlockSize::Split(split) => Sizes::Split(split.clone()),
            &BlockSize::Range(smallest, highest) => {
                let step = if self.unaligned { 1 } else { smallest };
                Sizes::Range { smallest, largest: highest - (highest - smallest) % step, step }
            }
        }
    }

    fn lane(&self, i: usize) -> LanePlan {
        let sizes = self.sizes(i);
        let suffix = self.rw_suffix.unwrap_or(0);
        let random = self.direction.random;
        LanePlan {
            align: self.align[i].unwrap_or(sizes.smallest()),
            random_ppm: self.random_ppm[i],
            run: if random { u32::try_from(suffix).unwrap_or(u32::MAX).max(1) } else { 1 },
            repeat: self.repeat,
            skip: if random { 0 } else { suffix / SECTOR_BYTES },
            ..LanePlan::new(self.pattern(i), sizes)
        }
    }

    fn pattern(&self, i: usize) -> Pattern {
        if !self.direction.random {
            return Pattern::Sequential;
        }
        // As in fio, a distribution or an alignment of its own switches the map of blocks off.
        if self.patterns[i] == Pattern::Uniform && self.random_map && self.align[i].is_none() {
            return Pattern::Cover;
        }
        self.patterns[i].clone()
    }

    /// The smallest block of the directions that are used, in sectors.
    fn smallest_block(&self) -> u32 {
        let used = self.limited().into_iter().enumerate().filter(|(_, (used, _))| *used);
        used.map(|(i, _)| self.sizes(i).smallest()).min().unwrap_or(1)
    }

    /// Requests in flight.
    fn depth(&self) -> u32 {
        let depth = if self.engine == Some(Engine::Synchronous) { 1 } else { self.iodepth };
        // A pause stops the whole job: no more requests are out than lie between two pauses.
        if self.think > Nanos::ZERO { depth.min(self.think_blocks) } else { depth }
    }

    /// How many sectors are read and written in all.
    fn total(&self, region: u64) -> u64 {
        let once = match self.io_size {
            None => region,
            Some(Extent::Bytes(bytes)) => bytes.div_ceil(SECTOR_BYTES),
            Some(Extent::Share(ppm)) => part(region, ppm).max(1),
        };
        once.saturating_mul(self.loops)
    }
}

/// `ppm` of `whole`, rounded down.
fn part(whole: u64, ppm: u32) -> u64 {
    (u128::from(whole) * u128::from(ppm) / u128::from(WHOLE)) as u64
}
