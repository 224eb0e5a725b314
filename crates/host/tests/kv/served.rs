//! A client's session with an engine over the test disk.

use super::disk::TestDisk;
use super::harness::open;
use tailcut_base::Time;
use tailcut_host::kv::session::{Service, ServiceSettings};
use tailcut_host::kv::{OpenMode, Settings};

pub(super) struct Served {
    pub service: Service,
    pub disk: TestDisk,
    pub client: u32,
    /// Seconds of Unix time.
    pub unix: u64,
    now: Time,
}

impl Served {
    /// A new store or cache on 16 MB of flash.
    pub(super) fn new(settings: Settings) -> Served {
        let mut disk = TestDisk::new(4000, false, 7);
        let engine = open(settings, &mut disk, OpenMode::Create { store: 1, seed: 1 }).expect("a new store");
        let service =
            ServiceSettings { most_item: 20_000, is_durable: false, client_memory: 16 << 20, process: 1 };
        let mut service = Service::new(engine, service);
        let client = service.open();
        Served { service, disk, client, unix: 1_000_000, now: Time(1) }
    }

    /// Sends a command, and returns its reply; empty if it waits for the disk. The disk answers up to
    /// `completions` requests.
    pub(super) fn send(&mut self, command: &str, completions: u32) -> String {
        let mut input = command.as_bytes();
        self.service.receive(self.client, &mut input);
        assert!(input.is_empty(), "{command:.40} was taken");
        self.run(completions)
    }

    /// The disk answers up to `completions` requests; returns what the client is sent meanwhile.
    pub(super) fn run(&mut self, completions: u32) -> String {
        for _ in 0..completions {
            self.now.0 += 10_000;
            self.service.tick(self.now, self.unix);
            while let Some(request) = self.service.next_request() {
                self.disk.submit(request);
            }
            if let Some(response) = self.disk.answer() {
                self.service.respond(response);
            }
            self.service.turn(&mut Vec::new());
        }
        let mut text = Vec::new();
        self.service.send_queue(self.client).empty_into(&mut text);
        String::from_utf8(text).expect("text")
    }
}
