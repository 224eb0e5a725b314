//! What is said to a command that is not carried out, word for word as the program does.

/// Why a line is not a command that can be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// There is no such command, or not with so many words.
    Unknown,
    /// A word does not read as what stands in its place.
    Format,
    /// A `delete` with more than a key.
    DeleteUsage,
    /// The time in a `touch`, `gat` or `flush_all` is no number.
    Exptime,
    /// The step of an `incr` or `decr` is no number.
    Delta,
    /// A flag that there is not.
    Flag,
    /// A flag twice.
    DuplicateFlag,
    /// One of both; `md` and `ma` do not say which.
    FlagOrDuplicate,
    /// More flags than there can be: for `mg`.
    ManyFlags,
    /// The same for all others.
    ManyFlagsElse,
    /// A number behind a flag does not read as one.
    Token,
    /// A mode is one letter.
    ModeLength,
    /// There is no such mode of `ms`.
    StoreMode,
    /// There is no such mode of `ma`.
    CountMode,
    /// The start of `ma` is no number.
    Initial,
    /// The step of `ma` is no number.
    MetaDelta,
    /// The key is not base64.
    Base64,
    /// The opaque word has more than 31 letters.
    Opaque,
    /// `stats detail` with another word.
    DetailUsage,
    /// `stats cachedump`: off, as with `-X`.
    Dump,
    /// `slabs reassign`: off, as with `-o no_slab_reassign`.
    Reassign,
    /// `lru_crawler`: off, as with `-o no_lru_crawler`.
    Crawler,
    /// `watch`: off, as with `-W`.
    Watch,
    /// `shutdown`: off, as without `-A`.
    Shutdown,
    /// A limit of memory that is too small.
    SmallMemory,
    /// A limit of memory that must have been meant in bytes.
    LargeMemory,
    /// The part of the store that has the item has failed.
    ShardFailed,
}

/// What is said of a part of the store that has failed, behind `SERVER_ERROR`.
pub const SHARD_FAILED: &str = "this shard of the store has failed, see the server's log";

impl Refusal {
    /// What the client is told, with the end of the line.
    pub fn line(self) -> &'static [u8] {
        match self {
            Refusal::Unknown => b"ERROR\r\n",
            Refusal::Format => b"CLIENT_ERROR bad command line format\r\n",
            Refusal::DeleteUsage => {
                b"CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n"
            }
            Refusal::Exptime => b"CLIENT_ERROR invalid exptime argument\r\n",
            Refusal::Delta => b"CLIENT_ERROR invalid numeric delta argument\r\n",
            Refusal::Flag => b"CLIENT_ERROR invalid flag\r\n",
            Refusal::DuplicateFlag => b"CLIENT_ERROR duplicate flag\r\n",
            Refusal::FlagOrDuplicate => b"CLIENT_ERROR invalid or duplicate flag\r\n",
            Refusal::ManyFlags => b"CLIENT_ERROR options flags are too long\r\n",
            Refusal::ManyFlagsElse => b"CLIENT_ERROR options flags too long\r\n",
            Refusal::Token => b"CLIENT_ERROR bad token in command line format\r\n",
            Refusal::ModeLength => b"CLIENT_ERROR incorrect length for M token\r\n",
            Refusal::StoreMode => b"CLIENT_ERROR invalid mode for ms M token\r\n",
            Refusal::CountMode => b"CLIENT_ERROR invalid mode for ma M token\r\n",
            Refusal::Initial => b"CLIENT_ERROR invalid numeric initial value\r\n",
            Refusal::MetaDelta => b"CLIENT_ERROR invalid numeric delta value\r\n",
            Refusal::Base64 => b"CLIENT_ERROR error decoding key\r\n",
            Refusal::Opaque => b"CLIENT_ERROR opaque token too long\r\n",
            Refusal::DetailUsage => b"CLIENT_ERROR usage: stats detail on|off|dump\r\n",
            Refusal::Dump => b"CLIENT_ERROR stats cachedump not allowed\r\n",
            Refusal::Reassign => b"CLIENT_ERROR slab reassignment disabled\r\n",
            Refusal::Crawler => b"CLIENT_ERROR lru crawler disabled\r\n",
            Refusal::Watch => b"CLIENT_ERROR watch commands not allowed\r\n",
            Refusal::Shutdown => b"ERROR: shutdown not enabled\r\n",
            Refusal::SmallMemory => b"MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n",
            Refusal::ShardFailed => {
                b"SERVER_ERROR this shard of the store has failed, see the server's log\r\n"
            }
            Refusal::LargeMemory => b"MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes\r\n",
        }
    }
}
