//! How quickly a store on flash is found again: items per second of one core, from a disk in memory.
//!
//! `cargo bench -p tailcut-bench --bench recovery [-- ITEMS]`; four million items of 200 bytes if nothing
//! else is said. Two figures: how long it takes until the engine serves, and until it knows all. Time is that
//! of the processor, as Linux counts it for this thread, so that others on the machine count little.

use tailcut_base::{Nanos, Op, Spans, Status, Time};
use tailcut_host::kv::{
    Append, Change, Content, Engine, Keep, Lookup, OpenMode, Opening, Put, Refused, Settings, State,
};
use tailcut_host::{BLOCK_BYTES, Bytes, Disk, Request, Response};

/// Blocks in memory that answer at once.
struct Memory(Vec<Bytes>);

impl Memory {
    fn answer(&mut self, mut request: Request<Bytes>) -> Response<Bytes> {
        let from = request.block as usize;
        let blocks = from..from + request.blocks as usize;
        match request.op {
            Op::Read => request.data.extend_from_slice(&self.0[blocks]),
            Op::Write => self.0[blocks].clone_from_slice(&request.data),
            _ => {}
        }
        let Request { id, data, .. } = request;
        Response { id, status: Status::Success, data, busy_for: Nanos::ZERO, spans: Spans::default() }
    }
}

fn main() {
    let wanted = std::env::args().skip(1).find_map(|word| word.parse().ok());
    let items: u64 = wanted.unwrap_or(4_000_000);
    let settings = Settings { keep: Keep::Everything, append: Append::AtOnce, ..Settings::default() };
    // A record of 200 bytes takes 256 with its key and header, its entry of a summary 32.
    let segments = items * (256 + 32) * 21 / 20 / (u64::from(settings.segment_blocks) * BLOCK_BYTES) + 16;
    let blocks = segments * u64::from(settings.segment_blocks);
    let mut memory = Memory(vec![Bytes::ZEROS; blocks as usize]);
    let shape = Disk { blocks, depth: 64, most_blocks: 256, volatile_cache: false, copies: 1, handles: 1 };

    let mut engine = open(&mut memory, settings, &shape, OpenMode::Create { store: 1, seed: 7 });
    (0..items).for_each(|number| write(&mut engine, &mut memory, number));
    let point = engine.sync();
    while engine.durable() < point {
        carry_out(&mut engine, &mut memory);
    }
    drop(engine);

    let begin = processor_time();
    let mut engine = open(&mut memory, settings, &shape, OpenMode::Open);
    let serves = processor_time() - begin;
    while engine.recovered().is_some() {
        while engine.recover(256) {}
        carry_out(&mut engine, &mut memory);
    }
    let all = processor_time() - begin;
    assert_eq!(engine.items(), items, "all are found");
    assert!(matches!(engine.find(b"key-00000000007", false), Lookup::OnFlash));
    println!("{items} items in {segments} segments: serves after {:.1} ms,", serves * 1e3);
    println!("knows all after {:.1} ms, {:.2} million items/s", all * 1e3, items as f64 / all / 1e6);
}

/// Seconds (proc(5), `schedstat`: the first number, in nanoseconds).
fn processor_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells");
    let nanoseconds = stat.split(' ').next().and_then(|word| word.parse::<u64>().ok());
    nanoseconds.expect("a number") as f64 / 1e9
}

fn open(memory: &mut Memory, settings: Settings, shape: &Disk, making: OpenMode) -> Engine {
    let mut opening = Opening::new(settings, shape.clone(), making);
    while !opening.is_done() {
        while let Some(request) = opening.next_request() {
            opening.respond(memory.answer(request));
        }
    }
    opening.end().expect("a store")
}

fn carry_out(engine: &mut Engine, memory: &mut Memory) {
    while let Some(request) = engine.next_request() {
        engine.respond(memory.answer(request));
    }
}

fn write(engine: &mut Engine, memory: &mut Memory, number: u64) {
    engine.tick(Time(number), 1000);
    let (key, value) = (format!("key-{number:011}"), [number as u8; 200]);
    let content = Content::New(&value);
    let put = Put { content, flags: 0, expires: 0, state: State::default(), cas: None };
    loop {
        carry_out(engine, memory);
        match engine.change(key.as_bytes(), None, Change::Put(put)) {
            Ok(_) => return,
            Err(Refused::Busy) => {}
            Err(why) => panic!("{why}"),
        }
    }
}
