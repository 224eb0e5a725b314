//! The disks of a trace: their names, for formats that have names instead of numbers, and their
//! places in tables.

use super::error::Fault;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::collections::BTreeMap;

/// Numbers names in the order in which they appear.
#[derive(Debug, Default)]
pub(super) struct Disks {
    labels: Vec<String>,
    by_name: BTreeMap<Box<[u8]>, u32>,
    /// Traces tend to stay with one disk for a while.
    last: Option<(Box<[u8]>, u32)>,
}

/// More names than any real trace has: a limit on what a hostile file can make us keep.
const MOST: usize = 1 << 20;

impl Disks {
    /// The number of `name`; `label` makes its readable form when it is new.
    #[inline]
    pub(super) fn number(
        &mut self,
        name: &[u8],
        label: impl FnOnce(&[u8]) -> String,
    ) -> Result<u32, Box<Fault>> {
        if let Some((last, number)) = &self.last
            && **last == *name
        {
            return Ok(*number);
        }
        self.look_up(name, label)
    }

    fn look_up(&mut self, name: &[u8], label: impl FnOnce(&[u8]) -> String) -> Result<u32, Box<Fault>> {
        let number = match self.by_name.get(name) {
            Some(&number) => number,
            None if self.labels.len() >= MOST => {
                return Err(Fault::new(format!("more than {MOST} disks: probably not disk names")));
            }
            None => {
                let number = self.labels.len() as u32;
                self.labels.push(label(name));
                self.by_name.insert(name.into(), number);
                number
            }
        };
        self.last = Some((name.into(), number));
        Ok(number)
    }

    /// The readable form of a disk's name; its number where there are only numbers.
    pub(super) fn label(&self, disk: u32) -> String {
        self.labels.get(disk as usize).cloned().unwrap_or_else(|| disk.to_string())
    }
}

/// Gives each disk number a place in a table: 0, 1, 2 … in the order in which they come.
#[derive(Debug, Default)]
pub(super) struct Places {
    by_number: HashMap<u32, u32, FixedState>,
    last: Option<(u32, u32)>,
}

impl Places {
    /// The place of a disk, where it has one.
    #[inline]
    pub(super) fn find(&mut self, disk: u32) -> Option<usize> {
        match self.last {
            Some((last, place)) if last == disk => Some(place as usize),
            _ => self.look_up(disk),
        }
    }

    /// The place of a disk, a new one at the end where it had none.
    #[inline]
    pub(super) fn find_or_add(&mut self, disk: u32) -> usize {
        self.find(disk).unwrap_or_else(|| self.add(disk))
    }

    fn look_up(&mut self, disk: u32) -> Option<usize> {
        let place = *self.by_number.get(&disk)?;
        self.last = Some((disk, place));
        Some(place as usize)
    }

    fn add(&mut self, disk: u32) -> usize {
        let place = self.by_number.len() as u32;
        self.by_number.insert(disk, place);
        self.last = Some((disk, place));
        place as usize
    }
}
