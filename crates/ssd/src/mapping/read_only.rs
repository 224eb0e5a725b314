//! Sets that have become read-only.

use crate::sets::SetId;
use tailcut_base::ids::IdVec;

/// Which sets take no more writes, and why.
#[derive(Debug)]
pub(crate) struct ReadOnly {
    /// Why a set takes no more; `None` while it does.
    why: IdVec<SetId, Option<String>>,
    is_any: bool,
}

impl ReadOnly {
    /// All sets take writes.
    pub(crate) fn none(sets: impl Iterator<Item = SetId>) -> ReadOnly {
        ReadOnly { why: sets.map(|_| None).collect(), is_any: false }
    }

    /// True while a set takes writes.
    #[inline]
    pub(crate) fn takes_writes(&self, set: SetId) -> bool {
        !self.is_any || self.why[set].is_none()
    }

    /// A set takes no more writes.
    pub(crate) fn note(&mut self, set: SetId, why: String) {
        self.why[set] = Some(why);
        self.is_any = true;
    }

    /// Why the first set that takes no more writes does not.
    pub(crate) fn why(&self) -> Option<&str> {
        self.why.iter().find_map(|why| why.as_deref())
    }
}
