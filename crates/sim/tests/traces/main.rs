//! Traces: their formats, hostile input, replay, and conversion between formats.

#![allow(missing_docs)]

mod formats;
mod hostile;
mod real;
mod replay;
mod round_trip;
mod speed;
