//! Checks of the whole source: structure, words, links.

#![allow(missing_docs)]

mod links;
mod structure;
mod words;
