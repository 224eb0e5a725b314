//! What an engine should say.

use std::collections::BTreeMap;

/// A value with the client's flags.
pub type Content = (Vec<u8>, u32);

/// All states that the items had.
#[derive(Debug, Default)]
pub struct Model {
    keys: BTreeMap<u64, History>,
}

#[derive(Debug)]
struct History {
    /// Oldest first. The first is the last that is known to be durable.
    states: Vec<(u64, Option<Content>)>,
}

impl Model {
    /// An item has changed; `point` is where the log will be when that is durable.
    pub fn set(&mut self, key: u64, content: Option<Content>, point: u64) {
        let history = self.keys.entry(key).or_insert_with(|| History { states: vec![(0, None)] });
        history.states.push((point, content));
    }

    /// What was written before this point is durable.
    pub fn note_durable(&mut self, point: u64) {
        for history in self.keys.values_mut() {
            let last = history.states.iter().rposition(|&(at, _)| at <= point);
            history.states.drain(..last.unwrap_or(0));
        }
    }

    /// Bytes of all values.
    pub fn bytes(&self) -> u64 {
        let last = self.keys.values().filter_map(|history| history.states.last()?.1.as_ref());
        last.map(|(value, _)| value.len() as u64).sum()
    }

    pub fn now(&self, key: u64) -> Option<&Content> {
        self.keys.get(&key)?.states.last()?.1.as_ref()
    }

    /// After a loss of power an item is in one of the states since the last durable one.
    pub fn may_be(&self, key: u64, content: Option<&Content>) -> bool {
        let states = self.keys.get(&key).map_or(&[(0, None)][..], |history| &history.states);
        states.iter().any(|(_, state)| state.as_ref() == content)
    }

    /// And stays there.
    pub fn settle(&mut self, key: u64, content: Option<Content>) {
        self.keys.insert(key, History { states: vec![(0, content)] });
    }
}
