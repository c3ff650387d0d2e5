//! The effective configuration, `planwright.config/1`.

use std::sync::Arc;

use planwright_core::Value;
use serde::Serialize;

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

/// A setting that holds.
#[derive(Clone, Debug, Serialize)]
pub struct SettingV1 {
    /// The key in `planwright.toml`.
    pub key: String,
    /// Its value; `null` where nothing is set.
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
