//! A subject with a bug in front of it.

use super::mutant::Mutant;
use super::subject::Subject;
use tailcut_base::{Nanos, Op, Status, Time};
use tailcut_host::{Bytes, Request, Response};

/// A subject with a planted bug in front of it.
#[derive(Debug)]
pub struct Mutated<S> {
    subject: S,
    mutant: Option<Mutant>,
    /// Requests of the kind that the bug strikes.
    seen: u32,
    early: Vec<Response<Bytes>>,
    /// Requests in flight that will be spoiled.
    marked: Vec<u32>,
    /// Old content of a few blocks.
    old: Vec<(u64, Bytes)>,
    reads: Vec<(u32, u64)>,
}

impl<S: Subject> Mutated<S> {
    /// `subject` with the planted bug `mutant`, if any.
    pub fn new(subject: S, mutant: Option<Mutant>) -> Mutated<S> {
        let (early, marked) = (Vec::new(), Vec::new());
        Mutated { subject, mutant, seen: 0, early, marked, old: Vec::new(), reads: Vec::new() }
    }

    /// The subject that the planted bug is in front of.
    pub fn inner(&self) -> &S {
        &self.subject
    }

    /// The subject that the planted bug is in front of, mutable.
    pub fn inner_mut(&mut self) -> &mut S {
        &mut self.subject
    }

    fn strikes(&mut self, every: u32) -> bool {
        self.seen += 1;
        self.seen.is_multiple_of(every)
    }

    /// Hands a request over, changed by the bug.
    ///
    /// # Errors
    /// As of [`Subject::submit`].
    pub fn submit(&mut self, now: Time, mut request: Request<Bytes>) -> Result<(), Request<Bytes>> {
        let swallows = matches!(
            (self.mutant, request.op),
            (Some(Mutant::FlushesEarly), Op::Flush) | (Some(Mutant::ForgetsTrims), Op::Trim)
        );
        if swallows {
            self.early.push(Response {
                id: request.id,
                status: Status::Success,
                data: Vec::new(),
                busy_for: Nanos::ZERO,
                spans: Default::default(),
            });
            return Ok(());
        }
        let (id, op, block) = (request.id, request.op, request.block);
        if self.mutant == Some(Mutant::ForgetsFua) {
            let fua = std::mem::take(&mut request.fua);
            return self.subject.submit(now, request).map_err(|request| Request { fua, ..request });
        }
        self.subject.submit(now, request)?;
        if op == Op::Read && self.mutant == Some(Mutant::ReadsStale) {
            self.reads.push((id, block));
        }
        let is_marked = match self.mutant {
            Some(Mutant::FailsReads) => op == Op::Read && self.strikes(7),
            Some(Mutant::NeverAnswers) => self.strikes(19),
            _ => false,
        };
        if is_marked {
            self.marked.push(id);
        }
        Ok(())
    }

    /// Answers, changed by the bug.
    pub fn answers(&mut self) -> Vec<Response<Bytes>> {
        let mut answers = self.subject.answers();
        answers.append(&mut self.early);
        if self.mutant == Some(Mutant::ReadsStale) {
            answers.iter_mut().for_each(|answer| self.make_stale(answer));
        }
        let Some(mutant) = self.mutant else { return answers };
        let marked = &mut self.marked;
        answers.retain_mut(|answer| {
            let Some(place) = marked.iter().position(|&id| id == answer.id) else { return true };
            marked.swap_remove(place);
            answer.status = Status::MediaError;
            mutant != Mutant::NeverAnswers
        });
        answers
    }

    /// Puts what a read of the same block has returned some time ago in the place of its first block.
    fn make_stale(&mut self, answer: &mut Response<Bytes>) {
        let Some(place) = self.reads.iter().position(|&(id, _)| id == answer.id) else { return };
        let (_, block) = self.reads.swap_remove(place);
        if answer.status != Status::Success || answer.data.is_empty() {
            return;
        }
        match self.old.iter_mut().find(|(old, _)| *old == block) {
            Some((_, old)) if self.seen % 5 == 4 => std::mem::swap(old, &mut answer.data[0]),
            Some(_) => self.seen += 1,
            None => self.old.push((block, answer.data[0].clone())),
        }
    }
}
