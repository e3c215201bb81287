//! Authorities whose certificates are trusted besides the system's.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use reqwest::{Certificate, ClientBuilder};

/// Most bytes of a file of certificates: the bundles of whole systems have a quarter of it.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Authorities that a declaration names in `ca_file`, for services inside a company.
#[derive(Clone, Debug, Default)]
pub struct Authorities {
    file: Option<PathBuf>,
}

impl Authorities {
    /// Names a file of certificates in PEM, or none. It is read when a client is made.
    pub fn new(file: Option<PathBuf>) -> Self {
        Self { file }
    }

    /// Makes a client trust them, besides those the system trusts.
    ///
    /// # Errors
    /// Why they cannot be had, for people: nothing is sent without them.
    pub fn trusted_by(&self, client: ClientBuilder) -> Result<ClientBuilder, String> {
        let Some(file) = &self.file else { return Ok(client) };
        let wrong = |reason: &dyn std::fmt::Display| format!("ca_file {}: {reason}", file.display());
        let bytes = read(file).map_err(|error| wrong(&error))?;
        let certificates = Certificate::from_pem_bundle(&bytes).map_err(|error| wrong(&error))?;
        if certificates.is_empty() {
            return Err(wrong(&"it holds no certificate"));
        }
        Ok(client.tls_certs_merge(certificates))
    }
}

fn read(file: &Path) -> Result<Vec<u8>, std::io::Error> {
    let mut bytes = Vec::new();
    std::fs::File::open(file)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(std::io::Error::other(format!("it has more than {FILE_BYTES_MAX} bytes")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_at_the_limit_is_read_and_one_byte_more_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        for (more, holds) in [(0, true), (1, false)] {
            std::fs::write(&file, vec![b'\n'; usize::try_from(FILE_BYTES_MAX).unwrap() + more]).unwrap();
            assert_eq!(read(&file).is_ok(), holds);
        }
    }
}
