//! The exports of a server.

use super::standard::*;

/// Most bytes per read or write: what clients may assume by default (32 MiB).
pub const MOST_BYTES: u32 = 32 << 20;

/// An export: a name under which clients use a drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Name by which clients select the export, at most 4096 bytes.
    pub name: String,
    /// A description of one line, at most 4096 bytes.
    pub description: String,
    /// Size of the export in bytes.
    pub bytes: u64,
    /// Whether clients may only read.
    pub is_read_only: bool,
    /// Trimmed blocks read as zeros, so that zeroing needs no writes of data.
    pub zeroes_fast: bool,
}

impl Export {
    /// The transmission flags of the export.
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

/// Whether TLS is absent, optional or required (the standard, "TLS support", server-side requirements).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tls {
    /// No TLS: the standard's `NOTLS`.
    #[default]
    Absent,
    /// Optional: `SELECTIVETLS`, with no export that requires it.
    Allowed,
    /// Required before any other option: `FORCEDTLS`.
    Required,
}

/// All exports of a server; the first is the default export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// The exports, in the order of listing.
    pub exports: Vec<Export>,
    /// TLS policy, the same for all connections throughout their lifetime, as the standard requires.
    pub tls: Tls,
}

impl Offer {
    /// Index of the export with this name; an empty name selects the first.
    pub fn find(&self, name: &[u8]) -> Option<usize> {
        if name.is_empty() && !self.exports.is_empty() {
            return Some(0);
        }
        self.exports.iter().position(|export| export.name.as_bytes() == name)
    }
}
