//! Files with keys and passwords, and checks that they are private.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file with a secret.
#[derive(Debug)]
pub struct Secret {
    /// Content of the file, as it was read.
    pub content: Vec<u8>,
    /// Set if users other than the owner and the group can read or change the file.
    pub exposure: Option<Exposure>,
}

/// Users other than the owner and the group of a file can read or change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "its permissions {permissions:04o} let every user of this machine read or change it: chmod 600 it, and \
     replace what stands in it if others may have seen it"
)]
pub struct Exposure {
    permissions: u32,
}

/// Reads a file with a secret, and checks that it is private: the file's group may read it, others may not.
///
/// # Errors
/// If the file cannot be opened or read.
pub fn read_secret(path: &Path) -> io::Result<Secret> {
    let mut file = File::open(path)?;
    let permissions = file.metadata()?.mode() & 0o7777;
    let exposure = (permissions & OTHERS != 0).then_some(Exposure { permissions });
    let mut content = Vec::new();
    file.read_to_end(&mut content)?;
    Ok(Secret { content, exposure })
}

/// Others may read or write.
const OTHERS: u32 = 0o006;

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_everybody_can_read_is_no_secret() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), "secret").expect("it is ours");
        for (permissions, is_secret) in
            [(0o600, true), (0o400, true), (0o640, true), (0o644, false), (0o602, false)]
        {
            fs::set_permissions(file.path(), Permissions::from_mode(permissions)).expect("it is ours");
            let Secret { content, exposure } = read_secret(file.path()).expect("it is ours");
            assert_eq!((content, exposure.is_none()), (b"secret".to_vec(), is_secret), "{permissions:o}");
        }
        assert!(read_secret(Path::new("/no/such/file")).is_err());
    }
}
