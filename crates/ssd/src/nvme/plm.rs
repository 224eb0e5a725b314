//! Of Predictable Latency Mode the features that configure it and select a window, and the log page that
//! reports the state of a window (NVM Express Base Specification 1.4, sections 5.14.1.10, 5.21.1.16 and
//! 5.21.1.17). What they mean is in [`tailcut_base::plm`].
//!
//! All numbers are little-endian. Reserved fields are written as zero, and a nonzero one is an error when
//! read, so that fields of a later standard are never silently ignored.

use std::fmt;
use tailcut_base::plm::{Config, Events, Log, State, Window};

/// Feature identifier: Predictable Latency Mode Config.
pub const CONFIG_FEATURE: u8 = 0x13;
/// Feature identifier: Predictable Latency Mode Window.
pub const WINDOW_FEATURE: u8 = 0x14;
/// Log page identifier: Predictable Latency Per NVM Set.
pub const LOG_PAGE: u8 = 0x0a;
/// Bytes of an encoded [`Config`] and of an encoded [`Log`].
pub const BYTES: usize = 512;

/// Why bytes are not a valid structure of this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// The number of bytes given instead of [`BYTES`].
    Length(usize),
    /// A nonzero reserved byte.
    Reserved {
        /// Its offset.
        at: usize,
    },
    /// Undefined bits of a dword or of an event mask.
    Bits(u32),
    /// An undefined state of the log page.
    State(u8),
    /// An undefined window to select.
    Window(u32),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Malformed::Length(given) => write!(f, "{given} bytes were given; the structure has {BYTES}"),
            Malformed::Reserved { at } => write!(f, "byte {at} is reserved and not zero; clear it"),
            Malformed::Bits(bits) => write!(f, "the bits {bits:#x} are reserved and not zero; clear them"),
            Malformed::State(state) => write!(f, "{state} is no state; 0 is off, 1 DTWIN, 2 NDWIN"),
            Malformed::Window(window) => write!(f, "{window} is no window to select; 1 is DTWIN, 2 NDWIN"),
        }
    }
}

impl std::error::Error for Malformed {}

/// The events of a bit mask.
fn events(bits: u16) -> Result<Events, Malformed> {
    Events::from_bits(bits).ok_or_else(|| Malformed::Bits((bits & !Events::ALL.bits()).into()))
}

/// Dword 12 of the feature [`WINDOW_FEATURE`], WSEL, which selects `window`.
pub fn window_dword(window: Window) -> u32 {
    match window {
        Window::Deterministic => 1,
        Window::NonDeterministic => 2,
    }
}

/// The window that dword 12 of the feature [`WINDOW_FEATURE`] selects.
///
/// # Errors
/// If it selects none, or a reserved bit is set.
pub fn window_of(dword: u32) -> Result<Window, Malformed> {
    match dword {
        1 => Ok(Window::Deterministic),
        2 => Ok(Window::NonDeterministic),
        bits if bits > 7 => Err(Malformed::Bits(bits & !7)),
        other => Err(Malformed::Window(other)),
    }
}

/// Dword 12 of the feature [`CONFIG_FEATURE`]: whether the mode is on.
pub fn enable_dword(is_enabled: bool) -> u32 {
    u32::from(is_enabled)
}

/// Whether dword 12 of the feature [`CONFIG_FEATURE`] enables the mode.
///
/// # Errors
/// If a reserved bit is set.
pub fn is_enabled(dword: u32) -> Result<bool, Malformed> {
    if dword > 1 { Err(Malformed::Bits(dword & !1)) } else { Ok(dword == 1) }
}

/// Dword 11 of both features: the number of the NVM set.
///
/// # Errors
/// If a reserved bit is set.
pub fn set_of(dword: u32) -> Result<u16, Malformed> {
    u16::try_from(dword).map_err(|_| Malformed::Bits(dword & !0xffff))
}

/// Offsets of a [`Config`]; the events are at 0.
const CONFIG_NUMBERS: usize = 32;
const CONFIG_END: usize = 56;

/// Encodes the data of the feature [`CONFIG_FEATURE`].
pub fn encode_config(config: &Config) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..2].copy_from_slice(&config.events.bits().to_le_bytes());
    put(&mut bytes, CONFIG_NUMBERS, &[config.reads, config.writes, config.time_ms]);
    bytes
}

/// Decodes the data of the feature [`CONFIG_FEATURE`].
///
/// # Errors
/// If the length is not [`BYTES`], or something reserved is not zero.
pub fn decode_config(bytes: &[u8]) -> Result<Config, Malformed> {
    let bytes = whole(bytes)?;
    reserved(bytes, 2..CONFIG_NUMBERS)?;
    reserved(bytes, CONFIG_END..BYTES)?;
    let [reads, writes, time_ms] = take(bytes, CONFIG_NUMBERS);
    let events = events(u16::from_le_bytes([bytes[0], bytes[1]]))?;
    Ok(Config { events, reads, writes, time_ms })
}

fn number_of(state: State) -> u8 {
    match state {
        State::Off => 0,
        State::Deterministic => 1,
        State::NonDeterministic => 2,
    }
}

fn state(number: u8) -> Result<State, Malformed> {
    match number {
        0 => Ok(State::Off),
        1 => Ok(State::Deterministic),
        2 => Ok(State::NonDeterministic),
        other => Err(Malformed::State(other)),
    }
}

/// Offsets of a [`Log`]; the state is at 0, the events are at 2.
const LOG_TYPICAL: usize = 32;
const LOG_TYPICAL_END: usize = 72;
const LOG_LEFT: usize = 128;
const LOG_LEFT_END: usize = 152;

/// Encodes the log page [`LOG_PAGE`].
pub fn encode_log(log: &Log) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[0] = number_of(log.state);
    bytes[2..4].copy_from_slice(&log.events.bits().to_le_bytes());
    let Log { reads_typical, writes_typical, time_maximum_ms, rest_high_ms, rest_low_ms, .. } = *log;
    let typical = [reads_typical, writes_typical, time_maximum_ms, rest_high_ms, rest_low_ms];
    put(&mut bytes, LOG_TYPICAL, &typical);
    put(&mut bytes, LOG_LEFT, &[log.reads_left, log.writes_left, log.time_left_ms]);
    bytes
}

/// Decodes the log page [`LOG_PAGE`].
///
/// # Errors
/// If the length is not [`BYTES`], something reserved is not zero, or the state is none.
pub fn decode_log(bytes: &[u8]) -> Result<Log, Malformed> {
    let bytes = whole(bytes)?;
    for range in [1..2, 4..LOG_TYPICAL, LOG_TYPICAL_END..LOG_LEFT, LOG_LEFT_END..BYTES] {
        reserved(bytes, range)?;
    }
    let [reads_typical, writes_typical, time_maximum_ms, rest_high_ms, rest_low_ms] =
        take(bytes, LOG_TYPICAL);
    let [reads_left, writes_left, time_left_ms] = take(bytes, LOG_LEFT);
    Ok(Log {
        state: state(bytes[0])?,
        events: events(u16::from_le_bytes([bytes[2], bytes[3]]))?,
        reads_typical,
        writes_typical,
        time_maximum_ms,
        rest_high_ms,
        rest_low_ms,
        reads_left,
        writes_left,
        time_left_ms,
    })
}

fn whole(bytes: &[u8]) -> Result<&[u8; BYTES], Malformed> {
    bytes.try_into().map_err(|_| Malformed::Length(bytes.len()))
}

fn reserved(bytes: &[u8; BYTES], mut range: std::ops::Range<usize>) -> Result<(), Malformed> {
    range.find(|&at| bytes[at] != 0).map_or(Ok(()), |at| Err(Malformed::Reserved { at }))
}

fn put(bytes: &mut [u8; BYTES], from: usize, numbers: &[u64]) {
    for (place, number) in bytes[from..].chunks_exact_mut(8).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
}

fn take<const N: usize>(bytes: &[u8; BYTES], from: usize) -> [u64; N] {
    std::array::from_fn(|index| {
        let at = from + 8 * index;
        u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_base::random::Stream;

    /// Numbers of every magnitude.
    fn number(r: &mut Stream) -> u64 {
        let bits = r.below(65) as u32;
        r.below(u64::MAX).checked_shr(64 - bits).unwrap_or(0)
    }

    fn some_events(r: &mut Stream) -> Events {
        Events::from_bits(r.below(1 << 16) as u16 & Events::ALL.bits()).unwrap()
    }

    fn config(r: &mut Stream) -> Config {
        Config { events: some_events(r), reads: number(r), writes: number(r), time_ms: number(r) }
    }

    fn log(r: &mut Stream) -> Log {
        Log {
            state: super::state(r.below(3) as u8).unwrap(),
            events: some_events(r),
            reads_typical: number(r),
            writes_typical: number(r),
            time_maximum_ms: number(r),
            rest_high_ms: number(r),
            rest_low_ms: number(r),
            reads_left: number(r),
            writes_left: number(r),
            time_left_ms: number(r),
        }
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let mut r = Stream::new(1, "test.plm");
        for _ in 0..2000 {
            let (config, log) = (config(&mut r), log(&mut r));
            assert_eq!(decode_config(&encode_config(&config)), Ok(config));
            assert_eq!(decode_log(&encode_log(&log)), Ok(log));
        }
    }

    /// Any 512 bytes are either refused or equal to the encoding of what they decode to: no byte is ignored.
    #[test]
    fn what_is_decoded_is_encoded_to_the_same_bytes() {
        let mut r = Stream::new(2, "test.plm");
        let mut accepted = [0; 2];
        for _ in 0..20_000 {
            let mut bytes =
                if r.below(2) == 0 { encode_config(&config(&mut r)) } else { encode_log(&log(&mut r)) };
            for _ in 0..r.below(3) {
                bytes[r.below(BYTES as u64) as usize] = r.below(256) as u8;
            }
            if let Ok(config) = decode_config(&bytes) {
                accepted[0] += 1;
                assert_eq!(encode_config(&config), bytes);
            }
            if let Ok(log) = decode_log(&bytes) {
                accepted[1] += 1;
                assert_eq!(encode_log(&log), bytes);
            }
        }
        assert!(accepted.iter().all(|&n| n > 1000), "{accepted:?} accepted");
    }

    /// The offsets, transcribed independently from the figures of the standard.
    #[test]
    fn fields_stand_where_the_standard_puts_them() {
        let config = Config { events: Events::EXCURSION, reads: 1, writes: 2, time_ms: 3 };
        assert_eq!(set_bytes(&encode_config(&config)), [(1, 0x80), (32, 1), (40, 2), (48, 3)]);
        let log = Log {
            state: State::NonDeterministic,
            events: Events::READS.and(Events::EXCEEDED),
            reads_typical: 1,
            writes_typical: 2,
            time_maximum_ms: 3,
            rest_high_ms: 4,
            rest_low_ms: 5,
            reads_left: 6,
            writes_left: 7,
            time_left_ms: 8 << 56,
        };
        let expected = [
            (0, 2),
            (2, 1),
            (3, 0x40),
            (32, 1),
            (40, 2),
            (48, 3),
            (56, 4),
            (64, 5),
            (128, 6),
            (136, 7),
            (151, 8),
        ];
        assert_eq!(set_bytes(&encode_log(&log)), expected);
    }

    fn set_bytes(bytes: &[u8; BYTES]) -> Vec<(usize, u8)> {
        bytes.iter().copied().enumerate().filter(|&(_, byte)| byte != 0).collect()
    }

    #[test]
    fn what_is_malformed_is_refused() {
        assert_eq!(decode_config(&[0; 511]), Err(Malformed::Length(511)));
        assert_eq!(decode_log(&[0; 513]), Err(Malformed::Length(513)));
        let with = |at: usize, value: u8| {
            let mut bytes = [0; BYTES];
            bytes[at] = value;
            bytes
        };
        for at in [2, 31, 56, 511] {
            assert_eq!(decode_config(&with(at, 1)), Err(Malformed::Reserved { at }));
        }
        for at in [1, 4, 31, 72, 127, 152, 511] {
            assert_eq!(decode_log(&with(at, 1)), Err(Malformed::Reserved { at }));
        }
        assert_eq!(decode_config(&with(0, 8)), Err(Malformed::Bits(8)));
        assert_eq!(decode_log(&with(3, 0x20)), Err(Malformed::Bits(0x2000)));
        assert_eq!(decode_log(&with(0, 3)), Err(Malformed::State(3)));
    }

    #[test]
    fn dwords_say_window_set_and_mode() {
        for window in [Window::Deterministic, Window::NonDeterministic] {
            assert_eq!(window_of(window_dword(window)), Ok(window));
        }
        for other in [0, 3, 7] {
            assert_eq!(window_of(other), Err(Malformed::Window(other)));
        }
        assert_eq!(window_of(9), Err(Malformed::Bits(8)));
        assert_eq!([true, false].map(|on| is_enabled(enable_dword(on))), [Ok(true), Ok(false)]);
        assert_eq!(is_enabled(6), Err(Malformed::Bits(6)));
        assert_eq!((set_of(0xffff), set_of(0x1_0001)), (Ok(0xffff), Err(Malformed::Bits(0x1_0000))));
    }

    #[test]
    fn errors_say_what_is_wrong() {
        assert_eq!(Malformed::Length(7).to_string(), "7 bytes were given; the structure has 512");
        assert_eq!(Malformed::Reserved { at: 9 }.to_string(), "byte 9 is reserved and not zero; clear it");
    }
}
