//! The NBD wire protocol: splitting a stream makes no difference, garbage does no harm, and all numbers match
//! the standard.

mod handshake;
mod replies;
mod starttls;
mod transmission;

use tailcut_host::wire::nbd::{Export, Offer};

/// Two exports, one of them read-only.
pub(crate) fn offer() -> Offer {
    let export = |name: &str, is_read_only| Export {
        name: name.into(),
        description: format!("this is {name}"),
        bytes: 1 << 20,
        is_read_only,
        zeroes_fast: true,
    };
    Offer { exports: vec![export("disk", false), export("disk/fast", true)], ..Offer::default() }
}

/// Splits a stream: returns lengths that add up to `length`.
pub(crate) fn cuts(length: usize, mut wish: impl FnMut() -> usize) -> Vec<usize> {
    let (mut left, mut cuts) = (length, Vec::new());
    while left > 0 {
        cuts.push(wish().clamp(1, left));
        left -= cuts[cuts.len() - 1];
    }
    cuts
}
