//! `[model]`: which model is asked, and how.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::Value;
use serde::Deserialize;
use toml::Spanned;

use super::listing::{List, shown_time};
use super::outside::Place;
use super::source::{ConfigSource, Origin};
use super::words::{HttpUrl, TimeLimit};

/// Which model is asked where one writes plans, and how. Only in your own file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "model"))]
pub(super) struct ModelTable {
    /// The model, such as `openai:gpt-4o`, where neither `--model` nor `PLANWRIGHT_MODEL` names one.
    #[cfg_attr(test, schemars(with = "String"))]
    name: Option<Spanned<String>>,
    /// Where its provider is, if not where it usually is.
    #[cfg_attr(test, schemars(with = "String"))]
    base_url: Option<Spanned<HttpUrl>>,
    /// The variable of the environment that holds the key, if it is not the provider's usual one.
    #[cfg_attr(test, schemars(with = "String"))]
    key_variable: Option<Spanned<String>>,
    /// The file that holds the key, from the folder of this file on; a line break at its end does not count.
    #[cfg_attr(test, schemars(with = "String"))]
    key_file: Option<Spanned<String>>,
    /// In what it writes plans: `json`, or `lines`, which take about two thirds of the tokens; without it, `json`.
    #[cfg_attr(test, schemars(with = "String"))]
    notation: Option<Spanned<PlanNotation>>,
    /// Between 0, nearly the same answer each time, and 2; without it, 0.1.
    #[cfg_attr(test, schemars(with = "f64"))]
    temperature: Option<Spanned<Temperature>>,
    /// The most tokens that it may answer with.
    #[cfg_attr(test, schemars(with = "std::num::NonZeroU32"))]
    max_tokens: Option<Spanned<std::num::NonZeroU32>>,
    /// How long a question may take with all its attempts; without it, `2m`.
    #[cfg_attr(test, schemars(with = "String"))]
    timeout: Option<Spanned<TimeLimit>>,
    /// How often a question is sent where the provider cannot answer for now; without it, 3.
    #[cfg_attr(test, schemars(with = "std::num::NonZeroU32"))]
    attempts: Option<Spanned<std::num::NonZeroU32>>,
    /// What a million of its tokens cost, in US dollars.
    #[cfg_attr(test, schemars(with = "PricesTable"))]
    prices: Option<Spanned<PricesTable>>,
}

/// What a million tokens cost, in US dollars.
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
    /// Tokens that its provider had at hand; without it, as much as others.
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    cached: Option<Price>,
}

/// In what a model writes plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum PlanNotation {
    /// JSON.
    Json,
    /// Lines.
    Lines,
}

impl PlanNotation {
    /// What it is called.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Lines => "lines",
        }
    }
}

impl TryFrom<String> for PlanNotation {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        match word.as_str() {
            "json" => Ok(Self::Json),
            "lines" => Ok(Self::Lines),
            _ => Err(format!(
                "no model writes plans in `{word}` (write `json` or `lines`)"
            )),
        }
    }
}

/// How free a model is.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "f64")]
struct Temperature(f64);

impl TryFrom<f64> for Temperature {
    type Error = String;

    fn try_from(number: f64) -> Result<Self, String> {
        if (0.0..=2.0).contains(&number) {
            return Ok(Self(number));
        }
        Err(format!("`{number}` is no temperature (write 0 to 2)"))
    }
}

/// What something costs.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "f64")]
struct Price(f64);

impl TryFrom<f64> for Price {
    type Error = String;

    fn try_from(number: f64) -> Result<Self, String> {
        if number.is_finite() && number >= 0.0 {
            return Ok(Self(number));
        }
        Err(format!("`{number}` is no price (write 0 or more)"))
    }
}

/// Which model is asked, and how.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ModelSettings {
    /// The model, as `provider:name`.
    pub name: Option<Arc<str>>,
    /// Where its provider is.
    pub base_url: Option<Arc<str>>,
    /// Where the key is.
    pub key: Option<Place>,
    /// In what it writes plans.
    pub notation: Option<PlanNotation>,
    /// How free it is.
    pub temperature: Option<f64>,
    /// The most tokens that it may answer with.
    pub max_tokens: Option<u32>,
    /// How long a question may take.
    pub timeout: Option<Duration>,
    /// How often a question is sent.
    pub attempts: Option<u32>,
    /// What its tokens cost.
    pub prices: Option<ModelPrices>,
    said: Vec<(&'static str, Value, Arc<str>)>,
}

/// What a million tokens cost, in US dollars.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelPrices {
    /// Tokens that it reads.
    pub input: f64,
    /// Tokens that it writes.
    pub output: f64,
    /// Tokens that its provider had at hand.
    pub cached: Option<f64>,
}

impl ModelSettings {
    /// Who is asked hears what the user says and what tools gave, so it is up to the user.
    pub(super) fn add(&mut self, source: &ConfigSource) {
        if source.origin == Origin::Project {
            return;
        }
        let table = &source.file.model;
        let text = |value: &Spanned<String>| Arc::<str>::from(value.get_ref().as_str());
        self.name = table.name.as_ref().map(text);
        self.base_url = table.base_url.as_ref().map(|url| url.get_ref().0.clone());
        let variable = table.key_variable.as_ref().map(text).map(Place::Variable);
        self.key = variable.or_else(|| table.key_file.as_ref().map(text).map(Place::File));
        self.notation = table.notation.as_ref().map(|word| *word.get_ref());
        self.temperature = table.temperature.as_ref().map(|number| number.get_ref().0);
        self.max_tokens = table.max_tokens.as_ref().map(|most| most.get_ref().get());
        self.timeout = table.timeout.as_ref().map(|time| time.get_ref().0);
        self.attempts = table.attempts.as_ref().map(|most| most.get_ref().get());
        self.prices = table
            .prices
            .as_ref()
            .map(|prices| prices.get_ref().prices());
        self.said = said(table, source);
    }

    /// What holds, where something was said. Of a key it is told where it is.
    pub(super) fn list(&self, list: &mut List) {
        for (word, value, place) in &self.said {
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

/// What a file says, and where.
fn said(table: &ModelTable, source: &ConfigSource) -> Vec<(&'static str, Value, Arc<str>)> {
    let mut said = Vec::new();
    let text = |value: &String| Value::from(value.as_str());
    let number = |value: &std::num::NonZeroU32| Value::from(value.get());
    push(&mut said, source, "name", table.name.as_ref(), text);
    push(
        &mut said,
        source,
        "base_url",
        table.base_url.as_ref(),
        |url| Value::from(&*url.0),
    );
    push(
        &mut said,
        source,
        "key_variable",
        table.key_variable.as_ref(),
        text,
    );
    push(&mut said, source, "key_file", table.key_file.as_ref(), text);
    push(
        &mut said,
        source,
        "notation",
        table.notation.as_ref(),
        |word| Value::from(word.as_str()),
    );
    push(
        &mut said,
        source,
        "temperature",
        table.temperature.as_ref(),
        |it| Value::from(it.0),
    );
    push(
        &mut said,
        source,
        "max_tokens",
        table.max_tokens.as_ref(),
        number,
    );
    push(
        &mut said,
        source,
        "timeout",
        table.timeout.as_ref(),
        |time| Value::from(shown_time(time.0)),
    );
    push(
        &mut said,
        source,
        "attempts",
        table.attempts.as_ref(),
        number,
    );
    push(&mut said, source, "prices", table.prices.as_ref(), |it| {
        it.shown()
    });
    said
}

fn push<T>(
    said: &mut Vec<(&'static str, Value, Arc<str>)>,
    source: &ConfigSource,
    word: &'static str,
    value: Option<&Spanned<T>>,
    shown: impl Fn(&T) -> Value,
) {
    if let Some(value) = value {
        said.push((word, shown(value.get_ref()), source.place(value)));
    }
}

/// What is wrong with what a file says about the model: where, what, and the way out.
pub(super) fn faults(source: &ConfigSource) -> Vec<(Range<usize>, String, String)> {
    let table = &source.file.model;
    if source.origin == Origin::Project {
        let spans = [
            table.name.as_ref().map(Spanned::span),
            table.base_url.as_ref().map(Spanned::span),
            table.key_variable.as_ref().map(Spanned::span),
            table.key_file.as_ref().map(Spanned::span),
            table.notation.as_ref().map(Spanned::span),
            table.temperature.as_ref().map(Spanned::span),
            table.max_tokens.as_ref().map(Spanned::span),
            table.timeout.as_ref().map(Spanned::span),
            table.attempts.as_ref().map(Spanned::span),
            table.prices.as_ref().map(Spanned::span),
        ];
        let first = spans.into_iter().flatten().min_by_key(|span| span.start);
        let fault = first.map(|span| {
            (
                span,
                "a project cannot say which model is asked".to_owned(),
                "whoever wrote the project is not whose words go there: put it into your own planwright.toml"
                    .to_owned(),
            )
        });
        return fault.into_iter().collect();
    }
    match (&table.key_variable, &table.key_file) {
        (Some(_), Some(file)) => vec![(
            file.span(),
            "the key of the model is in two places".to_owned(),
            "write `key_variable` or `key_file`".to_owned(),
        )],
        _ => Vec::new(),
    }
}
