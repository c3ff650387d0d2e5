use std::fmt;

use futures::future::BoxFuture;

/// A prompt that shows people the consent page of an authorization server.
pub trait Consent: fmt::Debug + Send + Sync {
    /// Returns the redirect address.
    fn redirect_uri(&self) -> String;

    /// Shows the `page` to a person who may authorize access to `server`. Returns the complete redirect address, or a
    /// reason, as one clause, why none was received.
    fn ask<'a>(&'a self, server: &'a str, page: &'a str) -> BoxFuture<'a, Result<String, String>>;
}
