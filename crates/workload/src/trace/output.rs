//! A file that is compressed according to its name.

use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::Path;

/// A file being written: gzip where its name ends in `.gz`, zstd where in `.zst`, else plain.
pub(super) enum Output {
    Plain(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
    #[cfg(not(target_arch = "wasm32"))]
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<File>>),
}

impl Output {
    /// Creates or empties the file.
    pub(super) fn create(path: &Path) -> Result<Output> {
        let file = BufWriter::with_capacity(256 << 10, File::create(path)?);
        Ok(match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Output::Gzip(GzEncoder::new(file, Compression::default())),
            #[cfg(not(target_arch = "wasm32"))]
            Some("zst") => Output::Zstd(zstd::stream::write::Encoder::new(file, 3)?),
            _ => Output::Plain(file),
        })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Output::Plain(file) => file.write_all(bytes),
            Output::Gzip(encoder) => encoder.write_all(bytes),
            #[cfg(not(target_arch = "wasm32"))]
            Output::Zstd(encoder) => encoder.write_all(bytes),
        }
    }

    /// Writes the remaining buffered data.
    pub(super) fn finish(self) -> Result<()> {
        match self {
            Output::Plain(file) => file,
            Output::Gzip(encoder) => encoder.finish()?,
            #[cfg(not(target_arch = "wasm32"))]
            Output::Zstd(encoder) => encoder.finish()?,
        }
        .flush()
    }
}
