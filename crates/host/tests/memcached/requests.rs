//! Random requests: few keys, so that requests collide, and occasional errors.

use proptest::prelude::*;

/// One request, with its data if any.
#[derive(Clone)]
pub(super) struct Request(pub Vec<u8>);

impl std::fmt::Debug for Request {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}", self.0.escape_ascii())
    }
}

/// A conversation.
pub(super) fn any_requests() -> impl Strategy<Value = Vec<Request>> {
    prop::collection::vec(any_request(), 1..40)
}

/// Any request that a client may send.
pub(super) fn any_request() -> impl Strategy<Value = Request> {
    prop_oneof![
        4 => gets(),
        4 => stores(),
        4 => meta_stores(),
        6 => metas(),
        3 => numbers(),
        2 => others(),
        1 => nonsense(),
    ]
}

fn line(words: &[&str]) -> Vec<u8> {
    let mut line = words.join(" ").into_bytes();
    line.extend(b"\r\n");
    line
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::sample::select(vec!["a", "b", "Zm9v", "Zm9vYg==", "foo", "noreply"]).prop_map(String::from),
        1 => Just("k".repeat(250)),
        1 => prop::sample::select(vec!["k".repeat(251), "x".repeat(1000), "0".into(), "\u{7f}\t".into()]),
    ]
}

/// Times that mean the same to the store, whose clock is stopped, and to the program.
fn exptime() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "0",
        "0",
        "0",
        "100",
        "2592000",
        "-1",
        "2592001",
        "2000000000",
        "+7000",
        "soon",
        "5x",
    ])
    .prop_map(String::from)
}

/// As [`exptime`], without times that expire immediately: for those, the program reports a nonsensical
/// remaining time.
fn later() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["0", "0", "100", "2592000", "2000000000", "+7000", "\t30", "x"])
        .prop_map(String::from)
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (0u64..30).prop_map(|number| number.to_string()),
        2 => any::<u64>().prop_map(|number| number.to_string()),
        1 => prop::sample::select(vec![
            "-1", "18446744073709551615", "18446744073709551616", "9223372036854775808", "-9223372036854775807",
            "-18446744073709551615", "4294967295", "4294967296", "1x", "x", "", "+3", "-", "\t3", "3\t", "0x10", "007",
        ])
        .prop_map(String::from),
    ]
}

fn noreply() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "", "", " noreply", " noreply", " more"])
}

fn gets() -> impl Strategy<Value = Request> {
    let name = prop::sample::select(vec!["get", "gets", "gat", "gats", "bget", "gett"]);
    (name, exptime(), prop::collection::vec(key(), 0..30), any::<bool>()).prop_map(
        |(name, exptime, keys, has_space)| {
            let mut words = vec![name];
            if name.starts_with("gat") {
                words.push(&exptime);
            }
            // No key that is too long: the program processes the keys before it, with side effects that it
            // does not report, and ends the error with an empty line.
            words.extend(keys.iter().map(String::as_str).filter(|key| key.len() <= 250));
            if has_space {
                words.push("");
            }
            let line = line(&words);
            Request(if line.len() > 2049 { b"get a\r\n".to_vec() } else { line })
        },
    )
}

fn data() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => number(),
        // Not only white space: when parsing it as a number, the program reads beyond its end.
        2 => "[a-z][a-z ]{0,11}",
        1 => (0usize..1900).prop_map(|length| "v".repeat(length)),
        1 => Just("\0\u{1}-5 ".to_string()),
    ]
}

/// Adds data to a line that announces `length`, which may be wrong.
fn with_data(mut line: Vec<u8>, data: &str) -> Request {
    line.extend(data.as_bytes());
    line.extend(b"\r\n");
    Request(line)
}

/// How many bytes fewer are announced than sent. Never more: the next request would become part of the data,
/// and its reply would be merged with later ones, some of which the program can lose.
fn mistake() -> impl Strategy<Value = i64> {
    prop_oneof![12 => Just(0i64), 1 => -3i64..0, 1 => Just(-100i64)]
}

fn stores() -> impl Strategy<Value = Request> {
    let name = prop::sample::select(vec!["set", "set", "set", "add", "replace", "append", "prepend", "cas"]);
    (name, key(), number(), exptime(), data(), mistake(), 0u64..20, noreply()).prop_map(
        |(name, key, flags, exptime, data, mistake, cas, noreply)| {
            let length = data.len() as i64 + mistake;
            let cas = if name == "cas" { format!(" {cas}") } else { String::new() };
            let line = line(&[&format!("{name} {key} {flags} {exptime} {length}{cas}{noreply}")]);
            with_data(line, &data)
        },
    )
}

fn meta_stores() -> impl Strategy<Value = Request> {
    let flag = prop_oneof![
        8 => prop::sample::select(vec![
            "b", "c", "k", "q", "I", "s", "x", "F5", "F", "Fx", "MS", "ME", "MA", "MP", "MR", "Mx", "MSS", "T100", "T-1", "Tx",
            "O1", "Oxyz", "v", "S3", "t", "C", "h", "y", "\u{e4}",
        ])
        .prop_map(String::from),
        2 => (0u64..20).prop_map(|cas| format!("C{cas}")),
        1 => (0u64..20).prop_map(|cas| format!("E{cas}")),
        1 => (1u32..100).prop_map(|time| format!("N{time}")),
        // No longer ones: the program uses up a CAS value before it refuses them.
        1 => (29usize..32).prop_map(|length| format!("O{}", "o".repeat(length))),
    ];
    (key(), data(), mistake(), prop::collection::vec(flag, 0..5)).prop_map(|(key, data, mistake, flags)| {
        let length = (data.len() as i64 + mistake).to_string();
        let mut words = vec!["ms", &key, &length];
        words.extend(flags.iter().map(String::as_str));
        with_data(line(&words), &data)
    })
}

fn metas() -> impl Strategy<Value = Request> {
    let letter = prop::sample::select(vec![
        "b", "b", "c", "f", "h", "k", "l", "q", "s", "t", "u", "v", "v", "O77", "O", "I", "MI", "MD", "M+",
        "M-", "M", "P", "Lx", "x", "y", "D10", "J13", "Dx", "Jx", "F1",
    ]);
    let flag = prop_oneof![
        12 => letter.prop_map(String::from),
        2 => (prop::sample::select(vec!["N", "T", "R"]), later()).prop_map(|(letter, time)| format!("{letter}{time}")),
        1 => (0u64..20).prop_map(|cas| format!("C{cas}")),
        1 => (1u64..20).prop_map(|cas| format!("E{cas}")),
        1 => number().prop_map(|delta| format!("D{delta}")),
        1 => number().prop_map(|initial| format!("J{initial}")),
    ];
    let name = prop::sample::select(vec!["mg", "mg", "mg", "md", "ma", "ma", "me", "mx"]);
    (name, key(), prop::collection::vec(flag, 0..7), 0..60).prop_map(|(name, key, flags, many)| {
        let mut words = vec![name, &key];
        // The program decodes a key of `me` only if another word follows the flag.
        words.extend(flags.iter().map(String::as_str).filter(|flag| name != "me" || *flag != "b"));
        if many == 0 {
            words.extend("a b c d e f g h i j k l m n o p q r s t".split(' '));
        }
        Request(line(&words))
    })
}

fn numbers() -> impl Strategy<Value = Request> {
    let name = prop::sample::select(vec!["incr", "decr"]);
    (name, key(), number(), noreply())
        .prop_map(|(name, key, delta, noreply)| Request(line(&[&format!("{name} {key} {delta}{noreply}")])))
}

fn others() -> impl Strategy<Value = Request> {
    let touch = (key(), exptime(), noreply())
        .prop_map(|(key, exptime, noreply)| format!("touch {key} {exptime}{noreply}"));
    // No other words: the program ignores them, and they are refused here.
    let delete = (key(), prop::sample::select(vec!["", "", " 0", " 0 noreply", " noreply"]))
        .prop_map(|(key, rest)| format!("delete {key}{rest}"));
    // No delayed flush: it brings back items that were flushed earlier, unless the program has found and
    // removed them.
    let flush = prop::sample::select(vec!["", " 0", " -2", " -1", " noreply", " 0 noreply", " x", " 0 2 3"])
        .prop_map(|rest| format!("flush_all{rest}"));
    let seldom = prop::sample::select(vec![
        "version",
        "version 1",
        "mn",
        "mn x",
        "verbosity 0",
        "verbosity",
        "verbosity x",
        "verbosity 0 noreply",
        "stats reset",
        "stats nothing",
        "stats cachedump 1 1",
        "shutdown",
        "shutdown noreply",
        "stats re",
        "slabs",
        "slabs reassign 1 2",
        "lru_crawler crawl 1",
        "lru_crawler",
        "lru",
        "lru x noreply",
        "cache_memlimit",
        "cache_memlimit 1",
        "cache_memlimit x",
        "cache_memlimit 64",
        "cache_memlimit 2000000000",
        "cache_memlimit 7 noreply",
        "quit",
        "GET / HTTP/1.0",
        "mget HTTP/1.0",
        "get",
        "gat",
        "gat 0",
        "gat x",
        "set",
        "touch",
        "incr",
        "ms",
        "mg",
        "m",
        "",
    ])
    .prop_map(String::from);
    prop_oneof![touch, delete, flush, seldom].prop_map(|text| Request(line(&[&text])))
}

/// A line that is mostly meaningless.
fn nonsense() -> impl Strategy<Value = Request> {
    let word = "[a-z0-9\t\r\0]{0,4}";
    prop::collection::vec(word, 0..6).prop_map(|words| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        Request(line(&words))
    })
}
