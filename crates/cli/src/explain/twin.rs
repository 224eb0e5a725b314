//! Which slow requests of a measured trace a simulated drive explains: its twin is given the same requests at
//! the same times.
//!
//! A request is *slow* if it took longer than a percentile of the requests of its kind. The twin *explains*
//! it if (1) the same request is beyond the same percentile in the twin, and (2) it waited there for at least
//! half of what the measured one took longer than the median of its kind. The first condition makes the share
//! that chance explains known: a twin whose slow requests have nothing to do with those measured explains as
//! many as are beyond the percentile, 1 % at the 99th. The second keeps a twin whose slow requests are quick
//! from explaining anything.

use serde::Serialize;
use tailcut_base::config::Choice;
use tailcut_base::{Cause, Nanos, Op};
use tailcut_sim::request_log::RequestLog;
use tailcut_workload::trace::Measured;

/// What a request of the twin waited for, by what had it wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WaitKind {
    /// Writes of the host: their programs, and the buffer that they fill.
    Writes,
    /// Garbage collection and wear levelling.
    Collection,
    /// Erases.
    Erase,
    /// Other requests before it: tags, link, buses, reads of the same chip.
    Queue,
}

impl WaitKind {
    /// All kinds, in the order of tables.
    pub(super) const ALL: [WaitKind; 4] =
        [WaitKind::Writes, WaitKind::Collection, WaitKind::Erase, WaitKind::Queue];

    /// In words.
    pub(super) fn name(self) -> &'static str {
        match self {
            WaitKind::Writes => "writes of the host",
            WaitKind::Collection => "collection",
            WaitKind::Erase => "an erase",
            WaitKind::Queue => "requests before it",
        }
    }

    /// The kind that time with this cause belongs to; `None` for what the request itself needs.
    fn of(cause: Cause) -> Option<WaitKind> {
        match cause {
            Cause::ChipUserWrite
            | Cause::BufferFull
            | Cause::Flush
            | Cause::ChipSuspend
            | Cause::ChipReset
            | Cause::Suspended
            | Cause::Epoch => Some(WaitKind::Writes),
            Cause::ChipGcRead | Cause::ChipGcProgram | Cause::BufferFullGc | Cause::Space => {
                Some(WaitKind::Collection)
            }
            Cause::ChipErase => Some(WaitKind::Erase),
            Cause::HostQueue
            | Cause::Tag
            | Cause::QueueDrain
            | Cause::LinkWait
            | Cause::Hazard
            | Cause::CommitWait
            | Cause::ChipUserRead
            | Cause::ChipReadAhead
            | Cause::BusWait
            | Cause::ArrayQueue => Some(WaitKind::Queue),
            Cause::Link
            | Cause::Controller
            | Cause::BusCommand
            | Cause::Cell
            | Cause::BusTransfer
            | Cause::Retry
            | Cause::OwnPages
            | Cause::Reconstruction
            | Cause::Cache
            | Cause::HostWork
            | Cause::Poll
            | Cause::Interrupt
            | Cause::SoftInterrupt
            | Cause::Scheduling
            | Cause::Network => None,
        }
    }
}

/// A request as the twin served it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TwinRequest {
    latency: Nanos,
    /// By [`WaitKind::ALL`].
    waits: [Nanos; WaitKind::ALL.len()],
}

impl TwinRequest {
    /// The requests of a run by their number in it; `None` for one that did not end. `count` is how many the
    /// trace has.
    pub(super) fn of_run(log: &RequestLog, count: usize) -> Vec<Option<TwinRequest>> {
        let mut all = vec![None; count];
        for (row, &number) in log.number.iter().enumerate() {
            let Some(place) = usize::try_from(number).ok().and_then(|number| all.get_mut(number)) else {
                continue;
            };
            let mut request = TwinRequest { latency: Nanos(log.latency[row]), ..TwinRequest::default() };
            for cause in Cause::ALL {
                if let (Some(kind), Some(waits)) = (WaitKind::of(cause), log.waits(cause)) {
                    request.waits[kind as usize] += Nanos(waits.get(row).copied().unwrap_or(0));
                }
            }
            *place = Some(request);
        }
        all
    }

    fn waited(&self) -> Nanos {
        Nanos(self.waits.iter().map(|wait| wait.0).sum())
    }

    /// What it waited for longest.
    fn most(&self) -> WaitKind {
        let longest = |kind: &&WaitKind| (self.waits[**kind as usize], std::cmp::Reverse(**kind));
        *WaitKind::ALL.iter().max_by_key(longest).expect("there are kinds")
    }
}

/// A slow request of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Slow {
    /// Its number in the trace, from 0.
    pub number: usize,
    /// When it was issued, in ns since the first one.
    pub at_ns: u64,
    pub op: &'static str,
    pub measured_ns: u64,
    /// In the twin.
    pub twin_ns: u64,
    /// `None` if the twin does not explain it.
    pub waited_for: Option<WaitKind>,
}

/// What a twin explains of a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Explained {
    /// Requests with a response time that the twin has served.
    pub requests: usize,
    /// The slow ones, the slowest first.
    pub slow: Vec<Slow>,
}

impl Explained {
    /// Compares the requests beyond a percentile of their kind; of one kind if one is chosen.
    pub(super) fn new(
        measured: &[Measured],
        twin: &[Option<TwinRequest>],
        percentile: f64,
        chosen: Option<Op>,
    ) -> Explained {
        let (mut requests, mut slow) = (0, Vec::new());
        for &op in Op::all().iter().filter(|&&op| chosen.is_none_or(|chosen| chosen == op)) {
            let both: Vec<(usize, u64, TwinRequest)> = (measured.iter().zip(twin).enumerate())
                .filter(|(_, (measured, _))| measured.op == op)
                .filter_map(|(number, (measured, twin))| Some((number, measured.response?.0, (*twin)?)))
                .collect();
            if both.is_empty() {
                continue;
            }
            requests += both.len();
            let mut took: Vec<u64> = both.iter().map(|&(_, took, _)| took).collect();
            let mut twins: Vec<u64> = both.iter().map(|(_, _, twin)| twin.latency.0).collect();
            let (median, cut) = (value_at(&mut took, 50.0), value_at(&mut took, percentile));
            let twin_cut = value_at(&mut twins, percentile);
            for (number, took, twin) in both.into_iter().filter(|&(_, took, _)| took > cut) {
                let excess = took.saturating_sub(median);
                let is_explained = twin.latency.0 > twin_cut && twin.waited().0 >= excess.div_ceil(2);
                slow.push(Slow {
                    number,
                    at_ns: measured[number].at.0,
                    op: op.name(),
                    measured_ns: took,
                    twin_ns: twin.latency.0,
                    waited_for: is_explained.then(|| twin.most()),
                });
            }
        }
        slow.sort_by_key(|slow| std::cmp::Reverse(slow.measured_ns));
        Explained { requests, slow }
    }

    /// The share of the slow requests that the twin explains; `None` if there are none.
    pub(super) fn share(&self) -> Option<f64> {
        let explained = self.slow.iter().filter(|slow| slow.waited_for.is_some()).count();
        (!self.slow.is_empty()).then(|| explained as f64 / self.slow.len() as f64)
    }
}

/// The value that a share of them does not exceed, by nearest rank.
fn value_at(values: &mut [u64], percentile: f64) -> u64 {
    let rank = tailcut_base::histogram::rank_at(values.len() as u64, percentile).max(1) as usize - 1;
    *values.select_nth_unstable(rank.min(values.len() - 1)).1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(response: u64) -> Measured {
        Measured { at: Nanos::ZERO, op: Op::Read, len: 4096, response: Some(Nanos(response)) }
    }

    fn twin(latency: u64, kind: WaitKind, wait: u64) -> Option<TwinRequest> {
        let mut request = TwinRequest { latency: Nanos(latency), ..TwinRequest::default() };
        request.waits[kind as usize] = Nanos(wait);
        Some(request)
    }

    /// A thousand requests, of which five are slow; the twin has each of its own at `slow`.
    fn explained(slow: [usize; 5], wait: u64) -> Explained {
        let is_slow = |number: usize| number % 200 == 7;
        let took: Vec<Measured> =
            (0..1000).map(|number| measured(if is_slow(number) { 5000 } else { 100 })).collect();
        let mut twins = vec![twin(80, WaitKind::Queue, 0); 1000];
        for number in slow {
            twins[number] = twin(80 + wait, WaitKind::Erase, wait);
        }
        Explained::new(&took, &twins, 99.5, None)
    }

    #[test]
    fn the_same_requests_slow_for_as_long_are_explained() {
        let all = explained([7, 207, 407, 607, 807], 4000);
        assert_eq!((all.requests, all.slow.len(), all.share()), (1000, 5, Some(1.0)));
        assert!(all.slow.iter().all(|slow| slow.waited_for == Some(WaitKind::Erase)));
    }

    #[test]
    fn others_and_much_shorter_waits_explain_nothing() {
        assert_eq!(explained([8, 208, 408, 608, 808], 4000).share(), Some(0.0));
        assert_eq!(explained([7, 207, 407, 607, 807], 2000).share(), Some(0.0));
        assert_eq!(explained([7, 207, 407, 608, 808], 2500).share(), Some(0.6));
    }

    #[test]
    fn requests_without_a_counterpart_do_not_count() {
        let took = [measured(100), Measured { response: None, ..measured(0) }, measured(300), measured(200)];
        let twins =
            [twin(80, WaitKind::Queue, 0), twin(80, WaitKind::Queue, 0), None, twin(80, WaitKind::Queue, 0)];
        assert_eq!(Explained::new(&took, &twins, 99.0, None).requests, 2);
        assert_eq!(
            Explained::new(&took, &twins, 99.0, Some(Op::Write)),
            Explained { requests: 0, slow: vec![] }
        );
    }
}
