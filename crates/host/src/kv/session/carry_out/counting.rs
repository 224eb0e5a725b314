//! Arithmetic on items: `incr`, `decr`, `ma`.

use super::super::operation::{to_expiry, to_seconds};
use super::{NotHere, Step, Work};
use crate::kv::{Change, Content, Header, Put, Refused, State};
use crate::wire::memcached::reply::Counted;
use crate::wire::memcached::{Delta, Expiry, Key, MetaFlags, meta, number, reply};

impl Work<'_> {
    pub(super) fn count(&mut self, key: Key<'_>, delta: Delta, noreply: bool) -> Result<Option<()>, NotHere> {
        let flags = MetaFlags::default();
        let counted = match self.step(key, &flags, delta)? {
            Step::Busy => return Ok(None),
            Step::Counted(meta::Counted::Now { number, .. }) => Counted::Now(number),
            Step::Counted(meta::Counted::NotFound) => Counted::NotFound,
            Step::Counted(meta::Counted::NoMemory) => Counted::NoMemory,
            Step::Counted(_) => Counted::NotNumeric,
        };
        match counted {
            Counted::Now(_) => self.statistics.note_count(delta.direction, true),
            Counted::NotFound => self.statistics.note_count(delta.direction, false),
            Counted::NotNumeric | Counted::NoMemory => {}
        }
        reply::counted(self.out, counted, noreply);
        Ok(Some(()))
    }

    pub(super) fn meta_count(
        &mut self,
        key: Key<'_>,
        flags: &MetaFlags,
        delta: Delta,
    ) -> Result<Option<()>, NotHere> {
        let counted = match self.step(key, flags, delta)? {
            Step::Busy => return Ok(None),
            Step::Counted(meta::Counted::NotFound) if flags.autovivify.is_some() => {
                match self.begin_count(key, flags) {
                    Step::Busy => return Ok(None),
                    Step::Counted(counted) => counted,
                }
            }
            Step::Counted(counted) => counted,
        };
        // A counter that is created is neither a hit nor a miss.
        match counted {
            meta::Counted::Now { is_new: false, .. } => self.statistics.note_count(delta.direction, true),
            meta::Counted::NotFound => self.statistics.note_count(delta.direction, false),
            _ => {}
        }
        meta::counted(self.out, flags, key, counted, self.unix);
        Ok(Some(()))
    }

    /// Applies an increment or decrement. A result with no more digits than the value has bytes overwrites
    /// it, padded with spaces; a longer one is a new value without state flags.
    fn step(&mut self, key: Key<'_>, flags: &MetaFlags, delta: Delta) -> Result<Step, NotHere> {
        let mut scratch = std::mem::take(self.scratch);
        scratch.clear();
        let old = self.see(key, false, |item, _| {
            let item = item?;
            item.value.append_to(&mut scratch);
            Some(item.header)
        });
        let step = old.map(|old| self.step_from(key, flags, delta, old, &mut scratch));
        *self.scratch = scratch;
        step
    }

    fn step_from(
        &mut self,
        key: Key<'_>,
        flags: &MetaFlags,
        delta: Delta,
        old: Option<Header>,
        value: &mut Vec<u8>,
    ) -> Step {
        let Some(old) = old else { return Step::Counted(meta::Counted::NotFound) };
        let cas = flags.cas.unwrap_or(0);
        if cas != 0 && old.cas != cas && old.value != 0 {
            return Step::Counted(meta::Counted::Exists);
        }
        let Some(number) = number::of_value(value) else { return Step::Counted(meta::Counted::NotNumeric) };
        let number = delta.apply(number);
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(number).as_bytes();
        let expiry = to_expiry(old.expires);
        let fits = digits.len() <= value.len();
        let length = value.len();
        value.clear();
        value.extend_from_slice(digits);
        let (state, expires) = match fits {
            true => {
                value.resize(length, b' ');
                // memcached updates the expiry time of a value overwritten in place, but not of a new one.
                (old.state, to_seconds(flags.expiry(self.unix, expiry, false)))
            }
            false => (State::default(), old.expires),
        };
        let put = Put { content: Content::New(value), flags: old.flags, expires, state, cas: flags.new_cas };
        match self.change(key, Change::Put(put)) {
            Ok(cas) => Step::Counted(meta::Counted::Now { number, cas, expiry, is_new: false }),
            Err(Refused::Busy) => Step::Busy,
            Err(_) => Step::Counted(meta::Counted::NoMemory),
        }
    }

    /// Creates a missing counter.
    fn begin_count(&mut self, key: Key<'_>, flags: &MetaFlags) -> Step {
        let mut digits = itoa::Buffer::new();
        let content = Content::New(digits.format(flags.initial).as_bytes());
        let expires = to_seconds(flags.expiry(self.unix, Expiry::Never, true));
        let put = Put { content, flags: 0, expires, state: State::default(), cas: flags.new_cas };
        match self.change(key, Change::Put(put)) {
            Ok(cas) => {
                let (number, expiry) = (flags.initial, Expiry::Never);
                Step::Counted(meta::Counted::Now { number, cas, expiry, is_new: true })
            }
            Err(Refused::Busy) => Step::Busy,
            Err(_) => Step::Counted(meta::Counted::NoMemory),
        }
    }
}
