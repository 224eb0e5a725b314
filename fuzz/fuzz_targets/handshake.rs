//! Anything as a client's side of a handshake: it ends or goes on, within its bounds, and it makes no
//! difference how the stream is cut. The first byte says how, and whether there is TLS; what follows its
//! beginning is taken for what comes out of it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tailcut_host::wire::nbd::{Export, Handshake, Offer, Step, Tls};

fuzz_target!(|input: &[u8]| {
    let Some((&cut, stream)) = input.split_first() else { return };
    let tls = [Tls::Absent, Tls::Allowed, Tls::Required][usize::from(cut % 3)];
    let whole = feed(stream, stream.len(), tls);
    assert_eq!(whole, feed(stream, usize::from(cut) + 1, tls));
});

/// Feeds `stream` in pieces of `cut` bytes: how it ended, what was answered, what was left.
fn feed(stream: &[u8], cut: usize, tls: Tls) -> (Step, Vec<u8>, usize) {
    let (offer, mut sent, mut out) = (offer(tls), Vec::new(), Vec::new());
    let mut is_encrypted = false;
    let mut handshake = Handshake::begin(&mut out);
    let mut left = stream.len();
    for mut input in stream.chunks(cut.max(1)) {
        while !input.is_empty() {
            let before = input.len();
            let step = handshake.receive(&mut input, &offer, &mut out);
            left -= before - input.len();
            assert!(out.len() < 64 << 10 && handshake.held() <= 64 << 10);
            sent.append(&mut out);
            if step == Step::Encrypt {
                assert!(tls != Tls::Absent && !is_encrypted, "TLS begins once");
                is_encrypted = true;
            } else if step != Step::More {
                assert!(tls != Tls::Required || is_encrypted || step == Step::Close, "nothing goes on \
                    without it");
                return (step, sent, left);
            }
        }
    }
    (Step::More, sent, left)
}

fn offer(tls: Tls) -> Offer {
    let export = |name: &str| Export {
        name: name.into(),
        description: "a drive".into(),
        bytes: 1 << 20,
        is_read_only: false,
        zeroes_fast: true,
    };
    Offer { exports: vec![export("d"), export("d/fast")], tls }
}
