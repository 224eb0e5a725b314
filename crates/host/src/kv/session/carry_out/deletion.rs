//! Deletion and invalidation of items.

use super::super::operation::{to_expiry, to_seconds};
use super::super::prefixes::PrefixCounts;
use super::{NO_ROOM, NotHere, Work};
use crate::kv::{Change, Content, Header, Put, Refused, State};
use crate::wire::memcached::meta::Deleted;
use crate::wire::memcached::{Expiry, Key, MetaFlags, meta, reply};

impl Work<'_> {
    pub(super) fn delete(&mut self, key: Key<'_>, noreply: bool) -> Result<Option<()>, NotHere> {
        let was_there = self.header(key, false)?.is_some() || self.is_lost();
        let deleted = if was_there || self.may_be_found() { self.remove(key) } else { Ok(()) };
        match deleted {
            Ok(()) => reply::deleted(self.out, was_there, noreply),
            Err(Refused::Busy) => return Ok(None),
            Err(_) => reply::server_error(self.out, NO_ROOM),
        }
        self.statistics.note_delete(was_there);
        self.count_prefix(key, PrefixCounts { deletes: 1, ..PrefixCounts::default() });
        Ok(Some(()))
    }

    pub(super) fn remove(&mut self, key: Key<'_>) -> Result<(), Refused> {
        self.change(key, Change::Remove).map(|_| ())
    }

    pub(super) fn meta_delete(&mut self, key: Key<'_>, flags: &MetaFlags) -> Result<Option<()>, NotHere> {
        let header = self.header(key, false)?;
        let (deleted, done) = match header {
            None if self.is_lost() => (Deleted::Deleted, self.remove(key)),
            None if self.may_be_found() => (Deleted::NotFound, self.remove(key)),
            None => (Deleted::NotFound, Ok(())),
            Some(old) if flags.cas.is_some_and(|cas| cas != old.cas) => (Deleted::Exists, Ok(())),
            Some(_) if !flags.invalidates() && !flags.empties() => (Deleted::Deleted, self.remove(key)),
            Some(old) => {
                let put = self.invalidated(flags, &old);
                (Deleted::Deleted, self.change(key, Change::Put(put)).map(|_| ()))
            }
        };
        match done {
            Ok(()) => meta::deleted(self.out, flags, key, deleted),
            Err(Refused::Busy) => return Ok(None),
            Err(_) => reply::server_error(self.out, NO_ROOM),
        }
        if deleted != Deleted::Deleted || !flags.invalidates() {
            self.statistics.note_delete(deleted == Deleted::Deleted);
        }
        Ok(Some(()))
    }

    /// An update that marks an item as stale, empties it, or both. An emptied item is a new one: it has the
    /// client flags and expiry time of the command, and keeps its CAS value unless it is also marked.
    fn invalidated(&self, flags: &MetaFlags, old: &Header) -> Put<'static> {
        let (marks, empties) = (flags.invalidates(), flags.empties());
        let before = if empties { Expiry::Never } else { to_expiry(old.expires) };
        let expires = to_seconds(flags.exptime.map_or(before, |exptime| Expiry::new(self.unix, exptime)));
        let state = if empties { State::default() } else { old.state };
        let state = if marks { state.with(State::STALE).without(State::WIN_SENT) } else { state };
        let (content, client_flags) = match empties {
            true => (Content::New(&[]), flags.client_flags),
            false => (Content::After(&[]), old.flags),
        };
        let cas = flags.new_cas.or((!marks).then_some(old.cas));
        Put { content, flags: client_flags, expires, state, cas }
    }
}
