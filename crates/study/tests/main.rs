//! The studies of papers' tables and figures, run in their quick forms.

mod studies;
