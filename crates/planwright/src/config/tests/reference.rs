//! The schema of `planwright.toml`, and the page about it, made of the types that read it.

use planwright_testkit::generated;
use planwright_testkit::reference_page::page;
use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator, json_schema};

use crate::config::effective::ConfigFile;

const HEAD: &str = "\
# planwright.toml

<!-- `cargo xtask generate` makes this page of the types. -->

What plans may call, how much, how fast, what is shown of it, who is served, and which model is asked: [guards](../guide/guards.md) shows it at work. Your own file is
`planwright.toml` in the folder of your settings (`$XDG_CONFIG_HOME/planwright`, else `~/.config/planwright`); a project's is the
nearest one from the working folder upwards, no further than the folder that holds `.git`. A project's file can make things
stricter, never looser. `planwright config` tells what holds, and from where.

As a JSON Schema: [config.schema.json](../schema/config.schema.json). Every table and every field may be left out; a
field that is not known is an error.
";

#[test]
fn generated_page_of_the_configuration() {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<ConfigFile>();
    schema.insert("title".into(), "planwright.toml".into());
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    generated::check("docs/schema/config.schema.json", &text);
    let page = page(schema.as_value(), HEAD, &[]).replace(", *optional*)", ")");
    generated::check("docs/reference/config.md", &page);
}

/// A number of bytes, or text with a unit.
pub(in crate::config) fn size(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": ["integer", "string"], "minimum": 0})
}
