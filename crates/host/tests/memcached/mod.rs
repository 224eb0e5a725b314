//! memcached's protocol: replies match the program word for word, however the stream is split and whatever it
//! contains.

mod ahead;
mod dialogues;
mod memory;
mod parts;
mod program;
mod reference;
mod requests;
mod service;
mod session;
mod streams;
mod taken;

use tailcut_base::Nanos;
use tailcut_host::kv::session::{ServiceSettings, Shard};
use tailcut_host::kv::{Append, Engine, Keep, Settings};

/// A time long after 2001, so that relative times of up to 30 days differ from absolute ones.
pub(crate) const NOW: u64 = 1_900_000_000;

/// A shard that keeps all items in memory.
fn in_memory(settings: ServiceSettings, seed: u64) -> Shard {
    let memory = Settings {
        memory: 20 << 20,
        most_item: (1 << 20) + 1024,
        keep: Keep::Everything,
        may_evict_store: false,
        append: Append::AtOnce,
        admission: tailcut_host::kv::AdmissionSettings::NONE,
        segment_blocks: 1024,
        patience: Nanos::millis(1),
    };
    Shard::new(Engine::in_memory(memory, seed), settings)
}
