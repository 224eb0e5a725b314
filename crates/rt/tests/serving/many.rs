//! Several clients of one drive, and shutdown of a server.

use crate::serving::{BLOCKS, Harness, header, patient, use_it};
use std::io::{Read, Write};
use tailcut_base::Nanos;
use tailcut_base::random::Stream;
use tailcut_rt::serve::Limits;
use tailcut_rt::{Client, Drive};

/// Requests of all kinds from several connections, each in its own range, checked against arrays of bytes.
#[test]
fn each_finds_what_it_wrote() {
    let harness = Harness::new(Limits { busy_poll: Nanos::micros(20), ..patient() });
    let part = (BLOCKS * 4096 / 4) as usize;
    let part_bytes = part.min(300_000);
    std::thread::scope(|scope| {
        for number in 0..4usize {
            let mut client = harness.client();
            scope.spawn(move || {
                let mut random = Stream::new(number as u64, "client");
                // Ranges that are not aligned to blocks.
                let base = (number * part_bytes + number * 777) as u64;
                let mut bytes = vec![0u8; part_bytes];
                for _ in 0..300 {
                    step(&mut client, base, &mut bytes, &mut random);
                }
                let all = client.call(&header(0, base, 200_000), &[]).expect("a reply");
                assert!(all == (0, bytes[..200_000].to_vec()), "client {number}");
            });
        }
    });
    let served = harness.server.stop();
    assert_eq!(served.drives[0].1.connections, 4);
    assert!(served.drives[0].1.widened > 100);
}

/// Sends a batch of requests at once: overlapping ones keep their order.
pub(super) fn step<S: Read + Write>(
    client: &mut Client<S>,
    base: u64,
    bytes: &mut [u8],
    random: &mut Stream,
) {
    let mut expected = std::collections::BTreeMap::new();
    let batch = 1 + random.below(8);
    for _ in 0..batch {
        let at = random.below(bytes.len() as u64 - 30_000) as usize;
        let length = 1 + random.below(20_000) as usize;
        let range = at..at + length;
        let command = [0, 1, 1, 6][random.below(4) as usize];
        let asked = header(command, base + at as u64, length as u32);
        let fill = random.bits() as u8;
        let mut want = Vec::new();
        let data = if command == 1 { vec![fill; length] } else { Vec::new() };
        match command {
            0 => want = bytes[range].to_vec(),
            1 => bytes[range].fill(fill),
            _ => bytes[range].fill(0),
        }
        expected.insert(asked.cookie, want);
        client.ask(&asked, &data);
    }
    client.send().expect("the server listens");
    while !expected.is_empty() {
        let mut content = Vec::new();
        // The reply identifies its request, which determines its length.
        let length = client.next_cookie().map_or(0, |cookie| expected[&cookie].len());
        let replied =
            client.received(length, |data| content.extend_from_slice(data)).expect("a simple reply");
        match replied {
            Some(replied) => {
                assert_eq!(replied.error, 0);
                let want = expected.remove(&replied.cookie).expect("a cookie of ours, once");
                assert!(content == want, "what was read is what was written");
            }
            None => client.receive().expect("a reply"),
        }
    }
}

#[test]
fn a_stop_finishes_what_is_under_way() {
    let harness = Harness::new(patient());
    let mut client = harness.client();
    let data = vec![4; 1 << 20];
    for at in 0..16u64 {
        client.ask(&header(1, at << 20, 1 << 20), &data);
    }
    client.send().expect("the server listens");
    let served = std::thread::scope(|scope| {
        let stop = scope.spawn(|| harness.server.stop());
        // Writes answered before the connection ended are on the drive.
        let mut answered = 0;
        while client.receive().is_ok() {
            while let Ok(Some(replied)) = client.received(0, |_| {}) {
                assert_eq!(replied.error, 0);
                answered += 1;
            }
        }
        (stop.join().expect("it ends"), answered)
    });
    let (mut served, answered) = served;
    let (_, figures, drive) = served.drives.remove(0);
    assert!(figures.requests() >= answered);
    assert_eq!(drive.bytes(), BLOCKS * 4096);
    let mut written = 0;
    for at in 0..16u64 {
        written += u64::from(drive.extent(at << 8, 256).is_allocated);
    }
    assert!(written >= answered, "{written} {answered}");
}

#[test]
fn a_flush_covers_what_others_wrote() {
    let harness = Harness::new(patient());
    let (mut one, mut other) = (harness.client(), harness.client());
    use_it(&mut one, 0, 1);
    assert_eq!(other.call(&header(3, 0, 0), &[]).expect("a reply").0, 0);
    assert_eq!(other.call(&header(0, 0, 10_000), &[]).expect("a reply"), (0, vec![1; 10_000]));
}
