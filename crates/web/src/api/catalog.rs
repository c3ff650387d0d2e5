//! The tools of plans, and the stored plans with their versions.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::{Extension, Json};
use indexmap::IndexMap;
use planwright::core::{Tool, Value};
use planwright::format::timestamp;
use planwright::store::{NewPlan, StoredPlan};
use serde::{Deserialize, Serialize};

use super::control::may_run;
use super::input::{JsonBody, Parameters};
use super::workbench::example;
use crate::error::{ApiError, blocking};
use crate::page::PageState;
use crate::session::Visitor;
use crate::tools::OpenTools;

/// The tools that plans may call, by server.
#[derive(Serialize)]
pub(crate) struct ToolCatalog {
    servers: Vec<Server>,
}

#[derive(Serialize)]
struct Server {
    name: String,
    tools: Vec<ToolEntry>,
}

#[derive(Serialize)]
struct ToolEntry {
    /// `server.tool`
    name: String,
    title: Option<Arc<str>>,
    description: Option<Arc<str>>,
    input_schema: Value,
    output_schema: Value,
    effects: Effects,
    approval: bool,
    /// Arguments of a call that the tool takes; none if no example fits its schema.
    example: Option<Value>,
}

#[derive(Serialize)]
struct Effects {
    read_only: bool,
    destructive: bool,
    idempotent: bool,
    open_world: bool,
    trusted: bool,
}

#[derive(Deserialize)]
pub(crate) struct ToolParameters {
    /// Set if the servers must list their tools again.
    refresh: Option<String>,
}

pub(crate) async fn tools(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    Parameters(parameters): Parameters<ToolParameters>,
) -> Result<Json<ToolCatalog>, ApiError> {
    may_run(&state, &visitor)?;
    let tools = if parameters.refresh.is_some() {
        let mut open = state.open_tools.lock().await;
        let tools = state.settings.tools.list(true).await?;
        open.insert(tools).clone()
    } else {
        listed(&state).await?
    };
    let mut servers: IndexMap<String, Vec<ToolEntry>> = IndexMap::new();
    for tool in tools.service.catalog().tools() {
        let of_server = servers.entry(tool.server.to_string()).or_default();
        of_server.push(ToolEntry::of(tool));
    }
    let servers = servers
        .into_iter()
        .map(|(name, tools)| Server { name, tools });
    Ok(Json(ToolCatalog {
        servers: servers.collect(),
    }))
}

/// Returns the tools against which plans are checked. They are listed once.
pub(super) async fn listed(state: &PageState) -> Result<OpenTools, ApiError> {
    let mut open = state.open_tools.lock().await;
    if let Some(tools) = &*open {
        return Ok(tools.clone());
    }
    let tools = state.settings.tools.list(false).await?;
    *open = Some(tools.clone());
    Ok(tools)
}

impl ToolEntry {
    fn of(tool: &Tool) -> Self {
        let effects = &tool.annotations;
        Self {
            name: tool.qualified_name().to_string(),
            title: tool.title.clone(),
            description: tool.description.clone(),
            input_schema: tool.input.as_value().clone(),
            output_schema: tool.output.as_value().clone(),
            effects: Effects {
                read_only: effects.read_only,
                destructive: effects.destructive,
                idempotent: effects.idempotent,
                open_world: effects.open_world,
                trusted: effects.trusted,
            },
            approval: tool.needs_approval(),
            example: example(&tool.input),
        }
    }
}

/// The stored plans.
#[derive(Serialize)]
pub(crate) struct Plans {
    plans: Vec<PlanEntry>,
}

#[derive(Serialize)]
struct PlanEntry {
    name: String,
    version: u32,
    saved: String,
    dialect: Option<String>,
}

impl PlanEntry {
    fn of(plan: &StoredPlan) -> Self {
        Self {
            name: plan.name.clone(),
            version: plan.version,
            saved: timestamp(plan.saved),
            dialect: plan.dialect.clone(),
        }
    }
}

/// Rejects clients of a gateway, because stored plans belong to the owner of the machine.
fn may_read(visitor: &Visitor) -> Result<(), ApiError> {
    match visitor.client() {
        None => Ok(()),
        Some(_) => Err(ApiError::new(
            axum::http::StatusCode::FORBIDDEN,
            "the stored plans belong to the owner of the machine",
        )),
    }
}

pub(crate) async fn plans(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
) -> Result<Json<Plans>, ApiError> {
    may_read(&visitor)?;
    blocking(move || {
        let plans = state.settings.store.plans()?;
        Ok(Json(Plans {
            plans: plans.iter().map(PlanEntry::of).collect(),
        }))
    })
    .await
}

/// A version of a stored plan.
#[derive(Serialize)]
pub(crate) struct PlanText {
    #[serde(flatten)]
    entry: PlanEntry,
    versions: Vec<PlanEntry>,
    text: String,
}

#[derive(Deserialize)]
pub(crate) struct PlanParameters {
    version: Option<u32>,
}

pub(crate) async fn plan(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    Path(name): Path<String>,
    Parameters(parameters): Parameters<PlanParameters>,
) -> Result<Json<PlanText>, ApiError> {
    may_read(&visitor)?;
    blocking(move || {
        let store = &state.settings.store;
        let plan = store.plan(&name, parameters.version)?;
        let versions = store.plan_versions(&plan.name)?;
        Ok(Json(PlanText {
            entry: PlanEntry::of(&plan),
            versions: versions.iter().map(PlanEntry::of).collect(),
            text: plan.text,
        }))
    })
    .await
}

/// A plan to store.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlanToSave {
    name: String,
    text: String,
    dialect: Option<String>,
}

#[derive(Serialize)]
pub(crate) struct Saved {
    name: String,
    version: u32,
    is_new: bool,
}

pub(crate) async fn save(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    JsonBody(new): JsonBody<PlanToSave>,
) -> Result<Json<Saved>, ApiError> {
    may_read(&visitor)?;
    blocking(move || {
        let loaded = super::workbench::read(&new.text, new.dialect.as_deref())?;
        if loaded.plan.is_none() {
            let error = ApiError::new(
                axum::http::StatusCode::UNPROCESSABLE_ENTITY,
                "the text is not a plan",
            );
            return Err(error.help("check it first"));
        }
        let saved = state.settings.store.save_plan(NewPlan {
            name: new.name.clone(),
            dialect: loaded.dialect.map(str::to_owned),
            inputs: super::workbench::declared(&loaded),
            text: new.text,
            saved: (state.settings.now)(),
        })?;
        Ok(Json(Saved {
            name: new.name,
            version: saved.version,
            is_new: saved.is_new,
        }))
    })
    .await
}
