//! `GET /api/config`: the capabilities of the page.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::{Extension, Json};
use planwright::core::Code;
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

/// The meaning of a diagnostic code.
#[derive(Serialize)]
pub(crate) struct CodePage {
    code: &'static str,
    /// The page of the code, in Markdown.
    page: &'static str,
}

pub(crate) async fn code(
    State(state): State<Arc<PageState>>,
    Path(name): Path<String>,
) -> Result<Json<CodePage>, ApiError> {
    let mut known = Code::ALL.iter().copied();
    let code = known
        .find(|code| code.as_str() == name)
        .ok_or_else(|| ApiError::missing("code", &name))?;
    Ok(Json(CodePage {
        code: code.as_str(),
        page: (state.settings.code_page)(code),
    }))
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
