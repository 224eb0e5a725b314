//! Error replies to commands that are not executed, identical to memcached's.

/// Why a line cannot be executed as a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// Unknown command or subcommand.
    Unknown,
    /// Too few words, or a word does not have the required form.
    Format,
    /// The time of a `touch`, `gat` or `flush_all` is not a number.
    Exptime,
    /// The delta of an `incr` or `decr` is not a number.
    Delta,
    /// Unknown flag.
    Flag,
    /// Duplicate flag.
    DuplicateFlag,
    /// Any error in the key or the flags of `ma`, which does not distinguish them.
    FlagOrDuplicate,
    /// Too many flags.
    ManyFlags,
    /// The value of a flag is not a number.
    Token,
    /// Unknown mode of `ms`.
    StoreMode,
    /// Unknown mode of `ma`.
    CountMode,
    /// The initial value of `ma` is not a number.
    Initial,
    /// The delta of `ma` is not a number.
    MetaDelta,
    /// The key is not valid base64.
    Base64,
    /// The opaque token has more than 31 bytes.
    Opaque,
    /// `delete` with other words behind its key than `0` and `noreply`.
    DeleteUsage,
    /// `stats detail` with an unknown argument.
    DetailUsage,
    /// `stats cachedump`: disabled, as with `-X`.
    Dump,
    /// `slabs reassign`: disabled, as with `-o no_slab_reassign`.
    Reassign,
    /// `lru_crawler`: disabled, as with `-o no_lru_crawler`.
    Crawler,
    /// `watch`: disabled, as with `-W`.
    Watch,
    /// `shutdown`: disabled, as without `-A`.
    Shutdown,
    /// `shutdown` with another word than `graceful`.
    ShutdownMode,
    /// `flush_all`: disabled, as with `-F`.
    FlushAll,
    /// A memory limit that is too small.
    SmallMemory,
    /// A memory limit so large that it must be in bytes.
    LargeMemory,
    /// The shard of the item has failed.
    ShardFailed,
}

/// Text behind `SERVER_ERROR` for a failed shard.
pub const SHARD_FAILED: &str = "this shard of the store has failed, see the server's log";

impl Refusal {
    /// The error reply, including the line end.
    pub fn line(self) -> &'static [u8] {
        match self {
            Refusal::Unknown => b"ERROR\r\n",
            Refusal::Format => b"CLIENT_ERROR bad command line format\r\n",
            Refusal::Exptime => b"CLIENT_ERROR invalid exptime argument\r\n",
            Refusal::Delta => b"CLIENT_ERROR invalid numeric delta argument\r\n",
            Refusal::Flag => b"CLIENT_ERROR invalid flag\r\n",
            Refusal::DuplicateFlag => b"CLIENT_ERROR duplicate flag\r\n",
            Refusal::FlagOrDuplicate => b"CLIENT_ERROR invalid or duplicate flag\r\n",
            Refusal::ManyFlags => b"CLIENT_ERROR options flags are too long\r\n",
            Refusal::Token => b"CLIENT_ERROR bad token in command line format\r\n",
            Refusal::StoreMode => b"CLIENT_ERROR invalid mode for ms M token\r\n",
            Refusal::CountMode => b"CLIENT_ERROR invalid mode for ma M token\r\n",
            Refusal::Initial => b"CLIENT_ERROR invalid numeric initial value\r\n",
            Refusal::MetaDelta => b"CLIENT_ERROR invalid numeric delta value\r\n",
            Refusal::Base64 => b"CLIENT_ERROR error decoding key\r\n",
            Refusal::Opaque => b"CLIENT_ERROR opaque token too long\r\n",
            Refusal::DeleteUsage => {
                b"CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]\r\n"
            }
            Refusal::DetailUsage => b"CLIENT_ERROR usage: stats detail on|off|dump\r\n",
            Refusal::Dump => b"CLIENT_ERROR stats cachedump not allowed\r\n",
            Refusal::Reassign => b"CLIENT_ERROR slab reassignment disabled\r\n",
            Refusal::Crawler => b"CLIENT_ERROR lru crawler disabled\r\n",
            Refusal::Watch => b"CLIENT_ERROR watch commands not allowed\r\n",
            Refusal::Shutdown => b"SERVER_ERROR: shutdown not enabled\r\n",
            Refusal::ShutdownMode => b"CLIENT_ERROR invalid shutdown mode\r\n",
            Refusal::FlushAll => b"CLIENT_ERROR flush_all not allowed\r\n",
            Refusal::SmallMemory => b"MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n",
            Refusal::ShardFailed => {
                b"SERVER_ERROR this shard of the store has failed, see the server's log\r\n"
            }
            Refusal::LargeMemory => b"MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes\r\n",
        }
    }
}
