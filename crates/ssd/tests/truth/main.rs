//! The drive against theory, against arithmetic, and against a model of it that is too simple to be
//! wrong.

mod amplification;
mod bandwidth;
mod bounds;
mod classes;
mod content;
mod drives;
mod exhaustive;
mod figures;
mod hazards;
mod host;
mod latency;
mod making_way;
mod naive;
mod preemption;
mod preparation;
mod schedulers;
mod scheduling;
mod script;
mod sos;
mod theory;
mod wear;
mod word_lines;
mod worn;
mod writer;
