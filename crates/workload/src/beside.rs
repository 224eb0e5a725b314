//! Further synthetic sources, beside the first.

use super::SyntheticConfig;
use tailcut_base::config::{Configure, KeyVisitor};

/// A source beside `[workload]`: what one source does not make wait for the other.
///
/// Readers and writers that each issue their next request when their own last one has completed are two
/// sources; in one source of both, the slower ones would take the places of the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BesideConfig {
    /// Whether there is a second source.
    pub enabled: bool,
    /// The second source, configured like `[workload]`.
    pub source: SyntheticConfig,
}

impl Configure for BesideConfig {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        visit.flag("enabled", "This source runs beside the synthetic one.", &mut self.enabled);
        self.source.configure(visit);
    }
}

/// The third to the eighth source of a workload, each in a section of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct FurtherSources([BesideConfig; FurtherSources::NAMES.len()]);

impl FurtherSources {
    /// The names of their sections.
    pub const NAMES: [&'static str; 6] =
        ["beside_3", "beside_4", "beside_5", "beside_6", "beside_7", "beside_8"];

    /// Six times `template`.
    pub fn like(template: &BesideConfig) -> FurtherSources {
        FurtherSources(std::array::from_fn(|_| template.clone()))
    }

    /// The sources that run, with the names of their sections.
    pub fn enabled(&self) -> impl Iterator<Item = (&'static str, &SyntheticConfig)> {
        let named = FurtherSources::NAMES.into_iter().zip(&self.0);
        named.filter(|(_, beside)| beside.enabled).map(|(name, beside)| (name, &beside.source))
    }

    /// Lets a source run; `place` counts from the third source.
    ///
    /// # Panics
    /// If there are fewer places.
    pub fn enable(&mut self, place: usize, source: SyntheticConfig) {
        self.0[place] = BesideConfig { enabled: true, source };
    }

    /// None of them runs any more.
    pub fn disable(&mut self) {
        self.0.iter_mut().for_each(|beside| beside.enabled = false);
    }
}

impl Configure for FurtherSources {
    fn configure(&mut self, visit: &mut dyn KeyVisitor) {
        for (name, beside) in FurtherSources::NAMES.into_iter().zip(&mut self.0) {
            let is_used = beside.enabled;
            visit.optional_section(name, "A further source, beside those above.", beside, is_used);
        }
    }
}
