//! Diagnostics as the editor shows them, and their fixes.

use lsp_types::{
    CodeAction, CodeActionKind, CodeDescription, DiagnosticSeverity, NumberOrString, Uri,
};
use planwright::core::{Diagnostic, Severity, Span};
use planwright::fixes::fixed_text;
use planwright::loaded_plan::LoadedPlan;

use crate::analysis::{TextAnalysis, read};
use crate::document::TextDocument;
use crate::server::PlanTools;

/// The pages of diagnostics.
const PAGES: &str = "https://github.com/planwright/planwright/blob/main/docs/codes";

/// Returns the diagnostics of a text.
pub(crate) fn diagnostics(
    analysis: &TextAnalysis,
    document: &TextDocument,
) -> Vec<lsp_types::Diagnostic> {
    let found = analysis.loaded.diagnostics.iter();
    found
        .map(|diagnostic| shown(diagnostic, document))
        .collect()
}

fn shown(diagnostic: &Diagnostic, document: &TextDocument) -> lsp_types::Diagnostic {
    let range = |span: Option<Span>| match span {
        Some(span) => document.range(span.start..span.end),
        None => document.range(0..0),
    };
    let mut message = diagnostic.message.clone();
    // A text of another plan has no place here.
    let own = diagnostic.source.is_none();
    if let Some(source) = &diagnostic.source {
        message = format!("in `{source}`: {message}");
    }
    if let Some(help) = &diagnostic.help {
        message.push('\n');
        message.push_str(help);
    }
    for hop in diagnostic.path.iter() {
        message.push_str("\n  ");
        message.push_str(&hop.text);
    }
    let page = format!("{PAGES}/{}.md", diagnostic.code);
    lsp_types::Diagnostic {
        range: range(diagnostic.span.filter(|_| own)),
        severity: Some(match diagnostic.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Note => DiagnosticSeverity::INFORMATION,
        }),
        code: Some(NumberOrString::String(diagnostic.code.to_string())),
        code_description: page.parse().ok().map(|href| CodeDescription { href }),
        source: Some("planwright".to_owned()),
        message,
        ..lsp_types::Diagnostic::default()
    }
}

/// Returns the fixes of the diagnostics that touch the bytes of `within`, and one for all fixes of the text.
pub(crate) fn actions(
    analysis: &TextAnalysis,
    document: &TextDocument,
    uri: &Uri,
    within: Span,
    tools: &PlanTools,
) -> Vec<CodeAction> {
    let mut found = Vec::new();
    for diagnostic in &analysis.loaded.diagnostics {
        let touches = diagnostic.source.is_none()
            && diagnostic
                .span
                .is_some_and(|span| span.start <= within.end && within.start <= span.end);
        if !touches || diagnostic.fixes.is_empty() {
            continue;
        }
        let edits = diagnostic.fixes.iter().map(|edit| lsp_types::TextEdit {
            range: document.range(edit.span.start..edit.span.end),
            new_text: edit.replacement.clone(),
        });
        let title = diagnostic.help.clone();
        found.push(CodeAction {
            title: title.unwrap_or_else(|| format!("fix: {}", diagnostic.message)),
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: Some(vec![shown(diagnostic, document)]),
            is_preferred: Some(true),
            edit: Some(edit_of(uri, edits.collect())),
            ..CodeAction::default()
        });
    }
    let fixable = analysis
        .loaded
        .diagnostics
        .iter()
        .any(|diagnostic| !diagnostic.fixes.is_empty());
    if fixable && let Some(text) = all_fixed(document.text(), tools) {
        let edit = lsp_types::TextEdit {
            range: document.whole(),
            new_text: text,
        };
        found.push(CodeAction {
            title: "apply all fixes of Planwright".to_owned(),
            kind: Some(CodeActionKind::SOURCE_FIX_ALL),
            edit: Some(edit_of(uri, vec![edit])),
            ..CodeAction::default()
        });
    }
    found
}

/// Returns the text with all fixes, if they make it better.
fn all_fixed(text: &str, tools: &PlanTools) -> Option<String> {
    let load =
        |text: &str| Ok::<_, std::convert::Infallible>(LoadedPlan::new("plan", read("plan", text)));
    match fixed_text(text, load, &tools.catalog, &tools.policy) {
        Ok(fixed) => fixed.map(|fixed| fixed.text),
        Err(never) => match never {},
    }
}

fn edit_of(uri: &Uri, edits: Vec<lsp_types::TextEdit>) -> lsp_types::WorkspaceEdit {
    lsp_types::WorkspaceEdit {
        changes: Some(std::iter::once((uri.clone(), edits)).collect()),
        ..lsp_types::WorkspaceEdit::default()
    }
}
