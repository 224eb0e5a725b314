//! The sources of a scenario's workload.

use super::{InputError, ReplayTiming, Scenario};
use std::path::Path;
use tailcut_base::Nanos;
use tailcut_base::cast::to_u8;
use tailcut_workload::datacenter::Workload;
use tailcut_workload::fio::FioJobs;
use tailcut_workload::trace::{self, Replay, ReplayOptions, TraceError};
use tailcut_workload::{Problem, Source, Synthetic, SyntheticConfig};

impl Scenario {
    /// The sources of the workload for a device of `sectors` sectors.
    ///
    /// # Errors
    /// All problems of the trace, the job file, the data-centre workload, the store or the synthetic
    /// workload.
    pub fn sources(&self, sectors: u64, skip_bad_lines: bool) -> Result<Vec<Box<dyn Source>>, InputError> {
        if !self.trace.file.is_empty() {
            return Ok(vec![Box::new(self.replay(sectors, skip_bad_lines)?)]);
        }
        if !self.fio.file.is_empty() {
            let file = &self.fio.file;
            let text = std::fs::read_to_string(file)
                .map_err(|error| InputError::FioFile { file: file.clone(), error })?;
            let jobs = FioJobs::parse(file, &text)?;
            let of_drive = self.device.fdp.is_on() || self.array.drives > 0;
            let streams = if of_drive { self.handles_of_host() } else { self.device.ftl.streams };
            let identifiers = if self.places_writes() { jobs.overruled() } else { jobs.beyond(streams) };
            let all = jobs.notes.iter().chain(&identifiers);
            let mut notes: Vec<String> = all.map(|note| format!("{file}: {note}")).collect();
            // Notes about the file are reported once, by its first job.
            let classes = self.workload.classes();
            let noted =
                |source: Synthetic| source.with_notes(std::mem::take(&mut notes)).with_classes(classes);
            let sources = jobs.sources(sectors, self.seed)?.into_iter().map(noted);
            return Ok(sources.map(|source| Box::new(source) as Box<dyn Source>).collect());
        }
        if self.datacenter.workload != Workload::None {
            let source = self.datacenter.source(sectors, self.seed).map_err(InputError::Datacenter)?;
            return Ok(vec![Box::new(source.with_classes(self.workload.classes()))]);
        }
        if self.lsm.enabled {
            let source = self.lsm.source(sectors, self.seed, self.run.ramp).map_err(InputError::Lsm)?;
            return Ok(vec![Box::new(source)]);
        }
        self.synthetic_sources(sectors)
    }

    pub(super) fn synthetic_sources(&self, sectors: u64) -> Result<Vec<Box<dyn Source>>, InputError> {
        if self.has_no_end() {
            let message = "the run would have no end: set run.duration, run.requests or workload.requests";
            return Err(InputError::Run(vec![Problem { key: "duration", message: message.into() }]));
        }
        let source = |(section, config): (&'static str, &SyntheticConfig)| {
            let name = if section == "workload" { "synthetic" } else { section };
            let made = self.check_start(config).and_then(|()| config.source(name, sectors, self.seed));
            made.map(|source| Box::new(source) as Box<dyn Source>).map_err(|problems| match section {
                "workload" => InputError::Workload(problems),
                _ => InputError::Beside(section, problems),
            })
        };
        self.synthetic().map(source).collect()
    }

    /// Refuses a source that starts when the run is over.
    fn check_start(&self, source: &SyntheticConfig) -> Result<(), Vec<Problem>> {
        let (start, end) = (source.start, self.run.duration);
        if end == Nanos::ZERO || start < end {
            return Ok(());
        }
        let message =
            format!("it starts after {start}, and the run ends after {end}: lower it, or raise run.duration");
        Err(vec![Problem { key: "start", message }])
    }

    fn replay(&self, sectors: u64, skip_bad_lines: bool) -> Result<Replay, TraceError> {
        let t = &self.trace;
        let classes = self.workload.classes();
        let timing = match t.timing {
            ReplayTiming::Recorded => trace::Timing::Recorded { stretch_ppm: t.stretch_ppm, depth: t.depth },
            ReplayTiming::Closed => trace::Timing::Closed { depth: t.depth, think: Nanos::ZERO },
        };
        let options = ReplayOptions {
            timing,
            limit: (t.requests > 0).then_some(t.requests),
            times: t.times,
            disks: if t.disk.is_empty() { Vec::new() } else { vec![t.disk.clone()] },
            read_class: classes.reads,
            write_class: classes.others,
            streams: to_u8(t.streams),
            ..ReplayOptions::new(sectors)
        };
        Replay::open(Path::new(&t.file), &trace::Options { format: t.format, skip_bad_lines }, options)
    }
}
