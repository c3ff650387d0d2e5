//! Keys that sign tokens for tests, made anew each time, and signatures of an RSA key.

use jsonwebtoken::Algorithm;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

use super::issuer::IssuerKey;
use super::signature;

/// A key pair of an issuer.
pub(crate) struct SigningKey {
    pub(crate) id: &'static str,
    pair: Pair,
}

enum Pair {
    Ed25519(Ed25519KeyPair),
    P256(Box<EcdsaKeyPair>),
}

impl SigningKey {
    pub(crate) fn ed25519(id: &'static str) -> Self {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let pair = Pair::Ed25519(Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap());
        Self { id, pair }
    }

    pub(crate) fn p256(id: &'static str) -> Self {
        let (scheme, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let made = EcdsaKeyPair::generate_pkcs8(scheme, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(scheme, made.as_ref(), &random).unwrap();
        let pair = Pair::P256(Box::new(pair));
        Self { id, pair }
    }

    pub(crate) fn algorithm(&self) -> &'static str {
        match self.pair {
            Pair::Ed25519(_) => "EdDSA",
            Pair::P256(_) => "ES256",
        }
    }

    /// Returns the public key, as a key set has it.
    pub(crate) fn public(&self) -> Value {
        match &self.pair {
            Pair::Ed25519(pair) => json!({
                "kid": self.id, "kty": "OKP", "crv": "Ed25519", "use": "sig",
                "x": base64(pair.public_key().as_ref()),
            }),
            Pair::P256(pair) => {
                let point = pair.public_key().as_ref();
                json!({
                    "kid": self.id, "kty": "EC", "crv": "P-256", "alg": "ES256",
                    "x": base64(&point[1..33]), "y": base64(&point[33..]),
                })
            }
        }
    }

    /// Signs claims under the usual header.
    pub(crate) fn sign(&self, claims: &Value) -> String {
        let header = json!({"typ": "at+jwt", "alg": self.algorithm(), "kid": self.id});
        self.sign_with(&header, claims)
    }

    pub(crate) fn sign_with(&self, header: &Value, claims: &Value) -> String {
        let message = unsigned(header, claims);
        let signature = match &self.pair {
            Pair::Ed25519(pair) => pair.sign(message.as_bytes()).as_ref().to_vec(),
            Pair::P256(pair) => {
                let signed = pair.sign(&SystemRandom::new(), message.as_bytes());
                signed.unwrap().as_ref().to_vec()
            }
        };
        format!("{message}.{}", base64(&signature))
    }
}

/// Returns the header and the claims of a token.
pub(crate) fn unsigned(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| base64(value.to_string().as_bytes());
    format!("{}.{}", part(header), part(claims))
}

/// Encodes bytes as base64url without padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..=chunk.len() {
            let letter = bits >> (18 - 6 * place) & 63;
            text.push(char::from(LETTERS[usize::try_from(letter).unwrap()]));
        }
    }
    text
}

/// The modulus of an RSA key whose private part is gone.
const MODULUS: &str = "mf5N2xe1fP9s6Z80JdLxWTj0dH93eeE0y3n0QFWlWBhQNeC7fh74YMtLNsNuecU39fPB7b5sdMG5lSw-o6CaMrVqkpPS6FY1mFBSyfQd-k1Juq97dEBg1qG_5Pe_XSs6_sgV3MmHa6ygAgArNNK4cUtnaGduOnLHU0I405iIxMtDXXbl10r9vp9tFedOGO5BjlVQ4524RPwiaMPS38mmBhT3syyyndutaQnQp5HC0XHTu5kLyig01k9fcShPbebPYs48w799Sl8Fa9wvvdboGmZxhqNeKIOCT3mhlwCBNF8PBjij234-cSxesXPfCHMLLBwMQpupeUYuvI7LZEJvHw";

/// Tokens that the key has signed, by their algorithms.
const SIGNED: [(&str, &str); 3] = [
    (
        "RS256",
        "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZGEifQ.O94WzIjvBx7wL5_rgcxG78-Zedd2Je2hqGZ4lq3JDqkC8bk3kV6w4zmV7m1CngxXBCPFdbFs2Tyhox3t7BpOgZg9Cp5NpFctAQUOvD4FVZ62khnwF5k4C2DYqnHUbRVfHCs8eIhmFs13jd-F-dYMUp7SGkz7PnOYmVN3jVrMSwDf7ST-gXlBiOlW4XiHj4r6bi0BopYOzZWLoW-3HBc7TmUZ4fECFPrufVJlZpqBUg3clQqK9hITTtEpnWlESjkxMnPvTQGU6aWebOnxBsFEbLaELMvbMut8GBWQOU3FX5yMmZ3nzqMr4f9L_LpYLnwhYhZkl20F2V7G0NqTHp0MUw",
    ),
    (
        "PS256",
        "eyJhbGciOiJQUzI1NiJ9.eyJzdWIiOiJhZGEifQ.EerRYf44bpPHoZdtPEHu56GypgT2-7LgDUdu7N771FOCabkMclgG55JxtTdev01iqsioULGykTSdZsjbs5seeinrjdMHl3fy292qI-0DPWq4o_w375IKGBHhoUgapoO12s8RFFDfvDrcFPJ-Ug7WfxoA3fKc-8EyUy331FdKaUjI0Toh40wl_KD8X4lfrwjc3lhYGKRnN_OOwXizMnGuKY91BHFkIRMNSgBpbqNDFlwsL0yxqox3KFr7m-uNqhlAHAQFTFkCoxEJ20p7fgnq4KdJOTFiRnKPlpZsrlVroOlHVawFi8zd66AxhJlaavkyFAVnHyOh2Z-6yqqyou5K1g",
    ),
    (
        "RS512",
        "eyJhbGciOiJSUzUxMiJ9.eyJzdWIiOiJhZGEifQ.HX5_S6oqmYSCMGOpUWRZXVU9rrGE7lu9pEuu62OhlUrVSqXSlqgzSdaBz1EGywOEVSJ0dRk4QVcFlocTvdp2wcZMLm9pRHWiWDFOg1moVv-dpGCUVslyuz5QHjf-hCw3rxbZOQ-Pq7xGG--XIfUxBb1ewNdPsWTErMleZjjSHzp2gDB0EUrR528GW6DIWmjWKI4j4knT2KrPt9BNThmWYN_sezSQdkk9yYg9SWKPgdewZJhP83Cpf_yk9Y5VAtnoUPoAcutfUw8oZqbq5DTpKfYMZtjdkBCeZ2NsZsIdyQt8dXNKPVGMNV6DSlPq5DT3YFOjzBdfwH9sebdPdOdZmw",
    ),
];

/// Returns true if a token has a signature of an issuer with this key set entry.
fn is_signed(key: &Value, algorithm: &str, token: &str) -> bool {
    signature::install();
    let Some(key) = IssuerKey::read(key.clone()) else {
        return false;
    };
    let algorithm: Algorithm = algorithm.parse().unwrap();
    let (message, signature) = token.rsplit_once('.').unwrap();
    let verified = jsonwebtoken::crypto::verify(signature, message.as_bytes(), &key.key, algorithm);
    verified.unwrap_or(false)
}

#[test]
fn signatures_of_rsa_keys() {
    let key = json!({"kty": "RSA", "n": MODULUS, "e": "AQAB"});
    for (algorithm, token) in SIGNED {
        assert!(is_signed(&key, algorithm, token), "{algorithm}");
        let (message, signature) = token.rsplit_once('.').unwrap();
        assert!(!is_signed(
            &key,
            algorithm,
            &format!("{message}x.{signature}")
        ));
        let other = if algorithm == "RS256" {
            "PS256"
        } else {
            "RS256"
        };
        assert!(!is_signed(&key, other, token), "{algorithm} as {other}");
    }
    // Some issuers write the number as DER has it.
    let bytes = format!("AA{MODULUS}");
    assert_eq!(
        IssuerKey::read(json!({"kty": "RSA", "n": bytes, "e": "AAEAAQ"})).map(drop),
        Some(())
    );
}

#[test]
fn a_key_of_one_kind_verifies_no_other() {
    let (ed, p256) = (SigningKey::ed25519("a"), SigningKey::p256("b"));
    let token = ed.sign(&json!({}));
    assert!(is_signed(&ed.public(), "EdDSA", &token));
    assert!(!is_signed(&p256.public(), "ES256", &token));
    assert!(!is_signed(&p256.public(), "EdDSA", &token));
    assert!(!is_signed(&ed.public(), "RS256", &token));
    assert!(!is_signed(&ed.public(), "HS256", &token));
}

#[test]
fn keys_that_sign_nothing_are_left_out() {
    let public = SigningKey::p256("a").public();
    let with = |name: &str, value: &str| {
        let mut key = public.clone();
        key[name] = json!(value);
        IssuerKey::read(key).is_some()
    };
    assert!(with("use", "sig") && with("alg", "ES256"));
    for (name, value) in [
        ("use", "enc"),
        ("alg", "RSA-OAEP"),
        ("alg", "ES384"),
        ("alg", "none"),
        ("crv", "P-521"),
        ("kty", "other"),
    ] {
        assert!(!with(name, value), "{name} {value}");
    }
    let secret = json!({"kty": "oct", "k": "c2VjcmV0", "alg": "HS256"});
    assert!(IssuerKey::read(secret).is_none());
}
