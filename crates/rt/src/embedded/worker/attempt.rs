//! Effect of each operation on an item.

use super::Worker;
use crate::ctl::Steered;
use crate::embedded::error::Error;
use crate::embedded::operation::{Operation, Outcome, PutCondition, Verb};
use tailcut_host::kv::{Change, Content, Fetched, Header, Lookup, Put, Refused, State};

/// Result of an attempt to execute an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    /// The operation is complete.
    Done(Result<Outcome, Error>),
    /// The operation is executed; it completes once it is durable.
    Changed(Outcome),
    /// The item is on flash and has to be read first. Nothing has changed.
    OnFlash {
        /// The read serves a get, so it counts as an access.
        counts: bool,
    },
    /// The drive is behind: retry later. Nothing has changed.
    Behind,
}

/// The item before a change.
enum Old {
    Item(Header),
    Nothing,
    /// It could not be read.
    Unknown,
    /// It is on flash and has to be read first.
    OnFlash,
}

impl<D: Steered> Worker<D> {
    /// Attempts an operation; `fetched` is the item if it had to be read.
    pub(super) fn attempt(&mut self, operation: &mut Operation, fetched: Option<&Fetched>) -> Attempt {
        match operation.verb {
            Verb::Get => return self.get(operation, fetched),
            Verb::Flush => return Attempt::Changed(Outcome::Done),
            Verb::Clear => {
                return match self.engine.flush_all() {
                    Ok(()) => self.changed(Outcome::Done),
                    Err(_) => Attempt::Done(Err(Error::DriveFailed)),
                };
            }
            Verb::Set { when: PutCondition::Always, .. } => return self.set(operation),
            Verb::Set { .. } | Verb::Touch { .. } | Verb::Delete => {}
        }
        // The change applies to the current item, which may have replaced the fetched one.
        let fetched = fetched.filter(|fetched| self.engine.is_current(fetched));
        let old = match self.old(operation, fetched) {
            Old::OnFlash => return Attempt::OnFlash { counts: false },
            old => old,
        };
        match operation.verb {
            Verb::Set { when, .. } => match fits(when, &old) {
                Ok(true) => self.set(operation),
                Ok(false) => Attempt::Done(Ok(Outcome::NotStored)),
                Err(why) => Attempt::Done(Err(why)),
            },
            Verb::Touch { lifetime } => match old {
                Old::Item(header) => {
                    let (expires, state) = (lifetime.from(self.unix), header.state.with(State::FETCHED));
                    self.change(operation, fetched, Change::Amend { expires, state }, |_| Outcome::Done)
                }
                Old::Unknown => Attempt::Done(Err(Error::Unreadable)),
                _ => Attempt::Done(Ok(Outcome::NotFound)),
            },
            _ => match old {
                Old::Nothing => Attempt::Done(Ok(Outcome::NotFound)),
                // An item that could not be read may be readable next time, and is to be deleted as well.
                _ => self.change(operation, None, Change::Remove, |_| Outcome::Done),
            },
        }
    }

    fn get(&mut self, operation: &mut Operation, fetched: Option<&Fetched>) -> Attempt {
        let item = match fetched {
            Some(fetched) if fetched.is_there() => fetched.item(),
            Some(fetched) if fetched.is_lost => return Attempt::Done(Err(Error::Unreadable)),
            Some(_) => return Attempt::Done(Ok(Outcome::NotFound)),
            None => match self.engine.find(operation.data.key(), true) {
                Lookup::Item(item) => item,
                Lookup::OnFlash | Lookup::Unknown => return Attempt::OnFlash { counts: true },
                Lookup::Nothing => return Attempt::Done(Ok(Outcome::NotFound)),
            },
        };
        operation.data.set_value(item.value.pieces());
        Attempt::Done(Ok(Outcome::Found { flags: item.header.flags, version: item.header.cas }))
    }

    /// The item before a change.
    fn old(&mut self, operation: &Operation, fetched: Option<&Fetched>) -> Old {
        if let Some(fetched) = fetched {
            return match (fetched.is_there(), fetched.is_lost) {
                (true, _) => Old::Item(*fetched.header()),
                (false, true) => Old::Unknown,
                (false, false) => Old::Nothing,
            };
        }
        match self.engine.find(operation.key(), false) {
            Lookup::Item(item) => Old::Item(item.header),
            Lookup::OnFlash | Lookup::Unknown => Old::OnFlash,
            Lookup::Nothing => Old::Nothing,
        }
    }

    fn set(&mut self, operation: &Operation) -> Attempt {
        let Verb::Set { flags, lifetime, .. } = operation.verb else { unreachable!("it is set") };
        let (content, expires) = (Content::New(operation.data.value()), lifetime.from(self.unix));
        let put = Put { content, flags, expires, state: State::default(), cas: None };
        self.change(operation, None, Change::Put(put), |version| Outcome::Stored { version })
    }

    fn change(
        &mut self,
        operation: &Operation,
        fetched: Option<&Fetched>,
        change: Change<'_>,
        outcome: impl FnOnce(u64) -> Outcome,
    ) -> Attempt {
        let key = operation.key();
        match self.engine.change(key, fetched, change) {
            Ok(version) => self.changed(outcome(version)),
            Err(Refused::Busy) => Attempt::Behind,
            // It is fetched from flash, or found to be gone.
            Err(Refused::Evicted) => Attempt::OnFlash { counts: false },
            Err(Refused::Full) if self.engine.has_failed() && !self.engine.is_full() => {
                Attempt::Done(Err(Error::DriveFailed))
            }
            Err(Refused::Full) => Attempt::Done(Err(Error::Full)),
            Err(Refused::TooLarge) => {
                let bytes = Header::room(key.len(), operation.data.value().len() as u64);
                Attempt::Done(Err(Error::TooLarge { bytes }))
            }
        }
    }

    fn changed(&self, outcome: Outcome) -> Attempt {
        if self.settings.is_durable { Attempt::Changed(outcome) } else { Attempt::Done(Ok(outcome)) }
    }

    /// Updates the counters for a completed operation.
    pub(super) fn note(&mut self, operation: &Operation, result: Result<Outcome, Error>) {
        let all = &mut self.statistics;
        let counter = match (operation.verb, result) {
            (_, Err(_)) => &mut all.errors,
            (Verb::Get, Ok(Outcome::Found { .. })) => &mut all.hits,
            (Verb::Get, Ok(_)) => &mut all.misses,
            (Verb::Set { .. }, Ok(Outcome::Stored { .. })) => &mut all.sets,
            (Verb::Set { .. }, Ok(_)) => &mut all.not_stored,
            (Verb::Delete, Ok(Outcome::Done)) => &mut all.deletes,
            (Verb::Touch { .. }, Ok(Outcome::Done)) => &mut all.touches,
            _ => return,
        };
        *counter += 1;
    }
}

fn fits(when: PutCondition, old: &Old) -> Result<bool, Error> {
    match (when, old) {
        (PutCondition::Always, _) => Ok(true),
        (_, Old::Unknown) => Err(Error::Unreadable),
        (PutCondition::IfAbsent, old) => Ok(matches!(old, Old::Nothing)),
        (PutCondition::IfPresent, old) => Ok(matches!(old, Old::Item(_))),
        (PutCondition::IfVersion(version), old) => {
            Ok(matches!(old, Old::Item(header) if header.cas == version))
        }
    }
}
