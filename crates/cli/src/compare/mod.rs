//! `tailcut compare`: every combination of techniques, alone and together.

pub mod results;
