//! Documents of the commands that write and show configuration.

use std::sync::Arc;

use planwright_core::Value;
use serde::Serialize;

/// The schema's name and version, for the report of `wrap`.
pub const WRAP_SCHEMA: &str = "planwright.wrap/1";

/// The schema's name and version, for the report of `init`.
pub const INIT_SCHEMA: &str = "planwright.init/1";

/// The changes to the files of a client.
#[derive(Clone, Debug, Serialize)]
pub struct WrapV1 {
    /// [`WRAP_SCHEMA`].
    pub schema: &'static str,
    /// True if servers were put back rather than away.
    pub undo: bool,
    /// True for a dry run, which changes nothing.
    pub dry_run: bool,
    /// The lists of servers, each with its changes.
    pub files: Vec<WrappedFileV1>,
}

/// The changes to one list of servers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct WrappedFileV1 {
    /// The client's file.
    pub path: String,
    /// The scope of the servers, `user`, `project` or `local`, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<&'static str>,
    /// The name of the gateway's entry.
    pub entry: &'static str,
    /// True if the file changed, or would change.
    pub changed: bool,
    /// The servers that moved behind the gateway now.
    pub moved: Vec<String>,
    /// The servers that could not.
    pub stay: Vec<StayingServerV1>,
    /// The restored servers, by their current names.
    pub returned: Vec<String>,
    /// The servers that could not have their name back.
    pub renamed: Vec<RenamedServerV1>,
    /// The file that holds the servers behind the gateway.
    pub servers_file: String,
    /// The client's file as it was before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<String>,
    /// The lines that would change, without the values of environment variables and headers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub difference: Vec<String>,
    /// The client's rules about the tools of these servers, if it has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<CarriedRulesV1>,
}

/// The changes to a client's rules about tools.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CarriedRulesV1 {
    /// The user's own `planwright.toml`.
    pub file: String,
    /// The rules by which a tool need not ask.
    pub no_ask: Vec<CarriedRuleV1>,
    /// The rules by which a tool asks.
    pub ask: Vec<CarriedRuleV1>,
    /// The rules by which a tool is denied.
    pub deny: Vec<CarriedRuleV1>,
    /// The rules that were not carried over: they would loosen the configuration, and others can write their file.
    pub left: Vec<CarriedRuleV1>,
    /// The lines that are added to the file, or taken out of it.
    pub difference: Vec<String>,
}

/// A client's rule about tools of one server.
#[derive(Clone, Debug, Serialize)]
pub struct CarriedRuleV1 {
    /// The tools, as `planwright.toml` names them.
    pub tools: String,
    /// The rule, as the client has it.
    pub rule: String,
    /// The client's file.
    pub from: String,
}

/// A server that stays with its client.
#[derive(Clone, Debug, Serialize)]
pub struct StayingServerV1 {
    /// The name of the server.
    pub server: String,
    /// The reason.
    pub because: String,
}

/// A server that was restored under another name, since the client has another one with its name.
#[derive(Clone, Debug, Serialize)]
pub struct RenamedServerV1 {
    /// The name before.
    pub server: String,
    /// The name now.
    pub now: String,
}

impl WrapV1 {
    /// The document about `files`.
    pub fn new(undo: bool, dry_run: bool, files: Vec<WrappedFileV1>) -> Self {
        Self {
            schema: WRAP_SCHEMA,
            undo,
            dry_run,
            files,
        }
    }
}

/// The files that `init` wrote, and those that it left alone.
#[derive(Clone, Debug, Serialize)]
pub struct InitV1 {
    /// [`INIT_SCHEMA`].
    pub schema: &'static str,
    /// The files that are new.
    pub written: Vec<String>,
    /// The files that were there already.
    #[serde(rename = "kept")]
    pub existing: Vec<String>,
}

impl InitV1 {
    /// The document about files that were written and files that existed.
    pub fn new(written: Vec<String>, existing: Vec<String>) -> Self {
        Self {
            schema: INIT_SCHEMA,
            written,
            existing,
        }
    }
}

/// The schema's name and version.
pub const CONFIG_SCHEMA: &str = "planwright.config/1";

/// The effective configuration, with the source of each setting.
#[derive(Clone, Debug, Serialize)]
pub struct ConfigV1 {
    /// [`CONFIG_SCHEMA`].
    pub schema: &'static str,
    /// The files that were read.
    pub files: Vec<ConfigFileV1>,
    /// Every setting. A list has one entry for each of its patterns.
    pub settings: Vec<SettingV1>,
}

/// A file that was read.
#[derive(Clone, Debug, Serialize)]
pub struct ConfigFileV1 {
    /// The owner: `user` or `project`.
    pub origin: &'static str,
    /// The path.
    pub path: String,
}

/// An effective setting.
#[derive(Clone, Debug, Serialize)]
pub struct SettingV1 {
    /// The key in `planwright.toml`.
    pub key: String,
    /// The value; `null` if it is not set.
    pub value: Value,
    /// The place that sets it: `planwright.toml:12`, or `default`.
    pub set_in: Arc<str>,
}

impl ConfigV1 {
    /// The document about these files and settings.
    pub fn new(
        files: impl IntoIterator<Item = ConfigFileV1>,
        settings: impl IntoIterator<Item = SettingV1>,
    ) -> Self {
        Self {
            schema: CONFIG_SCHEMA,
            files: files.into_iter().collect(),
            settings: settings.into_iter().collect(),
        }
    }
}
