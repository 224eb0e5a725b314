//! memcached's text protocol, as a machine that is fed bytes.
//!
//! The source is the protocol's text, `doc/protocol.txt` of memcached
//! (<https://github.com/memcached/memcached>), and, where that is silent, what the program does: version
//! 1.6.18, from here on "the program", by its source (`proto_text.c`, `memcached.c`) and by watching it
//! (`tests/memcached` compares byte for byte).
//!
//! 1. [`Receiver`]: what clients send becomes [`Command`]s, data that are to be stored, and what is to be
//!    said to everything else ([`Refusal`]).
//! 2. [`reply`]: the answers to the classic commands. [`meta`]: the answers to those of two letters.
//! 3. [`Expiry`], [`flush_moment`], [`number::of_value`]: what numbers mean that stand in commands and
//!    values.
//! 4. [`Login`]: who has to say a password first.
//! 5. [`udp`]: the same in datagrams.
//!
//! Values are not touched: a hit is answered with a head, the value from wherever it is, and [`reply::TAIL`].
//!
//! What the program would do by order of an operator is answered as if it had been switched off there:
//!
//! | command | answer | as with |
//! | --- | --- | --- |
//! | `shutdown` | `ERROR: shutdown not enabled` | no `-A` |
//! | `watch` | `CLIENT_ERROR watch commands not allowed` | `-W` |
//! | `stats cachedump` | `CLIENT_ERROR stats cachedump not allowed` | `-X` |
//! | `slabs reassign` | `CLIENT_ERROR slab reassignment disabled` | `-o no_slab_reassign` |
//! | `lru_crawler crawl`, `metadump` | `CLIENT_ERROR lru crawler disabled` | `-o no_lru_crawler` |
//! | `lru`, `extstore`, others of `slabs` and `lru_crawler` | `ERROR` | an unknown word |
//!
//! What differs from the program, and why, stands in `docs/decisions/key-value-server.md`.

pub mod ahead;
pub mod base64;
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
pub use command::{Command, Direction, FlushAll, Get, Meta, MetaCount, MetaStore, Stats, Store, StoreMode};
pub use expiry::{Expiry, flush_moment};
pub use flags::MetaFlags;
pub use key::Key;
pub use login::{Attempt, Login, Users};
pub use receiver::{Reason, Receiver, Step};
pub use refusal::Refusal;
