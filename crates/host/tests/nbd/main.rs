//! NBD on the wire: how a stream is cut makes no difference, garbage does no harm, and numbers are the
//! standard's.

mod handshake;
mod replies;
mod starttls;
mod transmission;

use tailcut_host::wire::nbd::{Export, Offer};

/// Two exports, one of them read-only.
pub fn offer() -> Offer {
    let export = |name: &str, is_read_only| Export {
        name: name.into(),
        description: format!("this is {name}"),
        bytes: 1 << 20,
        is_read_only,
        zeroes_fast: true,
    };
    Offer { exports: vec![export("disk", false), export("disk/fast", true)], ..Offer::default() }
}

/// Cuts of a stream: lengths that add up to it.
pub fn cuts(length: usize, mut wish: impl FnMut() -> usize) -> Vec<usize> {
    let (mut left, mut cuts) = (length, Vec::new());
    while left > 0 {
        cuts.push(wish().clamp(1, left));
        left -= cuts[cuts.len() - 1];
    }
    cuts
}
