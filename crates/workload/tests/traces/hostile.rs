//! For any bytes, a parser returns records or an error and never panics.

use proptest::prelude::*;
use std::io::Cursor;
use tailcut_base::config::Choice;
use tailcut_base::{Op, Time};
use tailcut_workload::Source;
use tailcut_workload::trace::{Format, Options, Replay, ReplayOptions, Timing, Trace};

/// Reads to the end; returns the number of records.
fn drain(bytes: Vec<u8>, format: Option<Format>, skip_bad_lines: bool) -> usize {
    let options = Options { format, skip_bad_lines };
    let size = bytes.len();
    let Ok(mut trace) = Trace::from_reader("hostile", Box::new(Cursor::new(bytes)), &options) else {
        return 0;
    };
    let mut count = 0;
    let mut last = tailcut_base::Nanos::ZERO;
    while let Ok(Some(record)) = trace.next_record() {
        assert!(record.at >= last);
        assert!(record.offset.checked_add(u64::from(record.len)).is_some());
        let covered = u64::from(record.sectors()) * 512;
        assert!(covered >= u64::from(record.len) && covered < u64::from(record.len) + 1024);
        last = record.at;
        count += 1;
        assert!(count <= 2 * size, "more records than bytes");
    }
    assert!(matches!(trace.next_record(), Ok(None)), "the end is the end");
    count
}

fn field() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<u64>().prop_map(|n| n.to_string()),
        any::<u16>().prop_map(|n| n.to_string()),
        "[0-9]{18,22}",
        "[0-9]{0,12}\\.[0-9]{0,12}",
        "(R|W|Read|Write|read|write|sync|wait|trim|add|Q|D|C|FWFS|RA|DS|\\+|-1|8,0|/dev/sda|x)",
        Just(String::new()),
        "\\PC{0,6}",
    ]
}

fn line() -> impl Strategy<Value = String> {
    (prop::collection::vec(field(), 0..11), prop_oneof![Just(","), Just(" "), Just("\t"), Just(" , ")])
        .prop_map(|(fields, separator)| fields.join(separator))
}

fn text() -> impl Strategy<Value = String> {
    let start = prop_oneof![
        Just(""),
        Just("fio version 2 iolog\n"),
        Just("fio version 3 iolog\n"),
        Just("  8,0    3        2     0.000000697   697  Q   W 223490 + 8 [kjournald]\n"),
        Just("0,R,0,4096,1\n"),
        Just("1,a,0,Read,0,512,9\n"),
        Just("0 0 8 8 1\n"),
    ];
    let end = prop_oneof![Just("\n"), Just("\r\n")];
    (start, prop::collection::vec(line(), 0..12), end)
        .prop_map(|(start, lines, end)| start.to_string() + &lines.join(end))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), skip: bool) {
        drain(bytes.clone(), None, skip);
        for &format in Format::all() {
            drain(bytes.clone(), Some(format), skip);
        }
    }

    #[test]
    fn arbitrary_lines_never_panic(text in text(), skip: bool) {
        drain(text.clone().into_bytes(), None, skip);
        for &format in Format::all() {
            drain(text.clone().into_bytes(), Some(format), skip);
        }
    }

    #[test]
    fn whatever_is_replayed_stays_on_the_device(text in text(), sectors in 0u64..200_000, stretch_ppm: u64) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hostile");
        std::fs::write(&path, text).unwrap();
        let timing = Timing::Recorded { stretch_ppm, depth: 1 };
        let options = ReplayOptions { timing, limit: Some(10_000), ..ReplayOptions::new(sectors) };
        let lenient = Options { format: None, skip_bad_lines: true };
        if let Ok(mut replay) = Replay::open(&path, &lenient, options) {
            let mut due = Time::ZERO;
            while let Some(request) = replay.next() {
                prop_assert!(request.sector + u64::from(request.sectors) <= sectors);
                prop_assert!(request.sectors <= 65_536 && (request.sectors > 0) == (request.op != Op::Flush));
                prop_assert!(request.due >= due);
                due = request.due;
            }
            prop_assert!(replay.error().is_none());
        }
    }

    #[test]
    fn damage_to_a_compressed_trace_never_panics(at in 0usize..200, with: u8, zip: bool) {
        let text: String = (0..50).map(|i| format!("{i} 0 {} 8 1\n", i * 13)).collect();
        let mut bytes = if zip {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
            encoder.finish().unwrap()
        } else {
            zstd::encode_all(text.as_bytes(), 1).unwrap()
        };
        let at = at % bytes.len();
        bytes[at] = with;
        drain(bytes, None, true);
    }
}
