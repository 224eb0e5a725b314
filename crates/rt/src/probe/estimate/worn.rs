//! Estimates spare space and erase time from the cost of writes during garbage collection.

use super::{Estimate, PAGE, Provenance};
use crate::probe::measured::Measured;
use crate::probe::stalls;
use tailcut_base::Nanos;
use tailcut_base::quantity::{show_rate, show_time};

/// Minimum filled share of a drive for an estimate: a drive that is not full has additional spare space.
const FULL: f64 = 0.95;

/// A wait longer than this many half programs was not caused by a program.
const HALF_PROGRAMS: u64 = 3;

impl Estimate {
    /// Spare space follows from the cost of garbage collection.
    pub(super) fn worn(&mut self, measured: &Measured) {
        self.erases(measured);
        let writes = &measured.writes;
        if writes.overwrite.is_some() && measured.filled() < FULL {
            let filled =
                format!("only {:.0} % of the drive was filled in its time", 100.0 * measured.filled());
            return self.assume("ftl.spare", &filled);
        }
        match writes.random().filter(|_| writes.is_settled) {
            Some((Some(before), after)) => {
                let amplification = self.amplification(before, after);
                let spare = spare(amplification);
                self.spare = Some(spare);
                let why = format!(
                    "random writes fell from {} to {}: a write amplification of {amplification:.2}, with \
                     which a drive that collects greedily has {:.1} % to spare",
                    show_rate(before),
                    show_rate(after),
                    100.0 * spare
                );
                self.is("ftl.spare", Provenance::Derived, why);
            }
            Some((None, _)) => self.is_not_seen_to_collect(),
            None => self.assume("ftl.spare", "how fast it writes in the long run is not known"),
        }
    }

    /// More data was written at random than any drive has spare space, so the drive has collected garbage, if
    /// it is flash.
    fn is_not_seen_to_collect(&mut self) {
        self.config.gc.ideal = true;
        let why = "collection takes no time here: random writes stayed as fast when as much was written at \
            random as there is";
        self.is("gc.ideal", Provenance::Derived, why);
        self.assume("ftl.spare", "random writes never became slower");
    }

    /// The longest reads beside few writes have waited for an erase.
    fn erases(&mut self, measured: &Measured) {
        let writes = &measured.writes;
        let has_fallen = writes.random().is_some_and(|(before, _)| before.is_some());
        let known = measured.read_latency().zip(writes.beside_worn.as_ref().filter(|_| has_fallen));
        let edge = known.and_then(|(alone, worn)| {
            let waits =
                worn.samples.iter().map(|&(_, latency)| Nanos(latency.0.saturating_sub(alone as u64)));
            let least = measured.slow_from()?.saturating_sub(Nanos(alone as u64));
            stalls::edge(waits, least.max(self.config.timing.program[0] * HALF_PROGRAMS / 2))
        });
        match edge {
            Some(edge) => {
                self.config.timing.erase = edge.length.max(self.config.timing.program[0]);
                let why = format!(
                    "{} reads beside few writes waited longer than a program takes, up to {}: what they have \
                        met takes so long",
                    edge.reads,
                    show_time(edge.longest.0 as f64)
                );
                self.is("timing.erase", Provenance::Derived, why);
            }
            None if has_fallen && writes.beside_worn.is_some() => {
                self.assume("timing.erase", "no read has waited longer than for a program");
            }
            None => self.assume("timing.erase", "no collection was seen"),
        }
    }

    /// Write amplification: pages programmed per page that the host writes. A page of the host occupies its
    /// chip for `H` (from the rate before collection). A moved page takes a read `R` and a program `P` of its
    /// own, as collection moves pages one by one, and each page takes its share `E` of an erase: in the long
    /// run `1 / rate = H + (A - 1) (R + P) + A E`.
    fn amplification(&self, before: f64, after: f64) -> f64 {
        let (timing, geometry) = (&self.config.timing, &self.config.geometry);
        let chips = PAGE as f64 * 1e9 * self.unit_count();
        let (host, long_run) = (chips / before, chips / after);
        let moved = self.service_time() + timing.program[0].0 as f64 + self.bus_time();
        let erase = timing.erase.0 as f64 / f64::from(geometry.pages);
        (1.0 + (long_run - host - erase) / (moved + erase)).max(1.0)
    }
}

/// Share of the flash that is spare at this write amplification: with uniform random writes, and collection
/// of blocks in order of age, the share `u = 1 - 1 / A` of each block is moved, so the drive is filled to
/// `(u - 1) / ln u` (Desnoyers, SYSTOR 2012, for LRU; greedy collection moves slightly less).
fn spare(amplification: f64) -> f64 {
    let moved = 1.0 - 1.0 / amplification;
    if moved <= 0.0 {
        return MOST_SPARE;
    }
    let full = (moved - 1.0) / moved.ln();
    (1.0 - full).clamp(LEAST_SPARE, MOST_SPARE)
}

/// Bounds of the spare space that an estimate may assign.
const LEAST_SPARE: f64 = 0.02;
const MOST_SPARE: f64 = 0.6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_space_and_amplification_belong_together() {
        // Half of each block is moved when the drive is (0.5 - 1) / ln 0.5 = 72 % full.
        assert!((spare(2.0) - 0.2787).abs() < 1e-3, "{}", spare(2.0));
        assert!(spare(4.0) < spare(2.0) && spare(1.0) == MOST_SPARE && spare(1e9) == LEAST_SPARE);
    }
}
