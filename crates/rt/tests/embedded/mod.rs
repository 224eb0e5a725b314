//! A store in the process that uses it.

mod asking;
mod deaf;
mod killed;
mod sharing;
mod under_way;

use std::path::Path;
use tailcut_rt::embedded::{Keep, Options, Place, Store};

/// Options with so little memory that most items are on flash.
pub(crate) fn small(place: Place) -> Options {
    Options { place, memory: 1 << 20, most_item: 1 << 16, keep: Keep::Everything, ..Options::in_memory() }
}

/// A store on a drive in memory.
pub(crate) fn on_memory() -> Store {
    Store::open(small(Place::MemoryDrive(64 << 20))).expect("it is made")
}

/// Options for a store on a file, which is created if it does not exist.
pub(crate) fn on_file(path: &Path) -> Options {
    let mut options = small(Options::on_devices(vec![path.to_path_buf()], None).place);
    if let Place::Devices { file_bytes, .. } = &mut options.place {
        *file_bytes = 64 << 20;
    }
    options
}

/// Value of a key after the write with this number; its length and bytes depend on both.
pub(crate) fn value(key: u64, write: u64) -> Vec<u8> {
    let mixed = (key ^ write.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut value = vec![(mixed >> 56) as u8; 16 + (mixed >> 20) as usize % 3000];
    value[..8].copy_from_slice(&key.to_le_bytes());
    value[8..16].copy_from_slice(&write.to_le_bytes());
    value
}
