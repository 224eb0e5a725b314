//! A second synthetic source, beside the first.

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
        visit.flag("enabled", "A second source runs beside the synthetic one.", &mut self.enabled);
        self.source.configure(visit);
    }
}
