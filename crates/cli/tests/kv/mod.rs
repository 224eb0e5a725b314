//! `tailcut serve kv`, used by third-party programs. Tests of programs that are not installed are skipped
//! with a message.

mod clients;
mod exposition;
mod failing;
mod figures;
mod measured;
mod operating;
mod outliving;
mod replacing;
mod server;
mod several;
mod supervised;
