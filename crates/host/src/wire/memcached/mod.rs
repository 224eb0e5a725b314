//! memcached's text protocol as a state machine that consumes bytes.
//!
//! The specification is `doc/protocol.txt` of memcached (<https://github.com/memcached/memcached>). Where
//! that is silent, the reference is the behaviour of version 1.6.45, here called "the program", by its source
//! (`proto_text.c`, `memcached.c`) and by experiment (`tests/memcached` compares byte for byte).
//!
//! 1. [`Receiver`]: parses input into [`Command`]s, data to be stored, and errors ([`Refusal`]).
//! 2. [`reply`]: replies to the classic commands. [`meta`]: replies to the meta commands.
//! 3. [`Expiry`], [`flush_moment`], [`number::of_value`]: the meaning of numbers in commands and values.
//! 4. [`Login`]: authentication by password.
//! 5. [`udp`]: the protocol over UDP.
//!
//! Values are not copied: a reply to a hit is a header, the value from wherever it is, and [`reply::TAIL`].
//!
//! Administrative commands get the reply of a program in which they are disabled:
//!
//! | command | answer | as with |
//! | --- | --- | --- |
//! | `shutdown` | `SERVER_ERROR: shutdown not enabled`, unless it is enabled | no `-A` |
//! | `watch` | `CLIENT_ERROR watch commands not allowed` | `-W` |
//! | `stats cachedump` | `CLIENT_ERROR stats cachedump not allowed` | `-X` |
//! | `slabs reassign` | `CLIENT_ERROR slab reassignment disabled` | `-o no_slab_reassign` |
//! | `lru_crawler crawl`, `metadump`, `mgdump` | `CLIENT_ERROR lru crawler disabled` | `-o no_lru_crawler` |
//! | `lru`, `extstore`, others of `slabs` and `lru_crawler` | `ERROR` | an unknown word |
//!
//! `docs/decisions/key-value-server.md` lists the differences from the program, with reasons.

pub mod ahead;
pub mod base64;
pub mod binary;
pub mod command;
pub mod expiry;
pub mod flags;
pub mod key;
mod line;
pub mod login;
pub mod meta;
pub mod number;
pub mod receiver;
pub mod refusal;
pub mod reply;
pub mod udp;
mod words;

pub use ahead::Ahead;
pub use command::{
    Command, Delta, Direction, FlushAll, Get, Meta, MetaCount, MetaStore, Stats, Store, StoreMode,
};
pub use expiry::{Expiry, flush_moment};
pub use flags::MetaFlags;
pub use key::Key;
pub use login::{Attempt, Login, Users};
pub use receiver::{Reason, Receiver, Step};
pub use refusal::Refusal;
