//! `planwright serve`: the gateway, over stdio or HTTP.

pub(crate) mod edge;
