//! How large an expression may be, so that neither reading nor evaluating one can exhaust the stack.

/// The most characters between `${` and `}`.
pub const LONGEST_TEXT: usize = 4000;

/// The most brackets, arguments and branches inside of each other.
pub const MOST_NESTED: usize = 32;
