//! A model of a provider: one question after the other, each with its attempts, its time and its bill.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::StreamExt;
use futures::channel::mpsc;
use futures::future::ready;
use futures::stream::{self, BoxStream};
use genai::{Client, ModelIden};
use tokio::time::{Instant, sleep, timeout_at};

use super::super::{Model, ModelError, ModelRequest, Piece, Reply, Usage};
use super::answer::Answer;
use super::attempt::{Attempt, Listener};
use super::connection;
use super::failure::{Failure, Whose};
use super::provider_name::ModelName;
use super::question;
use super::refused_part::{LeftOut, Part};
use super::retry::Retries;
use super::settings::ProviderSettings;
use super::thoughts::Thoughts;

/// A model of a provider.
#[derive(Clone, Debug)]
pub struct Provider {
    desk: Arc<Desk>,
}

/// What all questions share.
#[derive(Debug)]
struct Desk {
    name: ModelName,
    /// `provider:name`.
    full_name: String,
    client: Client,
    model: ModelIden,
    settings: ProviderSettings,
    left_out: LeftOut,
    thoughts: Thoughts,
    questions: AtomicU64,
}

impl Provider {
    pub(super) fn open(settings: ProviderSettings) -> Result<Self, ModelError> {
        let name = ModelName::read(&settings.model)?;
        let client = connection::connect(&name, &settings)?;
        let model = ModelIden::new(name.kind(settings.key.is_some()), name.model.as_str());
        let desk = Desk {
            full_name: name.to_string(),
            name,
            client,
            model,
            settings,
            left_out: LeftOut::default(),
            thoughts: Thoughts::default(),
            questions: AtomicU64::new(0),
        };
        Ok(Self {
            desk: Arc::new(desk),
        })
    }
}

impl Model for Provider {
    fn name(&self) -> &str {
        &self.desk.full_name
    }

    fn ask(&self, request: ModelRequest) -> BoxStream<'static, Result<Piece, ModelError>> {
        let (sender, pieces) = mpsc::unbounded();
        let desk = Arc::clone(&self.desk);
        // The work goes on while somebody waits for the next piece, and is dropped with the stream.
        let work = async move {
            let mut listener = Listener::new(sender);
            let outcome = desk.answer(&request, &mut listener).await;
            listener.hear(outcome.map(Piece::Done));
        };
        let work = stream::once(work).filter_map(|()| ready(None));
        stream::select(pieces, work).boxed()
    }
}

impl Desk {
    async fn answer(
        &self,
        request: &ModelRequest,
        listener: &mut Listener,
    ) -> Result<Reply, ModelError> {
        let mut usage = Usage::default();
        match self.attempts(request, listener, &mut usage).await {
            Ok(answer) => {
                let mut reply = answer.reply;
                reply.usage.requests = usage.requests;
                let prices = self.settings.prices;
                reply.usage.cost = prices.map(|prices| prices.cost(&reply.usage));
                if let Some(thoughts) = answer.thoughts {
                    self.thoughts.keep(thoughts);
                }
                Ok(reply)
            }
            Err(failure) => Err(failure.into_error(usage)),
        }
    }

    async fn attempts(
        &self,
        request: &ModelRequest,
        listener: &mut Listener,
        usage: &mut Usage,
    ) -> Result<Answer, Failure> {
        let number = self.questions.fetch_add(1, Ordering::Relaxed);
        let mut retries = Retries::new(&self.settings, number);
        let allowed = self.settings.timeout;
        let deadline = Instant::now() + allowed;
        loop {
            usage.requests += 1;
            let attempt = self.attempt(request);
            let made = attempt.make(request.delivery, listener);
            let Ok(outcome) = timeout_at(deadline, made).await else {
                return Err(Failure::out_of_time(self.whose(), allowed));
            };
            let failure = match outcome {
                Ok(answer) => return Ok(answer),
                Err(failure) if listener.has_heard => return Err(failure),
                Err(failure) => failure,
            };
            if self.can_do_without(&failure, request) {
                continue;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let Some(wait) = retries.wait(&failure, left) else {
                return Err(failure);
            };
            tracing::debug!(model = self.full_name, ?wait, "{}", failure.message);
            sleep(wait).await;
        }
    }

    fn attempt(&self, request: &ModelRequest) -> Attempt<'_> {
        let kind = self.model.adapter_kind;
        let model = (kind, self.name.model.as_str());
        Attempt {
            client: &self.client,
            model: &self.model,
            chat: question::conversation(request, kind, &self.thoughts),
            options: question::options(request, &self.settings, model, &self.left_out),
            whose: self.whose(),
            max_bytes: self.settings.max_bytes,
        }
    }

    /// Whether the question was refused for a part that it can do without. From now on it is not sent any more.
    fn can_do_without(&self, failure: &Failure, request: &ModelRequest) -> bool {
        let refusal = failure.refusal.as_deref();
        let Some(part) = refusal.and_then(Part::named_by) else {
            return false;
        };
        let was_sent = part == Part::Temperature || request.answer.is_some();
        let is_new = was_sent && !self.left_out.has(part);
        self.left_out.add(part);
        is_new
    }

    fn whose(&self) -> Whose<'_> {
        Whose {
            name: &self.name,
            key: self.settings.key.as_ref(),
            now: self.settings.now,
        }
    }
}
