//! Soundness: everything that can be known before the first call, found in one go.
