//! Tests of the procedures of drive tests.

#![allow(missing_docs)]

mod procedures;
