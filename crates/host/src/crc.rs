//! CRC-32C (Castagnoli; RFC 3720, appendix B.4), the checksum of metadata on flash; for blocks of data see
//! [`Block::checksum`](crate::Block::checksum).

use crc_fast::{CrcAlgorithm, Digest};
use tailcut_base::cast::to_u32;

/// The CRC-32C of these bytes.
#[inline]
pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    let mut sum = Crc32c::new();
    sum.add(bytes);
    sum.value()
}

/// An incremental CRC-32C.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Crc32c(Digest);

impl Crc32c {
    /// The checksum of no bytes.
    #[inline]
    pub(crate) fn new() -> Crc32c {
        Crc32c(Digest::new(CrcAlgorithm::Crc32Iscsi))
    }

    /// Adds the next bytes.
    #[inline]
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum of all bytes added.
    #[inline]
    pub(crate) fn value(&self) -> u32 {
        to_u32(self.0.finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Bitwise reference implementation.
    fn plain(bytes: &[u8]) -> u32 {
        let step = |sum: u32, _: u32| if sum & 1 == 1 { sum >> 1 ^ 0x82F6_3B78 } else { sum >> 1 };
        !bytes.iter().fold(!0, |sum, &byte| (0..8).fold(sum ^ u32::from(byte), step))
    }

    #[test]
    fn it_is_what_the_standard_says() {
        let (zeros, ones, counting) = ([0; 32], [0xFF; 32], std::array::from_fn::<u8, 32, _>(|at| at as u8));
        assert_eq!(
            [&zeros, &ones, &counting].map(|bytes| crc32c(bytes)),
            [0x8A91_36AA, 0x62A8_AB43, 0x46DD_794E]
        );
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..700), 0..6)) {
            let mut sum = Crc32c::new();
            pieces.iter().for_each(|piece| sum.add(piece));
            prop_assert_eq!(sum.value(), plain(&pieces.concat()));
        }
    }
}
