//! `[serve]`, `[serve.oauth]`, `[clients]` and `[store]`: the gateway, its clients, and the limits of its stored runs.

mod clients;
mod limits;
mod oauth;

#[cfg(test)]
pub(super) use clients::ClientTable;
pub use clients::{AuthenticatedClient, ClientName, ClientPolicy, ClientRules, ClientSelector};
pub(super) use clients::{
    ClientTables, add as add_clients, issues as client_issues, list as list_clients,
};
pub use limits::{Retention, Serve};
pub(super) use limits::{ServeTable, StoreTable, issues, store_issues};
pub use oauth::OAuth;
