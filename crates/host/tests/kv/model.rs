//! A model of the engine's content.

use std::collections::BTreeMap;

/// A value with the client's flags.
pub(super) type Content = (Vec<u8>, u32);

/// All possible states of the items.
#[derive(Debug, Default)]
pub(super) struct Model {
    keys: BTreeMap<u64, History>,
}

#[derive(Debug)]
struct History {
    /// Possible states before `later`, to which a power loss may revert; a single one if it is known.
    before: Vec<Option<Content>>,
    /// Later states, oldest first, each with the log position at which it is durable.
    later: Vec<(u64, Option<Content>)>,
}

impl Default for History {
    fn default() -> History {
        History { before: vec![None], later: Vec::new() }
    }
}

impl Model {
    /// An item has changed; the change is durable once the log reaches `point`.
    pub(super) fn set(&mut self, key: u64, content: Option<Content>, point: u64) {
        self.keys.entry(key).or_default().later.push((point, content));
    }

    /// Everything written before this point is durable.
    pub(super) fn note_durable(&mut self, point: u64) {
        for history in self.keys.values_mut() {
            let count = history.later.iter().take_while(|&&(at, _)| at <= point).count();
            if let Some((_, last)) = history.later.drain(..count).next_back() {
                history.before = vec![last];
            }
        }
    }

    /// Power was lost: each item is in one of its states since the last durable one.
    pub(super) fn note_cut(&mut self) {
        for history in self.keys.values_mut() {
            history.before.extend(history.later.drain(..).map(|(_, state)| state));
            history.before.dedup();
        }
    }

    /// Total size of all values in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let last = self.keys.values().filter_map(History::now);
        last.map(|(value, _)| value.len() as u64).sum()
    }

    /// The item's current content, if it is known.
    pub(super) fn now(&self, key: u64) -> Option<&Content> {
        self.keys.get(&key)?.now()
    }

    /// True if the item's content is known.
    pub(super) fn is_certain(&self, key: u64) -> bool {
        self.keys.get(&key).is_none_or(|history| history.before.len() == 1 || !history.later.is_empty())
    }

    /// True if the item has changed and the change is not known to be durable.
    pub(super) fn has_changed(&self, key: u64) -> bool {
        self.keys.get(&key).is_some_and(|history| !history.later.is_empty())
    }

    /// True if the item may have this content.
    pub(super) fn may_be(&self, key: u64, content: Option<&Content>) -> bool {
        let Some(history) = self.keys.get(&key) else { return content.is_none() };
        match history.later.last() {
            Some((_, state)) => state.as_ref() == content,
            None => history.before.iter().any(|state| state.as_ref() == content),
        }
    }

    /// The item's content is now known.
    pub(super) fn settle(&mut self, key: u64, content: Option<Content>) {
        self.keys.insert(key, History { before: vec![content], later: Vec::new() });
    }
}

impl History {
    fn now(&self) -> Option<&Content> {
        match self.later.last() {
            Some((_, state)) => state.as_ref(),
            None => self.before.first().filter(|_| self.before.len() == 1)?.as_ref(),
        }
    }
}
