//! `[model]`: the model, and the settings of its requests.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::Value;
use planwright_dialects::native::PlanDialect;
use serde::Deserialize;
use toml::Spanned;

use super::external_values::ConfigPlace;
use super::setting::{ConfigText, List, Origin, shown_time};
use super::value_syntax::{HttpUrl, TimeLimit};

/// The model that writes plans. Only in your own file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "model"))]
pub(super) struct ModelTable {
    /// The model, such as `openai:gpt-4o`, if neither `--model` nor `PLANWRIGHT_MODEL` names one.
    #[cfg_attr(test, schemars(with = "String"))]
    name: Option<Spanned<String>>,
    /// The address of its provider, if it is not the usual one.
    #[cfg_attr(test, schemars(with = "String"))]
    base_url: Option<Spanned<HttpUrl>>,
    /// The variable of the environment that holds the key, if it is not the provider's usual one.
    #[cfg_attr(test, schemars(with = "String"))]
    key_variable: Option<Spanned<String>>,
    /// The file that holds the key, from the folder of this file on; a line break at its end does not count.
    #[cfg_attr(test, schemars(with = "String"))]
    key_file: Option<Spanned<String>>,
    /// The dialect of its plans: `json`, or `lines`, which take about two thirds of the tokens; without it, `json`.
    ///
    /// Earlier versions had it as `notation`, which is still read.
    #[serde(alias = "notation")]
    #[cfg_attr(test, schemars(with = "String"))]
    dialect: Option<Spanned<PlanDialect>>,
    /// Between 0, nearly the same answer each time, and 2; without it, 0.1.
    #[cfg_attr(test, schemars(with = "f64"))]
    temperature: Option<Spanned<Temperature>>,
    /// Maximum number of tokens of an answer.
    #[cfg_attr(test, schemars(with = "std::num::NonZeroU32"))]
    max_tokens: Option<Spanned<std::num::NonZeroU32>>,
    /// The time limit of a question with all its attempts; without it, `2m`.
    #[cfg_attr(test, schemars(with = "String"))]
    timeout: Option<Spanned<TimeLimit>>,
    /// The number of attempts if the provider cannot answer for now; without it, 3.
    #[cfg_attr(test, schemars(with = "std::num::NonZeroU32"))]
    attempts: Option<Spanned<std::num::NonZeroU32>>,
    /// The price of a million of its tokens, in US dollars.
    #[cfg_attr(test, schemars(with = "PricesTable"))]
    prices: Option<Spanned<PricesTable>>,
}

/// The price of a million tokens, in US dollars.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "prices"))]
pub(super) struct PricesTable {
    /// Tokens that it reads.
    #[cfg_attr(test, schemars(with = "f64"))]
    input: Price,
    /// Tokens that it writes.
    #[cfg_attr(test, schemars(with = "f64"))]
    output: Price,
    /// Tokens that its provider read from its cache; without it, the same as others.
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    cached: Option<Price>,
}

/// The temperature of a model.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "f64")]
struct Temperature(f64);

impl TryFrom<f64> for Temperature {
    type Error = String;

    fn try_from(number: f64) -> Result<Self, String> {
        if (0.0..=2.0).contains(&number) {
            return Ok(Self(number));
        }
        Err(format!("`{number}` is not a temperature (write 0 to 2)"))
    }
}

/// A price.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "f64")]
struct Price(f64);

impl TryFrom<f64> for Price {
    type Error = String;

    fn try_from(number: f64) -> Result<Self, String> {
        if number.is_finite() && number >= 0.0 {
            return Ok(Self(number));
        }
        Err(format!("`{number}` is not a price (write 0 or more)"))
    }
}

/// The settings of the model that writes plans.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ModelSettings {
    /// The model, as `provider:name`.
    pub name: Option<Arc<str>>,
    /// The address of its provider.
    pub base_url: Option<Arc<str>>,
    /// The place of the key.
    pub key: Option<ConfigPlace>,
    /// The dialect of its plans.
    pub dialect: Option<PlanDialect>,
    /// The temperature.
    pub temperature: Option<f64>,
    /// Maximum number of tokens of an answer.
    pub max_tokens: Option<u32>,
    /// The time limit of a question.
    pub timeout: Option<Duration>,
    /// The number of attempts of a question.
    pub attempts: Option<u32>,
    /// The prices of its tokens.
    pub prices: Option<ModelPrices>,
    settings: Vec<(&'static str, Value, Arc<str>)>,
}

/// The price of a million tokens, in US dollars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelPrices {
    /// Tokens that it reads.
    pub input: f64,
    /// Tokens that it writes.
    pub output: f64,
    /// Tokens that its provider read from its cache.
    pub cached: Option<f64>,
}

impl ModelSettings {
    /// The model sees the user's words and the results of tools, so only the user's own file chooses it.
    pub(super) fn add(&mut self, table: &ModelTable, source: &ConfigText) {
        if source.origin == Origin::Project {
            return;
        }
        let text = |value: &Spanned<String>| Arc::<str>::from(value.get_ref().as_str());
        self.name = table.name.as_ref().map(text);
        self.base_url = table.base_url.as_ref().map(|url| url.get_ref().0.clone());
        let variable = table
            .key_variable
            .as_ref()
            .map(text)
            .map(ConfigPlace::Variable);
        self.key = variable.or_else(|| table.key_file.as_ref().map(text).map(ConfigPlace::File));
        self.dialect = table.dialect.as_ref().map(|word| *word.get_ref());
        self.temperature = table.temperature.as_ref().map(|number| number.get_ref().0);
        self.max_tokens = table.max_tokens.as_ref().map(|limit| limit.get_ref().get());
        self.timeout = table.timeout.as_ref().map(|time| time.get_ref().0);
        self.attempts = table.attempts.as_ref().map(|limit| limit.get_ref().get());
        self.prices = table
            .prices
            .as_ref()
            .map(|prices| prices.get_ref().prices());
        self.settings = settings(table, source);
    }

    /// Lists the settings that are set. For a key, only its place is listed.
    pub(super) fn list(&self, list: &mut List) {
        for (word, value, place) in &self.settings {
            list.push(&format!("model.{word}"), value.clone(), Some(place));
        }
    }
}

impl PricesTable {
    fn prices(self) -> ModelPrices {
        ModelPrices {
            input: self.input.0,
            output: self.output.0,
            cached: self.cached.map(|price| price.0),
        }
    }

    fn shown(self) -> Value {
        let cached = self.cached.map(|price| ("cached", Value::from(price.0)));
        let prices = [
            ("input", Value::from(self.input.0)),
            ("output", Value::from(self.output.0)),
        ];
        Value::object(prices.into_iter().chain(cached))
    }
}

/// The settings of a file, with their places.
fn settings(table: &ModelTable, source: &ConfigText) -> Vec<(&'static str, Value, Arc<str>)> {
    let mut settings = Vec::new();
    let text = |value: &String| Value::from(value.as_str());
    let number = |value: &std::num::NonZeroU32| Value::from(value.get());
    push(&mut settings, source, "name", table.name.as_ref(), text);
    push(
        &mut settings,
        source,
        "base_url",
        table.base_url.as_ref(),
        |url| Value::from(&*url.0),
    );
    push(
        &mut settings,
        source,
        "key_variable",
        table.key_variable.as_ref(),
        text,
    );
    push(
        &mut settings,
        source,
        "key_file",
        table.key_file.as_ref(),
        text,
    );
    push(
        &mut settings,
        source,
        "dialect",
        table.dialect.as_ref(),
        |word| Value::from(word.as_str()),
    );
    push(
        &mut settings,
        source,
        "temperature",
        table.temperature.as_ref(),
        |it| Value::from(it.0),
    );
    push(
        &mut settings,
        source,
        "max_tokens",
        table.max_tokens.as_ref(),
        number,
    );
    push(
        &mut settings,
        source,
        "timeout",
        table.timeout.as_ref(),
        |time| Value::from(shown_time(time.0)),
    );
    push(
        &mut settings,
        source,
        "attempts",
        table.attempts.as_ref(),
        number,
    );
    push(
        &mut settings,
        source,
        "prices",
        table.prices.as_ref(),
        |it| it.shown(),
    );
    settings
}

fn push<T>(
    settings: &mut Vec<(&'static str, Value, Arc<str>)>,
    source: &ConfigText,
    word: &'static str,
    value: Option<&Spanned<T>>,
    shown: impl Fn(&T) -> Value,
) {
    if let Some(value) = value {
        settings.push((word, shown(value.get_ref()), source.place(value)));
    }
}

/// Returns the issues of a file's settings of the model, each with its place and a hint.
pub(super) fn issues(
    table: &ModelTable,
    source: &ConfigText,
) -> Vec<(Range<usize>, String, String)> {
    if source.origin == Origin::Project {
        let spans = [
            table.name.as_ref().map(Spanned::span),
            table.base_url.as_ref().map(Spanned::span),
            table.key_variable.as_ref().map(Spanned::span),
            table.key_file.as_ref().map(Spanned::span),
            table.dialect.as_ref().map(Spanned::span),
            table.temperature.as_ref().map(Spanned::span),
            table.max_tokens.as_ref().map(Spanned::span),
            table.timeout.as_ref().map(Spanned::span),
            table.attempts.as_ref().map(Spanned::span),
            table.prices.as_ref().map(Spanned::span),
        ];
        let first = spans.into_iter().flatten().min_by_key(|span| span.start);
        let issue = first.map(|span| {
            (
                span,
                "a project cannot choose the model".to_owned(),
                "the user decides this: put it into your own planwright.toml".to_owned(),
            )
        });
        return issue.into_iter().collect();
    }
    match (&table.key_variable, &table.key_file) {
        (Some(_), Some(file)) => vec![(
            file.span(),
            "the key of the model has two sources".to_owned(),
            "write `key_variable` or `key_file`".to_owned(),
        )],
        _ => Vec::new(),
    }
}
