//! The gateway as its clients meet it, and as those judge it who know nothing of it.

mod client;
mod conformance;
mod faces;
mod host;
