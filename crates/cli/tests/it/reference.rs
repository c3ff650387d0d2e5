//! Pages that are made of what the library knows.

mod codes;
mod complete;
mod dialects;
mod plan;
mod schemas;
