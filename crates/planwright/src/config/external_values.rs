//! External values for plans, and the tools that may receive them.

use std::sync::Arc;

use planwright_core::check::{AllowList, Policy, Release};
use planwright_core::plan::ExternalValue;
use toml::Spanned;

use super::source::{ConfigSource, Origin};
use super::value_syntax::Pattern;

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
    pub(super) fn add(&mut self, source: &ConfigSource) {
        for (name, tools) in &source.file.env {
            self.add_release(source, ExternalValue::Environment, name.get_ref(), tools);
        }
        for (name, secret) in &source.file.secrets {
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
        source: &ConfigSource,
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
pub(super) fn issues(source: &ConfigSource) -> Vec<(std::ops::Range<usize>, String, String)> {
    let mut issues = Vec::new();
    let is_project = source.origin == Origin::Project;
    for (key, secret) in &source.file.secrets {
        let name = key.get_ref();
        let mut say = |span: std::ops::Range<usize>, message: String, help: &str| {
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
