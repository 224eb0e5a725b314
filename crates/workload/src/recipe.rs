//! The complete description of a synthetic source for a given device, and what can be wrong with
//! it.

use super::Schedule;
use super::address::{Pattern, WHOLE};
use super::arrival::ArrivalPlan;
use super::lane::LanePlan;
use super::size::Sizes;
use super::streams::Streams;
use tailcut_base::quantity::exact_bytes;
use tailcut_base::{Class, Nanos, Op, Problem, SECTOR_BYTES};

/// The behaviour of a source, in absolute terms: everything is resolved to sectors of the device.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// First sector of the region that requests go to.
    pub first: u64,
    /// Sectors of the region; every request lies within it.
    pub region: u64,
    /// Share of reads, in parts per million of the requests that are no flush.
    pub read_ppm: u32,
    /// Share of trims, in parts per million of the requests that are no flush; the remaining ones are writes.
    pub trim_ppm: u32,
    /// How reads are placed. Lanes with equal pattern, alignment and smallest size share one address
    /// generator: the same pages are hot for all of them.
    pub read: LanePlan,
    /// How writes are placed in the region.
    pub write: LanePlan,
    /// How trims are placed in the region.
    pub trim: LanePlan,
    /// A flush follows after this many writes; 0 for never.
    pub flush_every: u64,
    /// Share of the writes with force unit access, in parts per million.
    pub fua_ppm: u32,
    /// Write streams of the writes.
    pub streams: Streams,
    /// Maximum number of requests in flight, at least 1.
    pub depth: u32,
    /// Pause of a closed loop after each completion.
    pub think: Nanos,
    /// Number of completions after which a closed loop pauses: see [`super::Source::think_every`]; at least
    /// 1.
    pub think_every: u32,
    /// Whether completions or a clock determine when requests are issued, and how a clock spaces them.
    pub arrivals: ArrivalPlan,
    /// Number of requests, without flushes, after which the source ends; `None` for no limit.
    pub requests: Option<u64>,
    /// Number of sectors after which the source ends, with the request that reaches it; `None` for no limit.
    pub sectors: Option<u64>,
    /// From when to when the source is active.
    pub schedule: Schedule,
}

/// The latency classes of a source's requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestClasses {
    /// Latency class of reads.
    pub reads: Class,
    /// Latency class of writes and trims.
    pub others: Class,
}

impl Recipe {
    /// Uniform random reads of 4 KiB over `region` sectors, one at a time, without an end.
    pub fn new(region: u64) -> Recipe {
        let lane = LanePlan::new(Pattern::Uniform, Sizes::Fixed(8));
        let write = LanePlan { class: USER_WRITE, ..lane.clone() };
        Recipe {
            first: 0,
            region,
            read_ppm: WHOLE,
            trim_ppm: 0,
            read: lane,
            trim: write.clone(),
            write,
            flush_every: 0,
            fua_ppm: 0,
            streams: Streams::One(0),
            depth: 1,
            think: Nanos::ZERO,
            think_every: 1,
            arrivals: ArrivalPlan::Closed,
            requests: None,
            sectors: None,
            schedule: Schedule::default(),
        }
    }

    /// Share of writes, in parts per million.
    pub fn write_ppm(&self) -> u32 {
        WHOLE.saturating_sub(self.read_ppm).saturating_sub(self.trim_ppm)
    }

    /// The lanes and their shares, reads first, then writes, then trims.
    pub(super) fn lanes(&self) -> [(&LanePlan, u32); 3] {
        [(&self.read, self.read_ppm), (&self.write, self.write_ppm()), (&self.trim, self.trim_ppm)]
    }

    /// The mean size of a request in bytes.
    pub fn mean_bytes(&self) -> f64 {
        let weighted = self.lanes().map(|(lane, ppm)| lane.sizes.mean() * f64::from(ppm));
        weighted.iter().sum::<f64>() / f64::from(WHOLE) * SECTOR_BYTES as f64
    }

    /// Requests of an operation, or of all, that it offers per second in the long run, and their bytes per
    /// second. `None` for a closed loop.
    pub fn offered(&self, op: Option<Op>) -> Option<(f64, f64)> {
        let rate = self.arrivals.rate(self.mean_bytes())?;
        let of = |(lane, ppm): (&LanePlan, u32)| {
            let requests = rate * f64::from(ppm) / f64::from(WHOLE);
            (requests, requests * lane.sizes.mean() * SECTOR_BYTES as f64)
        };
        let [read, write, trim] = self.lanes().map(of);
        Some(match op {
            None => (read.0 + write.0 + trim.0, read.1 + write.1 + trim.1),
            Some(Op::Read) => read,
            Some(Op::Write) => write,
            Some(Op::Trim) => trim,
            Some(Op::Flush) => return None,
        })
    }

    /// How many requests there will be in all, where that is known exactly.
    pub(super) fn len(&self) -> Option<u64> {
        let mut used = self.lanes().into_iter().filter(|&(_, ppm)| ppm > 0).map(|(lane, _)| &lane.sizes);
        let by_size = match (self.sectors, used.next()) {
            (Some(sectors), Some(Sizes::Fixed(size))) if used.all(|s| *s == Sizes::Fixed(*size)) => {
                Some(sectors.div_ceil(u64::from(*size)))
            }
            (Some(_), _) => return None,
            (None, _) => None,
        };
        let requests = self.requests.into_iter().chain(by_size).min()?;
        match self.flush_every {
            0 => Some(requests),
            every if self.write_ppm() == WHOLE => Some(requests.saturating_add(requests / every)),
            _ if self.write_ppm() == 0 => Some(requests),
            _ => None,
        }
    }

    /// Everything that is wrong; [`super::Synthetic::new`] takes a recipe without problems only.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut blame = |key, message: String| {
            // Lanes that are configured together are wrong together.
            let problem = Problem { key, message };
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        };
        if self.region == 0 {
            blame(
                "region_size",
                "the region has no sector; give the device or the region a size".to_string(),
            );
        }
        if self.first.checked_add(self.region).is_none_or(|end| end > LARGEST_SECTOR) {
            blame("region_offset", "the region ends beyond the largest address".to_string());
        }
        if u64::from(self.read_ppm) + u64::from(self.trim_ppm) > u64::from(WHOLE) {
            blame("trim", "the shares of reads and trims add up to more than 100 %".to_string());
        }
        if self.fua_ppm > WHOLE {
            blame("fua", "a share above 100 %".to_string());
        }
        if self.depth == 0 {
            blame("depth", "a depth of 0 never issues a request; the minimum is 1".to_string());
        }
        if self.think_every == 0 {
            blame("think", "a pause after every 0 requests; the minimum is 1".to_string());
        }
        if self.requests == Some(0) || self.sectors == Some(0) {
            blame("requests", "the source ends before its first request".to_string());
        }
        if let Some(complaint) = self.arrivals.complaint() {
            blame("rate", complaint);
        }
        for ((lane, ppm), keys) in self.lanes().into_iter().zip(LANE_KEYS) {
            if ppm > 0 {
                self.check_lane(lane, keys, &mut blame);
            }
        }
        problems
    }

    fn check_lane(
        &self,
        lane: &LanePlan,
        [size, addresses]: [&'static str; 2],
        blame: &mut dyn FnMut(&'static str, String),
    ) {
        let largest = u64::from(lane.sizes.largest());
        if lane.sizes.smallest() == 0 {
            blame(size, "a request of 0 bytes; the smallest is 512".to_string());
        } else if self.region > 0 && largest > self.region {
            let bytes = |sectors: u64| exact_bytes(sectors.saturating_mul(SECTOR_BYTES));
            let (largest, region) = (bytes(largest), bytes(self.region));
            blame(size, format!("a request of {largest} does not fit into the region of {region}"));
        }
        if lane.align == 0 {
            blame("align", "an alignment of 0 sectors; the minimum is 1".to_string());
        }
        if let Some(complaint) = lane.pattern.complaint() {
            blame(addresses, complaint);
        }
    }
}

/// The keys to blame for the sizes and the addresses of each lane.
const LANE_KEYS: [[&str; 2]; 3] =
    [["read_size", "addresses"], ["write_size", "write_addresses"], ["trim_size", "write_addresses"]];

/// 2^52 sectors are 2 EiB; slots stay exact as floats below it.
const LARGEST_SECTOR: u64 = 1 << 52;

/// The class of a user's writes (PAReset, table 2).
pub(super) const USER_WRITE: Class = Class::new(4).expect("4 is a class");
