//! The key-value store of tailcut ([`tailcut_rt::embedded`]) for programs in C, and for whatever speaks with
//! C.
//!
//! What the functions mean stands in `include/tailcut.h`; here is what each of them checks at the border
//! before it calls the store: pointers, lengths, texts, sizes of structures, and that no panic crosses
//! ([`border`]).

pub mod border;
pub mod control;
pub mod failure;
pub mod options;
pub mod queue;
pub mod statistics;
pub mod store;
pub mod value;
