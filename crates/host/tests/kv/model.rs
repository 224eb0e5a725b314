//! What an engine should say.

use std::collections::BTreeMap;

/// A value with the client's flags.
pub type Content = (Vec<u8>, u32);

/// All states that the items may have.
#[derive(Debug, Default)]
pub struct Model {
    keys: BTreeMap<u64, History>,
}

#[derive(Debug)]
struct History {
    /// What it may have been before `later`, and may be again after a loss of power; one state where that is
    /// known.
    before: Vec<Option<Content>>,
    /// What it has been since, with the points at which that is durable; oldest first.
    later: Vec<(u64, Option<Content>)>,
}

impl Default for History {
    fn default() -> History {
        History { before: vec![None], later: Vec::new() }
    }
}

impl Model {
    /// An item has changed; `point` is where the log will be when that is durable.
    pub fn set(&mut self, key: u64, content: Option<Content>, point: u64) {
        self.keys.entry(key).or_default().later.push((point, content));
    }

    /// What was written before this point is durable.
    pub fn note_durable(&mut self, point: u64) {
        for history in self.keys.values_mut() {
            let count = history.later.iter().take_while(|&&(at, _)| at <= point).count();
            if let Some((_, last)) = history.later.drain(..count).next_back() {
                history.before = vec![last];
            }
        }
    }

    /// The power was lost: an item is in one of the states since the last durable one.
    pub fn note_cut(&mut self) {
        for history in self.keys.values_mut() {
            history.before.extend(history.later.drain(..).map(|(_, state)| state));
            history.before.dedup();
        }
    }

    /// Bytes of all values.
    pub fn bytes(&self) -> u64 {
        let last = self.keys.values().filter_map(History::now);
        last.map(|(value, _)| value.len() as u64).sum()
    }

    /// What an item is, if that is known.
    pub fn now(&self, key: u64) -> Option<&Content> {
        self.keys.get(&key)?.now()
    }

    /// True if it is known what an item is.
    pub fn is_certain(&self, key: u64) -> bool {
        self.keys.get(&key).is_none_or(|history| history.before.len() == 1 || !history.later.is_empty())
    }

    /// True if an item was changed, and that is not known to be durable.
    pub fn has_changed(&self, key: u64) -> bool {
        self.keys.get(&key).is_some_and(|history| !history.later.is_empty())
    }

    /// True if an item may be this.
    pub fn may_be(&self, key: u64, content: Option<&Content>) -> bool {
        let Some(history) = self.keys.get(&key) else { return content.is_none() };
        match history.later.last() {
            Some((_, state)) => state.as_ref() == content,
            None => history.before.iter().any(|state| state.as_ref() == content),
        }
    }

    /// It is known now what an item is.
    pub fn settle(&mut self, key: u64, content: Option<Content>) {
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
