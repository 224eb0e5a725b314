//! `tailcut serve kv`, used by programs that we did not write. What is not installed is skipped, in plain
//! words.

#[path = "../support/mod.rs"]
mod support;

mod clients;
mod exposition;
mod failing;
mod figures;
mod operating;
mod outliving;
mod server;
mod several;
mod supervised;
