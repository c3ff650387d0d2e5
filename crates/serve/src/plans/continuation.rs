//! Continuation of calls by a `requestState` of another process: the state names a stored run, and the client's answers become
//! decisions about exactly the calls in question.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use planwright::stored::{Decider, OpenQuestion, StoredRun, StoredRunError};
use planwright_core::Value;
use planwright_engine::RunId;
use planwright_engine::approval::SealKey;
use planwright_engine::id::random_id;
use planwright_engine::{Decision, RunStatus};
use planwright_mcp::UpstreamError;
use planwright_mcp::gateway::{GatewayClient, HostCall, SuspendedCall};
use planwright_store::{RunInfo, Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::host::PlanHost;
use crate::host::spawn_blocking_limited;
use crate::plans::approver;
use crate::plans::resume::ResumeChanges;
use crate::response::answer;
use crate::runs::lookup::FoundRun;
use crate::runs::registry::{self, TrackedRun};
use crate::tools::arguments::BadRequest;

/// The time for which a client may continue, the same as for states of this process.
const VALIDITY: Duration = Duration::from_mins(30);

/// The prefix of every state.
const PREFIX: &str = "planwright.request-state/1";

/// The content of a state. It is authenticated by the key of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct RequestStateV1 {
    run: String,
    client: String,
    /// The tool of the gateway that was called.
    tool: String,
    /// The digest of its arguments.
    arguments: String,
    /// The time after which it is refused, in seconds since 1970.
    expires: u64,
    /// The keys of the questions, with the digests of the calls that they are about.
    questions: BTreeMap<String, Option<String>>,
    /// A random value that makes each state unique.
    nonce: String,
}

impl RequestStateV1 {
    /// Returns the state as a client gets it.
    fn seal(&self, key: &SealKey) -> Option<String> {
        let text = serde_json::to_string(self).ok()?;
        Some(format!("{PREFIX}.{}.{text}", tag(key, &text)))
    }

    /// Returns the state that a client sent back, if it was sealed with this key.
    fn open(text: &str, key: &SealKey) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX)?.strip_prefix('.')?;
        let (sealed, text) = rest.split_once('.')?;
        // Digests of the tags are compared, so that the time of the comparison reveals nothing about the tag.
        let digest = |tag: &str| key.seal(&Value::from(tag));
        if digest(sealed) != digest(&tag(key, text)) {
            return None;
        }
        serde_json::from_str(text).ok()
    }
}

fn tag(key: &SealKey, text: &str) -> Arc<str> {
    // Seals of arguments never have this form.
    key.seal(&Value::list([Value::from(PREFIX), Value::from(text)]))
}

fn seconds(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

/// Says in the response about a run in progress that the answers of this request were not used: another request continues the run, and asks
/// in its own name.
fn with_unused_answers(response: Value, answers: &Value) -> Value {
    let fields = response.get("structuredContent").and_then(Value::as_object);
    let Some(fields) = fields.filter(|fields| {
        fields.get("status").and_then(Value::as_text) == Some("running")
            && answers
                .as_object()
                .is_some_and(|answers| !answers.is_empty())
    }) else {
        return response;
    };
    let mut fields = fields.clone();
    let note = "the answers were not used, because another request continues the run; answer what that request asks";
    fields.insert("note".into(), Value::from(note));
    answer::structured(fields, false)
}

/// Returns the calls of a run that wait for a decision, by their digests.
fn open_questions(
    run: &RunId,
    stored: &StoredRun,
) -> Result<BTreeMap<String, OpenQuestion>, BadRequest> {
    let history = stored
        .history()
        .map_err(|error| BadRequest(error.to_string()))?;
    let open = history.steps().filter_map(|(at, past)| {
        let subject = past.open_question()?;
        let question = OpenQuestion::new(run.clone(), Arc::clone(at), subject.clone());
        Some((question.digest(), question))
    });
    Ok(open.collect())
}

impl PlanHost {
    /// Returns the state by which [`continue_run`](Self::continue_run) recognises a suspended call in any process that has the store.
    pub(crate) fn state_of(&self, call: &SuspendedCall<'_>) -> Option<String> {
        let key = self.seal_key().ok()??;
        let state = RequestStateV1 {
            run: call.work.to_owned(),
            client: call.client.as_str().to_owned(),
            tool: call.name.to_owned(),
            arguments: key.seal(call.arguments).to_string(),
            expires: seconds((self.settings.now)() + VALIDITY),
            questions: call
                .questions
                .iter()
                .map(|(key, subject)| ((*key).to_owned(), subject.map(str::to_owned)))
                .collect(),
            nonce: random_id().to_string(),
        };
        state.seal(&key)
    }

    /// Returns the key of the store, if there is one.
    pub(crate) fn seal_key(&self) -> Result<Option<SealKey>, StoreError> {
        self.settings
            .store
            .as_ref()
            .map(Store::seal_key)
            .transpose()
    }

    /// Resumes the run that a state names, unless it has ended, and returns its result. No call is executed twice.
    pub(crate) async fn continue_run(
        &self,
        call: &HostCall,
        state: &str,
        answers: &Value,
    ) -> Result<Value, UpstreamError> {
        let state = self
            .open_state(call, state)
            .ok_or_else(UpstreamError::unknown_state)?;
        let found = self.find(&call.client, &state.run).await;
        let stored = match found {
            Err(_) => return Err(UpstreamError::unknown_state()),
            Ok(FoundRun::Local(running)) => {
                let response = self.wait_for_local_run(&call.client, &running).await;
                return Ok(with_unused_answers(response, answers));
            }
            Ok(FoundRun::Stored(stored)) => *stored,
        };
        if stored.0.holder.is_some() {
            let response = self.foreign_run_response(&stored.0.id);
            return Ok(with_unused_answers(response, answers));
        }
        let answered = self.take_answers(&state, &stored, answers).await;
        let goes_on =
            answered.map_err(|error| UpstreamError::new(UpstreamError::UNAVAILABLE, error.0))?;
        if !goes_on {
            return Ok(self.ended_response(&call.client, stored).await);
        }
        match self
            .resume_stored(call, stored, ResumeChanges::default())
            .await
        {
            Ok(running) => {
                let waited = self.wait(call, &running).await;
                Ok(waited.unwrap_or_else(|error| self.refusal_response(&error.0)))
            }
            // The client has sent the state twice at the same time, and the other request was first.
            Err(invalid) => Ok(match self.run_of_process(&call.client, &state.run) {
                Some(running) => self.wait_for_local_run(&call.client, &running).await,
                None => self.rejection_response(&invalid),
            }),
        }
    }

    /// Returns the content of a state, if it is for this request of this client.
    fn open_state(&self, call: &HostCall, state: &str) -> Option<RequestStateV1> {
        let key = self.seal_key().ok()??;
        let state = RequestStateV1::open(state, &key)?;
        let arguments = call.arguments.as_object();
        let is_same_call = state.tool == call.name
            && (arguments.is_none_or(planwright_core::Object::is_empty)
                || state.arguments == *key.seal(&call.arguments));
        let is_for = state.client == call.client.id.as_str() && is_same_call;
        (is_for && seconds((self.settings.now)()) <= state.expires).then_some(state)
    }

    /// Stores the client's answers as decisions about the calls that were asked about, if they still wait for one. Returns true if
    /// the run resumes: it was interrupted or waits, and this state has not been used to resume it.
    async fn take_answers(
        &self,
        state: &RequestStateV1,
        (info, stored): &(RunInfo, StoredRun),
        answers: &Value,
    ) -> Result<bool, BadRequest> {
        if !matches!(stored.status(), None | Some(RunStatus::Waiting)) {
            return Ok(false);
        }
        let open = open_questions(&info.id, stored)?;
        let mut decisions = Vec::new();
        let mut is_deferred = false;
        let mut is_open = false;
        for (key, digest) in &state.questions {
            let Some(question) = digest.as_ref().and_then(|digest| open.get(digest)) else {
                continue;
            };
            is_open = true;
            match answers.get(key).map(approver::read_decision) {
                None => {}
                Some(Decision::Later) => is_deferred = true,
                Some(decision) => decisions.push((question.clone(), decision)),
            }
        }
        let is_decided = !decisions.is_empty();
        self.store_decisions(decisions).await?;
        // An interrupted run resumes unless a person deferred all questions. A run that ended as waiting resumes only with a
        // decision about an open question, because the state of an answered question must not be used twice.
        let is_waiting = stored.status() == Some(RunStatus::Waiting);
        Ok(is_decided || !is_deferred && (is_open || !is_waiting))
    }

    /// Stores answers to the questions of a task, for the process that resumes it.
    pub(crate) async fn decide_by_answers(
        &self,
        (info, stored): &(RunInfo, StoredRun),
        answers: &Value,
    ) -> Result<(), BadRequest> {
        let mut decisions = Vec::new();
        for (digest, question) in open_questions(&info.id, stored)? {
            match answers
                .get(&registry::key(&digest))
                .map(approver::read_decision)
            {
                None | Some(Decision::Later) => {}
                Some(decision) => decisions.push((question, decision)),
            }
        }
        self.store_decisions(decisions).await
    }

    /// Stores decisions for the process that resumes the run. An earlier decision about the same call stays valid.
    pub(crate) async fn store_decisions(
        &self,
        decisions: Vec<(OpenQuestion, Decision)>,
    ) -> Result<(), BadRequest> {
        let Some(store) = self.settings.store.clone() else {
            return Ok(());
        };
        let now = (self.settings.now)();
        let stored = spawn_blocking_limited(move || {
            // Only answers of forms are stored here.
            let decider = Decider::client_form();
            decisions.into_iter().try_for_each(|(question, decision)| {
                match question.decide(&store, decision, &decider, now) {
                    Err(StoredRunError::Store(StoreError::Decided { .. })) => Ok(()),
                    other => other,
                }
            })
        });
        let stored = stored
            .await
            .map_err(|error| BadRequest(error.to_string()))?;
        stored.map_err(|error| BadRequest(format!("the decision cannot be stored: {error}")))
    }

    /// Returns the state of a run of this process that another request has started. Waits a while for its result.
    async fn wait_for_local_run(&self, client: &GatewayClient, running: &TrackedRun) -> Value {
        let ended = tokio::time::timeout(self.settings.task_after, running.wait_for_end());
        let progress = match ended.await {
            Ok(progress) => progress,
            Err(_) => running.progress(),
        };
        self.progress_response(client, running, &progress)
    }

    /// Returns the state of a stored run that is not in progress.
    async fn ended_response(
        &self,
        client: &GatewayClient,
        (info, stored): (RunInfo, StoredRun),
    ) -> Value {
        if stored.status().is_none() {
            return self.interrupted_response(&info.id);
        }
        let response = self.stored_response(client, &info.id, stored).await;
        response.unwrap_or_else(|error| self.refusal_response(&error.0))
    }
}
