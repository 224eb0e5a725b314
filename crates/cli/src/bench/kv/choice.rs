//! What clients ask for: which items, of what size, by which commands.

use super::{Choice, KvBench};
use std::io::{self, Write};
use tailcut_base::random::Stream;
use tailcut_workload::cachebench::{CacheBench, CacheBenchError, KvOperation};
use tailcut_workload::zipf::Zipf;

/// What all clients draw from.
pub(super) struct Plan {
    load: Load,
    /// The longest value.
    value: Vec<u8>,
    /// Another seed has other lone items.
    seed: u64,
}

enum Load {
    /// Items of one size.
    Zipf {
        items: u32,
        zipf: Zipf,
        gets: u32,
    },
    CacheBench(CacheBench),
}

/// An item, by its number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    Drawn(u32),
    /// Only one command of a client names it.
    Lone(u32, u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Get,
    Set,
    Delete,
}

impl Command {
    pub(super) fn verb(self) -> &'static [u8] {
        match self {
            Command::Get => b"get ",
            Command::Set => b"set ",
            Command::Delete => b"delete ",
        }
    }
}

impl Plan {
    /// What the arguments ask for.
    pub(super) fn of(arguments: &KvBench) -> Result<Plan, CacheBenchError> {
        let Some(file) = &arguments.cachebench else {
            let items = arguments.items.unwrap_or(100_000);
            let load = Load::Zipf { items, zipf: Zipf::new(items.into(), 0.99), gets: arguments.gets };
            return Ok(Plan { load, value: vec![b'v'; arguments.value as usize], seed: arguments.seed });
        };
        let load = CacheBench::read(file, arguments.items)?;
        let value = vec![b'v'; load.largest_value() as usize];
        Ok(Plan { load: Load::CacheBench(load), value, seed: arguments.seed })
    }

    /// Number of items, without those that only one command names.
    pub(super) fn items(&self) -> u32 {
        match &self.load {
            Load::Zipf { items, .. } => *items,
            Load::CacheBench(load) => load.keys() as u32,
        }
    }

    /// Draws a command.
    pub(super) fn choose(&self, random: &mut Stream) -> Choice {
        let (command, is_lone) = match &self.load {
            Load::Zipf { zipf, gets, .. } => {
                let item = Item::Drawn(zipf.draw(random) as u32);
                let is_get = random.below(100) < u64::from(*gets);
                let command = if is_get { Command::Get } else { Command::Set };
                return Choice { command, item: Some(item) };
            }
            Load::CacheBench(load) => match load.operation(random) {
                KvOperation::Get => (Command::Get, false),
                KvOperation::LoneGet => (Command::Get, true),
                KvOperation::Set => (Command::Set, false),
                KvOperation::LoneSet => (Command::Set, true),
                KvOperation::Delete => (Command::Delete, false),
            },
        };
        let drawn = match &self.load {
            Load::CacheBench(load) if !is_lone => Some(Item::Drawn(load.key(random) as u32)),
            _ => None,
        };
        Choice { command, item: drawn }
    }

    /// Writes the key of an item: with a CacheBench load as long as there, or longer if its number needs it.
    pub(super) fn write_key(&self, item: Item, out: &mut Vec<u8>) -> io::Result<()> {
        let begin = out.len();
        match item {
            Item::Drawn(item) => write!(out, "key:{item:010}")?,
            Item::Lone(client, number) => write!(out, "one:{}:{client}:{number}", self.seed)?,
        }
        if let Load::CacheBench(load) = &self.load {
            let end = begin + load.key_bytes(number(item)) as usize;
            out.resize(out.len().max(end), b'k');
        }
        Ok(())
    }

    /// Writes what follows the key of a set.
    pub(super) fn write_value(&self, item: Item, out: &mut Vec<u8>) -> io::Result<()> {
        let bytes = match &self.load {
            Load::Zipf { .. } => self.value.len(),
            Load::CacheBench(load) => load.value_bytes(number(item)) as usize,
        };
        write!(out, " 0 0 {bytes}\r\n")?;
        out.extend_from_slice(&self.value[..bytes]);
        out.extend_from_slice(b"\r\n");
        Ok(())
    }
}

/// A number of its own for each item.
fn number(item: Item) -> u64 {
    match item {
        Item::Drawn(item) => item.into(),
        Item::Lone(client, number) => u64::from(client + 1) << 32 | u64::from(number),
    }
}
