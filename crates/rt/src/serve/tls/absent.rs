//! Substitute for TLS in builds without it: certificates that cannot be constructed.

use super::{BadCertificates, Crossing, Handshakes};
use crate::Clock;
use crate::reactor::Mailbox;
use crate::serve::server::Limits;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Certificates, of which no value exists.
#[derive(Clone, Debug)]
pub enum Certificates {}

impl Certificates {
    /// Fails.
    ///
    /// # Errors
    /// Always: [`BadCertificates::NotBuilt`].
    pub fn load(_: &Path, _: bool) -> Result<Certificates, BadCertificates> {
        Err(BadCertificates::NotBuilt)
    }

    /// Fails.
    ///
    /// # Errors
    /// Always: [`BadCertificates::NotBuilt`].
    pub fn from_files(
        _: &Path,
        _: &Path,
        _: Option<&Path>,
        _: &Path,
    ) -> Result<Certificates, BadCertificates> {
        Err(BadCertificates::NotBuilt)
    }

    /// True if clients must present a certificate.
    pub fn verify_peer(&self) -> bool {
        match *self {}
    }
}

/// A relay, of which no value exists.
#[derive(Debug)]
pub enum Relay {}

impl Relay {
    /// Cannot be called, since there are no certificates.
    ///
    /// # Errors
    /// None: it cannot be called.
    pub fn start(
        certificates: &Certificates,
        _: Arc<Mailbox<Crossing>>,
        _: Limits,
        _: Clock,
    ) -> io::Result<Relay> {
        match *certificates {}
    }

    /// Never called: without the feature `tls` there is no relay.
    pub fn renew(&self, _: Certificates) {
        match *self {}
    }

    /// Never called: without the feature `tls` there is no relay.
    pub fn stop(self) -> Handshakes {
        match self {}
    }
}
