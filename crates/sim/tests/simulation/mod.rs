//! Simulated drives, arrays and servers as users run them.

mod arrays;
mod block_mapped;
mod driven;
mod drives_of_today;
mod factory_bad;
mod figures;
mod kv;
mod limits;
mod locality_layout;
mod stores;
mod timeline;
