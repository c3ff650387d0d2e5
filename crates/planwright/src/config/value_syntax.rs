//! The syntax of values in a configuration: times, sizes, rates, patterns.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use planwright_core::ToolPattern;
use planwright_core::plan::{Action, Source, Step, Undo};
use planwright_dialects::native::lines::Lines;
use planwright_dialects::{ReadOptions, parse_as};
use planwright_engine::Rate;
use serde::Deserialize;

/// Reads a time such as `250ms`, `30s`, `2m` or `1h`; a bare number counts seconds.
///
/// # Errors
///
/// One clause with the reason why the text is invalid.
pub fn time(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text);
    let number: f64 = number
        .parse()
        .map_err(|_| format!("`{text}` is not a time such as `250ms`, `30s` or `2m`"))?;
    let seconds = match unit {
        "ms" => number / 1000.0,
        "" | "s" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        "d" => number * 86_400.0,
        other => {
            return Err(format!(
                "`{other}` is not a unit of time; use ms, s, m, h or d"
            ));
        }
    };
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("`{text}` is too long"))
}

/// Reads a size such as `64KiB` or `50MB`; a bare number counts bytes.
///
/// # Errors
///
/// One clause with the reason why the text is invalid.
pub fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let number: f64 = number
        .parse()
        .map_err(|_| format!("`{text}` is not a size such as `65536`, `64KiB` or `50MB`"))?;
    let factor: f64 = match unit.to_lowercase().as_str() {
        "" | "b" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "kib" => 1024.0,
        "mib" => 1024.0 * 1024.0,
        "gib" => 1024.0 * 1024.0 * 1024.0,
        _ => {
            return Err(format!(
                "`{unit}` is not a unit of size; use B, kB, MB, GB, KiB, MiB or GiB"
            ));
        }
    };
    let bytes = number * factor;
    if bytes >= 1e15 {
        return Err(format!("`{text}` is too large"));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is below 10^15, and the number has no sign"
    )]
    Ok(bytes as u64)
}

/// Reads a rate such as `10/s`, `100/m` or `5/30s`.
///
/// # Errors
///
/// One clause with the reason why the text is invalid.
pub fn rate(text: &str) -> Result<Rate, String> {
    let wrong = || format!("`{text}` is not a rate such as `10/s` or `100/m`");
    let (calls, per) = text.split_once('/').ok_or_else(wrong)?;
    let calls: NonZeroU32 = calls.trim().parse().map_err(|_| wrong())?;
    let per = per.trim();
    let per = if per.is_empty() {
        return Err(wrong());
    } else if per.starts_with(|letter: char| letter.is_ascii_digit()) {
        time(per)?
    } else {
        time(&format!("1{per}")).map_err(|_| wrong())?
    };
    if per.is_zero() {
        return Err(wrong());
    }
    Ok(Rate { calls, per })
}

/// Splits a text into a number and its unit.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let digits = text
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    (number, unit.trim())
}

/// Returns true if a rule below `[tools]` can have this text. Names of servers may contain spaces, but a text without a server that
/// contains spaces is probably two names.
pub fn is_tool_pattern(text: &str) -> bool {
    let has_server = text.contains('.');
    let is_name = |part: &str| {
        let has_blanks = part.contains(char::is_whitespace);
        !part.is_empty()
            && part.trim() == part
            && !part.contains(char::is_control)
            && (has_server || !has_blanks)
    };
    text.split('.').all(is_name)
}

/// A pattern over the names of tools.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Pattern(pub(super) ToolPattern);

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if is_tool_pattern(&text) {
            return Ok(Self(ToolPattern::new(text)));
        }
        Err(format!(
            "`{text}` cannot be a tool (write it as `server.tool`, `server.*`, `*.delete_*` or `tool`)"
        ))
    }
}

/// A call that undoes another one: `server.tool(name=value, …)`, as in a plan in lines.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct UndoCall {
    pub(super) text: Arc<str>,
    pub(super) undo: Arc<Undo>,
}

impl TryFrom<String> for UndoCall {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || {
            format!(
                "`{text}` is not a call that undoes another one (write it as `server.tool(id=${{output.id}}, name=${{arguments.name}})`)"
            )
        };
        let plan = format!("undo = {text}");
        let read = parse_as(&Lines, plan.as_bytes(), &ReadOptions::new("undo"));
        let plan = read.plan.filter(|_| !read.diagnostics.has_errors());
        let mut steps = plan.ok_or_else(wrong)?.steps.into_iter();
        let (Some(step), None) = (steps.next(), steps.next()) else {
            return Err(wrong());
        };
        let mut undo = None;
        if let Action::Tool(tool) = &step.action {
            let args = step.args.clone();
            undo = Some(Undo {
                tool: tool.clone(),
                args,
            });
        }
        // Nothing but a call with names has a meaning here.
        let undo = undo.filter(|undo| {
            let bare = Step::new(step.id.clone(), step.action.clone(), undo.args.clone());
            let place = step.place;
            step == Step { place, ..bare }
        });
        let undo = undo.ok_or_else(wrong)?;
        let mut reads_known = true;
        undo.args.each_reference(&mut |reference| {
            reads_known &= reference
                .reads()
                .into_iter()
                .all(|read| match &read.source {
                    Source::Step(id) => [Undo::OUTPUT, Undo::ARGUMENTS].contains(&id.as_str()),
                    Source::Result(_)
                    | Source::Slot(_)
                    | Source::Item
                    | Source::Index
                    | Source::Last
                    | Source::ExternalValue(..) => false,
                });
        });
        if !reads_known {
            return Err(format!(
                "`{text}` reads something else than the call that it undoes (it may read `${{output…}}` and `${{arguments…}}`)"
            ));
        }
        Ok(Self {
            text: text.into(),
            undo: Arc::new(undo),
        })
    }
}

/// A time limit.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct TimeLimit(pub(super) Duration);

impl TryFrom<String> for TimeLimit {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match time(&text)? {
            Duration::ZERO => Err(format!("`{text}` is zero; write a longer time")),
            time => Ok(Self(time)),
        }
    }
}

/// A time, which may be zero.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Time(pub(super) Duration);

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        time(&text).map(Self)
    }
}

/// The rate limit of a server.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct RateLimit(pub(super) Rate);

impl TryFrom<String> for RateLimit {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        rate(&text).map(Self)
    }
}

/// A number of bytes, as a number or with a unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size(pub(super) u64);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SizeVisitor)
    }
}

struct SizeVisitor;

impl serde::de::Visitor<'_> for SizeVisitor {
    type Value = Size;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a number of bytes or text such as `64KiB`")
    }

    fn visit_i64<E: serde::de::Error>(self, bytes: i64) -> Result<Size, E> {
        let bytes = u64::try_from(bytes);
        bytes
            .map(Size)
            .map_err(|_| E::custom("a size is not below zero"))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Size, E> {
        size(text).map(Size).map_err(E::custom)
    }
}

/// A URL of HTTP.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct HttpUrl(pub(super) Arc<str>);

impl TryFrom<String> for HttpUrl {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let rest = text.strip_prefix("https://");
        let rest = rest.or_else(|| text.strip_prefix("http://"));
        let is_sign = |letter: char| letter.is_ascii_graphic() && !"\"<>\\^`{|}@".contains(letter);
        match rest {
            Some(rest)
                if !rest.is_empty() && !rest.starts_with('/') && rest.chars().all(is_sign) =>
            {
                Ok(Self(text.into()))
            }
            _ => Err(format!(
                "`{text}` is not the URL of a server (write it as `https://example.com`)"
            )),
        }
    }
}
