//! A trace as a workload.

use super::disks::Places;
use super::error::TraceError;
use super::reader::{Options, Trace};
use super::record::Record;
use super::scan::{DiskExtent, MOST_SECTORS, TraceScan, scan};
use crate::{Pace, Request, Source};
use std::path::{Path, PathBuf};
use tailcut_base::{Class, Nanos, Op, Time};

/// When the requests of a trace are issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// At their recorded moments, stretched.
    Recorded {
        /// Parts per million of the recorded time: 1,000,000 as recorded, 500,000 twice as fast,
        /// 0 all at once.
        stretch_ppm: u64,
        /// The most requests in flight, at least 1.
        depth: u32,
    },
    /// A fixed number in flight; recorded moments are ignored.
    Closed {
        /// Requests in flight, at least 1.
        depth: u32,
        /// Pause between a completion and the request that it allows.
        think: Nanos,
    },
}

/// The part of a trace to replay, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayOptions {
    /// Size of the device in sectors of 512 bytes.
    pub device_sectors: u64,
    /// Whether requests are issued at their recorded times or in a closed loop.
    pub timing: Timing,
    /// Number of requests after which the replay ends; `None` for all.
    pub limit: Option<u64>,
    /// How often the trace is replayed, one time after another; at least 1. Each begins when the one before
    /// has ended and a mean pause between two of its requests has passed.
    pub times: u32,
    /// The disks to replay, by label or number; all of them when empty.
    pub disks: Vec<String>,
    /// Latency class that reads are given.
    pub read_class: Class,
    /// Latency class that all other requests are given.
    pub write_class: Class,
    /// Write streams, 1 to 255: requests of the n-th disk that is replayed, counted from 0, are given stream
    /// n modulo this number.
    pub streams: u8,
}

impl ReplayOptions {
    /// All of a trace at its recorded times, at most 4096 requests in flight, default classes.
    pub fn new(device_sectors: u64) -> ReplayOptions {
        ReplayOptions {
            device_sectors,
            timing: Timing::Recorded { stretch_ppm: 1_000_000, depth: 4096 },
            limit: None,
            times: 1,
            disks: Vec::new(),
            read_class: Class::DEFAULT,
            write_class: Class::DEFAULT,
            streams: 1,
        }
    }
}

/// The changes that made a trace fit, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Number of records that were taken from the trace.
    pub records: u64,
    /// Number of requests that were made from these records.
    pub requests: u64,
    /// Records longer than 65,536 sectors (32 MiB), which were cut into several requests.
    pub split: u64,
    /// Records that were widened to whole sectors.
    pub widened: u64,
    /// Records that went beyond their disk's part of the device and were folded back into it.
    pub folded: u64,
    /// Records longer than their disk's part of the device, which were shortened to it.
    pub shortened: u64,
}

/// Replays a trace onto one device.
///
/// **Time.** The first request that is replayed is due at zero. Times that run backwards are
/// clamped, see [`Trace`].
///
/// **Addresses.** Each of the n disks that are replayed gets a part of the device of its own, in
/// the order of the disks' numbers: `device_sectors / n`, rounded down to 4 KiB. An address beyond
/// the part is folded modulo the part's size. A request that would then cross the end is shifted
/// back by whole 4 KiB until it fits, so that its alignment stays. Requests that begin or end
/// within a sector are widened to whole sectors; requests beyond 65,536 sectors are cut. Only a
/// request longer than the part loses its end. [`Replay::replayed`] counts all of these.
///
/// **Flushes** concern the whole device, whichever disk they were meant for.
///
/// An error in the middle of the trace ends the stream of requests; [`Replay::error`] has it, and the
/// driver of the source must check it at the end.
pub struct Replay {
    name: String,
    trace: Trace,
    options: ReplayOptions,
    places: Places,
    /// Which places are replayed, and their parts of the device.
    parts: Vec<Option<Part>>,
    part_sectors: u64,
    expected: u64,
    /// The moment of the first replayed record.
    start: Option<Nanos>,
    /// The rest of a record that was cut.
    rest: Option<Request>,
    replayed: Replayed,
    error: Option<TraceError>,
    /// From the first record of the trace to the last.
    duration: Nanos,
    /// Where it is opened again, while it is to be replayed again.
    again: Option<RepeatedReplay>,
    /// How long all replays took that are over.
    passed: Nanos,
}

/// What a disk has of the device.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// The first sector.
    begin: u64,
    stream: u8,
}

/// A trace that is replayed several times.
struct RepeatedReplay {
    path: PathBuf,
    options: Options,
    left: u32,
    /// The mean pause between two of its records.
    pause: Nanos,
}

impl Replay {
    /// Opens a trace: passes over it once to count requests and disks and to find all bad lines,
    /// then starts again.
    ///
    /// # Errors
    /// As [`scan`]; [`TraceError::NoSuchDisk`], [`TraceError::NoRoom`].
    pub fn open(path: &Path, options: &Options, replay: ReplayOptions) -> Result<Replay, TraceError> {
        let scan = scan(path, options)?;
        let options = Options { format: Some(scan.format), ..options.clone() };
        let left = replay.times.max(1) - 1;
        let mut replay = Replay::new(Trace::open(path, &options)?, &scan, replay)?;
        let pause = scan.duration / scan.tally.records.saturating_sub(1).max(1);
        replay.again = Some(RepeatedReplay { path: path.to_path_buf(), options, left, pause });
        Ok(replay)
    }

    /// Replays `trace` once, which stands at its beginning and whose disks are known from `scan`.
    ///
    /// # Errors
    /// [`TraceError::NoSuchDisk`], [`TraceError::NoRoom`].
    pub fn new(trace: Trace, scan: &TraceScan, options: ReplayOptions) -> Result<Replay, TraceError> {
        let chosen = choose(trace.file(), &scan.disks, &options.disks)?;
        let count = chosen.iter().filter(|&&chosen| chosen).count();
        let part_sectors = options.device_sectors / count.max(1) as u64 / PAGE_SECTORS * PAGE_SECTORS;
        if part_sectors == 0 {
            let (file, device_sectors) = (trace.file().to_string(), options.device_sectors);
            return Err(TraceError::NoRoom { file, disks: count, device_sectors });
        }
        let (mut places, mut parts, mut next) = (Places::default(), Vec::new(), 0);
        for (disk, &chosen) in scan.disks.iter().zip(&chosen) {
            places.find_or_add(disk.number);
            // Below 256, as their number is.
            let stream = (next % u64::from(options.streams.max(1))) as u8;
            parts.push(chosen.then_some(Part { begin: next * part_sectors, stream }));
            next += u64::from(chosen);
        }
        let pieces =
            scan.disks.iter().zip(&chosen).filter(|(_, chosen)| **chosen).map(|(disk, _)| disk.pieces);
        Ok(Replay {
            name: trace.file().rsplit(['/', '\\']).next().unwrap_or_default().to_string(),
            expected: (pieces.sum::<u64>() * u64::from(options.times.max(1)))
                .min(options.limit.unwrap_or(u64::MAX)),
            trace,
            options,
            places,
            parts,
            part_sectors,
            start: None,
            rest: None,
            replayed: Replayed::default(),
            error: None,
            duration: scan.duration,
            again: None,
            passed: Nanos::ZERO,
        })
    }

    /// The error that ended the stream, if one did.
    pub fn error(&self) -> Option<&TraceError> {
        self.error.as_ref()
    }

    /// The changes to the trace so far.
    pub fn replayed(&self) -> Replayed {
        self.replayed
    }

    /// The trace itself, for its tally and names.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// How many sectors of the device each disk has.
    pub fn part_sectors(&self) -> u64 {
        self.part_sectors
    }

    /// What made further replays superfluous that were to follow the first.
    fn never_repeated(&self) -> Option<String> {
        let times = self.options.times;
        let again = self.again.as_ref().filter(|again| times > 1 && again.left == times - 1)?;
        Some(format!(
            "{}: the run ended within the first of {} replays, so that trace.times had no effect: raise \
             trace.requests, run.requests or run.duration, or set them to 0",
            self.name,
            again.left + 1
        ))
    }

    /// Opens the trace again if it is to be replayed again.
    #[cold]
    fn is_to_go_on(&mut self) -> Result<bool, TraceError> {
        let Some(again) = self.again.as_mut().filter(|again| again.left > 0) else { return Ok(false) };
        again.left -= 1;
        self.passed += self.duration + again.pause;
        self.trace = Trace::open(&again.path, &again.options)?;
        Ok(true)
    }

    fn next_of_trace(&mut self) -> Result<Option<Request>, TraceError> {
        loop {
            let request = self.next_of_replay()?;
            if request.is_some() || !self.is_to_go_on()? {
                return Ok(request);
            }
        }
    }

    #[inline]
    fn next_of_replay(&mut self) -> Result<Option<Request>, TraceError> {
        while let Some(record) = self.trace.next_record()? {
            let place = self.places.find(record.disk);
            let Some(&part) = place.and_then(|place| self.parts.get(place)) else {
                let file = self.trace.file().to_string();
                return Err(TraceError::Unusable {
                    file,
                    what: "changed while it was being replayed; run again",
                });
            };
            if let Some(part) = part {
                return Ok(Some(self.request(&record, part)));
            }
        }
        Ok(None)
    }

    #[inline]
    fn request(&mut self, record: &Record, part: Part) -> Request {
        self.replayed.records += 1;
        let (sector, sectors) = if record.op == Op::Flush { (0, 0) } else { self.place(record) };
        Request {
            due: self.due(record.at),
            op: record.op,
            fua: record.fua,
            class: if record.op == Op::Read { self.options.read_class } else { self.options.write_class },
            stream: part.stream,
            sector: if record.op == Op::Flush { 0 } else { part.begin + sector },
            sectors,
        }
    }

    /// Where a record lies within its disk's part.
    #[inline]
    fn place(&mut self, record: &Record) -> (u64, u32) {
        let (sector, sectors) = (record.sector(), record.sectors());
        self.replayed.widened += u64::from(!record.is_whole_sectors());
        if sector + u64::from(sectors) <= self.part_sectors {
            return (sector, sectors);
        }
        self.fold(sector, sectors)
    }

    #[cold]
    fn fold(&mut self, sector: u64, sectors: u32) -> (u64, u32) {
        self.replayed.folded += 1;
        let mut len = u64::from(sectors);
        if len > self.part_sectors {
            self.replayed.shortened += 1;
            len = self.part_sectors;
        }
        let sector = sector % self.part_sectors;
        let beyond = (sector + len).saturating_sub(self.part_sectors);
        let shifted = sector.saturating_sub(beyond.next_multiple_of(PAGE_SECTORS));
        (shifted, len as u32)
    }

    #[inline]
    fn due(&mut self, at: Nanos) -> Time {
        let since = at - *self.start.get_or_insert(at);
        self.stretched(self.passed + since)
    }

    /// When a request is due that was recorded so long after the first.
    #[inline]
    fn stretched(&self, since: Nanos) -> Time {
        match self.options.timing {
            Timing::Closed { .. } => Time::ZERO,
            Timing::Recorded { stretch_ppm: 1_000_000, .. } => Time(since.0),
            Timing::Recorded { stretch_ppm, .. } => {
                let stretched = u128::from(since.0) * u128::from(stretch_ppm) / 1_000_000;
                // Beyond 584 years: later than any run ends.
                Time(u64::try_from(stretched).unwrap_or(Time::NEVER.0).min(Time::NEVER.0 - 1))
            }
        }
    }

    /// Cuts off what one command cannot carry and keeps the rest for later.
    #[inline]
    fn cut(&mut self, request: Request, is_rest: bool) -> Request {
        self.replayed.requests += 1;
        if request.sectors <= MOST_SECTORS {
            return request;
        }
        self.replayed.split += u64::from(!is_rest);
        self.rest = Some(Request {
            sector: request.sector + u64::from(MOST_SECTORS),
            sectors: request.sectors - MOST_SECTORS,
            ..request
        });
        Request { sectors: MOST_SECTORS, ..request }
    }
}

impl Source for Replay {
    fn name(&self) -> &str {
        &self.name
    }

    fn pace(&self) -> Pace {
        match self.options.timing {
            Timing::Recorded { depth, .. } => Pace::Open { depth },
            Timing::Closed { depth, think } => Pace::Closed { depth, think },
        }
    }

    fn next(&mut self) -> Option<Request> {
        if self.replayed.requests >= self.options.limit.unwrap_or(u64::MAX) || self.error.is_some() {
            return None;
        }
        if let Some(rest) = self.rest.take() {
            return Some(self.cut(rest, true));
        }
        match self.next_of_trace() {
            Ok(request) => request.map(|request| self.cut(request, false)),
            Err(error) => {
                self.error = Some(error);
                None
            }
        }
    }

    fn len_hint(&self) -> Option<u64> {
        Some(self.expected)
    }

    fn last_due(&self) -> Option<Time> {
        let again = self.again.as_ref().map_or(Nanos::ZERO, |again| {
            (self.duration + again.pause) * u64::from(self.options.times.max(1) - 1)
        });
        Some(self.stretched(again + self.duration))
    }

    fn failure(&self) -> Option<String> {
        self.error.as_ref().map(TraceError::to_string)
    }

    fn notes(&self) -> Vec<String> {
        let (r, tally) = (&self.replayed, self.trace.tally());
        let counted = [
            (tally.bad, "bad lines were skipped"),
            (tally.backwards, "requests were recorded before their predecessors and took their moment"),
            (r.folded, "requests beyond the device were folded back into it, modulo its size"),
            (r.shortened, "requests longer than the device were shortened to it"),
            (r.split, "requests above 32 MiB were cut into several"),
            (r.widened, "requests within sectors were widened to whole ones"),
        ];
        let told = counted.into_iter().filter(|&(count, _)| count > 0);
        let changes = told.map(|(count, what)| format!("{}: {count} {what}", self.name));
        changes.chain(self.never_repeated()).collect()
    }
}

/// Which of `present` are `wanted`; all when none is.
fn choose(file: &str, present: &[DiskExtent], wanted: &[String]) -> Result<Vec<bool>, TraceError> {
    let mut chosen = vec![wanted.is_empty(); present.len()];
    for name in wanted {
        let by_label = present.iter().position(|disk| disk.label == *name);
        let found = by_label.or_else(|| present.iter().position(|disk| disk.number.to_string() == *name));
        let place = found.ok_or_else(|| no_such_disk(file, present, name))?;
        chosen[place] = true;
    }
    Ok(chosen)
}

fn no_such_disk(file: &str, present: &[DiskExtent], name: &str) -> TraceError {
    const SHOWN: usize = 24;
    let mut labels: Vec<_> = present.iter().take(SHOWN).map(|disk| disk.label.as_str()).collect();
    let more = format!("and {} more", present.len().saturating_sub(SHOWN));
    if present.len() > SHOWN {
        labels.push(&more);
    }
    TraceError::NoSuchDisk { file: file.to_string(), disk: name.to_string(), present: labels.join(" ") }
}

/// 4 KiB, the unit that parts of a device and shifts keep to.
const PAGE_SECTORS: u64 = 8;
