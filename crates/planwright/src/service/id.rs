//! Random ids.

use std::sync::Arc;

/// A random id of 16 hexadecimal digits, from the system's generator.
///
/// # Panics
///
/// If the system gives no randomness: without it ids could repeat, and with them idempotency keys.
pub fn random_id() -> Arc<str> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the system's generator of random bytes");
    format!("{:016x}", u64::from_be_bytes(bytes)).into()
}
