//! How plans are written: one reader and printer for each notation.
