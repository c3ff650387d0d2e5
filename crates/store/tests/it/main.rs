//! Tests of the public interface of the store: durability, exclusivity, formats.

mod damage;
mod files;
mod groups;
mod names;
mod processes;
mod scene;
mod suite;
mod watching;
