//! fio's job files as input: <https://fio.readthedocs.io>, "Job file format".
//!
//! Each section of a file becomes one or more jobs ([`FioJob`]), each job a source. Keys that would
//! change the load and cannot be followed are errors; keys that do not matter here are notes. All
//! errors of a file are found in one pass.
//!
//! Differences from fio, all of them small: the requests are not those that fio would draw, only
//! of the same distribution; Zipf is exact; `bsrange` takes every multiple of its lower end
//! equally often; jobs with several rates for their directions mix them at random in the ratio
//! that the rates give.

mod ini;
mod job;
mod key;
mod options;
mod placement;
mod problem;
mod value;

pub use job::FioJob;
pub use problem::{FioError, FioErrors, FioNote};

use super::Synthetic;
use ini::Section;
use key::Treatment;
use options::{MOST_JOBS, Options};
use problem::Findings;

/// The jobs of a job file.
///
/// # Examples
/// ```
/// use tailcut_workload::fio::FioJobs;
///
/// let jobs = FioJobs::parse("job.fio", "[reads]\nrw=randread\nbs=4k\nsize=1g\n").expect("a valid file");
/// assert_eq!(jobs.sources(1 << 22, 1).expect("it fits the device").len(), 1);
/// let errors = FioJobs::parse("job.fio", "[reads]\nrw=randomly\n").unwrap_err();
/// assert_eq!(errors.0.len(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct FioJobs {
    /// Every job, in the order of the file; a section with `numjobs=N` gives N of them.
    pub jobs: Vec<FioJob>,
    /// Notes for the user: keys that were ignored, and differences from fio.
    pub notes: Vec<FioNote>,
}

impl FioJobs {
    /// Reads the text of a job file; `file` is its name for messages.
    ///
    /// # Errors
    /// Everything that is wrong, by line: syntax, unknown keys, values that fio would refuse or that cannot
    /// be simulated, and a file without a job.
    pub fn parse(file: &str, text: &str) -> Result<FioJobs, FioErrors> {
        let mut findings = Findings::new(file);
        let sections = ini::sections(text, &mut findings);
        let mut global = Options::default();
        let mut jobs = Vec::new();
        let mut group = 0;
        for section in &sections {
            if section.name == GLOBAL {
                apply(section, &mut global, &mut findings);
                continue;
            }
            let mut options = global.clone();
            apply(section, &mut options, &mut findings);
            group += u32::from(options.stonewall && !jobs.is_empty());
            expand(section, options, group, &mut jobs, &mut findings);
        }
        if jobs.is_empty() && findings.errors.is_empty() {
            let line = sections.first().map_or(1, |s| s.line);
            findings.error(line, "[job]", "the file has no job; add a section such as [job1]");
        }
        let notes = std::mem::take(&mut findings.notes);
        findings.finish(FioJobs { jobs, notes })
    }

    /// A note for each job whose writes name more than the first `count` placement identifiers, on a device
    /// that has these.
    pub fn beyond(&self, count: u32) -> Vec<FioNote> {
        self.notes_of_jobs(|job| job.beyond(count))
    }

    /// A note for each job whose writes name placement identifiers, for a host that chooses them itself.
    pub fn overruled(&self) -> Vec<FioNote> {
        self.notes_of_jobs(FioJob::overruled)
    }

    fn notes_of_jobs(&self, note: impl FnMut(&FioJob) -> Option<FioNote>) -> Vec<FioNote> {
        let mut notes: Vec<FioNote> = self.jobs.iter().filter_map(note).collect();
        // Clones of a job name the same.
        notes.dedup();
        notes
    }

    /// The sources of all jobs on a device of `sectors` sectors, in the run with `seed`.
    ///
    /// # Errors
    /// Every option of a job that does not fit the device, with its line.
    pub fn sources(&self, sectors: u64, seed: u64) -> Result<Vec<Synthetic>, FioErrors> {
        let (mut sources, mut errors) = (Vec::new(), Vec::new());
        for job in &self.jobs {
            match job.source(sectors, seed) {
                Ok(source) => sources.push(source),
                Err(more) => errors.extend(more.0),
            }
        }
        // Clones of a job fail alike.
        errors.dedup();
        if errors.is_empty() { Ok(sources) } else { Err(FioErrors(errors)) }
    }
}

/// Sets the keys of a section.
fn apply(section: &Section, options: &mut Options, findings: &mut Findings) {
    // The meaning of `k` holds for the whole section, wherever it is set.
    let base = section.entries.iter().rev().find(|entry| entry.key == "kb_base");
    if let Some(Ok(kilo)) = base.map(|entry| options::base(entry.value.as_deref().unwrap_or(""))) {
        options.kilo = kilo;
    }
    for entry in &section.entries {
        let name = entry.key.as_str();
        match key::treatment(name) {
            Some(Treatment::Followed(key)) => match options.set(key, entry.value.as_deref(), entry.line) {
                Ok(None) => {}
                Ok(Some(note)) => findings.note(entry.line, name, note),
                Err(bad) => findings.error(entry.line, name, bad.message),
            },
            Some(Treatment::Ignored(why)) => findings.note(entry.line, name, format!("ignored: {why}")),
            Some(Treatment::Refused(why)) => findings.error(entry.line, name, why),
            None => findings.error(entry.line, name, unknown(name)),
        }
    }
}

fn unknown(name: &str) -> String {
    match key::nearest(name) {
        Some(near) => format!("is no key of fio; did you mean '{near}'?"),
        None => "is no key of fio that is known here; leave it out".to_string(),
    }
}

/// Adds the jobs of a section.
fn expand(section: &Section, options: Options, group: u32, jobs: &mut Vec<FioJob>, findings: &mut Findings) {
    let before = findings.errors.len();
    job::check(section, &options, findings);
    if findings.errors.len() > before {
        return;
    }
    if jobs.len() as u64 + u64::from(options.numjobs) > MOST_JOBS {
        let line = options.lines.get("numjobs").copied().unwrap_or(section.line);
        findings.error(line, "numjobs", format!("more than {MOST_JOBS} jobs in all, fio's own limit"));
        return;
    }
    for clone in 0..options.numjobs {
        jobs.push(FioJob::new(&findings.file, section, &options, clone, group));
    }
}

/// The section that sets defaults for those behind it.
const GLOBAL: &str = "global";
