//! TLS of the key-value server: memcached's options `-Z` and `-o ssl_…`, and those that block servers have.

use super::arguments::KvArguments;
use crate::failure::Failure;
use std::path::{Path, PathBuf};
use tailcut_base::BadValue;
use tailcut_rt::serve::Certificates;

/// Files of memcached's options for TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// The certificate of the server, with its chain (`ssl_chain_cert`).
    chain: Option<PathBuf>,
    /// Its key (`ssl_key`).
    key: Option<PathBuf>,
    /// The authority for clients (`ssl_ca_cert`).
    authority: Option<PathBuf>,
    /// Clients must present a certificate (`ssl_verify_mode`).
    verifies: bool,
}

impl TlsOptions {
    /// Takes one of `-o`; `false` if it is none about TLS. Notes on options without effect go to `notes`.
    ///
    /// # Errors
    /// A value that would mean something else, with what would be right.
    pub fn extend(&mut self, name: &str, value: &str, notes: &mut Vec<String>) -> Result<bool, BadValue> {
        match name {
            "ssl_chain_cert" => self.chain = Some(value.into()),
            "ssl_key" => self.key = Some(value.into()),
            "ssl_ca_cert" => self.authority = Some(value.into()),
            "ssl_verify_mode" => {
                self.verifies = match value {
                    "0" => false,
                    "2" | "3" => true,
                    _ => {
                        return Err(BadValue::new(
                            "-o ssl_verify_mode: a certificate is either required of clients (2), or not \
                             asked for (0)",
                        ));
                    }
                };
            }
            _ if name.starts_with("ssl_") => {
                notes.push(format!(
                    "-o {name} changes nothing: TLS 1.2 and 1.3 are served, with their usual suites"
                ));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What is missing for TLS with these options (`-Z`).
    pub fn missing(&self) -> Option<&'static str> {
        if self.chain.is_none() || self.key.is_none() {
            return Some("-Z: name the certificate and its key with -o ssl_chain_cert=FILE,ssl_key=FILE");
        }
        let is_missing = self.verifies && self.authority.is_none();
        is_missing.then_some("-o ssl_verify_mode: name the authority for clients with -o ssl_ca_cert=FILE")
    }

    /// Reads the certificates; `None` without TLS.
    ///
    /// # Errors
    /// Files that are missing, or do not fit.
    pub fn load(&self, arguments: &KvArguments) -> Result<Option<Certificates>, Failure> {
        let loaded = match (arguments.tls_certificates(), &self.chain, &self.key) {
            (Some((folder, verify_peer)), ..) => Certificates::load(folder, verify_peer),
            (None, Some(chain), Some(key)) if arguments.others.enable_ssl => {
                let authority = self.authority.as_deref().filter(|_| self.verifies);
                Certificates::from_files(chain, key, authority, Path::new(NO_LIST))
            }
            _ => return Ok(None),
        };
        loaded.map(Some).map_err(|error| Failure::Input(error.to_string()))
    }
}

/// A path at which there is no list of revoked certificates: memcached has no option for one.
const NO_LIST: &str = "/dev/null/none";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_of_memcached_name_the_files() {
        let (mut tls, mut notes) = (TlsOptions::default(), Vec::new());
        let mut take =
            |name: &str, value: &str| tls.extend(name, value, &mut notes).map_err(|bad| bad.message);
        assert_eq!(take("ssl_chain_cert", "cert.pem"), Ok(true));
        assert_eq!(take("ssl_verify_mode", "2"), Ok(true));
        assert_eq!(take("ssl_session_cache", ""), Ok(true));
        assert_eq!(take("modern", ""), Ok(false));
        assert!(take("ssl_verify_mode", "1").is_err_and(|why| why.contains("required of clients (2)")));
        assert!(tls.missing().is_some_and(|missing| missing.starts_with("-Z: ")));
        tls.key = Some("key.pem".into());
        assert!(tls.missing().is_some_and(|missing| missing.contains("ssl_ca_cert")));
        tls.authority = Some("ca.pem".into());
        assert_eq!((tls.missing(), notes.len()), (None, 1));
    }
}
