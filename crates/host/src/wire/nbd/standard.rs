//! The numbers of the standard, under its names. All integers on the wire are big endian.

/// First words of a server: "NBDMAGIC".
pub const NBDMAGIC: u64 = u64::from_be_bytes(*b"NBDMAGIC");
/// Second words of a newstyle server, and first of each option of a client: "IHAVEOPT".
pub const IHAVEOPT: u64 = u64::from_be_bytes(*b"IHAVEOPT");
/// First words of an answer to an option (the standard gives them no name).
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;

/// Handshake flag of the server: options are answered.
pub const NBD_FLAG_FIXED_NEWSTYLE: u16 = 1 << 0;
/// Handshake flag of the server: it can leave out the 124 zeros after `NBD_OPT_EXPORT_NAME`.
pub const NBD_FLAG_NO_ZEROES: u16 = 1 << 1;
/// The client's answer to [`NBD_FLAG_FIXED_NEWSTYLE`].
pub const NBD_FLAG_C_FIXED_NEWSTYLE: u32 = 1 << 0;
/// The client's answer to [`NBD_FLAG_NO_ZEROES`].
pub const NBD_FLAG_C_NO_ZEROES: u32 = 1 << 1;

/// Transmission flag: the others mean something.
pub const NBD_FLAG_HAS_FLAGS: u16 = 1 << 0;
/// Transmission flag: nothing can be written.
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

/// Option: the name of the export; ends the handshake without an answer that could be an error.
pub const NBD_OPT_EXPORT_NAME: u32 = 1;
/// Option: the client goes away.
pub const NBD_OPT_ABORT: u32 = 2;
/// Option: which exports there are.
pub const NBD_OPT_LIST: u32 = 3;
/// Option: go on under TLS.
pub const NBD_OPT_STARTTLS: u32 = 5;
/// Option: what an export is like.
pub const NBD_OPT_INFO: u32 = 6;
/// Option: the same, and begin with the transmission.
pub const NBD_OPT_GO: u32 = 7;
/// Option: replies in chunks.
pub const NBD_OPT_STRUCTURED_REPLY: u32 = 8;
/// Option: which metadata there are.
pub const NBD_OPT_LIST_META_CONTEXT: u32 = 9;
/// Option: which metadata the client will ask for.
pub const NBD_OPT_SET_META_CONTEXT: u32 = 10;

/// Answer: done.
pub const NBD_REP_ACK: u32 = 1;
/// Answer: one export.
pub const NBD_REP_SERVER: u32 = 2;
/// Answer: one fact about an export.
pub const NBD_REP_INFO: u32 = 3;
/// Answer: one metadata context.
pub const NBD_REP_META_CONTEXT: u32 = 4;
const NBD_REP_FLAG_ERROR: u32 = 1 << 31;
/// Error: no such option here.
pub const NBD_REP_ERR_UNSUP: u32 = NBD_REP_FLAG_ERROR + 1;
/// Error: the option is not well formed, or not at this point.
pub const NBD_REP_ERR_INVALID: u32 = NBD_REP_FLAG_ERROR + 3;
/// Error: not before TLS.
pub const NBD_REP_ERR_TLS_REQD: u32 = NBD_REP_FLAG_ERROR + 5;
/// Error: no such export.
pub const NBD_REP_ERR_UNKNOWN: u32 = NBD_REP_FLAG_ERROR + 6;
/// Error: the option is larger than this server takes.
pub const NBD_REP_ERR_TOO_BIG: u32 = NBD_REP_FLAG_ERROR + 9;

/// Fact: size and transmission flags.
pub const NBD_INFO_EXPORT: u16 = 0;
/// Fact: the canonical name.
pub const NBD_INFO_NAME: u16 = 1;
/// Fact: words for a human.
pub const NBD_INFO_DESCRIPTION: u16 = 2;
/// Fact: least, best and largest size of a request.
pub const NBD_INFO_BLOCK_SIZE: u16 = 3;

/// The metadata context that the standard defines.
pub const BASE_ALLOCATION: &str = "base:allocation";
/// Of `base:allocation`: takes no room.
pub const NBD_STATE_HOLE: u32 = 1 << 0;
/// Of `base:allocation`: reads as zeros.
pub const NBD_STATE_ZERO: u32 = 1 << 1;

/// First words of a request.
pub const NBD_REQUEST_MAGIC: u32 = 0x2560_9513;
/// First words of a simple reply.
pub const NBD_SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// First words of a chunk of a structured reply.
pub const NBD_STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;

/// Request: read.
pub const NBD_CMD_READ: u16 = 0;
/// Request: write.
pub const NBD_CMD_WRITE: u16 = 1;
/// Request: the client goes away.
pub const NBD_CMD_DISC: u16 = 2;
/// Request: make durable what was acknowledged.
pub const NBD_CMD_FLUSH: u16 = 3;
/// Request: the content is not needed any more.
pub const NBD_CMD_TRIM: u16 = 4;
/// Request: it will be read soon.
pub const NBD_CMD_CACHE: u16 = 5;
/// Request: make it zeros.
pub const NBD_CMD_WRITE_ZEROES: u16 = 6;
/// Request: metadata.
pub const NBD_CMD_BLOCK_STATUS: u16 = 7;

/// Flag of any request: durable when it is answered.
pub const NBD_CMD_FLAG_FUA: u16 = 1 << 0;
/// Flag of write zeroes: the zeros shall take room.
pub const NBD_CMD_FLAG_NO_HOLE: u16 = 1 << 1;
/// Flag of a read: one chunk of content at most.
pub const NBD_CMD_FLAG_DF: u16 = 1 << 2;
/// Flag of block status: one extent is enough.
pub const NBD_CMD_FLAG_REQ_ONE: u16 = 1 << 3;
/// Flag of write zeroes: rather fail than be as slow as writing.
pub const NBD_CMD_FLAG_FAST_ZERO: u16 = 1 << 4;

/// Flag of a chunk: the last one.
pub const NBD_REPLY_FLAG_DONE: u16 = 1 << 0;
/// Chunk: nothing more to say.
pub const NBD_REPLY_TYPE_NONE: u16 = 0;
/// Chunk: content.
pub const NBD_REPLY_TYPE_OFFSET_DATA: u16 = 1;
/// Chunk: zeros.
pub const NBD_REPLY_TYPE_OFFSET_HOLE: u16 = 2;
/// Chunk: metadata.
pub const NBD_REPLY_TYPE_BLOCK_STATUS: u16 = 5;
/// Chunk: an error.
pub const NBD_REPLY_TYPE_ERROR: u16 = (1 << 15) + 1;

/// The errors of replies, with the numbers that they have on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Error {
    /// `NBD_EPERM`: not allowed, as writing to what is read-only.
    NotPermitted = 1,
    /// `NBD_EIO`: it could not be read or written.
    InputOutput = 5,
    /// `NBD_ENOMEM`.
    NoMemory = 12,
    /// `NBD_EINVAL`: a request that makes no sense.
    Invalid = 22,
    /// `NBD_ENOSPC`: no room, or beyond the end.
    NoSpace = 28,
    /// `NBD_EOVERFLOW`: too much for one chunk.
    Overflow = 75,
    /// `NBD_ENOTSUP`: not as quickly as was asked for.
    NotSupported = 95,
    /// `NBD_ESHUTDOWN`: the server is going away.
    Shutdown = 108,
}

/// Longest name or other string of the protocol, in bytes.
pub const MOST_STRING: u32 = 4096;
/// Bytes of a request without its data.
pub const REQUEST_BYTES: usize = 28;
