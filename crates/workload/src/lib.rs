//! Workloads: where requests come from.
//!
//! A [`Source`] is one stream of requests with its own pace: a trace, or a synthetic mix such as
//! one job of a fio file. A world serves several sources at once.
//!
//! A synthetic mix is described once, by a [`Recipe`]: [`SyntheticConfig`] (a part of a scenario) and
//! [`fio::FioJob`] (a job of a fio file) are two ways to write one, and [`Synthetic`] draws the requests.
//! [`datacenter`] generates published workloads from their published statistics; [`lsm`] is a log-structured
//! merge store that makes its own; [`mod@trace`] replays recorded ones, and [`characterization`] measures any
//! of them.
//!
//! This crate knows requests and no drive: it depends on nothing but `base`.

pub mod address;
pub mod address_config;
pub mod arrival;
mod beside;
pub mod cachebench;
pub mod characterization;
pub mod config;
pub mod datacenter;
pub mod fio;
pub mod lane;
pub mod lsm;
pub mod recipe;
pub mod size;
pub mod streams;
pub mod synthetic;
pub mod trace;
pub mod zipf;

pub use address::Pattern;
pub use address_config::AddressConfig;
pub use arrival::ArrivalPlan;
pub use beside::{BesideConfig, FurtherSources};
pub use config::SyntheticConfig;
pub use datacenter::{Datacenter, DatacenterConfig};
pub use lsm::LsmConfig;
pub use recipe::Recipe;
pub use streams::Streams;
pub use synthetic::Synthetic;
pub use tailcut_base::Problem;

use tailcut_base::{Class, Nanos, Op, Status, Time};

/// A request of an application to a disk, before it is cut to what a device takes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// When it is due, counted from the moment at which its source starts (see [`Schedule`]).
    /// Meaningful for [`Pace::Open`] only; never decreases within a source.
    pub due: Time,
    /// What the application requests: read, write, trim or flush.
    pub op: Op,
    /// Force unit access: a write completes only once it is durable.
    pub fua: bool,
    /// Latency class, which decides whether a read may reset or suspend a program or erase.
    pub class: Class,
    /// Write stream: data of one stream is expected to be invalidated together; 0 if unused.
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
    /// At the time of each request, at most `depth` in flight; requests that come due meanwhile wait, and
    /// their latency counts from when they were due.
    Open {
        /// The most requests in flight, at least 1.
        depth: u32,
    },
    /// On the source's decision: it is an application that computes, waits for its requests and continues.
    /// Nothing is drawn ahead; see [`Source::advance`].
    Driven {
        /// The most requests that it ever has in flight, at least 1; it keeps to it by itself.
        depth: u32,
    },
}

/// A request of a [`Pace::Driven`] source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrivenRequest {
    /// The request; its latency counts from its `due`, which is not later than the moment at which
    /// it was asked for.
    pub request: Request,
    /// What [`Source::answered`] is given when the request has been answered.
    pub token: u64,
}

/// When a source is active, as its world must arrange it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Groups run one after another: a source starts when every source of a lower group has
    /// ended.
    pub group: u32,
    /// Pause between the start of the group and the start of this source.
    pub start: Nanos,
    /// How long after its start the source is served without being counted in statistics.
    pub ramp: Nanos,
    /// How long after its start the source stops to issue requests; includes `ramp`. `None` when
    /// only its own end stops it.
    pub until: Option<Nanos>,
}

/// One stream of requests.
pub trait Source {
    /// A short name for reports, such as the name of a trace file or of a fio job.
    fn name(&self) -> &str;

    /// When requests are issued. Constant over the life of a source.
    fn pace(&self) -> Pace;

    /// The next request, or `None` at the end. Must not depend on anything but the source's own
    /// state: requests are drawn ahead of their time. Not called of a [`Pace::Driven`] source.
    fn next(&mut self) -> Option<Request>;

    /// Of a [`Pace::Driven`] source: does all of its own work up to `now`, and appends the resulting
    /// requests in the order in which they are to be submitted. All moments count from the start of the
    /// source. A device that is full delays requests, not the source: it is called at its moments
    /// nevertheless.
    fn advance(&mut self, _now: Time, _asked: &mut Vec<DrivenRequest>) {}

    /// Of a [`Pace::Driven`] source: when it next has something to do by itself; [`Time::NEVER`]
    /// while it only waits for answers. It has ended when it waits for nothing.
    fn next_event(&self) -> Time {
        Time::NEVER
    }

    /// Of a [`Pace::Driven`] source: the request of `token` was answered at `now`. The consequences come
    /// with the next [`Source::advance`], which is called at the same moment unless nothing more is issued.
    fn answered(&mut self, _now: Time, _token: u64, _status: Status) {}

    /// How many requests there will be in all, where that is known, for progress.
    fn len_hint(&self) -> Option<u64>;

    /// The latest moment, counted from the start of the source, at which a request may be due, where
    /// that is known beforehand.
    fn last_due(&self) -> Option<Time> {
        None
    }

    /// When the source is active. Constant over the life of a source; by default from the start
    /// of the run until it ends by itself.
    fn schedule(&self) -> Schedule {
        Schedule::default()
    }

    /// How many requests of a [`Pace::Closed`] source share one pause: the source issues this many, waits
    /// for them, pauses for `think`, and continues (fio's `thinktime_blocks`). At least 1; 1, the default,
    /// is a pause after every completion.
    fn think_every(&self) -> u32 {
        1
    }

    /// True of a source that prepares the device: it ends before the others begin, and the time of the
    /// run (its ramp, its duration) counts from then.
    fn prepares(&self) -> bool {
        false
    }

    /// Why the stream of requests ended before its time, if it did.
    fn failure(&self) -> Option<String> {
        None
    }

    /// Notes for the reader of the results on how the source was made to fit the device.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// The log-structured merge store that it is, for what the store measures of itself.
    fn store(&self) -> Option<&lsm::Store> {
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
