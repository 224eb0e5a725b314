//! A store of pages with `async` files: a commit writes new pages beside the old ones and then the header
//! that names them. Between the two belongs a sync, since the disk may keep the header and lose the pages;
//! with `--forget` it is missing.
//!
//!     cargo run --package tailcut-disk --example pages -- --forget

use std::io;
use tailcut_disk::future::{AsyncDisk, AsyncFile, VirtualClock};
use tailcut_disk::{Disk, Personality, Stream};

const PAGE: usize = 4096;

/// Pages of a version of the store.
const PAGES: u64 = 4;

/// A store of [`PAGES`] pages in two versions, of which the header names the current one.
struct Store {
    header: AsyncFile<VirtualClock>,
    versions: AsyncFile<VirtualClock>,
    /// Whether pages are made durable before the header that names them.
    syncs_pages: bool,
    version: u64,
}

impl Store {
    /// Opens the store: the header has the current version.
    async fn open(disk: &AsyncDisk<VirtualClock>, syncs_pages: bool) -> io::Result<Store> {
        let header = disk.file(0..PAGE as u64);
        let versions = disk.file(PAGE as u64..(1 + 2 * PAGES) * PAGE as u64);
        let page = header.read_at(0, PAGE).await?;
        let version = u64::from_le_bytes(page[..8].try_into().expect("8 bytes"));
        Ok(Store { header, versions, syncs_pages, version })
    }

    /// The byte of a page of a version.
    fn offset(version: u64, page: u64) -> u64 {
        (version % 2 * PAGES + page) * PAGE as u64
    }

    /// Writes all pages anew, and makes them the current version.
    async fn commit(&mut self) -> io::Result<()> {
        let next = self.version + 1;
        for page in 0..PAGES {
            let data = next.to_le_bytes().repeat(PAGE / 8);
            self.versions.write_at(Store::offset(next, page), data).await?;
        }
        if self.syncs_pages {
            self.versions.sync_data().await?;
        }
        let mut header = vec![0; PAGE];
        header[..8].copy_from_slice(&next.to_le_bytes());
        self.header.write_at(0, header).await?;
        self.header.sync_data().await?;
        self.version = next;
        Ok(())
    }

    /// What is wrong with the current version, if something is.
    async fn check(&self) -> io::Result<Option<String>> {
        for page in 0..PAGES {
            let data = self.versions.read_at(Store::offset(self.version, page), PAGE).await?;
            if data != self.version.to_le_bytes().repeat(PAGE / 8) {
                return Ok(Some(format!("page {page} is not of version {}", self.version)));
            }
        }
        Ok(None)
    }
}

/// Commits until the power is cut, at a random operation of the disk, and returns what is wrong afterwards.
///
/// # Errors
/// The disk has failed, which none of its faults does here.
pub(crate) fn violation(syncs_pages: bool, seed: u64) -> io::Result<Option<String>> {
    let clock = VirtualClock::new();
    let disk = AsyncDisk::new(Disk::new(Personality::Collecting, seed), clock.clone());
    let mut random = Stream::new(seed, "test");
    clock.block_on(async {
        let mut store = Store::open(&disk, syncs_pages).await?;
        for _ in 0..random.below(3) {
            store.commit().await?;
        }
        {
            let mut commit = Box::pin(store.commit());
            for _ in 0..random.below(12) {
                if step(&mut commit).await.is_some() {
                    break;
                }
            }
        }
        disk.power_cut(&mut random);
        Store::open(&disk, syncs_pages).await?.check().await
    })
}

/// Polls a future until one event of the clock has passed; its result if it is ready.
async fn step<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    let mut is_polled = false;
    std::future::poll_fn(move |context| {
        let polled = std::pin::Pin::new(&mut *future).poll(context);
        match polled {
            std::task::Poll::Ready(output) => std::task::Poll::Ready(Some(output)),
            std::task::Poll::Pending if is_polled => std::task::Poll::Ready(None),
            std::task::Poll::Pending => {
                is_polled = true;
                std::task::Poll::Pending
            }
        }
    })
    .await
}

#[allow(dead_code, reason = "the test of the examples has its own")]
fn main() -> io::Result<()> {
    let syncs_pages = !std::env::args().any(|argument| argument == "--forget");
    for seed in 0..1000 {
        if let Some(message) = violation(syncs_pages, seed)? {
            println!("seed {seed}: {message}");
            std::process::exit(1);
        }
    }
    println!("1000 seeds: every header names whole pages");
    Ok(())
}
