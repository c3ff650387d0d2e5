//! A client's list of servers in a text that is edited in place.

use planwright::core::Value;

use super::json_list::ObjectText;
use super::toml_list::TomlList;
use super::yaml_list::YamlList;
use crate::setup::wrap::client::ListSyntax;
use crate::setup::wrap::edit::EditError;

/// A list of servers within a text. A *fragment* is the text of one server, its comments included.
pub(crate) trait ServerList {
    /// The servers with their entries, in the order of the text.
    fn servers(&self) -> Vec<(String, Value)>;

    /// Removes the server at an index, and returns its fragment.
    fn remove(&mut self, at: usize) -> String;

    /// Inserts a server before the one at an index.
    fn insert(&mut self, at: usize, fragment: &str) -> Result<(), EditError>;

    /// Formats a server, with the layout of the fragment `like` if it is given.
    fn format(&self, name: &str, entry: &Value, like: Option<&str>) -> String;

    /// Returns a fragment with another name.
    fn renamed(&self, fragment: &str, name: &str, entry: &Value) -> String {
        self.format(name, entry, Some(fragment))
    }

    /// Completes the layout of a list that servers have returned to.
    fn finish(&mut self) {}

    /// The whole text.
    fn text(&self) -> String;
}

/// Finds the list of servers at `path` in a text; `None` if the text has none.
pub(crate) fn open(
    syntax: ListSyntax,
    text: &str,
    path: &[&str],
) -> Result<Option<Box<dyn ServerList>>, EditError> {
    Ok(match syntax {
        ListSyntax::Json => ObjectText::find(text, path)
            .map_err(|error| EditError::malformed("JSON", &error))?
            .map(|list| Box::new(list) as _),
        ListSyntax::Toml => TomlList::find(text, path)?.map(|list| Box::new(list) as _),
        ListSyntax::Yaml => YamlList::find(text, path)?.map(|list| Box::new(list) as _),
    })
}
