//! The server's certificate and the authorities it trusts, from files with the names that NBD programs agree
//! on (libnbd, nbdkit and qemu: `docs/interop`, "TLS certificates"; nbdkit-tls(1), `qemu(1)` tls-creds-x509).

use super::BadCertificates;
use crate::secret::{Secret, read_secret};
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConnection};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A certificate with its key, and the authority for clients, ready for handshakes.
#[derive(Clone, Debug)]
pub struct Certificates {
    config: Arc<ServerConfig>,
    verify_peer: bool,
}

impl Certificates {
    /// Reads `server-cert.pem` (with its chain) and `server-key.pem` of a folder. With `verify_peer`, clients
    /// must present a certificate of an authority in `ca-cert.pem` that is not revoked by `ca-crl.pem`, if
    /// that exists.
    ///
    /// # Errors
    /// If a file is missing or has the wrong content, or the key does not match the certificate.
    pub fn load(folder: &Path, verify_peer: bool) -> Result<Certificates, BadCertificates> {
        let (chain, key, authority) =
            (folder.join(SERVER_CERTIFICATE), folder.join(SERVER_KEY), folder.join(AUTHORITY));
        let authority = verify_peer.then_some(authority.as_path());
        Certificates::from_files(&chain, &key, authority, &folder.join(REVOKED))
    }

    /// Reads a certificate (with its chain) and its key. With an `authority`, clients must present a
    /// certificate of that file's authorities that is not revoked by the list in `revoked`, if that exists.
    ///
    /// # Errors
    /// If a file is missing or has the wrong content, or the key does not match the certificate.
    #[expect(clippy::missing_panics_doc, reason = "the provider has cipher suites for both versions of TLS")]
    pub fn from_files(
        chain_path: &Path,
        key_path: &Path,
        authority: Option<&Path>,
        revoked: &Path,
    ) -> Result<Certificates, BadCertificates> {
        let chain: Vec<CertificateDer<'static>> = read_all(chain_path)?;
        let unreadable = |error| BadCertificates::Unreadable { path: key_path.into(), error };
        let Secret { content: key, exposure } = read_secret(key_path).map_err(unreadable)?;
        if let Some(exposure) = exposure {
            return Err(unusable(key_path, format!("it is no secret: {exposure}")));
        }
        let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| bad(key_path, error))?;
        let provider = Arc::new(default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13, &TLS12])
            .expect("the provider has suites for both");
        let builder = match authority {
            Some(authority) => builder.with_client_cert_verifier(verifier(authority, revoked, provider)?),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_single_cert(chain, key).map_err(|error| {
            let chain = chain_path.file_name().unwrap_or_default().to_string_lossy();
            unusable(key_path, format!("it does not go with {chain}: {error}"))
        })?;
        // Connections are long-lived, and session resumption would use memory on behalf of unauthenticated
        // clients.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Certificates { config: Arc::new(config), verify_peer: authority.is_some() })
    }

    /// True if clients must present a certificate.
    pub fn verify_peer(&self) -> bool {
        self.verify_peer
    }

    /// A session for a new client.
    pub(super) fn session(&self) -> Result<ServerConnection, rustls::Error> {
        let mut session = ServerConnection::new(Arc::clone(&self.config))?;
        // The link writes nothing to it while output is pending; see there.
        session.set_buffer_limit(None);
        Ok(session)
    }
}

/// Trusts certificates that the authorities of a file have signed and not revoked.
fn verifier(
    path: &Path,
    revoked: &Path,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, BadCertificates> {
    let mut roots = RootCertStore::empty();
    for authority in read_all::<CertificateDer<'static>>(path)? {
        let refused = |error| unusable(path, format!("it cannot be an authority: {error}"));
        roots.add(authority).map_err(refused)?;
    }
    let lists = match read_all::<CertificateRevocationListDer<'static>>(revoked) {
        Err(BadCertificates::Unreadable { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => {
            Vec::new()
        }
        lists => lists?,
    };
    // Not every authority needs a list; certificates on a list are rejected.
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
        .with_crls(lists)
        .allow_unknown_revocation_status()
        .build()
        .map_err(|error| unusable(path, format!("clients cannot be verified with it: {error}")))
}

/// All items of a kind in a file, at least one.
fn read_all<T: PemObject>(path: &Path) -> Result<Vec<T>, BadCertificates> {
    let items = T::pem_file_iter(path).map_err(|error| bad(path, error))?;
    let items: Vec<T> = items.collect::<Result<_, _>>().map_err(|error| bad(path, error))?;
    if items.is_empty() {
        return Err(bad(path, pem::Error::NoItemsFound));
    }
    Ok(items)
}

fn bad(path: &Path, error: pem::Error) -> BadCertificates {
    match error {
        pem::Error::Io(error) => BadCertificates::Unreadable { path: path.into(), error },
        pem::Error::NoItemsFound => unusable(path, "nothing of its kind is in it; it has to be PEM".into()),
        error => unusable(path, format!("it is no PEM: {error}")),
    }
}

fn unusable(path: &Path, why: String) -> BadCertificates {
    BadCertificates::Unusable { path: PathBuf::from(path), why }
}

const SERVER_CERTIFICATE: &str = "server-cert.pem";
const SERVER_KEY: &str = "server-key.pem";
const AUTHORITY: &str = "ca-cert.pem";
const REVOKED: &str = "ca-crl.pem";
