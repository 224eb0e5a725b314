//! What a server has to offer: its exports.

use super::standard::*;

/// Most bytes of a read or write: what clients may assume where nothing is said (32 MiB).
pub const MOST_BYTES: u32 = 32 << 20;

/// One name under which a drive can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The name, at most 4096 bytes.
    pub name: String,
    /// A line for humans, at most 4096 bytes.
    pub description: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Nothing can be written.
    pub is_read_only: bool,
    /// Trimmed blocks read as zeros, so that zeros can be had without writing them.
    pub zeroes_fast: bool,
}

impl Export {
    /// What a client may do, as transmission flags.
    pub fn flags(&self, has_structured_replies: bool) -> u16 {
        let always = NBD_FLAG_HAS_FLAGS
            | NBD_FLAG_SEND_FLUSH
            | NBD_FLAG_SEND_FUA
            | NBD_FLAG_SEND_CACHE
            | NBD_FLAG_CAN_MULTI_CONN;
        let writes = NBD_FLAG_SEND_TRIM | NBD_FLAG_SEND_WRITE_ZEROES | NBD_FLAG_SEND_FAST_ZERO;
        always
            | if self.is_read_only { NBD_FLAG_READ_ONLY } else { writes }
            | if has_structured_replies { NBD_FLAG_SEND_DF } else { 0 }
    }
}

/// Whether clients may, or must, go on under TLS (the standard, "TLS support", server-side requirements).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tls {
    /// There is none: the standard's `NOTLS`.
    #[default]
    Absent,
    /// Who wants it gets it: `SELECTIVETLS`, with no export that insists on it.
    Allowed,
    /// Nothing else is answered before: `FORCEDTLS`.
    Required,
}

/// All exports of a server; the first is the one without a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// The exports, in the order in which they are listed.
    pub exports: Vec<Export>,
    /// The same for all connections and as long as they last, as the standard wants it.
    pub tls: Tls,
}

impl Offer {
    /// The export of that name; an empty name means the first.
    pub fn find(&self, name: &[u8]) -> Option<usize> {
        if name.is_empty() && !self.exports.is_empty() {
            return Some(0);
        }
        self.exports.iter().position(|export| export.name.as_bytes() == name)
    }
}
