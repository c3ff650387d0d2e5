//! The approver of calls of plans: the decisions of other processes, and those of a person at the client.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use planwright::call_view::{CallView, visible};
use planwright::stored::{OpenQuestion, StoreApprover};
use planwright_core::Value;
use planwright_engine::approval::{ApprovalRequest, Approver};
use planwright_engine::{Decision, RunId};
use planwright_mcp::Caller;
use planwright_store::Store;

use crate::runs::registry::PendingQuestions;

/// Asks a person at the client to decide about calls.
pub(crate) struct ClientApprover {
    /// The client, if it can show a form to a person.
    pub(crate) form: Option<Arc<dyn Caller>>,
    /// The pending questions of a run that has become a task.
    pub(crate) task: Option<Arc<PendingQuestions>>,
}

/// Returns the approver of a run. A stored decision counts first; without one, the first decision of the client or another process
/// counts.
pub(crate) fn run_approver(store: Option<Store>, client: ClientApprover) -> Arc<dyn Approver> {
    let Some(store) = store else {
        return Arc::new(client);
    };
    let stored = StoreApprover::new(store)
        .or(Arc::new(client))
        .watching()
        .on_error(
            |error| tracing::warn!(%error, "the decisions of other processes cannot be read"),
        );
    Arc::new(stored)
}

impl Approver for ClientApprover {
    fn decide(&self, request: ApprovalRequest) -> BoxFuture<'_, Decision> {
        Box::pin(async move { self.ask(&request).await })
    }
}

impl ClientApprover {
    /// Asks the client: by a form while the call is in flight, by the task afterwards.
    async fn ask(&self, request: &ApprovalRequest) -> Decision {
        let form = approval_form(&request.run, &request.digest(), &CallView::of(request));
        if let Some(caller) = &self.form
            && let Ok(answer) = caller
                .ask_about(&request.digest(), "elicitation/create", form.clone())
                .await
        {
            return read_decision(&answer);
        }
        if let Some(questions) = &self.task {
            let question = form_request(form);
            if let Ok(answer) = questions.ask(question, &request.digest()).await {
                return read_decision(&answer);
            }
        }
        Decision::Later
    }
}

impl fmt::Debug for ClientApprover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientApprover").finish_non_exhaustive()
    }
}

/// Returns an address as a word of a shell, for which `[0]` is a pattern. Characters that a person cannot see are escaped.
fn shell_word(at: &str) -> String {
    let is_plain = |character: char| {
        character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.' | '/' | '%' | '@')
    };
    if at.chars().all(is_plain) {
        return at.to_owned();
    }
    format!("'{}'", visible(at).replace('\'', r"'\''"))
}

/// Returns the request for a form, as tasks have it among their `inputRequests`.
fn form_request(form: Value) -> Value {
    Value::object([
        ("method", Value::from("elicitation/create")),
        ("params", form),
    ])
}

/// Returns the request for a decision about a call of a run that another process drives.
pub(crate) fn stored_question(question: &OpenQuestion) -> Value {
    let view = CallView {
        at: &question.at,
        subject: &question.subject,
        reason: question.reason.as_deref(),
        changes: &question.changes,
    };
    form_request(approval_form(&question.run, &question.digest(), &view))
}

/// Returns the question about a call as a form (`elicitation/create`).
fn approval_form(run: &RunId, digest: &str, call: &CallView<'_>) -> Value {
    let message = format!(
        "{}\ndigest of the call: {}\nall of its arguments: planwright approve {} {} --show",
        call.text(),
        digest.get(..16).unwrap_or(digest),
        run,
        shell_word(&call.at.to_string())
    );
    let field =
        |kind: &str, title: &str| vec![("type", Value::from(kind)), ("title", Value::from(title))];
    let mut decision = field("string", "Approve this call?");
    decision.push((
        "enum",
        Value::list([Value::from("approve"), Value::from("reject")]),
    ));
    let schema = Value::object([
        ("type", Value::from("object")),
        (
            "properties",
            Value::object([
                ("decision", Value::object(decision)),
                ("because", Value::object(field("string", "Why not?"))),
            ]),
        ),
        ("required", Value::list([Value::from("decision")])),
    ]);
    Value::object([
        ("mode", Value::from("form")),
        ("message", Value::from(message)),
        ("requestedSchema", schema),
    ])
}

/// Returns the decision of a form. A form that is closed without an answer is not a decision.
pub(crate) fn read_decision(answer: &Value) -> Decision {
    let content = answer.get("content");
    let field = |name: &str| content.and_then(|content| content.get(name)?.as_text());
    let because = field("because")
        .filter(|text| !text.is_empty())
        .map(str::to_owned);
    match (
        answer.get("action").and_then(Value::as_text),
        field("decision"),
    ) {
        (Some("accept"), Some("approve")) => Decision::Approve { args: None },
        (Some("accept"), Some("reject")) => Decision::Reject { because },
        (Some("decline"), _) => Decision::Reject {
            because: Some("the question was declined".to_owned()),
        },
        _ => Decision::Later,
    }
}

#[cfg(test)]
mod tests {
    use planwright_core::Value;

    use super::read_decision;

    fn check(answer: &str) -> String {
        format!("{:?}", read_decision(&Value::from_json(answer).unwrap()))
    }

    #[test]
    fn only_a_clear_yes_is_one() {
        let answers = [
            (
                r#"{"action": "accept", "content": {"decision": "approve"}}"#,
                "Approve { args: None }",
            ),
            (
                r#"{"action": "accept", "content": {"decision": "reject", "because": "no"}}"#,
                r#"Reject { because: Some("no") }"#,
            ),
            (
                r#"{"action": "decline"}"#,
                r#"Reject { because: Some("the question was declined") }"#,
            ),
            (r#"{"action": "cancel"}"#, "Later"),
            (r#"{"action": "accept", "content": {}}"#, "Later"),
            (r#"{"action": "accept"}"#, "Later"),
            ("{}", "Later"),
            ("null", "Later"),
        ];
        for (answer, expected) in answers {
            assert_eq!(check(answer), expected, "{answer}");
        }
    }
}
