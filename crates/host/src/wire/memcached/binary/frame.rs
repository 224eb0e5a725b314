//! The header of a request, with its extras and key.

use tailcut_base::cast::to_u32;

/// A request without its value, or with it where it is a login.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    bytes: &'a [u8],
}

/// What a request asks for, without its quiet variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opcode {
    Get,
    Set,
    Add,
    Replace,
    Delete,
    Increment,
    Decrement,
    Quit,
    Flush,
    Noop,
    Version,
    GetWithKey,
    Append,
    Prepend,
    Statistics,
    Verbosity,
    Touch,
    GetAndTouch,
    GetAndTouchWithKey,
    ListMechanisms,
    Login,
    LoginStep,
}

impl<'a> Frame<'a> {
    /// First byte of a request, and of a reply.
    pub(super) const REQUEST: u8 = 0x80;
    pub(super) const REPLY: u8 = 0x81;
    /// Bytes of a header.
    pub(super) const HEADER: usize = 24;

    /// The request with these first bytes, as many as [`Frame::head_bytes`].
    pub(super) fn new(bytes: &'a [u8]) -> Frame<'a> {
        Frame { bytes }
    }

    /// How many bytes of a request have to be known before it is taken: its header, extras and key, and the
    /// value of a login. Before the header is complete, that of the header.
    pub(super) fn head_bytes(head: &[u8]) -> usize {
        if head.len() < Frame::HEADER {
            return Frame::HEADER;
        }
        let frame = Frame::new(head);
        let (before, body) = (frame.extras_bytes() + frame.key_bytes(), frame.body_bytes() as usize);
        let is_login = matches!(frame.kind(), Some(Opcode::Login | Opcode::LoginStep));
        if before > body || frame.key_bytes() > MOST_KEY {
            return Frame::HEADER;
        }
        Frame::HEADER + if is_login && body <= MOST_LOGIN { body } else { before }
    }

    pub(super) fn is_request(&self) -> bool {
        self.bytes[0] == Frame::REQUEST
    }

    pub(super) fn opcode(&self) -> u8 {
        self.bytes[1]
    }

    pub(super) fn opaque(&self) -> u32 {
        self.number(12)
    }

    pub(super) fn cas(&self) -> u64 {
        u64::from(self.number(16)) << 32 | u64::from(self.number(20))
    }

    pub(super) fn key_bytes(&self) -> usize {
        (self.number(0) & 0xffff) as usize
    }

    pub(super) fn extras_bytes(&self) -> usize {
        usize::from(self.bytes[4])
    }

    /// Length of extras, key and value.
    pub(super) fn body_bytes(&self) -> u32 {
        self.number(8)
    }

    /// Length of the value; none if extras and key do not fit into the body.
    pub(super) fn value_bytes(&self) -> Option<u32> {
        self.body_bytes().checked_sub(to_u32(self.extras_bytes() + self.key_bytes()))
    }

    pub(super) fn key(&self) -> &'a [u8] {
        &self.bytes[Frame::HEADER + self.extras_bytes()..][..self.key_bytes()]
    }

    /// The value of a login.
    pub(super) fn value(&self) -> &'a [u8] {
        &self.bytes[Frame::HEADER + self.extras_bytes() + self.key_bytes()..]
    }

    /// The number of four bytes at byte `at` of the extras.
    pub(super) fn extra(&self, at: usize) -> u32 {
        self.number(Frame::HEADER + at)
    }

    /// The number of eight bytes at byte `at` of the extras.
    pub(super) fn long_extra(&self, at: usize) -> u64 {
        u64::from(self.extra(at)) << 32 | u64::from(self.extra(at + 4))
    }

    fn number(&self, at: usize) -> u32 {
        u32::from_be_bytes(self.bytes[at..at + 4].try_into().expect("four bytes"))
    }

    pub(super) fn kind(&self) -> Option<Opcode> {
        Some(match self.opcode() {
            0x00 | 0x09 => Opcode::Get,
            0x01 | 0x11 => Opcode::Set,
            0x02 | 0x12 => Opcode::Add,
            0x03 | 0x13 => Opcode::Replace,
            0x04 | 0x14 => Opcode::Delete,
            0x05 | 0x15 => Opcode::Increment,
            0x06 | 0x16 => Opcode::Decrement,
            0x07 | 0x17 => Opcode::Quit,
            0x08 | 0x18 => Opcode::Flush,
            0x0a => Opcode::Noop,
            0x0b => Opcode::Version,
            0x0c | 0x0d => Opcode::GetWithKey,
            0x0e | 0x19 => Opcode::Append,
            0x0f | 0x1a => Opcode::Prepend,
            0x10 => Opcode::Statistics,
            0x1b => Opcode::Verbosity,
            0x1c => Opcode::Touch,
            0x1d | 0x1e => Opcode::GetAndTouch,
            0x20 => Opcode::ListMechanisms,
            0x21 => Opcode::Login,
            0x22 => Opcode::LoginStep,
            0x23 | 0x24 => Opcode::GetAndTouchWithKey,
            _ => return None,
        })
    }

    /// True for the quiet variant of a request.
    pub(super) fn is_quiet(&self) -> bool {
        matches!(self.opcode(), 0x09 | 0x0d | 0x11..=0x1a | 0x1e | 0x24)
    }

    /// True if extras, key and value are as the request requires.
    pub(super) fn is_valid(&self, kind: Opcode) -> bool {
        let (extras, has_key) = (self.extras_bytes(), self.key_bytes() > 0);
        let has_value = self.value_bytes().is_some_and(|bytes| bytes > 0);
        match kind {
            Opcode::Get | Opcode::GetWithKey | Opcode::Delete => extras == 0 && has_key && !has_value,
            Opcode::Set | Opcode::Add | Opcode::Replace => extras == 8 && has_key,
            Opcode::Append | Opcode::Prepend => extras == 0 && has_key,
            Opcode::Increment | Opcode::Decrement => extras == 20 && has_key && !has_value,
            Opcode::Touch | Opcode::GetAndTouch | Opcode::GetAndTouchWithKey => {
                extras == 4 && has_key && !has_value
            }
            Opcode::Flush => matches!(extras, 0 | 4) && !has_key && !has_value,
            Opcode::Verbosity => extras == 4 && !has_key && !has_value,
            Opcode::Quit | Opcode::Noop | Opcode::Version | Opcode::ListMechanisms => {
                extras == 0 && !has_key && !has_value
            }
            Opcode::Statistics => extras == 0 && !has_value,
            Opcode::Login | Opcode::LoginStep => extras == 0 && has_key,
        }
    }
}

/// Longest key in bytes.
pub(super) const MOST_KEY: usize = 250;
/// Longest mechanism with name and password in bytes, as with the text protocol.
pub(super) const MOST_LOGIN: usize = 16_384;
