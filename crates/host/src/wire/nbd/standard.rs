//! The constants of the standard, under its names. All integers on the wire are big-endian.

/// First magic of a server: "NBDMAGIC".
pub const NBDMAGIC: u64 = u64::from_be_bytes(*b"NBDMAGIC");
/// Second magic of a newstyle server, and magic of each option of a client: "IHAVEOPT".
pub const IHAVEOPT: u64 = u64::from_be_bytes(*b"IHAVEOPT");
/// Magic of a reply to an option (the standard gives it no name).
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;

/// Handshake flag of the server: it replies to options.
pub const NBD_FLAG_FIXED_NEWSTYLE: u16 = 1 << 0;
/// Handshake flag of the server: it can omit the 124 zeros after `NBD_OPT_EXPORT_NAME`.
pub const NBD_FLAG_NO_ZEROES: u16 = 1 << 1;
/// Handshake flag of the client: accepts [`NBD_FLAG_FIXED_NEWSTYLE`].
pub const NBD_FLAG_C_FIXED_NEWSTYLE: u32 = 1 << 0;
/// Handshake flag of the client: accepts [`NBD_FLAG_NO_ZEROES`].
pub const NBD_FLAG_C_NO_ZEROES: u32 = 1 << 1;

/// Transmission flag: the other flags are valid.
pub const NBD_FLAG_HAS_FLAGS: u16 = 1 << 0;
/// Transmission flag: the export is read-only.
pub const NBD_FLAG_READ_ONLY: u16 = 1 << 1;
/// Transmission flag: `NBD_CMD_FLUSH`.
pub const NBD_FLAG_SEND_FLUSH: u16 = 1 << 2;
/// Transmission flag: `NBD_CMD_FLAG_FUA`.
pub const NBD_FLAG_SEND_FUA: u16 = 1 << 3;
/// Transmission flag: `NBD_CMD_TRIM`.
pub const NBD_FLAG_SEND_TRIM: u16 = 1 << 5;
/// Transmission flag: `NBD_CMD_WRITE_ZEROES`.
pub const NBD_FLAG_SEND_WRITE_ZEROES: u16 = 1 << 6;
/// Transmission flag: `NBD_CMD_FLAG_DF`; only with structured replies.
pub const NBD_FLAG_SEND_DF: u16 = 1 << 7;
/// Transmission flag: a flush on one connection covers what was acknowledged on any.
pub const NBD_FLAG_CAN_MULTI_CONN: u16 = 1 << 8;
/// Transmission flag: `NBD_CMD_CACHE`.
pub const NBD_FLAG_SEND_CACHE: u16 = 1 << 10;
/// Transmission flag: `NBD_CMD_FLAG_FAST_ZERO`.
pub const NBD_FLAG_SEND_FAST_ZERO: u16 = 1 << 11;

/// Option: select an export by name; ends the handshake without the possibility of an error reply.
pub const NBD_OPT_EXPORT_NAME: u32 = 1;
/// Option: the client disconnects.
pub const NBD_OPT_ABORT: u32 = 2;
/// Option: list the exports.
pub const NBD_OPT_LIST: u32 = 3;
/// Option: start TLS.
pub const NBD_OPT_STARTTLS: u32 = 5;
/// Option: describe an export.
pub const NBD_OPT_INFO: u32 = 6;
/// Option: describe an export and start the transmission phase.
pub const NBD_OPT_GO: u32 = 7;
/// Option: enable structured replies.
pub const NBD_OPT_STRUCTURED_REPLY: u32 = 8;
/// Option: list the metadata contexts.
pub const NBD_OPT_LIST_META_CONTEXT: u32 = 9;
/// Option: select metadata contexts.
pub const NBD_OPT_SET_META_CONTEXT: u32 = 10;

/// Option reply: success.
pub const NBD_REP_ACK: u32 = 1;
/// Option reply: one export.
pub const NBD_REP_SERVER: u32 = 2;
/// Option reply: one fact about an export.
pub const NBD_REP_INFO: u32 = 3;
/// Option reply: one metadata context.
pub const NBD_REP_META_CONTEXT: u32 = 4;
const NBD_REP_FLAG_ERROR: u32 = 1 << 31;
/// Option error: unsupported option.
pub const NBD_REP_ERR_UNSUP: u32 = NBD_REP_FLAG_ERROR + 1;
/// Option error: malformed option, or not allowed at this point.
pub const NBD_REP_ERR_INVALID: u32 = NBD_REP_FLAG_ERROR + 3;
/// Option error: TLS required first.
pub const NBD_REP_ERR_TLS_REQD: u32 = NBD_REP_FLAG_ERROR + 5;
/// Option error: unknown export.
pub const NBD_REP_ERR_UNKNOWN: u32 = NBD_REP_FLAG_ERROR + 6;
/// Option error: the option is larger than this server accepts.
pub const NBD_REP_ERR_TOO_BIG: u32 = NBD_REP_FLAG_ERROR + 9;

/// Export information: size and transmission flags.
pub const NBD_INFO_EXPORT: u16 = 0;
/// Export information: canonical name.
pub const NBD_INFO_NAME: u16 = 1;
/// Export information: description.
pub const NBD_INFO_DESCRIPTION: u16 = 2;
/// Export information: minimum, preferred and maximum size of a request.
pub const NBD_INFO_BLOCK_SIZE: u16 = 3;

/// The metadata context that the standard defines.
pub const BASE_ALLOCATION: &str = "base:allocation";
/// State in `base:allocation`: not allocated.
pub const NBD_STATE_HOLE: u32 = 1 << 0;
/// State in `base:allocation`: reads as zeros.
pub const NBD_STATE_ZERO: u32 = 1 << 1;

/// Magic of a request.
pub const NBD_REQUEST_MAGIC: u32 = 0x2560_9513;
/// Magic of a simple reply.
pub const NBD_SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// Magic of a chunk of a structured reply.
pub const NBD_STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;

/// Request: read.
pub const NBD_CMD_READ: u16 = 0;
/// Request: write.
pub const NBD_CMD_WRITE: u16 = 1;
/// Request: the client disconnects.
pub const NBD_CMD_DISC: u16 = 2;
/// Request: make acknowledged writes durable.
pub const NBD_CMD_FLUSH: u16 = 3;
/// Request: discard the content.
pub const NBD_CMD_TRIM: u16 = 4;
/// Request: prefetch the range.
pub const NBD_CMD_CACHE: u16 = 5;
/// Request: write zeros.
pub const NBD_CMD_WRITE_ZEROES: u16 = 6;
/// Request: report metadata.
pub const NBD_CMD_BLOCK_STATUS: u16 = 7;

/// Flag of any request: force unit access; durable before the reply.
pub const NBD_CMD_FLAG_FUA: u16 = 1 << 0;
/// Flag of write zeroes: the range must be allocated.
pub const NBD_CMD_FLAG_NO_HOLE: u16 = 1 << 1;
/// Flag of a read: do not fragment; at most one chunk of data.
pub const NBD_CMD_FLAG_DF: u16 = 1 << 2;
/// Flag of block status: a single extent is enough.
pub const NBD_CMD_FLAG_REQ_ONE: u16 = 1 << 3;
/// Flag of write zeroes: fail if zeroing is not faster than writing.
pub const NBD_CMD_FLAG_FAST_ZERO: u16 = 1 << 4;

/// Flag of a chunk: the last one.
pub const NBD_REPLY_FLAG_DONE: u16 = 1 << 0;
/// Chunk: no further data.
pub const NBD_REPLY_TYPE_NONE: u16 = 0;
/// Chunk: data.
pub const NBD_REPLY_TYPE_OFFSET_DATA: u16 = 1;
/// Chunk: zeros.
pub const NBD_REPLY_TYPE_OFFSET_HOLE: u16 = 2;
/// Chunk: metadata.
pub const NBD_REPLY_TYPE_BLOCK_STATUS: u16 = 5;
/// Chunk: an error.
pub const NBD_REPLY_TYPE_ERROR: u16 = (1 << 15) + 1;

/// The errors of replies, with their values on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Error {
    /// `NBD_EPERM`: not permitted, such as a write to a read-only export.
    NotPermitted = 1,
    /// `NBD_EIO`: a read or write failed.
    InputOutput = 5,
    /// `NBD_ENOMEM`: out of memory.
    NoMemory = 12,
    /// `NBD_EINVAL`: an invalid request.
    Invalid = 22,
    /// `NBD_ENOSPC`: out of space, or beyond the end.
    NoSpace = 28,
    /// `NBD_EOVERFLOW`: too large for one chunk.
    Overflow = 75,
    /// `NBD_ENOTSUP`: not possible as fast as requested.
    NotSupported = 95,
    /// `NBD_ESHUTDOWN`: the server is shutting down.
    Shutdown = 108,
}

/// Longest string of the protocol in bytes.
pub const MOST_STRING: u32 = 4096;
/// Length of a request header in bytes.
pub const REQUEST_BYTES: usize = 28;
