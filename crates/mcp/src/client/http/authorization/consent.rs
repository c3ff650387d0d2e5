//! The person who lets us in.

use std::fmt;

use futures::future::BoxFuture;

/// Shows people the page on which they let us into a server.
pub trait Consent: fmt::Debug + Send + Sync {
    /// The address that people are sent back to.
    fn redirect_uri(&self) -> String;

    /// Shows the `page` to whoever may let us into `server`, and gives back the whole address that they were sent back
    /// to; or why there is none, in one clause.
    fn ask<'a>(&'a self, server: &'a str, page: &'a str) -> BoxFuture<'a, Result<String, String>>;
}
