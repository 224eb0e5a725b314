//! The data of handshake options.

use super::standard::MOST_STRING;

/// Why an option cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadOption {
    /// A length out of bounds, or trailing bytes.
    Malformed,
    /// A string longer than the standard allows.
    TooBig,
}

/// Parses the data of an option from front to end.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// A parser for the data of an option.
    pub fn new(data: &'a [u8]) -> Fields<'a> {
        Fields(data)
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8], BadOption> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(BadOption::Malformed)?;
        self.0 = rest;
        Ok(bytes)
    }

    /// The next 16 bits, big-endian.
    ///
    /// # Errors
    /// [`BadOption::Malformed`] if fewer than 2 bytes are left.
    #[expect(clippy::missing_panics_doc, reason = "the field has two bytes")]
    pub fn short(&mut self) -> Result<u16, BadOption> {
        Ok(u16::from_be_bytes(self.bytes(2)?.try_into().expect("two bytes")))
    }

    /// The next 32 bits, big-endian.
    ///
    /// # Errors
    /// [`BadOption::Malformed`] if fewer than 4 bytes are left.
    #[expect(clippy::missing_panics_doc, reason = "the field has four bytes")]
    pub fn word(&mut self) -> Result<u32, BadOption> {
        Ok(u32::from_be_bytes(self.bytes(4)?.try_into().expect("four bytes")))
    }

    /// A string preceded by its length in 32 bits.
    ///
    /// # Errors
    /// [`BadOption::TooBig`] if the string is longer than the standard allows, [`BadOption::Malformed`] if
    /// the data ends before the string does.
    pub fn string(&mut self) -> Result<&'a [u8], BadOption> {
        let length = self.word()?;
        if length > MOST_STRING {
            return Err(BadOption::TooBig);
        }
        self.bytes(length as usize)
    }

    /// Checks that all data was parsed.
    ///
    /// # Errors
    /// [`BadOption::Malformed`] if bytes are left.
    pub fn end(self) -> Result<(), BadOption> {
        if self.0.is_empty() { Ok(()) } else { Err(BadOption::Malformed) }
    }
}

/// `NBD_OPT_INFO` and `NBD_OPT_GO`: the name of an export, and the facts requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InfoRequest<'a> {
    /// Name of the export that the client asks about; empty for the default one.
    pub name: &'a [u8],
    /// Whether the client requests the name of the export (`NBD_INFO_NAME`).
    pub wants_name: bool,
    /// Whether the client requests the description of the export (`NBD_INFO_DESCRIPTION`).
    pub wants_description: bool,
}

impl<'a> InfoRequest<'a> {
    /// Parses the data of the option.
    ///
    /// # Errors
    /// [`BadOption::TooBig`] if the name is too long, [`BadOption::Malformed`] if the data ends early or has
    /// trailing bytes.
    pub fn read(data: &'a [u8]) -> Result<InfoRequest<'a>, BadOption> {
        use super::standard::{NBD_INFO_DESCRIPTION, NBD_INFO_NAME};
        let mut fields = Fields::new(data);
        let mut inquiry = InfoRequest { name: fields.string()?, wants_name: false, wants_description: false };
        for _ in 0..fields.short()? {
            match fields.short()? {
                NBD_INFO_NAME => inquiry.wants_name = true,
                NBD_INFO_DESCRIPTION => inquiry.wants_description = true,
                _ => {}
            }
        }
        fields.end()?;
        Ok(inquiry)
    }
}

/// The data of `NBD_OPT_LIST_META_CONTEXT` and `NBD_OPT_SET_META_CONTEXT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextQuery<'a> {
    /// Name of the export that the client asks about; empty for the default one.
    pub name: &'a [u8],
    /// Whether the list of queries is empty.
    pub is_empty: bool,
    /// Whether a query names `base:allocation`.
    pub names_allocation: bool,
    /// Whether a query requests every context in `base:`.
    pub names_base: bool,
}

impl<'a> ContextQuery<'a> {
    /// Parses the data of the option.
    ///
    /// # Errors
    /// [`BadOption::TooBig`] if a name is too long, [`BadOption::Malformed`] if the data ends early or has
    /// trailing bytes.
    pub fn read(data: &'a [u8]) -> Result<ContextQuery<'a>, BadOption> {
        let mut fields = Fields::new(data);
        let name = fields.string()?;
        let queries = fields.word()?;
        let mut query =
            ContextQuery { name, is_empty: queries == 0, names_allocation: false, names_base: false };
        for _ in 0..queries {
            match fields.string()? {
                b"base:allocation" => query.names_allocation = true,
                b"base:" => query.names_base = true,
                _ => {}
            }
        }
        fields.end()?;
        Ok(query)
    }
}
