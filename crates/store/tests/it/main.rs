//! The store as others use it: what it keeps, what it survives, who may have what.

mod damage;
mod groups;
mod leases;
mod records;
mod runs;
mod support;
