//! Traces: their formats, hostile input, replay, and conversion between formats.

mod formats;
mod hostile;
mod real;
mod replay;
mod round_trip;
mod speed;
