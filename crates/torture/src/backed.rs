//! Subjects that keep their data on an array or a drive: what they have in common.

use super::below::Below;
use super::plan::Plan;
use super::subject::{Findings, Subject, SubjectHealth};
use tailcut_base::Time;
use tailcut_base::control::{Control, ControlReply};
use tailcut_host::kv::Engine;
use tailcut_host::{Bytes, Disk, Request, Response};

/// The backing storage of a subject, and the answers that it has for the host.
#[derive(Debug)]
pub struct Backing {
    below: Below,
    /// A request that the array or drive has not accepted yet.
    held: Option<Request<Bytes>>,
    /// Answers for the host.
    answers: Vec<Response<Bytes>>,
    /// Retries of engines since they last had room, at most [`MAX_RETRIES`].
    retries: u32,
}

impl Backing {
    /// A subject's backing, with no request under way.
    pub fn new(below: Below) -> Backing {
        Backing { below, held: None, answers: Vec::new(), retries: 0 }
    }

    /// The array or drive that the subject stores to.
    pub fn below(&self) -> &Below {
        &self.below
    }

    /// Takes the answers of the array or drive.
    pub fn take_answers(&mut self) -> Vec<Response<Bytes>> {
        self.below.answers()
    }

    /// Delivers completions to the host.
    pub fn answer(&mut self, answers: impl IntoIterator<Item = Response<Bytes>>) {
        self.answers.extend(answers);
    }

    /// Submits the requests of `next` until there is none, or the storage accepts no more. True if it has
    /// accepted any.
    pub fn submit(&mut self, now: Time, mut next: impl FnMut() -> Option<Request<Bytes>>) -> bool {
        let mut has_moved = false;
        while let Some(request) = self.held.take().or_else(&mut next) {
            if let Err(request) = self.below.submit(now, request) {
                self.held = Some(request);
                break;
            }
            has_moved = true;
        }
        has_moved
    }

    /// False once engines without room have retried often enough: a drive that is full for good would be
    /// retried without end.
    pub fn may_retry(&self) -> bool {
        self.retries < MAX_RETRIES
    }
}

/// A subject that keeps its data on an array or a drive.
pub trait Backed: Sized {
    /// As of [`Subject::KEEPS_ORDER`].
    const IN_ORDER: bool = false;

    /// A subject over its backing; `is_new` if that is blank.
    fn over(plan: &Plan, backing: Backing, is_new: bool) -> Self;

    /// Its backing.
    fn backing(&self) -> &Backing;

    /// Its backing, to be changed.
    fn backing_mut(&mut self) -> &mut Backing;

    /// Continues until nothing can be done without time or a drive.
    fn resume(&mut self, now: Time);

    /// Why it cannot be opened although its backing can.
    fn own_refusal(&self) -> Option<String> {
        None
    }

    /// True if it takes requests.
    fn is_serving(&self) -> bool;

    /// What it is to the host, when it is serving.
    fn export(&self) -> Disk;

    /// Its key-value engines, when it is serving.
    fn engines(&self) -> Vec<&Engine> {
        Vec::new()
    }

    /// True if its engines write what they have acknowledged by themselves.
    fn writes_at_once(&self) -> bool {
        false
    }

    /// Counts beside those of its engines and its backing.
    fn own_counts(&self) -> String {
        String::new()
    }

    /// Accepts a request of the host.
    fn accept(&mut self, now: Time, request: Request<Bytes>);

    /// When it wants to be called, apart from its backing.
    fn own_event(&self) -> Time {
        Time::NEVER
    }
}

impl<B: Backed> Subject for B {
    const KEEPS_ORDER: bool = B::IN_ORDER;

    fn create(now: Time, plan: &Plan, drives: &[Disk]) -> B {
        B::over(plan, Backing::new(Below::create(now, plan, drives)), true)
    }

    fn open(now: Time, plan: &Plan, drives: &[(usize, Disk)]) -> B {
        B::over(plan, Backing::new(Below::open(now, plan, drives)), false)
    }

    fn refused(&self) -> Option<String> {
        self.own_refusal().or_else(|| self.backing().below.refused())
    }

    fn stale(&self) -> &[usize] {
        self.backing().below.stale()
    }

    fn is_ready(&self) -> bool {
        self.is_serving()
    }

    fn disk(&self) -> Disk {
        self.export()
    }

    fn health(&self) -> SubjectHealth {
        self.backing().below.health()
    }

    fn findings(&self) -> Findings {
        let mut findings = self.backing().below.findings();
        for engine in self.engines() {
            findings.corrupt += engine.figures().damaged;
            findings.collected += engine.figures().reclaimed;
        }
        findings
    }

    fn counts(&self) -> String {
        let of = |engine: &Engine| (format!("{:?}", engine.figures()), engine.items(), engine.memory_used());
        let engines: Vec<_> = self.engines().into_iter().map(of).collect();
        format!("{engines:?} {} {}", self.own_counts(), self.backing().below.counts())
    }

    fn submit(&mut self, now: Time, request: Request<Bytes>) -> Result<(), Request<Bytes>> {
        self.accept(now, request);
        self.resume(now);
        Ok(())
    }

    fn answered(&mut self, now: Time, drive: usize, response: Response<Bytes>) {
        self.backing_mut().below.answered(now, drive, response);
        self.resume(now);
    }

    fn is_durable_at_rest(&self) -> bool {
        let can_write = |engine: &Engine| !engine.has_failed() && !engine.is_full();
        self.writes_at_once() && self.is_serving() && self.engines().into_iter().all(can_write)
    }

    fn can_write(&self) -> bool {
        !self.engines().into_iter().any(Engine::has_failed)
    }

    fn check_at_rest(&self) -> Result<(), String> {
        for engine in self.engines() {
            if engine.is_idle() { engine.check_at_rest()? } else { engine.check()? }
        }
        self.backing().below.check_at_rest()
    }

    fn next_event(&self) -> Time {
        self.own_event().min(self.backing().below.next_event())
    }

    fn advance(&mut self, now: Time) {
        let engines = self.engines();
        let is_retry = engines.iter().any(|engine| engine.is_full() && engine.next_event() <= now);
        let is_full = engines.into_iter().any(Engine::is_full);
        let backing = self.backing_mut();
        let retries = (backing.retries + u32::from(is_retry)).min(MAX_RETRIES);
        backing.retries = if is_full { retries } else { 0 };
        if backing.below.next_event() <= now {
            backing.below.advance(now);
        }
        self.resume(now);
    }

    fn sent(&mut self) -> Vec<(usize, Request<Bytes>)> {
        self.backing_mut().below.sent()
    }

    fn answers(&mut self) -> Vec<Response<Bytes>> {
        std::mem::take(&mut self.backing_mut().answers)
    }

    fn controls(&mut self) -> Vec<(usize, Control)> {
        self.backing_mut().below.controls()
    }

    fn control_answered(&mut self, now: Time, drive: usize, call: Control, reply: ControlReply) {
        self.backing_mut().below.control_answered(now, drive, call, reply);
        self.resume(now);
    }

    fn replace(&mut self, now: Time, drive: usize, disk: Disk) {
        self.backing_mut().below.replace(now, drive, disk);
    }

    fn scrub(&mut self, now: Time) {
        self.backing_mut().below.scrub(now);
    }
}

/// Retries, one a second, of an engine that is full: more than full drives refuse writes before they have
/// room again.
const MAX_RETRIES: u32 = 128;
