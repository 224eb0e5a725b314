//! The key-value store of tailcut ([`tailcut_rt::embedded`]) for programs in C, and in languages that can
//! call C.
//!
//! `include/tailcut.h` documents the functions. This crate contains the checks that each of them makes at the
//! boundary before it calls the store: pointers, lengths, texts, sizes of structures, and that no panic
//! crosses ([`border`]).

#![allow(clippy::disallowed_types, reason = "programs in C run in real time")]

pub mod border;
pub mod control;
pub mod failure;
pub mod options;
pub mod queue;
pub mod statistics;
pub mod store;
pub mod value;
