//! The page as one document: markup, style and scripts in one text, with the hashes that its policy allows.

mod script;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

const MARKUP: &str = include_str!("../page/index.html");
const STYLE: &str = include_str!("../page/style.css");

/// The library that draws the page.
const LIBRARY: &str = include_str!("../page/vendor/preact-htm.js");

/// The parts of the page's own script, in execution order. They are one module, together with the library.
const PARTS: &[&str] = &[
    include_str!("../page/10-source.js"),
    include_str!("../page/12-client.js"),
    include_str!("../page/15-text.js"),
    include_str!("../page/20-live.js"),
    include_str!("../page/25-parts.js"),
    include_str!("../page/30-values.js"),
    include_str!("../page/35-runs.js"),
    include_str!("../page/40-run.js"),
    include_str!("../page/41-resume.js"),
    include_str!("../page/42-geometry.js"),
    include_str!("../page/43-graph.js"),
    include_str!("../page/44-graph-parts.js"),
    include_str!("../page/44-graph-tiles.js"),
    include_str!("../page/45-steps.js"),
    include_str!("../page/46-timeline.js"),
    include_str!("../page/47-report.js"),
    include_str!("../page/50-inbox.js"),
    include_str!("../page/60-workbench.js"),
    include_str!("../page/61-editor.js"),
    include_str!("../page/70-catalog.js"),
    include_str!("../page/90-app.js"),
];

/// Insignificant spaces of the style sheet, with their replacements. No text in the style has them.
const STYLE_SPACES: &[(&str, &str)] = &[
    (" { ", "{"),
    ("; }", "}"),
    (" }", "}"),
    ("; ", ";"),
    (", ", ","),
    (": ", ":"),
    (" > ", ">"),
    ("{\n", "{"),
    ("}\n", "}"),
];

/// The document, and the value of its `Content-Security-Policy`.
#[derive(Clone, Debug)]
pub(crate) struct PageDocument {
    pub(crate) html: String,
    pub(crate) policy: String,
}

impl PageDocument {
    /// Assembles the document.
    pub(crate) fn assemble() -> Self {
        let parts = PARTS
            .iter()
            .flat_map(|part| part.lines())
            .map(str::trim_start)
            .filter(|line| !line.is_empty() && !is_comment(line));
        let parts: Vec<&str> = parts.collect();
        let script = script::without_spaces(&parts.join("\n"));
        let script = format!("{LIBRARY}\n{script}");
        let style = STYLE.lines().map(str::trim_start);
        let style = style.filter(|line| !line.is_empty() && !line.starts_with("/*"));
        let style: Vec<&str> = style.collect();
        let style = script::replaced(style.join("\n"), STYLE_SPACES);
        let policy = format!(
            "default-src 'none'; script-src '{}'; style-src '{}'; connect-src 'self'; img-src data:; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'none'",
            hash(&script),
            hash(&style)
        );
        Self {
            html: MARKUP
                .replacen("{{style}}", &style, 1)
                .replacen("{{script}}", &script, 1),
            policy,
        }
    }
}

/// Returns true if a line of a part is a comment, by its beginning. Comments are removed, because they are a tenth of the page's size.
/// Comments of the style have one line each.
fn is_comment(line: &str) -> bool {
    ["//", "/**", "*/", "* "]
        .iter()
        .any(|start| line.starts_with(start))
        || line == "*"
}

fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn the_policy_allows_exactly_the_parts_of_the_document() {
        let PageDocument { html, policy } = PageDocument::assemble();
        assert!(!html.contains("{{style}}") && !html.contains("{{script}}"));
        assert_eq!(html.matches("</script>").count(), 1, "a script ends early");
        let inside = |open: &str, close: &str| {
            let (_, rest) = html.split_once(open).unwrap();
            rest.split_once(close).unwrap().0
        };
        let script = inside("<script type=\"module\">", "</script>");
        let style = inside("<style>", "</style>");
        assert!(policy.contains(&format!("script-src '{}'", hash(script))));
        assert!(policy.contains(&format!("style-src '{}'", hash(style))));
        assert!(policy.starts_with("default-src 'none';"));
    }

    /// The promised size: all that a browser loads, as `gzip -9` compresses it.
    #[test]
    fn the_document_is_small() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder
            .write_all(PageDocument::assemble().html.as_bytes())
            .unwrap();
        let size = encoder.finish().unwrap().len();
        assert!(size < 60_000, "{size} bytes");
    }

    #[test]
    fn the_document_loads_nothing() {
        let html = PageDocument::assemble().html;
        for loads in [
            "src=\"http",
            "href=\"http",
            "@import",
            "url(http",
            "style=\"",
        ] {
            assert!(!html.contains(loads), "{loads}");
        }
    }
}
