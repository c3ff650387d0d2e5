//! The main loop of the server, which owns the open texts and answers the messages of the client.

use std::collections::HashMap;
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, select};
use lsp_server::{Connection, ErrorCode, ExtractError, Message, Notification, Request, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Notification as _,
    PublishDiagnostics,
};
use lsp_types::request::{
    CodeActionRequest, Completion, DocumentHighlightRequest, DocumentSymbolRequest, GotoDefinition,
    HoverRequest, PrepareRenameRequest, References, Rename, Request as _,
};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionOrCommand, CodeActionProviderCapability,
    CompletionOptions, CompletionResponse, DocumentHighlight, DocumentSymbol,
    DocumentSymbolResponse, GotoDefinitionResponse, Hover, HoverContents, HoverProviderCapability,
    InitializeParams, Location, MarkupContent, MarkupKind, OneOf, Position, PositionEncodingKind,
    PrepareRenameResponse, PublishDiagnosticsParams, RenameOptions, ServerCapabilities, ServerInfo,
    SymbolKind, TextDocumentPositionParams, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextEdit, Uri, WorkDoneProgressOptions, WorkspaceEdit,
};
use planwright::Catalog;
use planwright::core::check::Policy;
use planwright::core::{Span, Value};
use planwright::dialects::native;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::analysis::{AnalyzedPlan, TextAnalysis};
use crate::cursor::{CursorPlace, in_json, in_lines};
use crate::document::{ColumnUnit, TextDocument};
use crate::features::completion::{CompletionContext, complete};
use crate::features::hover::hover;
use crate::features::navigation::OutlineStep;
use crate::features::{actions, navigation};

/// The tools and the policy that plans are checked against.
#[derive(Clone, Debug, Default)]
pub struct PlanTools {
    /// The tools.
    pub catalog: Catalog,
    /// The policy.
    pub policy: Policy,
}

/// An error that ends the server before its client has sent `exit`.
#[derive(Debug, thiserror::Error)]
pub enum LspError {
    /// The client broke the protocol.
    #[error("the client breaks the protocol: {0}")]
    Protocol(#[from] lsp_server::ProtocolError),
    /// The parameters of a message do not have the form that its method requires.
    #[error("the parameters of `{method}` cannot be read: {reason}")]
    Parameters {
        /// The method.
        method: String,
        /// The reason.
        reason: String,
    },
    /// The client closed the connection without a shutdown.
    #[error("the client closed the connection without `shutdown`")]
    Closed,
}

/// Answers the messages of `connection` until the client sends `exit`. Each value of `tools` replaces the tools that plans are checked
/// against. Texts are checked only after the first value has arrived: before, every tool would be reported as unknown.
///
/// # Errors
///
/// [`LspError`].
pub fn serve(connection: &Connection, tools: &Receiver<Arc<PlanTools>>) -> Result<(), LspError> {
    let (id, params) = connection.initialize_start()?;
    let params: InitializeParams = read_params("initialize", params)?;
    let unit = column_unit(&params);
    let result = serde_json::json!({
        "capabilities": capabilities(unit),
        "serverInfo": ServerInfo {
            name: "planwright".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        },
    });
    connection.initialize_finish(id, result)?;
    let mut server = Server {
        sender: &connection.sender,
        unit,
        tools: None,
        open: HashMap::new(),
        schema: Value::from(native::schema()),
    };
    let no_tools = crossbeam_channel::never();
    let mut tools = tools;
    loop {
        // Texts are checked once no further message waits: of several changes in a row, the last one counts.
        if connection.receiver.is_empty() {
            server.publish();
        }
        select! {
            recv(connection.receiver) -> message => match message {
                Err(_) => return Err(LspError::Closed),
                Ok(Message::Request(request)) => {
                    if connection.handle_shutdown(&request)? {
                        return Ok(());
                    }
                    server.answer(request);
                }
                Ok(Message::Notification(notification)) => {
                    server.handle_notification(notification)?;
                }
                // The server sends no requests.
                Ok(Message::Response(_)) => {}
            },
            recv(tools) -> found => match found {
                Ok(found) => server.replace_tools(found),
                // The tools are final. A closed channel would be ready all the time.
                Err(_) => tools = &no_tools,
            },
        }
    }
}

fn read_params<T: DeserializeOwned>(
    method: &str,
    params: serde_json::Value,
) -> Result<T, LspError> {
    serde_json::from_value(params).map_err(|error| LspError::Parameters {
        method: method.to_owned(),
        reason: error.to_string(),
    })
}

/// The unit of columns: bytes if the client supports them, else UTF-16.
fn column_unit(params: &InitializeParams) -> ColumnUnit {
    let general = params.capabilities.general.as_ref();
    let units = general.and_then(|general| general.position_encodings.as_ref());
    let has_bytes = units.is_some_and(|units| units.contains(&PositionEncodingKind::UTF8));
    if has_bytes {
        ColumnUnit::Utf8
    } else {
        ColumnUnit::Utf16
    }
}

fn capabilities(unit: ColumnUnit) -> ServerCapabilities {
    let triggers = ["\"", "{", ".", "(", ",", "$", "="];
    ServerCapabilities {
        position_encoding: Some(match unit {
            ColumnUnit::Utf8 => PositionEncodingKind::UTF8,
            ColumnUnit::Utf16 => PositionEncodingKind::UTF16,
        }),
        text_document_sync: Some(TextDocumentSyncCapability::Kind(
            TextDocumentSyncKind::INCREMENTAL,
        )),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(triggers.map(str::to_owned).to_vec()),
            ..CompletionOptions::default()
        }),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        document_highlight_provider: Some(OneOf::Left(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![
                CodeActionKind::QUICKFIX,
                CodeActionKind::SOURCE_FIX_ALL,
            ]),
            ..CodeActionOptions::default()
        })),
        rename_provider: Some(OneOf::Right(RenameOptions {
            prepare_provider: Some(true),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        ..ServerCapabilities::default()
    }
}

/// A text that is open in the editor.
#[derive(Debug)]
struct OpenText {
    document: TextDocument,
    version: i32,
    /// The analysis of this version; `None` if the text has changed since.
    analysis: Option<TextAnalysis>,
    /// The analysis of the last version that was a plan, for completion in a text that is not one at the moment.
    last_plan: Option<AnalyzedPlan>,
    /// True if the diagnostics of this version were sent.
    is_published: bool,
}

struct Server<'a> {
    sender: &'a Sender<Message>,
    unit: ColumnUnit,
    tools: Option<Arc<PlanTools>>,
    open: HashMap<Uri, OpenText>,
    /// The JSON Schema of plans.
    schema: Value,
}

/// The reason why a request has no result.
enum Refusal {
    /// The text is not open.
    NotOpen,
    /// The request cannot be done.
    Impossible(String),
}

impl Server<'_> {
    fn replace_tools(&mut self, tools: Arc<PlanTools>) {
        self.tools = Some(tools);
        for open in self.open.values_mut() {
            open.forget_analysis();
        }
    }

    fn handle_notification(&mut self, notification: Notification) -> Result<(), LspError> {
        let Notification { method, params } = notification;
        match method.as_str() {
            DidOpenTextDocument::METHOD => {
                let opened: lsp_types::DidOpenTextDocumentParams = read_params(&method, params)?;
                let text = opened.text_document;
                let open = OpenText {
                    document: TextDocument::new(text.text, self.unit),
                    version: text.version,
                    analysis: None,
                    last_plan: None,
                    is_published: false,
                };
                self.open.insert(text.uri, open);
            }
            DidChangeTextDocument::METHOD => {
                let changed: lsp_types::DidChangeTextDocumentParams = read_params(&method, params)?;
                if let Some(open) = self.open.get_mut(&changed.text_document.uri) {
                    for change in changed.content_changes {
                        open.document.apply(change);
                    }
                    open.version = changed.text_document.version;
                    open.forget_analysis();
                }
            }
            DidCloseTextDocument::METHOD => {
                let closed: lsp_types::DidCloseTextDocumentParams = read_params(&method, params)?;
                let uri = closed.text_document.uri;
                self.open.remove(&uri);
                // The editor keeps diagnostics until others replace them.
                self.notify::<PublishDiagnostics>(PublishDiagnosticsParams {
                    uri,
                    diagnostics: Vec::new(),
                    version: None,
                });
            }
            // A saved text has not changed, and other notifications do not concern this server.
            _ => {}
        }
        Ok(())
    }

    /// Checks all texts that have changed, and sends their diagnostics.
    fn publish(&mut self) {
        let Some(tools) = self.tools.clone() else {
            return;
        };
        let mut found = Vec::new();
        for (uri, open) in &mut self.open {
            if open.is_published {
                continue;
            }
            open.analyze(&tools);
            open.is_published = true;
            let analysis = open.analysis.as_ref();
            let diagnostics =
                analysis.map(|analysis| actions::diagnostics(analysis, &open.document));
            found.push(PublishDiagnosticsParams {
                uri: uri.clone(),
                diagnostics: diagnostics.unwrap_or_default(),
                version: Some(open.version),
            });
        }
        for params in found {
            self.notify::<PublishDiagnostics>(params);
        }
    }

    fn notify<N: lsp_types::notification::Notification>(&self, params: N::Params)
    where
        N::Params: Serialize,
    {
        let message = Notification::new(N::METHOD.to_owned(), params);
        self.send(Message::Notification(message));
    }

    fn send(&self, message: Message) {
        // Without a receiver, the next read ends the server.
        let _ = self.sender.send(message);
    }

    fn answer(&mut self, request: Request) {
        let method = request.method.clone();
        let response = match method.as_str() {
            Completion::METHOD => self.respond::<Completion>(request, Self::completion),
            HoverRequest::METHOD => self.respond::<HoverRequest>(request, Self::hover),
            GotoDefinition::METHOD => self.respond::<GotoDefinition>(request, Self::definition),
            References::METHOD => self.respond::<References>(request, Self::references),
            DocumentHighlightRequest::METHOD => {
                self.respond::<DocumentHighlightRequest>(request, Self::highlights)
            }
            DocumentSymbolRequest::METHOD => {
                self.respond::<DocumentSymbolRequest>(request, Self::symbols)
            }
            CodeActionRequest::METHOD => {
                self.respond::<CodeActionRequest>(request, Self::code_actions)
            }
            PrepareRenameRequest::METHOD => {
                self.respond::<PrepareRenameRequest>(request, Self::prepare_rename)
            }
            Rename::METHOD => self.respond::<Rename>(request, Self::rename),
            _ => {
                let message = format!("`{method}` is not supported");
                Response::new_err(request.id, ErrorCode::MethodNotFound as i32, message)
            }
        };
        self.send(Message::Response(response));
    }

    fn respond<R: lsp_types::request::Request>(
        &mut self,
        request: Request,
        handle: impl FnOnce(&mut Self, R::Params) -> Result<R::Result, Refusal>,
    ) -> Response
    where
        R::Result: Serialize,
    {
        let id = request.id.clone();
        let params = match request.extract::<R::Params>(R::METHOD) {
            Ok((_, params)) => params,
            Err(error) => {
                let reason = match error {
                    ExtractError::JsonError { error, .. } => error.to_string(),
                    ExtractError::MethodMismatch(request) => request.method,
                };
                return Response::new_err(id, ErrorCode::InvalidParams as i32, reason);
            }
        };
        match handle(self, params) {
            Ok(result) => Response::new_ok(id, result),
            Err(Refusal::NotOpen) => Response::new_err(
                id,
                ErrorCode::InvalidParams as i32,
                "the text is not open".to_owned(),
            ),
            Err(Refusal::Impossible(reason)) => {
                Response::new_err(id, ErrorCode::RequestFailed as i32, reason)
            }
        }
    }

    /// The open text, with its analysis if the tools are known.
    fn text(&mut self, uri: &Uri) -> Result<&mut OpenText, Refusal> {
        let tools = self.tools.clone();
        let open = self.open.get_mut(uri).ok_or(Refusal::NotOpen)?;
        if let Some(tools) = tools {
            open.analyze(&tools);
        }
        Ok(open)
    }

    fn completion(
        &mut self,
        params: lsp_types::CompletionParams,
    ) -> Result<Option<CompletionResponse>, Refusal> {
        let TextDocumentPositionParams {
            text_document,
            position,
        } = params.text_document_position;
        let Some(tools) = self.tools.clone() else {
            return Ok(None);
        };
        // The current text is not analyzed for a completion: its last plan has the steps.
        let open = self.open.get(&text_document.uri).ok_or(Refusal::NotOpen)?;
        let offset = open.document.offset(position);
        let Some(place) = place_in(open.document.text(), offset) else {
            return Ok(None);
        };
        let context = CompletionContext {
            document: &open.document,
            tools: &tools,
            plan: open.plan(),
            schema: &self.schema,
        };
        Ok(Some(CompletionResponse::Array(complete(&place, &context))))
    }

    fn hover(&mut self, params: lsp_types::HoverParams) -> Result<Option<Hover>, Refusal> {
        let TextDocumentPositionParams {
            text_document,
            position,
        } = params.text_document_position_params;
        let Some(tools) = self.tools.clone() else {
            return Ok(None);
        };
        self.text(&text_document.uri)?;
        let open = self.open.get(&text_document.uri).ok_or(Refusal::NotOpen)?;
        let Some(plan) = open.plan() else {
            return Ok(None);
        };
        let offset = open.document.offset(position);
        let found = hover(
            open.document.text(),
            offset,
            place_in,
            plan,
            &tools,
            &self.schema,
        );
        Ok(found.map(|(value, span)| Hover {
            contents: HoverContents::Markup(MarkupContent {
                kind: MarkupKind::Markdown,
                value,
            }),
            range: Some(open.document.range(span)),
        }))
    }

    fn definition(
        &mut self,
        params: lsp_types::GotoDefinitionParams,
    ) -> Result<Option<GotoDefinitionResponse>, Refusal> {
        let at = params.text_document_position_params;
        let uri = at.text_document.uri;
        let open = self.text(&uri)?;
        let found = open.occurrence(at.position).and_then(|(plan, found)| {
            let definition = navigation::definition(plan, found)?;
            let range = open.document.range(definition.span.clone());
            Some(Location::new(uri, range))
        });
        Ok(found.map(GotoDefinitionResponse::Scalar))
    }

    fn references(
        &mut self,
        params: lsp_types::ReferenceParams,
    ) -> Result<Option<Vec<Location>>, Refusal> {
        let at = params.text_document_position;
        let uri = at.text_document.uri;
        let open = self.text(&uri)?;
        let with_definition = params.context.include_declaration;
        Ok(open.occurrence(at.position).map(|(plan, found)| {
            navigation::references(plan, found)
                .filter(|place| with_definition || !place.is_definition)
                .map(|place| Location::new(uri.clone(), open.document.range(place.span.clone())))
                .collect()
        }))
    }

    fn highlights(
        &mut self,
        params: lsp_types::DocumentHighlightParams,
    ) -> Result<Option<Vec<DocumentHighlight>>, Refusal> {
        let at = params.text_document_position_params;
        let open = self.text(&at.text_document.uri)?;
        Ok(open.occurrence(at.position).map(|(plan, found)| {
            navigation::references(plan, found)
                .map(|place| DocumentHighlight {
                    range: open.document.range(place.span.clone()),
                    kind: None,
                })
                .collect()
        }))
    }

    fn symbols(
        &mut self,
        params: lsp_types::DocumentSymbolParams,
    ) -> Result<Option<DocumentSymbolResponse>, Refusal> {
        let open = self.text(&params.text_document.uri)?;
        let Some(plan) = open.plan() else {
            return Ok(None);
        };
        let steps = navigation::outline(plan).into_iter();
        let steps = steps.map(|step| symbol(step, &open.document));
        Ok(Some(DocumentSymbolResponse::Nested(steps.collect())))
    }

    fn code_actions(
        &mut self,
        params: lsp_types::CodeActionParams,
    ) -> Result<Option<Vec<CodeActionOrCommand>>, Refusal> {
        let uri = params.text_document.uri;
        let Some(tools) = self.tools.clone() else {
            return Ok(None);
        };
        let open = self.text(&uri)?;
        let Some(analysis) = &open.analysis else {
            return Ok(None);
        };
        let within = Span {
            start: open.document.offset(params.range.start),
            end: open.document.offset(params.range.end),
        };
        let found = actions::actions(analysis, &open.document, &uri, within, &tools);
        let found = found.into_iter().map(CodeActionOrCommand::CodeAction);
        Ok(Some(found.collect()))
    }

    fn prepare_rename(
        &mut self,
        at: TextDocumentPositionParams,
    ) -> Result<Option<PrepareRenameResponse>, Refusal> {
        let open = self.text(&at.text_document.uri)?;
        let found = open.occurrence(at.position);
        Ok(
            found.map(|(_, found)| PrepareRenameResponse::RangeWithPlaceholder {
                range: open.document.range(found.span.clone()),
                placeholder: found.step.to_string(),
            }),
        )
    }

    fn rename(
        &mut self,
        params: lsp_types::RenameParams,
    ) -> Result<Option<WorkspaceEdit>, Refusal> {
        let at = params.text_document_position;
        let uri = at.text_document.uri;
        let open = self.text(&uri)?;
        let offset = open.document.offset(at.position);
        let current = open.analysis.as_ref().and_then(|found| found.plan.as_ref());
        let edits = navigation::rename(current, open.document.text(), offset, &params.new_name)
            .map_err(|error| Refusal::Impossible(error.to_string()))?;
        let edits = edits.into_iter().map(|(span, new_text)| TextEdit {
            range: open.document.range(span),
            new_text,
        });
        Ok(Some(WorkspaceEdit {
            changes: Some(std::iter::once((uri, edits.collect())).collect()),
            ..WorkspaceEdit::default()
        }))
    }
}

impl OpenText {
    fn forget_analysis(&mut self) {
        let analysis = self.analysis.take();
        if let Some(plan) = analysis.and_then(|analysis| analysis.plan) {
            self.last_plan = Some(plan);
        }
        self.is_published = false;
    }

    fn analyze(&mut self, tools: &PlanTools) {
        if self.analysis.is_none() {
            self.analysis = Some(TextAnalysis::new("plan", self.document.text(), tools));
        }
    }

    /// The plan of this version, else that of the last one that was a plan.
    fn plan(&self) -> Option<&AnalyzedPlan> {
        let current = self.analysis.as_ref().and_then(|found| found.plan.as_ref());
        current.or(self.last_plan.as_ref())
    }

    /// The name of a step at `position`, in a text that is a plan now.
    fn occurrence(
        &self,
        position: Position,
    ) -> Option<(&AnalyzedPlan, &crate::occurrences::StepOccurrence)> {
        let plan = self.analysis.as_ref()?.plan.as_ref()?;
        let found = navigation::occurrence_at(plan, self.document.offset(position))?;
        Some((plan, found))
    }
}

/// Returns a step of the outline, with the steps of its inner plan.
fn symbol(step: OutlineStep, document: &TextDocument) -> DocumentSymbol {
    let steps = step.steps.into_iter();
    let steps: Vec<DocumentSymbol> = steps.map(|step| symbol(step, document)).collect();
    #[expect(deprecated, reason = "the protocol's type has the field")]
    DocumentSymbol {
        name: step.id,
        detail: Some(step.detail),
        kind: SymbolKind::FUNCTION,
        tags: None,
        deprecated: None,
        range: document.range(step.span),
        selection_range: document.range(step.name),
        children: Some(steps).filter(|steps| !steps.is_empty()),
    }
}

/// The place of the cursor at `offset`, in a plan in JSON or in lines.
fn place_in(text: &str, offset: usize) -> Option<CursorPlace> {
    if text.trim_start().starts_with(['{', '[']) {
        in_json(text, offset)
    } else {
        in_lines(text, offset)
    }
}
