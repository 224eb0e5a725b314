//! Estimates program time and write buffer from writes before garbage collection begins.

use super::{Estimate, PAGE, Provenance};
use crate::probe::measured::{Measured, Writes};
use crate::probe::stalls;
use tailcut_base::Nanos;
use tailcut_base::histogram::LatencyHistogram;
use tailcut_base::quantity::{show_bytes, show_rate, show_time};

/// A bandwidth below this share of the link's is not limited by the link.
const BELOW: f64 = 0.9;

/// A write faster than this many reads is buffered: programming cells takes several times as long as reading
/// them, for all types of cells.
const BUFFERED: f64 = 2.0;

impl Estimate {
    /// Program time and number of planes: together they determine the sequential write bandwidth; a flush, or
    /// a read that meets a program, waits for the program time alone.
    pub(super) fn programs(&mut self, measured: &Measured) {
        let writes = &measured.writes;
        let Some(rate) = writes.sequential() else {
            let mean = |times: &[Nanos]| times.iter().copied().sum::<Nanos>() / times.len() as u64;
            self.config.timing.program = vec![mean(&self.config.timing.program)];
            self.assume("timing.program", "nothing was written");
            return self.assume("geometry.planes", "nothing was written");
        };
        let seen = self.program_seen(measured);
        let (page_time, bus_time) = (PAGE as f64 * self.unit_count() * 1e9 / rate, self.bus_time());
        let each = |planes: u32| f64::from(planes) * (page_time - bus_time);
        let is_by_link = rate > BELOW * self.config.link.rate as f64;
        let preset_planes = self.preset.config().geometry.planes;
        let planes = match seen {
            Some((time, _)) => {
                let off = |planes: u32| (each(planes).max(1.0) / time).ln().abs();
                [1, 2, 4, 8].into_iter().min_by(|&a, &b| off(a).total_cmp(&off(b))).expect("there are some")
            }
            None => preset_planes,
        };
        self.config.geometry.planes = planes;
        let preset_time = self.preset.config().timing.program[0].0 as f64;
        let unhurried = seen.map_or(preset_time, |(time, _)| time);
        let time = if is_by_link { unhurried.min(each(planes)) } else { each(planes) };
        self.config.timing.program = vec![Nanos(time.clamp(1000.0, 1e9) as u64)];
        let why = format!("{} were written in order, by chips and planes", show_rate(rate));
        let how =
            if is_by_link { "at most this, as the link limits writes" } else { "so that it writes as fast" };
        self.is("timing.program", Provenance::Derived, format!("{how}: {why}"));
        match seen {
            Some((time, how)) => {
                let why =
                    format!("of 1, 2, 4 and 8 what fits a program of {}, which is {how}", show_time(time));
                self.is("geometry.planes", Provenance::Derived, why);
            }
            None => self.assume("geometry.planes", "a single program was not seen"),
        }
    }

    /// The observed time of a single program, in ns.
    fn program_seen(&self, measured: &Measured) -> Option<(f64, &'static str)> {
        let writes = &measured.writes;
        if let Some(write) = measured.write_latency().filter(|_| !is_buffered(measured)) {
            return Some((
                write - self.bus_time() - self.link_time(),
                "a write by itself, which no buffer takes",
            ));
        }
        if let Some(flush) = flush_cost(writes).filter(|&cost| cost > self.service_time()) {
            return Some((flush - self.bus_time(), "what a flush takes behind one write"));
        }
        let alone = measured.read_latency()?;
        let few = writes.beside_few.as_ref()?;
        let waits = few.samples.iter().map(|&(_, latency)| Nanos(latency.0.saturating_sub(alone as u64)));
        let edge = stalls::edge(waits, Nanos((0.5 * alone) as u64))?;
        Some((edge.length.0 as f64, "the longest wait of reads beside few writes"))
    }

    /// Whether writes are buffered, the size of the buffer, and whether it survives a power loss.
    pub(super) fn buffer(&mut self, measured: &Measured) {
        let writes = &measured.writes;
        if !measured.has_writes() {
            self.assume("buffer.size", "nothing was written");
            return self.assume("buffer.capacitor", "nothing was flushed");
        }
        if !is_buffered(measured) {
            self.config.buffer.size = 0;
            self.is(
                "buffer.size",
                Provenance::Measured,
                "a write takes more than twice as long as a read: it ends on flash",
            );
        } else if let Some((rate, bytes)) = writes.buffered() {
            // Part of the burst is written to flash while the buffer fills.
            let drained = writes.sequential().unwrap_or(0.0) / rate;
            let size = (bytes as f64 * (1.0 - drained)) as u64;
            self.config.buffer.size = (size / PAGE * PAGE).max(PAGE);
            let why = format!(
                "after a rest {} go at {}, and then slower",
                show_bytes(bytes as f64),
                show_rate(rate)
            );
            self.is("buffer.size", Provenance::Derived, why);
        } else {
            self.assume("buffer.size", "there is one, and no burst has filled it");
        }
        match flush_cost(writes) {
            Some(cost) => {
                self.config.buffer.capacitor = cost < self.service_time();
                let why = format!(
                    "a flush behind a write takes {} longer than one behind nothing",
                    show_time(cost.max(0.0))
                );
                self.is("buffer.capacitor", Provenance::Measured, why);
            }
            None => self.assume("buffer.capacitor", "nothing was flushed"),
        }
    }
}

/// True if writes complete in a buffer, before they reach cells.
pub(super) fn is_buffered(measured: &Measured) -> bool {
    match (measured.write_latency(), measured.read_latency()) {
        (Some(write), Some(read)) => write < BUFFERED * read,
        _ => true,
    }
}

/// Additional time of a flush behind one write, in ns.
fn flush_cost(writes: &Writes) -> Option<f64> {
    let typical = |latency: &Option<LatencyHistogram>| {
        latency
            .as_ref()
            .filter(|latency| latency.count() > 0)
            .map(|latency| latency.percentile(50.0).0 as f64)
    };
    Some(typical(&writes.flush)? - typical(&writes.idle_flush)?)
}
