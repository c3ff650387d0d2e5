//! `GET /api/config`: the capabilities of the page.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::{Extension, Json};
use planwright::dialects::dialects;
use planwright::stored::Passphrase;
use serde::Serialize;

use crate::error::{ApiError, blocking};
use crate::page::PageState;
use crate::session::Visitor;

#[derive(Serialize)]
pub(crate) struct PageConfig {
    version: &'static str,
    dialects: Vec<DialectEntry>,
    /// True if plans can be run.
    can_run: bool,
    /// True if a decision requires a passphrase.
    passphrase: bool,
    /// The signed-in client, if there are several.
    client: Option<String>,
}

#[derive(Serialize)]
struct DialectEntry {
    name: &'static str,
    can_print: bool,
}

/// The meaning of a diagnostic code or of a kind of error.
#[derive(Serialize)]
pub(crate) struct CodePage {
    code: String,
    /// The page of the code, in Markdown.
    page: &'static str,
}

pub(crate) async fn code(
    State(state): State<Arc<PageState>>,
    Path(name): Path<String>,
) -> Result<Json<CodePage>, ApiError> {
    let page = (state.settings.code_page)(&name).ok_or_else(|| ApiError::missing("code", &name))?;
    Ok(Json(CodePage { code: name, page }))
}

pub(crate) async fn show(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
) -> Result<Json<PageConfig>, ApiError> {
    let store = state.settings.store.clone();
    let passphrase = blocking(move || Ok(Passphrase::of([&store])?.is_set())).await?;
    Ok(Json(PageConfig {
        version: env!("CARGO_PKG_VERSION"),
        dialects: dialects()
            .iter()
            .map(|dialect| DialectEntry {
                name: dialect.name(),
                can_print: dialect.is_writable(),
            })
            .collect(),
        can_run: state.settings.tools.can_run() && visitor.client().is_none(),
        passphrase: passphrase || state.settings.requires_passphrase,
        client: visitor.client().map(str::to_owned),
    }))
}
