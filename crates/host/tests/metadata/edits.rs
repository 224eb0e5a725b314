//! Changes of metadata with recomputed checksums.

use super::machine::Machine;
use std::ops::Range;
use tailcut_base::random::Stream;
use tailcut_host::Bytes;

/// A change of one byte covered by a checksum. Positions count from the first covered byte, modulo their
/// number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Edit {
    Set(usize, u8),
    Flip(usize, u8),
}

impl Edit {
    /// Draws up to 3 edits, mostly near the beginning, where the header fields are.
    pub(super) fn draw(random: &mut Stream) -> Vec<Edit> {
        let mut edits = Vec::new();
        for _ in 0..1 + random.below(3) {
            let range = if random.below(3) > 0 { 100 } else { 4096 };
            let place = random.below(range) as usize;
            edits.push(match random.below(4) {
                0 => Edit::Set(place, 0xFF),
                1 => Edit::Set(place, 0),
                2 => Edit::Flip(place, random.below(8) as u8),
                _ => Edit::Set(place, random.below(256) as u8),
            });
            if random.below(3) == 0 {
                edits.extend((place..place + 8).map(|place| Edit::Set(place, 0xFF)));
            }
        }
        edits
    }
}

/// Bitwise CRC-32C.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, &byte| step(sum, byte))
}

fn step(sum: u32, byte: u8) -> u32 {
    let bit = |sum: u32, _| if sum & 1 == 1 { sum >> 1 ^ 0x82F6_3B78 } else { sum >> 1 };
    (0..8).fold(sum ^ u32::from(byte), bit)
}

/// Offset of the checksum in a metadata block, and the range of bytes that it covers; None for other blocks.
fn checksum(bytes: &[u8]) -> Option<(usize, Range<usize>)> {
    let end = bytes.starts_with(b"tailcut").then(|| covered_by(bytes, 8, 12))??;
    Some((8, 12..end))
}

/// End of the range that the checksum at `at` covers from `first` on: the last at which it matches.
fn covered_by(bytes: &[u8], at: usize, first: usize) -> Option<usize> {
    let wanted = u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let (mut sum, mut end) = (!0, None);
    for (place, &byte) in bytes.iter().enumerate().skip(first) {
        sum = step(sum, byte);
        if !sum == wanted {
            end = Some(place + 1);
        }
    }
    end
}

/// Edits a metadata block, on one drive or on all drives that hold the same block, and recomputes its
/// checksum. False if it has no checksum.
pub(super) fn rewrite(
    machine: &mut Machine,
    (drive, at): (usize, usize),
    edits: &[Edit],
    on_all: bool,
) -> bool {
    let good = machine.drives[drive][at].clone();
    let Some((sum, covered)) = checksum(good.as_slice()) else { return false };
    // The covered range may depend on a length that the checksum does not cover: that length stays unchanged.
    let first = covered.start.max(16);
    if first >= covered.end {
        return false;
    }
    let mut bad = good.clone();
    let bytes = bad.as_mut_slice();
    let place = |place: usize| first + place % (covered.end - first);
    for edit in edits {
        match *edit {
            Edit::Set(at, value) => bytes[place(at)] = value,
            Edit::Flip(at, bit) => bytes[place(at)] ^= 1 << (bit % 8),
        }
    }
    let right = crc32c(&bytes[covered.clone()]);
    bytes[sum..sum + 4].copy_from_slice(&right.to_le_bytes());
    // Protection information counts as valid, too: it accompanies the checksum, and a drive without it keeps
    // none.
    let bare = Bytes::unsealed(bad.as_slice());
    for (other, blocks) in machine.drives.iter_mut().enumerate() {
        if other == drive || on_all && blocks[at].as_slice() == good.as_slice() {
            blocks[at] = bare.clone();
        }
    }
    true
}
