//! The header of a request, and the check whether it may be executed.

use super::offer::MOST_BYTES;
use super::standard::*;

/// The header of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Command flags, a bit mask of `NBD_CMD_FLAG_…`.
    pub flags: u16,
    /// Number of the command, one of `NBD_CMD_…`; others are refused.
    pub command: u16,
    /// The client's identifier of the request.
    pub cookie: u64,
    /// Offset of the first byte in the export.
    pub offset: u64,
    /// Length of the range in bytes.
    pub length: u32,
}

/// Command of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Read the bytes of the range.
    Read,
    /// Write the bytes of the range.
    Write,
    /// Disconnect once all earlier requests are answered.
    Disconnect,
    /// Make acknowledged writes durable.
    Flush,
    /// Discard the content of the range.
    Trim,
    /// Prefetch: the range will be read soon.
    Cache,
    /// Write zeros over the range.
    Zero,
    /// Report which ranges are allocated and which read as zeros.
    Status,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The error code that the client receives.
    pub error: Error,
    /// Why the request is refused, in words; structured replies carry it.
    pub text: &'static str,
}

/// Limits for the requests of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Size of the export in bytes.
    pub bytes: u64,
    /// Whether writes are refused because the export is read-only.
    pub is_read_only: bool,
    /// Whether zeroing needs no writes of data.
    pub zeroes_fast: bool,
    /// Whether the client has negotiated structured replies.
    pub has_structured_replies: bool,
    /// Whether the client has selected the metadata context `base:allocation`, and may request block status.
    pub has_allocation: bool,
}

impl Header {
    /// Decodes a request header; None if its magic is wrong.
    #[expect(clippy::missing_panics_doc, reason = "the slices have the lengths of the numbers")]
    pub fn decode(bytes: &[u8; REQUEST_BYTES]) -> Option<Header> {
        let short = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let long = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        (word(0) == NBD_REQUEST_MAGIC).then(|| Header {
            flags: short(4),
            command: short(6),
            cookie: long(8),
            offset: long(16),
            length: word(24),
        })
    }

    /// Encodes the header as a client sends it.
    pub fn encode(&self) -> [u8; REQUEST_BYTES] {
        let mut bytes = [0; REQUEST_BYTES];
        bytes[..4].copy_from_slice(&NBD_REQUEST_MAGIC.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.flags.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.command.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.cookie.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_be_bytes());
        bytes[24..].copy_from_slice(&self.length.to_be_bytes());
        bytes
    }

    /// True if a flag is set.
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// Length in bytes of the data that follow the header.
    pub fn payload(&self) -> u32 {
        if self.command == NBD_CMD_WRITE { self.length } else { 0 }
    }

    fn command(&self) -> Option<Command> {
        Some(match self.command {
            NBD_CMD_READ => Command::Read,
            NBD_CMD_WRITE => Command::Write,
            NBD_CMD_DISC => Command::Disconnect,
            NBD_CMD_FLUSH => Command::Flush,
            NBD_CMD_TRIM => Command::Trim,
            NBD_CMD_CACHE => Command::Cache,
            NBD_CMD_WRITE_ZEROES => Command::Zero,
            NBD_CMD_BLOCK_STATUS => Command::Status,
            _ => return None,
        })
    }
}

impl Command {
    /// True if the command changes data.
    pub fn changes(self) -> bool {
        matches!(self, Command::Write | Command::Zero | Command::Trim)
    }

    /// The flags that the command may have. FUA is accepted everywhere: clients set it on any command (the
    /// standard, command flags).
    fn flags(self) -> u16 {
        NBD_CMD_FLAG_FUA
            | match self {
                Command::Read => NBD_CMD_FLAG_DF,
                Command::Zero => NBD_CMD_FLAG_NO_HOLE | NBD_CMD_FLAG_FAST_ZERO,
                Command::Status => NBD_CMD_FLAG_REQ_ONE,
                _ => 0,
            }
    }

    /// True if offset and length are meaningful.
    fn has_range(self) -> bool {
        !matches!(self, Command::Disconnect | Command::Flush)
    }
}

impl Rules {
    /// The command of `header`, or why it is refused.
    ///
    /// # Errors
    /// `Invalid`: an unknown command or flag, no agreed context, an empty range, a read or write above 32 MiB
    /// (with `DF` `Overflow`), or a range beyond the end (of a write `NoSpace`). `NotPermitted`: a change of
    /// a read-only export. `NotSupported`: fast zeroing where zeros are not written fast.
    pub fn check(&self, header: &Header) -> Result<Command, Refusal> {
        let refuse = |error, text| Err(Refusal { error, text });
        let Some(command) = header.command() else {
            return refuse(Error::Invalid, "there is no such command");
        };
        if command == Command::Disconnect {
            return Ok(command);
        }
        let flags_are_known = header.flags & !command.flags() == 0;
        if !flags_are_known || (header.has(NBD_CMD_FLAG_DF) && !self.has_structured_replies) {
            return refuse(Error::Invalid, "the command cannot have such a flag");
        }
        if command.changes() && self.is_read_only {
            return refuse(Error::NotPermitted, "the export is read-only");
        }
        if command == Command::Status && !self.has_allocation {
            return refuse(Error::Invalid, "no metadata context was agreed on");
        }
        if command.has_range() {
            self.check_range(command, header)?;
        } else if header.offset != 0 || header.length != 0 {
            return refuse(Error::Invalid, "a flush has no offset and no length");
        }
        self.check_zeroes(command, header)
    }

    fn check_range(&self, command: Command, header: &Header) -> Result<(), Refusal> {
        let refuse = |error, text| Err(Refusal { error, text });
        if header.length == 0 {
            return refuse(Error::Invalid, "no bytes are asked for");
        }
        let end = header.offset.checked_add(u64::from(header.length));
        if end.is_none_or(|end| end > self.bytes) {
            let is_written = matches!(command, Command::Write | Command::Zero);
            let error = if is_written { Error::NoSpace } else { Error::Invalid };
            return refuse(error, "it reaches beyond the end of the export");
        }
        if matches!(command, Command::Read | Command::Write) && header.length > MOST_BYTES {
            let error = if header.has(NBD_CMD_FLAG_DF) { Error::Overflow } else { Error::Invalid };
            return refuse(error, "more than 32 MiB at once");
        }
        Ok(())
    }

    fn check_zeroes(&self, command: Command, header: &Header) -> Result<Command, Refusal> {
        let is_slow = header.has(NBD_CMD_FLAG_NO_HOLE) || !self.zeroes_fast;
        if command == Command::Zero && header.has(NBD_CMD_FLAG_FAST_ZERO) && is_slow {
            let text = "zeros are written as slowly as anything else here";
            return Err(Refusal { error: Error::NotSupported, text });
        }
        Ok(command)
    }
}
