//! JSON with comments and trailing commas, as clients of MCP write their files.

use jsonc_parser::errors::ParseError;
use jsonc_parser::{
    CollectOptions, CommentCollectionStrategy, ParseOptions, ParseResult, parse_to_ast,
};

/// Parses `text` to values with their places, and its tokens, which include comments. Other extensions of JSON are
/// errors, since many clients do not read them.
pub fn parse(text: &str) -> Result<ParseResult<'_>, ParseError> {
    let collect = CollectOptions {
        comments: CommentCollectionStrategy::AsTokens,
        tokens: true,
    };
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    parse_to_ast(text, &collect, &options)
}
