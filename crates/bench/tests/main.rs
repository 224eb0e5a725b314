//! Tests of `tailcut-bench`, as its users call it.

#![allow(missing_docs)]

mod commands;
