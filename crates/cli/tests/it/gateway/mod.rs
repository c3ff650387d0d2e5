//! The gateway as its clients meet it, and as those judge it who know nothing of it.

mod client;
mod client_rules;
mod clients;
mod complaints;
mod conformance;
mod continued;
mod edge;
mod ended;
mod faces;
mod fidelity;
mod flow;
mod host;
mod hostile;
mod limits;
mod media;
mod mute;
mod names;
mod page;
mod pins;
mod planning;
mod pushing;
mod recorded;
mod reload;
#[cfg(unix)]
mod replica_faults;
mod replicas;
mod resumption;
mod retention;
mod reverts;
mod rounds;
mod search;
mod serve;
mod unannotated;
mod views;
