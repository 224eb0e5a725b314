//! Metadata of an array with some bytes changed under a checksum that is made right again. The first byte
//! chooses the layout, the second the kind of metadata, the third the block, the fourth whether all drives
//! change alike; then come edits of three bytes each: the offset (little-endian) and the new value. The array
//! may be refused and requests may fail; nothing panics, everything comes to an end, and hints (summaries,
//! bitmaps) never change what is read.

#![no_main]

#[path = "../../crates/host/tests/metadata/edits.rs"]
#[allow(dead_code)]
mod edits;
#[path = "../../crates/host/tests/metadata/machine.rs"]
mod machine;

use edits::{Edit, rewrite};
use libfuzzer_sys::fuzz_target;
use machine::Image;
use std::cell::OnceCell;
use tailcut_host::array::LayoutKind::{self, Epochs, LogRaid0, LogRaid5, Raid0, Raid4, Raid5, Swan4};
use tailcut_host::array::raid::WriteHole::{self, Journal, Resync};

const LAYOUTS: [(LayoutKind, WriteHole); 7] = [
    (Raid0, Journal),
    (Raid5, Journal),
    (Raid4, Resync),
    (Epochs, Journal),
    (LogRaid0, Journal),
    (LogRaid5, Journal),
    (Swan4, Journal),
];

thread_local! {
    /// Made when first used: filling an array takes much longer than opening it.
    static IMAGES: [OnceCell<Image>; 7] = const { [const { OnceCell::new() }; 7] };
}

fuzz_target!(|input: &[u8]| {
    let [layout, kind, place, on_all, edits @ ..] = input else { return };
    let edits: Vec<Edit> = edits
        .chunks_exact(3)
        .take(16)
        .map(|edit| Edit::Set(u16::from_le_bytes([edit[0], edit[1]]).into(), edit[2]))
        .collect();
    IMAGES.with(|images| {
        let number = usize::from(*layout) % LAYOUTS.len();
        let (layout, hole) = LAYOUTS[number];
        let image = images[number].get_or_init(|| Image::new(layout, hole));
        let kinds = image.metadata();
        let (kind, places) = &kinds[usize::from(*kind) % kinds.len()];
        let mut machine = image.copy();
        if !rewrite(&mut machine, places[usize::from(*place) % places.len()], &edits, on_all & 1 == 1) {
            return;
        }
        let outcome = image.use_again(&mut machine);
        assert!(!b"SI".contains(kind) || outcome.wrong == 0, "{layout}: a hint changed what is read");
    });
});
