//! A certificate authority for tests; its files have the names that NBD programs agree on.

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber, date_time_ymd,
};
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A certificate authority.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

impl Authority {
    /// A new authority, which no program trusts yet.
    pub(crate) fn new() -> Authority {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "authority of a test");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().expect("there is randomness");
        let certificate = params.self_signed(&key).expect("its own key").pem();
        Authority { issuer: Issuer::new(params, key), certificate }
    }

    /// Writes `ca-cert.pem`: users of that folder trust certificates of this authority.
    pub(crate) fn trust(&self, folder: &Path) {
        put(folder, "ca-cert.pem", &self.certificate);
    }

    /// Writes certificate and key of a `server` or a `client`, issued for this machine.
    pub(crate) fn issue(&self, folder: &Path, role: &str, serial: u64) {
        let mut params = CertificateParams::new(vec![String::from("localhost")]).expect("a name");
        params.subject_alt_names.push(rcgen::SanType::IpAddress(Ipv4Addr::LOCALHOST.into()));
        params.distinguished_name.push(DnType::CommonName, role);
        params.serial_number = Some(SerialNumber::from(serial));
        // Newer versions of QEMU require both.
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
        params.extended_key_usages = vec![match role {
            "server" => ExtendedKeyUsagePurpose::ServerAuth,
            _ => ExtendedKeyUsagePurpose::ClientAuth,
        }];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().expect("there is randomness");
        let certificate = params.signed_by(&key, &self.issuer).expect("our own authority");
        put(folder, &format!("{role}-cert.pem"), &certificate.pem());
        put(folder, &format!("{role}-key.pem"), &key.serialize_pem());
    }

    /// Writes `ca-crl.pem`, which revokes one certificate.
    #[allow(dead_code, reason = "not all who make certificates revoke any")]
    pub(crate) fn revoke(&self, folder: &Path, serial: u64) {
        let revoked = RevokedCertParams {
            serial_number: SerialNumber::from(serial),
            revocation_time: date_time_ymd(2024, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2024, 1, 1),
            next_update: date_time_ymd(4000, 1, 1),
            crl_number: SerialNumber::from(1u64),
            issuing_distribution_point: None,
            revoked_certs: vec![revoked],
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let list = list.signed_by(&self.issuer).expect("our own authority");
        put(folder, "ca-crl.pem", &list.pem().expect("it can be written"));
    }
}

fn put(folder: &Path, name: &str, content: &str) {
    let path = folder.join(name);
    std::fs::write(&path, content).expect("the folder is writable");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("it is ours");
}
