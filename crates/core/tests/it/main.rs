//! What core promises to others, seen from outside.

mod cel;
