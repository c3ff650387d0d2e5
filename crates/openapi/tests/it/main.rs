//! Documents as tools, and calls as requests.

mod calls;
mod documents;
