//! The bytes of a trace: decompressed on the way, cut into lines or records without copies.

use super::error::{Place, TraceError};
use flate2::bufread::MultiGzDecoder;
use memchr::memchr;
use std::fs::File;
use std::io::{BufReader, Chain, Cursor, ErrorKind, Read};
use std::ops::Range;
use std::path::Path;

/// A stream of bytes with a window that lines and records are cut from.
pub(super) struct Input {
    file: String,
    compression: Option<&'static str>,
    source: Box<dyn Read + Send>,
    window: Box<[u8]>,
    /// The part of the window that is filled and not yet handed out.
    ready: Range<usize>,
    at_end: bool,
    /// Decompressed bytes that were handed out.
    taken: u64,
    /// Lines or records that were handed out.
    pieces: u64,
    /// The size of a record of a binary format; lines otherwise.
    record_bytes: Option<usize>,
}

/// The size of the window, which is also how far format detection looks.
const WINDOW: usize = 512 << 10;
/// The longest line: traces have lines of about 100 bytes, a longer one means another kind of file.
const LONGEST_LINE: usize = 64 << 10;

type Magic = Chain<Cursor<Vec<u8>>, Box<dyn Read + Send>>;

impl Input {
    /// Opens a file, compressed or not.
    pub(super) fn open(path: &Path) -> Result<Input, TraceError> {
        let file = path.display().to_string();
        let read = |source| TraceError::Read { file: file.clone(), source };
        let source = File::open(path).map_err(read)?;
        if source.metadata().map_err(read)?.is_dir() {
            let source = std::io::Error::from(ErrorKind::IsADirectory);
            return Err(TraceError::Read { file, source });
        }
        Input::from_reader(&file, Box::new(source))
    }

    /// Reads from `source`; `file` is its name in messages.
    pub(super) fn from_reader(file: &str, mut source: Box<dyn Read + Send>) -> Result<Input, TraceError> {
        let read = |source| TraceError::Read { file: file.to_string(), source };
        let mut magic = Vec::with_capacity(6);
        source.by_ref().take(6).read_to_end(&mut magic).map_err(read)?;
        refuse_containers(file, &magic)?;
        let compression = compression_of(&magic);
        let source = Cursor::new(magic).chain(source);
        Ok(Input {
            file: file.to_string(),
            compression,
            source: decoder(compression, source).map_err(read)?,
            window: vec![0; WINDOW].into(),
            ready: 0..0,
            at_end: false,
            taken: 0,
            pieces: 0,
            record_bytes: None,
        })
    }

    /// The name in messages.
    pub(super) fn file(&self) -> &str {
        &self.file
    }

    /// As much of what comes next as the window holds, without taking it.
    pub(super) fn peek(&mut self) -> Result<&[u8], TraceError> {
        while !self.at_end && self.ready.len() < WINDOW {
            self.fill()?;
        }
        Ok(&self.window[self.ready.clone()])
    }

    /// The next line without its end, as a range of [`Input::bytes`]; `None` at the end.
    #[inline]
    pub(super) fn line(&mut self) -> Result<Option<Range<usize>>, TraceError> {
        let mut searched = 0;
        loop {
            let unread = &self.window[self.ready.start + searched..self.ready.end];
            if let Some(len) = memchr(b'\n', unread) {
                return Ok(Some(self.take(searched + len, 1)));
            }
            searched += unread.len();
            if searched > LONGEST_LINE {
                return Err(self.endless_line());
            }
            if self.at_end {
                return Ok((searched > 0).then(|| self.take(searched, 0)));
            }
            self.fill()?;
        }
    }

    /// The next record of `len` bytes, or a shorter one at the end; `None` after the last.
    #[inline]
    pub(super) fn record(&mut self, len: usize) -> Result<Option<Range<usize>>, TraceError> {
        while self.ready.len() < len && !self.at_end {
            self.fill()?;
        }
        let len = len.min(self.ready.len());
        Ok((len > 0).then(|| self.take(len, 0)))
    }

    /// The window that ranges refer to.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.window
    }

    /// Passes over the mark that some editors put before a text in UTF-8.
    pub(super) fn skip_byte_order_mark(&mut self) {
        if self.window[self.ready.clone()].starts_with(b"\xef\xbb\xbf") {
            self.ready.start += 3;
            self.taken += 3;
        }
    }

    /// Splits the input into records of this size rather than lines.
    pub(super) fn set_record_bytes(&mut self, record_bytes: Option<usize>) {
        self.record_bytes = record_bytes;
    }

    /// The place of the piece that was handed out last.
    pub(super) fn place(&self) -> Place {
        self.place_of(self.pieces)
    }

    fn place_of(&self, piece: u64) -> Place {
        match self.record_bytes {
            None => Place::Line(piece),
            Some(len) => Place::Record { number: piece, byte: piece.saturating_sub(1) * len as u64 },
        }
    }

    #[inline]
    fn take(&mut self, len: usize, separator: usize) -> Range<usize> {
        let start = self.ready.start;
        self.ready.start += len + separator;
        self.taken += (len + separator) as u64;
        self.pieces += 1;
        start..start + len
    }

    /// Reads more behind what is in the window.
    fn fill(&mut self) -> Result<(), TraceError> {
        if self.ready.end == WINDOW {
            self.window.copy_within(self.ready.clone(), 0);
            self.ready = 0..self.ready.len();
        }
        assert!(self.ready.end < WINDOW, "a line is shorter than the window");
        match self.source.read(&mut self.window[self.ready.end..]) {
            Ok(0) => self.at_end = true,
            Ok(len) => self.ready.end += len,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(self.read_error(error)),
        }
        Ok(())
    }

    /// An error of the system, or of the decompressor, which reports none of the system's codes.
    #[cold]
    fn read_error(&mut self, error: std::io::Error) -> TraceError {
        self.at_end = true;
        let file = self.file.clone();
        match self.compression {
            Some(compression) if error.raw_os_error().is_none() => TraceError::Corrupt {
                file,
                compression,
                bytes: self.taken + self.ready.len() as u64,
                place: self.place_of(self.pieces + 1),
                what: if error.kind() == ErrorKind::UnexpectedEof {
                    "the data ends too early".to_string()
                } else {
                    error.to_string()
                },
            },
            _ => TraceError::Read { file, source: error },
        }
    }

    #[cold]
    fn endless_line(&self) -> TraceError {
        TraceError::Container {
            file: self.file.clone(),
            what: "a file with lines beyond 64 KiB, which no trace format has",
            remedy: "check that it is a block trace; a binary one must be vscsi",
        }
    }
}

fn compression_of(magic: &[u8]) -> Option<&'static str> {
    if magic.starts_with(&[0x1f, 0x8b]) {
        Some("gzip")
    } else if magic.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        Some("zstd")
    } else {
        None
    }
}

fn decoder(compression: Option<&str>, source: Magic) -> std::io::Result<Box<dyn Read + Send>> {
    Ok(match compression {
        Some("gzip") => Box::new(MultiGzDecoder::new(BufReader::with_capacity(64 << 10, source))),
        #[cfg(not(target_arch = "wasm32"))]
        Some(_) => Box::new(zstd::stream::read::Decoder::new(source)?),
        #[cfg(target_arch = "wasm32")]
        Some(_) => return Err(std::io::ErrorKind::Unsupported.into()),
        None => Box::new(source),
    })
}

/// Refuses what people have at hand but we do not unpack.
fn refuse_containers(file: &str, magic: &[u8]) -> Result<(), TraceError> {
    let known: [(&[u8], &str, &str); 4] = [
        (b"\xfd7zXZ", "xz-compressed", "unpack it with 'xz -d' (or recompress with zstd) first"),
        (b"BZh", "bzip2-compressed", "unpack it with 'bzip2 -d' (or recompress with zstd) first"),
        (b"PK\x03\x04", "a zip archive", "unpack it first"),
        (b"7z\xbc\xaf", "a 7z archive", "unpack it first"),
    ];
    match known.into_iter().find(|(start, ..)| magic.starts_with(start)) {
        Some((_, what, remedy)) => Err(TraceError::Container { file: file.to_string(), what, remedy }),
        None => Ok(()),
    }
}
