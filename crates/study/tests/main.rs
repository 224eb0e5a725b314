//! The studies of papers' tables and figures in their quick forms, and the published tests of real drives.

mod drives_of_today;
mod studies;
