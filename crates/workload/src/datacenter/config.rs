//! A workload of table 1 as a part of a scenario.

use super::row::Workload;
use super::source::{Datacenter, Plan};
use crate::address::WHOLE;
use crate::config::PaceKind;
use crate::{ArrivalPlan, Problem};
use tailcut_base::config::{Configure, KeyVisitor, choose, count_u32};

/// A workload of table 1, as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatacenterConfig {
    /// The row of Sprinkler's table 1 to generate; [`Workload::None`] if this is not the workload.
    pub workload: Workload,
    /// Number of requests in all, at least 1.
    pub requests: u64,
    /// Whether completions (closed loop) or the clock (open loop) determine when the next request is issued.
    pub pace: PaceKind,
    /// Maximum number of requests in flight, at least 1.
    pub depth: u32,
    /// Requests per second of an open loop, on average.
    pub rate: u64,
    /// The region, from the start of the device, as a share of it, ppm.
    pub region_share: u32,
}

impl Default for DatacenterConfig {
    fn default() -> DatacenterConfig {
        DatacenterConfig {
            workload: Workload::None,
            requests: 100_000,
            pace: PaceKind::Closed,
            depth: 64,
            rate: 10_000,
            region_share: WHOLE,
        }
    }
}

impl Configure for DatacenterConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        choose(
            visit,
            "workload",
            "The workload to generate, from its row of Sprinkler's table 1; none for none.",
            &mut self.workload,
        );
        visit.count(
            "requests",
            "Requests in all; shares, sizes and randomness are those of the row for any number.",
            &mut self.requests,
            1..=u64::MAX,
        );
        choose(
            visit,
            "pace",
            "Whether completions (closed) or the clock (open, Poisson) let the next request go.",
            &mut self.pace,
        );
        count_u32(visit, "depth", "The most requests in flight.", &mut self.depth, 1..=1 << 20);
        visit.count(
            "rate",
            "Requests per second of an open loop, on average.",
            &mut self.rate,
            1..=1_000_000_000,
        );
        visit.share(
            "region_share",
            "Share of the device, from its beginning, that requests go to; beyond precondition.fill reads \
                find nothing.",
            &mut self.region_share,
            1..=WHOLE,
        );
    }
}

impl DatacenterConfig {
    /// The plan for a device of `sectors` sectors.
    pub fn plan(&self, sectors: u64) -> Plan {
        Plan {
            workload: self.workload,
            requests: self.requests,
            first: 0,
            // Rounded down to whole sectors.
            region: (u128::from(sectors) * u128::from(self.region_share) / u128::from(WHOLE)) as u64,
            depth: self.depth,
            arrivals: match self.pace {
                PaceKind::Closed => ArrivalPlan::Closed,
                PaceKind::Open => ArrivalPlan::Poisson { rate: self.rate },
            },
        }
    }

    /// The source on a device of `sectors` sectors, in the run with `seed`.
    ///
    /// # Errors
    /// Every value that does not fit the device or the other values, with its key.
    pub fn source(&self, sectors: u64, seed: u64) -> Result<Datacenter, Vec<Problem>> {
        Datacenter::new(&self.plan(sectors), seed)
    }
}
