//! Values of a running plan: slots, resolution of references, and the memory that computed values take.

mod read;
pub(super) mod resolve;
pub(super) mod slots;
