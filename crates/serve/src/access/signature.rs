//! Signatures of access tokens, verified with `ring`, which TLS uses as well.

use std::sync::Once;

use jsonwebtoken::crypto::{CryptoProvider, JwkUtils, JwtVerifier};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::signature::{Error as SignatureError, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use ring::signature::{self as schemes, RsaPublicKeyComponents, UnparsedPublicKey};

/// Makes `jsonwebtoken` verify signatures with `ring`.
pub(super) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // Fails if the program has already installed a provider, which then stays in use.
        let _ = PROVIDER.install_default();
    });
}

static PROVIDER: CryptoProvider = CryptoProvider {
    // The gateway signs nothing.
    signer_factory: |_, _| Err(Error::from(ErrorKind::InvalidAlgorithm)),
    verifier_factory: |algorithm, key| {
        if algorithm.family() != key.family() {
            return Err(Error::from(ErrorKind::InvalidKeyFormat));
        }
        Ok(Box::new(RingVerifier {
            scheme: Scheme::of(*algorithm).ok_or(ErrorKind::InvalidAlgorithm)?,
            algorithm: *algorithm,
            key: key.clone(),
        }))
    },
    // Used to export keys and to compute thumbprints, which the gateway does not do.
    jwk_utils: JwkUtils {
        extract_rsa_public_key_components: |_| Err(Error::from(ErrorKind::InvalidKeyFormat)),
        extract_ec_public_key_coordinates: |_, _| Err(Error::from(ErrorKind::InvalidKeyFormat)),
        compute_digest: |_, _| Vec::new(),
    },
};

/// The signature scheme of an algorithm, in the types of `ring`.
enum Scheme {
    /// A scheme with a modulus and an exponent as its public key.
    Rsa(&'static schemes::RsaParameters),
    /// A scheme with a point of an elliptic curve as its public key.
    EllipticCurve(&'static dyn schemes::VerificationAlgorithm),
}

impl Scheme {
    /// Returns the scheme of `algorithm`; `None` if it uses a shared secret instead of a public key.
    fn of(algorithm: Algorithm) -> Option<Self> {
        Some(match algorithm {
            Algorithm::RS256 => Self::Rsa(&schemes::RSA_PKCS1_2048_8192_SHA256),
            Algorithm::RS384 => Self::Rsa(&schemes::RSA_PKCS1_2048_8192_SHA384),
            Algorithm::RS512 => Self::Rsa(&schemes::RSA_PKCS1_2048_8192_SHA512),
            Algorithm::PS256 => Self::Rsa(&schemes::RSA_PSS_2048_8192_SHA256),
            Algorithm::PS384 => Self::Rsa(&schemes::RSA_PSS_2048_8192_SHA384),
            Algorithm::PS512 => Self::Rsa(&schemes::RSA_PSS_2048_8192_SHA512),
            Algorithm::ES256 => Self::EllipticCurve(&schemes::ECDSA_P256_SHA256_FIXED),
            Algorithm::ES384 => Self::EllipticCurve(&schemes::ECDSA_P384_SHA384_FIXED),
            Algorithm::EdDSA => Self::EllipticCurve(&schemes::ED25519),
            Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512 => return None,
        })
    }
}

struct RingVerifier {
    scheme: Scheme,
    algorithm: Algorithm,
    key: DecodingKey,
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), SignatureError> {
        let verified = match (&self.scheme, self.key.kind()) {
            (Scheme::Rsa(parameters), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                let components = RsaPublicKeyComponents {
                    n: without_leading_zeros(n),
                    e: without_leading_zeros(e),
                };
                components.verify(parameters, message, signature)
            }
            (Scheme::EllipticCurve(scheme), DecodingKeyKind::SecretOrDer(point)) => {
                UnparsedPublicKey::new(*scheme, point).verify(message, signature)
            }
            _ => return Err(SignatureError::new()),
        };
        verified.map_err(|_| SignatureError::new())
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

/// Removes leading zeros, which some issuers write as in DER, and which `ring` refuses.
fn without_leading_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}
