//! The encryption of connections: the parameters `sslmode` and `sslrootcert` of an address.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, DigitallySignedStruct, DistinguishedName, RootCertStore, SignatureScheme,
};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_postgres_rustls::MakeRustlsConnect;

/// The modes of an address, as `libpq` names them.
const MODES: &str = "`disable`, `prefer`, `require`, `verify-ca` or `verify-full`";

/// The encryption that an address asks for.
///
/// The names are those of [`libpq`](https://www.postgresql.org/docs/current/libpq-ssl.html). `prefer`, the default, encrypts if the server
/// can and verifies nothing, as there: who can answer in place of the server could also refuse encryption. `require` verifies the
/// certificate and the name of the server, which `libpq` does with `verify-full` only, and so does `verify-ca`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Encryption {
    is_verified: bool,
    /// The file with the certificates of the trusted authorities; those of the system if there is none.
    roots: Option<String>,
}

impl Encryption {
    /// Reads the parameters of an address, and returns the rest of it in the form that the client reads.
    ///
    /// # Errors
    ///
    /// One clause, if a mode does not exist.
    pub(crate) fn of(url: &str) -> Result<(String, Self), String> {
        let mut encryption = Self {
            is_verified: false,
            roots: None,
        };
        // Schemes have no case, but the client expects lower-case letters.
        let url = &match url.split_once("://") {
            Some((scheme, rest)) => format!("{}://{rest}", scheme.to_ascii_lowercase()),
            None => url.to_owned(),
        };
        // A password may contain a question mark.
        let host = url.rfind('@').unwrap_or_default();
        let Some(begin) = url.get(host..).and_then(|rest| rest.find('?')) else {
            return Ok((url.to_owned(), encryption));
        };
        let (address, parameters) = url.split_at(host + begin);
        let mut rest = Vec::new();
        let mut mode = None;
        for parameter in parameters.trim_start_matches('?').split('&') {
            match parameter.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", "system")) => encryption.roots = None,
                Some(("sslrootcert", file)) => encryption.roots = Some(decoded(file)?),
                _ => rest.push(parameter.to_owned()),
            }
        }
        match mode {
            None | Some("prefer") => {}
            Some("disable") => rest.push("sslmode=disable".to_owned()),
            Some("require" | "verify-ca" | "verify-full") => {
                encryption.is_verified = true;
                rest.push("sslmode=require".to_owned());
            }
            Some(other) => return Err(format!("`sslmode` is {MODES}, not `{other}`")),
        }
        if encryption.roots.is_some() && !encryption.is_verified {
            return Err(
                "`sslrootcert` names certificates that only `sslmode=require` verifies".to_owned(),
            );
        }
        rest.retain(|parameter| !parameter.is_empty());
        let separator = if rest.is_empty() { "" } else { "?" };
        Ok((
            format!("{address}{separator}{}", rest.join("&")),
            encryption,
        ))
    }

    /// Returns what encrypts connections.
    ///
    /// # Errors
    ///
    /// One clause, if the file of certificates cannot be read or has none.
    pub(crate) fn connector(&self) -> Result<MakeRustlsConnect, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let config = if !self.is_verified {
            config
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Unverified(provider)))
        } else if let Some(file) = &self.roots {
            config.with_root_certificates(roots(Path::new(file))?)
        } else {
            config
                .with_platform_verifier()
                .map_err(|error| error.to_string())?
        };
        Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
    }
}

/// Reads the certificates of a file in PEM.
fn roots(file: &Path) -> Result<RootCertStore, String> {
    let failed = |reason: String| {
        let file = file.display();
        format!("the certificates in `{file}` cannot be read: {reason}")
    };
    let mut store = RootCertStore::empty();
    for certificate in
        CertificateDer::pem_file_iter(file).map_err(|error| failed(error.to_string()))?
    {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        store
            .add(certificate)
            .map_err(|error| failed(error.to_string()))?;
    }
    if store.is_empty() {
        return Err(failed("there are none".to_owned()));
    }
    Ok(store)
}

/// Decodes the percent-encoded characters of a parameter.
fn decoded(value: &str) -> Result<String, String> {
    let decoded = percent_decode_str(value).decode_utf8();
    decoded
        .map(Into::into)
        .map_err(|_| format!("`{value}` is not UTF-8 once it is decoded"))
}

/// Accepts any certificate. The signatures of the handshake are verified.
struct Unverified(Arc<CryptoProvider>);

impl fmt::Debug for Unverified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Unverified").finish_non_exhaustive()
    }
}

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }

    fn root_hint_subjects(&self) -> Option<&[DistinguishedName]> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(url: &str, rest: &str, is_verified: bool, roots: Option<&str>) {
        let expected = Encryption {
            is_verified,
            roots: roots.map(str::to_owned),
        };
        assert_eq!(Encryption::of(url), Ok((rest.to_owned(), expected)));
    }

    #[test]
    fn the_modes_of_an_address_are_those_of_libpq() {
        reads("postgres://h/d", "postgres://h/d", false, None);
        reads("PostgreSQL://Me@h/D", "postgresql://Me@h/D", false, None);
        reads(
            "postgres://h/d?sslmode=prefer",
            "postgres://h/d",
            false,
            None,
        );
        reads(
            "postgres://h/d?sslmode=disable",
            "postgres://h/d?sslmode=disable",
            false,
            None,
        );
        for mode in ["require", "verify-ca", "verify-full"] {
            let url = format!("postgres://h/d?sslmode={mode}&connect_timeout=3");
            reads(
                &url,
                "postgres://h/d?connect_timeout=3&sslmode=require",
                true,
                None,
            );
        }
        reads(
            "postgres://me:se?cret@h/d?sslrootcert=/a%20b/ca.pem&sslmode=verify-full",
            "postgres://me:se?cret@h/d?sslmode=require",
            true,
            Some("/a b/ca.pem"),
        );
        reads(
            "postgres://h/d?sslmode=require&sslrootcert=system",
            "postgres://h/d?sslmode=require",
            true,
            None,
        );
    }

    #[test]
    fn a_mode_that_does_not_exist_is_refused() {
        let error = Encryption::of("postgres://h/d?sslmode=allways").unwrap_err();
        assert!(error.ends_with("not `allways`"), "{error}");
        let error = Encryption::of("postgres://h/d?sslrootcert=ca.pem").unwrap_err();
        assert!(error.contains("only `sslmode=require` verifies"), "{error}");
        let error = Encryption::of("postgres://h/d?sslmode=require&sslrootcert=%ff").unwrap_err();
        assert!(error.contains("not UTF-8"), "{error}");
    }

    #[test]
    fn a_file_without_certificates_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        for text in [None, Some("nothing")] {
            if let Some(text) = text {
                std::fs::write(&file, text).unwrap();
            }
            let url = format!(
                "postgres://h/d?sslmode=require&sslrootcert={}",
                file.display()
            );
            let (_, encryption) = Encryption::of(&url).unwrap();
            let error = encryption.connector().err().unwrap();
            assert!(error.contains("ca.pem` cannot be read: "), "{error}");
        }
    }
}
