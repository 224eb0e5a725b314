//! Workloads: where requests come from.
//!
//! A [`Source`] is one stream of requests with its own pace: a trace, or a synthetic mix such as
//! one job of a fio file. A world serves several sources at once.

use tailcut_base::{Class, Nanos, Op, Time};

/// A request of an application to a disk, before it is cut to what a device takes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When it is due. Meaningful for [`Pace::Open`] only; never decreases within a source.
    pub due: Time,
    /// What it asks for.
    pub op: Op,
    /// Force unit access.
    pub fua: bool,
    /// Latency class.
    pub class: Class,
    /// Write stream.
    pub stream: u8,
    /// First sector (512 B) on the device.
    pub sector: u64,
    /// Number of sectors; 0 only for a flush.
    pub sectors: u32,
}

/// What decides when a source issues its next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// A fixed number of requests in flight; each completion is followed by the next request
    /// after `think`.
    Closed {
        /// Requests in flight, at least 1.
        depth: u32,
        /// Pause between a completion and the request that it allows.
        think: Nanos,
    },
    /// At the moment that each request says, at most `depth` in flight; what comes due meanwhile
    /// waits, and its latency counts from when it was due.
    Open {
        /// The most requests in flight, at least 1.
        depth: u32,
    },
}

/// One stream of requests.
pub trait Source {
    /// A short name for reports, such as the name of a trace file or of a fio job.
    fn name(&self) -> &str;

    /// When requests are issued. Constant over the life of a source.
    fn pace(&self) -> Pace;

    /// The next request, or `None` at the end. Must not depend on anything but the source's own
    /// state: requests are drawn ahead of their time.
    fn next(&mut self) -> Option<Request>;

    /// How many requests there will be in all, where that is known, for progress.
    fn len_hint(&self) -> Option<u64>;

    /// When the source begins to issue requests.
    fn start(&self) -> Time {
        Time::ZERO
    }

    /// How long after its start the source stops to issue requests; `None` for no limit.
    fn until(&self) -> Option<Nanos> {
        None
    }

    /// Appends up to `count` requests to `ahead`: one dynamic call for many requests.
    fn draw(&mut self, count: usize, ahead: &mut Vec<Request>) {
        for _ in 0..count {
            match self.next() {
                Some(request) => ahead.push(request),
                None => return,
            }
        }
    }
}
