//! A store of counters with a journal, over `std::io`. A commit must be durable before it is acknowledged;
//! with `--forget` the store forgets that, and a search over seeds of power cuts finds it.
//!
//!     cargo run --package tailcut-disk --example journal -- --forget

use std::io::{self, Read, Seek, SeekFrom, Write};
use tailcut_disk::volume::{File, Volume};
use tailcut_disk::{Disk, Nanos, Personality, Stream};

/// Bytes of a record: counter, value, checksum, and filler up to a sector.
const RECORD: usize = 512;

/// Counters with a journal of their changes.
struct Counters {
    journal: File,
    values: [u64; 8],
    /// Whether a commit is made durable before it returns.
    syncs: bool,
}

impl Counters {
    /// Opens the store by reading its journal up to the first record that is not whole.
    fn open(volume: &Volume, syncs: bool) -> io::Result<Counters> {
        let mut journal = volume.file(0..1 << 20);
        let mut values = [0; 8];
        let mut record = [0; RECORD];
        let mut end = 0;
        while let Ok(()) = journal.read_exact(&mut record) {
            let number = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("8 bytes"));
            let (counter, value, checksum) = (number(0), number(8), number(16));
            if checksum != checksum_of(counter, value) {
                break;
            }
            values[usize::try_from(counter).expect("small")] = value;
            end += RECORD as u64;
        }
        journal.seek(SeekFrom::Start(end))?;
        Ok(Counters { journal, values, syncs })
    }

    /// Sets a counter. When this returns, a power cut must not undo it.
    fn commit(&mut self, counter: usize, value: u64) -> io::Result<()> {
        let mut record = [0; RECORD];
        for (field, number) in [counter as u64, value, checksum_of(counter as u64, value)].iter().enumerate()
        {
            record[field * 8..field * 8 + 8].copy_from_slice(&number.to_le_bytes());
        }
        self.journal.write_all(&record)?;
        if self.syncs {
            self.journal.sync_data()?;
        }
        self.values[counter] = value;
        Ok(())
    }
}

fn checksum_of(counter: u64, value: u64) -> u64 {
    (counter ^ value.rotate_left(17) ^ 0x7A11_C07E).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1
}

/// Runs the store through a power cut. Returns what is wrong afterwards, if something is.
///
/// # Errors
/// The disk has failed, which none of its faults does here.
pub(crate) fn violation(syncs: bool, seed: u64) -> io::Result<Option<String>> {
    let mut random = Stream::new(seed, "test");
    let volume = Volume::new(Disk::new(Personality::Fresh, seed));
    let mut acknowledged = [0; 8];
    for _ in 0..2 {
        let mut store = Counters::open(&volume, syncs)?;
        if store.values != acknowledged {
            return Ok(Some(format!("acknowledged {acknowledged:?}, found {:?}", store.values)));
        }
        for _ in 0..random.below(20) {
            let (counter, value) = (random.index(8), random.bits());
            store.commit(counter, value)?;
            acknowledged[counter] = value;
            volume.sleep(Nanos::micros(random.below(1000)));
        }
        volume.power_cut(&mut random);
    }
    let store = Counters::open(&volume, syncs)?;
    let is_right = store.values == acknowledged;
    Ok((!is_right).then(|| format!("acknowledged {acknowledged:?}, found {:?}", store.values)))
}

#[allow(dead_code, reason = "the test of the examples has its own")]
fn main() -> io::Result<()> {
    let syncs = !std::env::args().any(|argument| argument == "--forget");
    for seed in 0..1000 {
        if let Some(message) = violation(syncs, seed)? {
            println!("seed {seed}: {message}");
            std::process::exit(1);
        }
    }
    println!("1000 seeds: no acknowledged commit was lost");
    Ok(())
}
