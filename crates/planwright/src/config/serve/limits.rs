//! `[serve]` and `[store]`: access to the gateway, its limits, and the limits of time and size of its stored runs.

use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::Value;
use planwright_engine::{Bound, Rate};
use serde::Deserialize;
use toml::Spanned;

use super::oauth::{self, OAuth, OAuthTable};
use crate::config::setting::{self, ConfigText, List, Origin, shown_rate, shown_time};
use crate::config::value_syntax::{HttpUrl, RateLimit, Size, Time, TimeLimit};

/// The limits of `serve` for its clients, and its HTTP server with `--listen`. Without this table it serves this machine alone.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "serve"))]
pub(in crate::config) struct ServeTable {
    /// The names, beside its address, that a request may call the server by, such as `plans.example.com`. Only in your own file.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    hosts: Vec<Spanned<String>>,
    /// The origins of web pages that may send requests, such as `https://chat.example.com`. Only in your own file.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    origins: Vec<Spanned<HttpUrl>>,
    /// The largest request: a number, or text such as `4MiB`.
    #[cfg_attr(test, schemars(schema_with = "crate::config::tests::reference::size"))]
    max_body: Option<Spanned<Size>>,
    /// The largest number of requests of one client in progress; requests that only listen do not count.
    #[cfg_attr(test, schemars(with = "NonZeroU32"))]
    max_requests: Option<Spanned<NonZeroU32>>,
    /// The largest number of plans of one client in progress.
    #[cfg_attr(test, schemars(with = "NonZeroU32"))]
    max_plans: Option<Spanned<NonZeroU32>>,
    /// The largest number of connections, of all clients together.
    #[cfg_attr(test, schemars(with = "NonZeroU32"))]
    max_connections: Option<Spanned<NonZeroU32>>,
    /// The rate limit of one client's requests, such as `100/s`.
    #[cfg_attr(test, schemars(with = "String"))]
    rate: Option<Spanned<RateLimit>>,
    /// The time limit for sending a request, such as `30s`.
    #[cfg_attr(test, schemars(with = "String"))]
    request_time: Option<Spanned<TimeLimit>>,
    /// The time limit of a shutdown, such as `30s`: runs are suspended, and requests in progress answered.
    #[cfg_attr(test, schemars(with = "String"))]
    shutdown_time: Option<Spanned<TimeLimit>>,
    /// The time after the end of a run for which later plans may refer to its results, such as `1h`; `0s` is never.
    #[cfg_attr(test, schemars(with = "String"))]
    recall_for: Option<Spanned<Time>>,
    /// Maximum number of bytes of earlier results that one plan may refer to: a number, or text such as `8MiB`.
    #[cfg_attr(test, schemars(schema_with = "crate::config::tests::reference::size"))]
    recall_bytes: Option<Spanned<Size>>,
    /// The time that a call in a plan may go without progress, such as `5m`, for steps and servers without their own `timeout`. An
    /// open question to a person does not count.
    #[cfg_attr(test, schemars(with = "String"))]
    call_timeout: Option<Spanned<TimeLimit>>,
    /// The time after which a plan becomes a task, such as `2s`, if the client supports tasks; `0s` is at once.
    #[cfg_attr(test, schemars(with = "String"))]
    task_after: Option<Spanned<Time>>,
    /// Maximum number of tokens of the tool list in a description. A model has to search longer lists.
    #[cfg_attr(test, schemars(with = "u64"))]
    listing_tokens: Option<Spanned<u64>>,
    /// True to store records of the calls that clients make without a plan, with arguments and answers. `planwright learn --from` reads these
    /// records. Only the user's own file can switch them on.
    #[cfg_attr(test, schemars(with = "bool"))]
    record_calls: Option<Spanned<bool>>,
    /// The issuer of access tokens.
    #[cfg_attr(test, schemars(with = "OAuthTable"))]
    oauth: Option<Spanned<OAuthTable>>,
}

/// The effective settings of `serve`.
#[derive(Clone, Debug, Default)]
pub struct Serve {
    /// The names of the server that requests may use, apart from its address.
    pub hosts: Vec<Arc<str>>,
    /// The origins of web pages that may send requests.
    pub origins: Vec<Arc<str>>,
    /// The largest request, in bytes.
    pub max_body: Option<Bound>,
    /// Maximum number of requests in flight of one client.
    pub max_requests: Option<Bound<NonZeroU32>>,
    /// Maximum number of plans in progress of one client.
    pub max_plans: Option<Bound<NonZeroU32>>,
    /// Connections of all clients.
    pub max_connections: Option<Bound<NonZeroU32>>,
    /// Requests of one client in the long run.
    pub rate: Option<Bound<Rate>>,
    /// The time limit for sending a request.
    pub request_time: Option<Bound<Duration>>,
    /// The time limit of a shutdown.
    pub shutdown_time: Option<Bound<Duration>>,
    /// The time after the end of a run for which later plans may refer to its results.
    pub recall_for: Option<Bound<Duration>>,
    /// Bytes of earlier results that one plan may refer to.
    pub recall_bytes: Option<Bound>,
    /// The time that a call in a plan may go without progress.
    pub call_timeout: Option<Bound<Duration>>,
    /// The time after which a plan becomes a task.
    pub task_after: Option<Bound<Duration>>,
    /// Tokens that the list of all tools may take in a description.
    pub listing_tokens: Option<Bound>,
    /// True if calls without a plan are recorded.
    pub record_calls: Option<Bound<bool>>,
    /// The issuer of access tokens.
    pub oauth: Option<OAuth>,
    /// The places of settings in the user's own file, by their keys.
    set_in: Vec<(&'static str, Arc<str>)>,
}

impl Serve {
    /// The default maximum size of a request, in bytes.
    pub const MAX_BODY: u64 = 4 * 1024 * 1024;
    /// The default maximum number of requests of one client in progress.
    pub const MAX_REQUESTS: NonZeroU32 = NonZeroU32::new(256).unwrap();
    /// The default maximum number of plans of one client in progress.
    pub const MAX_PLANS: NonZeroU32 = NonZeroU32::new(256).unwrap();
    /// The default maximum number of connections of all clients.
    pub const MAX_CONNECTIONS: NonZeroU32 = NonZeroU32::new(1024).unwrap();
    /// The default rate of requests of one client, if clients have tokens.
    pub const RATE: Rate = Rate {
        calls: NonZeroU32::new(100).unwrap(),
        per: Duration::from_secs(1),
    };
    /// The default time limit for sending a request.
    pub const REQUEST_TIME: Duration = Duration::from_secs(30);
    /// The default time limit of a shutdown.
    pub const SHUTDOWN_TIME: Duration = Duration::from_secs(20);
    /// The default time for which later plans may refer to the results of a run.
    pub const RECALL_FOR: Duration = Duration::from_hours(1);
    /// The default maximum size of earlier results that one plan may refer to, in bytes.
    pub const RECALL_BYTES: u64 = 8 * 1024 * 1024;
    /// The default of `call_timeout`.
    pub const CALL_TIMEOUT: Duration = Duration::from_mins(5);
    /// The default time after which a plan becomes a task.
    pub const TASK_AFTER: Duration = Duration::from_secs(2);
    /// The default maximum number of tokens of the tool list in a description.
    pub const LISTING_TOKENS: u64 = 1000;

    /// Returns true if the calls that clients make without a plan are recorded.
    pub fn records_calls(&self) -> bool {
        self.record_calls.as_ref().is_some_and(|bound| bound.limit)
    }

    /// Adds the settings of a file. Only the user's own file decides about access. Of two bounds the lower one applies; a project's bound
    /// is compared with the built-in one, too.
    pub(in crate::config) fn add(&mut self, table: &ServeTable, source: &ConfigText) {
        if source.origin == Origin::User {
            self.add_own(table, source);
        }
        for (known, value, default) in [
            (&mut self.max_body, &table.max_body, Self::MAX_BODY),
            (
                &mut self.recall_bytes,
                &table.recall_bytes,
                Self::RECALL_BYTES,
            ),
        ] {
            lower(known, source, value.as_ref(), default, |size| size.0);
        }
        for (known, value, default) in [
            (
                &mut self.max_requests,
                &table.max_requests,
                Self::MAX_REQUESTS,
            ),
            (&mut self.max_plans, &table.max_plans, Self::MAX_PLANS),
            (
                &mut self.max_connections,
                &table.max_connections,
                Self::MAX_CONNECTIONS,
            ),
        ] {
            lower(known, source, value.as_ref(), default, |count| *count);
        }
        for (known, value, default) in [
            (
                &mut self.request_time,
                &table.request_time,
                Self::REQUEST_TIME,
            ),
            (
                &mut self.shutdown_time,
                &table.shutdown_time,
                Self::SHUTDOWN_TIME,
            ),
            (
                &mut self.call_timeout,
                &table.call_timeout,
                Self::CALL_TIMEOUT,
            ),
        ] {
            lower(known, source, value.as_ref(), default, |time| time.0);
        }
        for (known, value, default) in [
            (&mut self.recall_for, &table.recall_for, Self::RECALL_FOR),
            (&mut self.task_after, &table.task_after, Self::TASK_AFTER),
        ] {
            lower(known, source, value.as_ref(), default, |time| time.0);
        }
        let (known, value) = (&mut self.listing_tokens, &table.listing_tokens);
        let default = Self::LISTING_TOKENS;
        lower(known, source, value.as_ref(), default, |tokens| *tokens);
        // `false` is lower than `true`, so a project can only switch the records off.
        let (known, value) = (&mut self.record_calls, &table.record_calls);
        lower(known, source, value.as_ref(), false, |records| *records);
        if let Some(value) = &table.rate {
            let rate = value.get_ref().0;
            let gap = |rate: Rate| rate.per / rate.calls.get();
            let is_lower = match &self.rate {
                Some(known) => gap(rate) > gap(known.limit),
                None => source.origin == Origin::User || gap(rate) >= gap(Self::RATE),
            };
            if is_lower {
                self.rate = Some(Bound::set_in(rate, source.place(value)));
            }
        }
    }

    fn add_own(&mut self, table: &ServeTable, source: &ConfigText) {
        self.oauth = table
            .oauth
            .as_ref()
            .and_then(|oauth| OAuth::of(oauth, source));
        for host in &table.hosts {
            let name = host.get_ref().to_ascii_lowercase();
            self.hosts.push(name.into());
            self.set_in.push(("serve.hosts", source.place(host)));
        }
        for origin in &table.origins {
            let text = &origin.get_ref().0;
            let text = text.trim_end_matches('/').to_ascii_lowercase();
            self.origins.push(text.into());
            self.set_in.push(("serve.origins", source.place(origin)));
        }
    }

    /// Lists the settings that are set.
    pub(in crate::config) fn list(&self, list: &mut List) {
        let places = |key: &'static str| {
            let places = self.set_in.iter().filter(move |(known, _)| *known == key);
            places.map(|(_, place)| place)
        };
        for (key, texts) in [
            ("serve.hosts", &self.hosts),
            ("serve.origins", &self.origins),
        ] {
            for (text, place) in texts.iter().zip(places(key)) {
                list.push(key, Value::from(&**text), Some(place));
            }
        }
        let value = |bound: &Option<Bound<NonZeroU32>>| {
            let bound = bound.as_ref()?;
            Some(Bound::set_in(
                u64::from(bound.limit.get()),
                bound.set_in.clone(),
            ))
        };
        list.add("serve.max_body", self.max_body.as_ref(), Value::from);
        for (key, bound) in [
            ("serve.max_requests", &self.max_requests),
            ("serve.max_plans", &self.max_plans),
            ("serve.max_connections", &self.max_connections),
        ] {
            list.add(key, value(bound).as_ref(), Value::from);
        }
        let rate = |rate| Value::from(shown_rate(rate));
        list.add("serve.rate", self.rate.as_ref(), rate);
        for (key, bound) in [
            ("serve.request_time", &self.request_time),
            ("serve.shutdown_time", &self.shutdown_time),
            ("serve.recall_for", &self.recall_for),
            ("serve.task_after", &self.task_after),
            ("serve.call_timeout", &self.call_timeout),
        ] {
            list.add(key, bound.as_ref(), |time| Value::from(shown_time(time)));
        }
        for (key, bound) in [
            ("serve.recall_bytes", &self.recall_bytes),
            ("serve.listing_tokens", &self.listing_tokens),
        ] {
            list.add(key, bound.as_ref(), Value::from);
        }
        let records = self.record_calls.as_ref();
        list.add("serve.record_calls", records, Value::from);
        if let Some(oauth) = &self.oauth {
            oauth.list(list);
        }
    }
}

/// Applies a file's bound if it is lower than the known one. Only the user's own file may exceed the `default` one.
fn lower<T, U: Ord>(
    known: &mut Option<Bound<U>>,
    source: &ConfigText,
    value: Option<&Spanned<T>>,
    default: U,
    limit: impl Fn(&T) -> U,
) {
    let bound = value.map(|value| Bound::set_in(limit(value.get_ref()), source.place(value)));
    let is_free = source.origin == Origin::User || known.is_some();
    let bound = bound.filter(|bound| is_free || bound.limit <= default);
    setting::lower(known, bound);
}

/// Returns the issues of a file's settings of `[serve]`, each with its place and a hint.
pub(in crate::config) fn issues(
    table: &ServeTable,
    source: &ConfigText,
) -> Vec<(Range<usize>, String, String)> {
    let mut issues = Vec::new();
    let mut say = |span: Range<usize>, message: &str, help: &str| {
        issues.push((span, message.to_owned(), help.to_owned()));
    };
    if source.origin == Origin::Project {
        let user_only = [
            table.hosts.first().map(Spanned::span),
            table.origins.first().map(Spanned::span),
            table.oauth.as_ref().map(Spanned::span),
        ];
        for span in user_only.into_iter().flatten() {
            say(
                span,
                "a project cannot configure access to the server",
                "the user decides this: put it into your own planwright.toml",
            );
        }
        return issues;
    }
    for host in &table.hosts {
        let name = host.get_ref();
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-._:[]".contains(letter);
        if name.is_empty() || !name.chars().all(is_name) {
            say(
                host.span(),
                &format!("`{name}` is not the name of a host"),
                "write it as `plans.example.com`, without `https://` and path",
            );
        }
    }
    issues.extend(table.oauth.iter().flat_map(oauth::issues));
    issues
}

/// The time and the size for which `serve` stores runs; without limits if not set. Only in your own file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "store"))]
pub(in crate::config) struct StoreTable {
    /// The time for which runs that have ended are stored, such as `30d`. Runs that wait or were interrupted are not deleted.
    #[cfg_attr(test, schemars(with = "String"))]
    keep: Option<Spanned<TimeLimit>>,
    /// The size of the store at which the oldest runs that have ended are deleted: a number, or text such as `1GiB`.
    #[cfg_attr(test, schemars(schema_with = "crate::config::tests::reference::size"))]
    max_bytes: Option<Spanned<Size>>,
}

/// The time and the size for which runs are stored.
#[derive(Clone, Debug, Default)]
pub struct Retention {
    /// The time for which runs that have ended are stored.
    pub keep: Option<Bound<Duration>>,
    /// The size of the store at which the oldest runs are deleted.
    pub max_bytes: Option<Bound>,
}

impl Retention {
    /// Only the user's own file decides which of the user's runs are deleted.
    pub(in crate::config) fn add(&mut self, table: &StoreTable, source: &ConfigText) {
        if source.origin == Origin::Project {
            return;
        }
        if let Some(keep) = &table.keep {
            self.keep = Some(Bound::set_in(keep.get_ref().0, source.place(keep)));
        }
        if let Some(size) = &table.max_bytes {
            self.max_bytes = Some(Bound::set_in(size.get_ref().0, source.place(size)));
        }
    }

    pub(in crate::config) fn list(&self, list: &mut List) {
        let keep = self.keep.as_ref();
        list.add("store.keep", keep, |keep| Value::from(shown_time(keep)));
        list.add("store.max_bytes", self.max_bytes.as_ref(), Value::from);
    }
}

/// Returns the issues of a file's settings of `[store]`, each with its place and a hint.
pub(in crate::config) fn store_issues(
    table: &StoreTable,
    source: &ConfigText,
) -> Vec<(Range<usize>, String, String)> {
    let value = [
        table.keep.as_ref().map(Spanned::span),
        table.max_bytes.as_ref().map(Spanned::span),
    ];
    match value.into_iter().flatten().next() {
        Some(span) if source.origin == Origin::Project => vec![(
            span,
            "a project cannot configure the retention of runs".to_owned(),
            "the store has the runs of all projects: put it into your own planwright.toml"
                .to_owned(),
        )],
        _ => Vec::new(),
    }
}
