//! Lists of servers in files of any syntax, edited in place.

pub(super) mod json_list;
pub(super) mod server_list;
#[cfg(test)]
mod tests;
mod toml_list;
mod yaml_list;
