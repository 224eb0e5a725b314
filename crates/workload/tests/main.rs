//! Workloads and traces.

#![allow(missing_docs)]

mod traces;
mod workloads;
