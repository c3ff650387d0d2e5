//! External values for plans, and the tools that may receive them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use planwright_core::check::{AllowList, Policy, Release};
use planwright_core::plan::ExternalValue;
use serde::Deserialize;
use toml::Spanned;

use super::setting::{ConfigText, Origin};
use super::value_syntax::Pattern;

/// A secret: its place, and the tools that may receive it. Only your own file can set the place.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "secret"))]
pub(super) struct SecretTable {
    /// The variable of the environment that holds it.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) env: Option<Spanned<String>>,
    /// The file that holds it, from the folder of this file on; a line break at its end does not count.
    #[cfg_attr(test, schemars(with = "String"))]
    pub(super) file: Option<Spanned<String>>,
    /// The tools that may receive it.
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub(super) tools: Option<Spanned<Vec<Spanned<Pattern>>>>,
}

/// The variables of the environment, with the tools that may receive each.
pub(super) type ToolsByName = BTreeMap<Spanned<String>, Spanned<Vec<Spanned<Pattern>>>>;

/// The secrets by their names.
pub(super) type SecretTables = BTreeMap<Spanned<String>, SecretTable>;

/// The place of an external value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigPlace {
    /// In this variable of the environment.
    Variable(Arc<str>),
    /// In this file. A relative path starts at the folder of the user's configuration.
    File(Arc<str>),
}

/// The rules about external values.
#[derive(Clone, Debug, Default)]
pub(super) struct OutsideRules {
    pub(super) releases: Vec<Release>,
    /// The places of the secrets, by their names.
    pub(super) secrets: Vec<Secret>,
}

/// The place of a secret, and the place of its declaration.
#[derive(Clone, Debug)]
pub(super) struct Secret {
    pub(super) name: Arc<str>,
    pub(super) place: ConfigPlace,
    pub(super) set_in: Arc<str>,
}

impl OutsideRules {
    /// Adds the rules of a file. The user's file releases values. A project's file can only shorten the lists, so its other entries are
    /// ignored.
    pub(super) fn add(&mut self, env: &ToolsByName, secrets: &SecretTables, source: &ConfigText) {
        for (name, tools) in env {
            self.add_release(source, ExternalValue::Environment, name.get_ref(), tools);
        }
        for (name, secret) in secrets {
            if let Some(tools) = &secret.tools {
                self.add_release(source, ExternalValue::Secrets, name.get_ref(), tools);
            }
            let place = match (&secret.env, &secret.file) {
                (Some(variable), _) => Some((
                    ConfigPlace::Variable(variable.get_ref().as_str().into()),
                    variable,
                )),
                (None, Some(file)) => {
                    Some((ConfigPlace::File(file.get_ref().as_str().into()), file))
                }
                (None, None) => None,
            };
            if let Some((place, said)) = place {
                self.secrets.push(Secret {
                    name: name.get_ref().as_str().into(),
                    place,
                    set_in: source.place(said),
                });
            }
        }
    }

    fn add_release(
        &mut self,
        source: &ConfigText,
        what: ExternalValue,
        name: &str,
        tools: &Spanned<Vec<Spanned<Pattern>>>,
    ) {
        let patterns = tools.get_ref().iter();
        let list = AllowList {
            tools: patterns
                .map(|pattern| pattern.get_ref().0.clone())
                .collect(),
            set_in: Some(source.place(tools)),
        };
        let known = self
            .releases
            .iter_mut()
            .find(|known| known.what == what && *known.name == *name);
        match known {
            Some(known) => known.tools.push(list),
            None if source.origin == Origin::User => self.releases.push(Release {
                what,
                name: name.into(),
                tools: vec![list],
            }),
            None => {}
        }
    }

    /// The policy with these rules.
    pub(super) fn restrict(&self, policy: Policy) -> Policy {
        self.releases.iter().cloned().fold(policy, Policy::release)
    }

    /// Returns the place of the text of that name.
    pub(super) fn place(&self, what: ExternalValue, name: &str) -> Option<ConfigPlace> {
        match what {
            ExternalValue::Environment => Some(ConfigPlace::Variable(name.into())),
            ExternalValue::Secrets => {
                let mut secrets = self.secrets.iter();
                let secret = secrets.find(|secret| *secret.name == *name)?;
                Some(secret.place.clone())
            }
        }
    }
}

/// Returns the issues of a file's settings of secrets, each with its place and a hint.
pub(super) fn issues(
    secrets: &SecretTables,
    source: &ConfigText,
) -> Vec<(Range<usize>, String, String)> {
    let mut issues = Vec::new();
    let is_project = source.origin == Origin::Project;
    for (key, secret) in secrets {
        let name = key.get_ref();
        let mut say = |span: Range<usize>, message: String, help: &str| {
            issues.push((span, message, help.to_owned()));
        };
        match (&secret.env, &secret.file) {
            (Some(said), _) | (None, Some(said)) if is_project => say(
                said.span(),
                format!("a project cannot define the source of the secret `{name}`"),
                "the user decides this: put `env` or `file` into your own planwright.toml",
            ),
            (Some(_), Some(file)) => say(
                file.span(),
                format!("the secret `{name}` has two sources"),
                "write `env` or `file`",
            ),
            (None, None) if !is_project => say(
                key.span(),
                format!("the secret `{name}` has no source"),
                "write `env = \"VARIABLE\"` or `file = \"PATH\"`",
            ),
            _ => {}
        }
        if secret.tools.is_none() {
            say(
                key.span(),
                format!("no tool may receive the secret `{name}`"),
                "write `tools = [\"server.tool\"]`",
            );
        }
    }
    issues
}
