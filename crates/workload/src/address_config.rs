//! Where requests go, as a part of a scenario.

use super::address::{Pattern, Place, WHOLE, Zone};
use super::size::parse_percent;
use tailcut_base::config::{Configure, KeyVisitor, choose};
use tailcut_base::{BadValue, choice};

choice! {
    /// How a source decides where requests go.
    pub enum Distribution {
        /// Writes go where reads go; for writes only.
        Same = "same",
        /// Every place equally likely.
        Uniform = "uniform",
        /// Every place once per pass, in random order.
        Cover = "cover",
        /// One after another, over and over.
        Sequential = "sequential",
        /// Zipf, drawn exactly.
        Zipf = "zipf",
        /// Zipf by the formula of YCSB.
        ZipfianYcsb = "zipfian-ycsb",
        /// Pareto as fio draws it.
        Pareto = "pareto",
        /// A bell as fio draws it.
        Normal = "normal",
        /// A hot and a cold part.
        HotCold = "hot-cold",
        /// Neighbouring zones with shares.
        Zoned = "zoned",
    }
}

impl Distribution {
    /// The key of an [`AddressConfig`] whose value may not suit the distribution.
    fn main_key(self) -> &'static str {
        match self {
            Distribution::Zipf | Distribution::ZipfianYcsb => "theta",
            Distribution::Pareto => "h",
            Distribution::HotCold => "hot_space",
            Distribution::Zoned => "zones",
            _ => "distribution",
        }
    }
}

/// Where requests go, as configured. Keys that the distribution does not use are ignored.
#[derive(Clone, Debug, PartialEq)]
pub struct AddressConfig {
    /// The distribution by which requests choose their places, such as uniform or Zipf.
    pub distribution: Distribution,
    /// Exponent of both Zipf distributions, above 0, and below 1 for YCSB's; larger is more skewed.
    pub theta: f64,
    /// Power of Pareto, above 0 and below 1: a share 1 - `h` of the requests goes to a share `h` of the
    /// places.
    pub h: f64,
    /// Full width of the normal distribution's uniform part, ppm of the region.
    pub deviation: u32,
    /// Middle of the normal distribution, ppm of the region.
    pub centre: u32,
    /// Share of the places that are hot, ppm of the region.
    pub hot_space: u32,
    /// Share of the requests that go to hot places, in ppm.
    pub hot_access: u32,
    /// Zones of [`Distribution::Zoned`] as `access/space:…`, in percent of requests and of the region.
    pub zones: String,
    /// Spread the popular places of Zipf and Pareto over the region.
    pub scatter: bool,
}

impl Default for AddressConfig {
    fn default() -> AddressConfig {
        AddressConfig {
            distribution: Distribution::Uniform,
            theta: 0.99,
            h: 0.2,
            deviation: 0,
            centre: 500_000,
            hot_space: 200_000,
            hot_access: 800_000,
            zones: "60/10:30/20:8/30:2/40".to_string(),
            scatter: true,
        }
    }
}

impl AddressConfig {
    /// The pattern; `None` for [`Distribution::Same`].
    ///
    /// # Errors
    /// The first of the `zones` that cannot be read, with the form of a zone.
    pub fn pattern(&self) -> Result<Option<Pattern>, BadValue> {
        let place = if self.scatter { Place::Scattered } else { Place::From(0) };
        Ok(Some(match self.distribution {
            Distribution::Same => return Ok(None),
            Distribution::Uniform => Pattern::Uniform,
            Distribution::Cover => Pattern::Cover,
            Distribution::Sequential => Pattern::Sequential,
            Distribution::Zipf => Pattern::Zipf { theta: self.theta, place },
            Distribution::ZipfianYcsb => Pattern::ZipfYcsb { theta: self.theta, place },
            Distribution::Pareto => Pattern::Pareto { h: self.h, place },
            Distribution::Normal => Pattern::Normal { width_ppm: self.deviation, centre_ppm: self.centre },
            Distribution::HotCold => {
                Pattern::HotCold { space_ppm: self.hot_space, access_ppm: self.hot_access }
            }
            Distribution::Zoned => Pattern::Zoned(parse_zones(&self.zones)?),
        }))
    }
}

impl Configure for AddressConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        choose(
            visit,
            "distribution",
            "Which place comes next; 'same' (for writes) goes where reads go. 'zipfian-ycsb' repeats \
             YCSB's formula, which is biased at the most popular places; 'zipf' is exact.",
            &mut self.distribution,
        );
        visit.number(
            "theta",
            "Exponent of zipf (any above 0) and zipfian-ycsb (below 1); larger is more skewed.",
            &mut self.theta,
            1e-6..=100.0,
        );
        visit.number(
            "h",
            "Power of pareto: a share 1-h of the requests goes to a share h of the places.",
            &mut self.h,
            1e-6..=0.999_999,
        );
        visit.share(
            "deviation",
            "Of normal: full width of a uniform deviation around a bell of 1/12 of the region.",
            &mut self.deviation,
            0..=WHOLE,
        );
        visit.share(
            "centre",
            "Of normal: the middle of the bell, from the start of the region.",
            &mut self.centre,
            0..=WHOLE,
        );
        visit.share(
            "hot_space",
            "Of hot-cold: share of the places that are hot.",
            &mut self.hot_space,
            1..=999_999,
        );
        visit.share(
            "hot_access",
            "Of hot-cold: share of the requests that go to hot places.",
            &mut self.hot_access,
            0..=WHOLE,
        );
        visit.text(
            "zones",
            "Of zoned: neighbouring zones as access/space in percent, separated by colons.",
            &mut self.zones,
        );
        visit.flag(
            "scatter",
            "Of zipf and pareto: spread popular places over the region; otherwise they lie at its start.",
            &mut self.scatter,
        );
        match self.pattern() {
            Ok(pattern) => {
                if let Some(complaint) = pattern.and_then(|p| p.complaint()) {
                    visit.problem(self.distribution.main_key(), complaint);
                }
            }
            Err(bad) => visit.problem("zones", bad.message),
        }
    }
}

/// Reads zones such as `60/10:30/20:8/30:2/40`: percent of the accesses over percent of the space.
/// Empty percentages share equally what the others leave, as in fio.
pub(super) fn parse_zones(text: &str) -> Result<Vec<Zone>, BadValue> {
    let mut parts = Vec::new();
    for part in text.split(':') {
        let (access, space) = part.split_once('/').ok_or_else(|| {
            BadValue::new(format!("'{part}' is no zone; write access/space in percent, like 60/10"))
        })?;
        parts.push((parse_percent(access)?, parse_percent(space)?));
    }
    let fill = |given: Vec<Option<u32>>| {
        let sum: u64 = given.iter().flatten().map(|&p| u64::from(p)).sum();
        let open = given.iter().filter(|p| p.is_none()).count() as u64;
        let rest = u64::from(WHOLE).saturating_sub(sum);
        // The last open one takes what rounding leaves.
        let mut seen = 0;
        let share = |p: Option<u32>| {
            p.unwrap_or_else(|| {
                seen += 1;
                (if seen == open { rest - rest / open * (open - 1) } else { rest / open }) as u32
            })
        };
        given.into_iter().map(share).collect::<Vec<_>>()
    };
    let access = fill(parts.iter().map(|p| p.0).collect());
    let space = fill(parts.iter().map(|p| p.1).collect());
    Ok(access.into_iter().zip(space).map(|(access_ppm, space_ppm)| Zone { access_ppm, space_ppm }).collect())
}
