//! The source that draws a row's requests.

use super::places::{Places, nearness_ppm};
use super::row::Workload;
use super::sample::ShuffledSample;
use super::sizes::GeometricSizes;
use crate::arrival::Arrivals;
use crate::recipe::RequestClasses;
use crate::recipe::USER_WRITE;
use crate::{ArrivalPlan, Pace, Problem, Request, Source};
use tailcut_base::quantity::exact_bytes;
use tailcut_base::random::Stream;
use tailcut_base::{Class, Nanos, Op, SECTOR_BYTES};

/// The parameters of a [`Datacenter`] source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The row of table 1 to generate.
    pub workload: Workload,
    /// Requests in all: a sample of the row, which may be shorter or longer than the trace was.
    pub requests: u64,
    /// First sector of the region that requests go to. Nearness is counted from here, so it should
    /// be a multiple of 512 KiB.
    pub first: u64,
    /// Size of the region in sectors of 512 bytes.
    pub region: u64,
    /// Maximum number of requests in flight, at least 1.
    pub depth: u32,
    /// [`ArrivalPlan::Closed`] without a pause, or an open loop. Table 1 contains no times.
    pub arrivals: ArrivalPlan,
}

/// A workload of table 1. Seed and [`Plan`] fix every request; each purpose (operation, size, address
/// …) draws from its own stream. Nothing is allocated per request.
#[derive(Clone, Debug)]
pub struct Datacenter {
    name: String,
    pace: Pace,
    requests: u64,
    /// Requests left until the end.
    left: u64,
    first: u64,
    read_share: f64,
    op: ShuffledSample,
    reads: Lane,
    writes: Lane,
    arrivals: Arrivals,
    classes: RequestClasses,
}

/// The requests of one kind.
#[derive(Clone, Debug)]
struct Lane {
    sizes: GeometricSizes,
    size: ShuffledSample,
    places: Places,
}

impl Lane {
    #[inline]
    fn next(&mut self) -> (u64, u32) {
        let sectors = self.sizes.draw(&mut self.size);
        (self.places.next(sectors), sectors)
    }
}

impl Datacenter {
    /// The source of the run with `seed`.
    ///
    /// # Errors
    /// Everything that is wrong with the plan: no request, a depth of 0, invalid arrivals, no workload, or a
    /// region too small for its sizes. The keys are those of [`super::DatacenterConfig`].
    pub fn new(plan: &Plan, seed: u64) -> Result<Datacenter, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut blame = |key, message: String| problems.push(Problem { key, message });
        if plan.requests == 0 {
            blame("requests", "the source ends before its first request".into());
        }
        if plan.depth == 0 {
            blame("depth", "a depth of 0 never issues a request; the minimum is 1".into());
        }
        if let Some(complaint) = plan.arrivals.complaint() {
            blame("rate", complaint);
        }
        let Some(row) = plan.workload.row() else {
            blame("workload", "no workload is chosen; choose one of table 1, such as cfs0".into());
            return Err(problems);
        };
        let [reads, writes] = [row.mean_read_bytes(), row.mean_write_bytes()]
            .map(|mean| GeometricSizes::new(mean, plan.region).ok_or(mean));
        let (reads, writes) = match (reads, writes) {
            (Ok(reads), Ok(writes)) if problems.is_empty() => (reads, writes),
            (reads, writes) => {
                if let Some(mean) = reads.err().into_iter().chain(writes.err()).reduce(f64::max) {
                    let region = exact_bytes(plan.region.saturating_mul(SECTOR_BYTES));
                    let message = format!(
                        "the region of {region} is smaller than the mean request of {}, {mean:.0} bytes",
                        plan.workload
                    );
                    problems.push(Problem { key: "region_share", message });
                }
                return Err(problems);
            }
        };
        let name = plan.workload.to_string();
        let named = |purpose: &str| Stream::new(seed, &format!("workload {name} {purpose}"));
        let near_ppm = nearness_ppm(row.locality);
        let lane = |kind: &str, sizes, random_ppm| Lane {
            sizes,
            size: ShuffledSample::new(named(&format!("{kind} size"))),
            places: Places::new(plan.region, random_ppm, near_ppm, |purpose| {
                named(&format!("{kind} {purpose}"))
            }),
        };
        Ok(Datacenter {
            pace: match plan.arrivals {
                ArrivalPlan::Closed => Pace::Closed { depth: plan.depth, think: Nanos::ZERO },
                _ => Pace::Open { depth: plan.depth },
            },
            requests: plan.requests,
            left: plan.requests,
            first: plan.first,
            read_share: row.read_share(),
            op: ShuffledSample::new(named("op")),
            reads: lane("read", reads, row.read_random),
            writes: lane("write", writes, row.write_random),
            arrivals: Arrivals::new(plan.arrivals, named("arrival")),
            classes: RequestClasses { reads: Class::DEFAULT, others: USER_WRITE },
            name,
        })
    }

    /// This source with other classes for its requests.
    pub fn with_classes(self, classes: RequestClasses) -> Datacenter {
        Datacenter { classes, ..self }
    }
}

impl Source for Datacenter {
    fn name(&self) -> &str {
        &self.name
    }

    fn pace(&self) -> Pace {
        self.pace
    }

    #[inline]
    fn next(&mut self) -> Option<Request> {
        self.left = self.left.checked_sub(1)?;
        let is_read = self.op.chance(self.read_share);
        let lane = if is_read { &mut self.reads } else { &mut self.writes };
        let (place, sectors) = lane.next();
        Some(Request {
            due: self.arrivals.take(sectors),
            op: if is_read { Op::Read } else { Op::Write },
            fua: false,
            class: if is_read { self.classes.reads } else { self.classes.others },
            stream: 0,
            sector: self.first + place,
            sectors,
        })
    }

    fn len_hint(&self) -> Option<u64> {
        Some(self.requests)
    }

    fn notes(&self) -> Vec<String> {
        vec![format!(
            "{} is generated from its row of table 1 (Jung and Kandemir, HPCA 2014), not replayed",
            self.name
        )]
    }
}
