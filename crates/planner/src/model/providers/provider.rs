//! A model of a provider, with retries, timeout and cost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once};

use futures::StreamExt;
use futures::future::ready;
use futures::stream::{self, BoxStream};
use futures_channel::mpsc;
use genai::resolver::{AuthData, Endpoint, ProviderConfig};
use genai::{Client, ModelIden};
use reqwest::Url;
use reqwest::redirect::Policy;
use tokio::time::{Instant, sleep, timeout_at};

use super::super::{Model, ModelError, ModelRequest, Reply, ReplyChunk, Usage};
use super::attempt::ProviderReply;
use super::attempt::{ChatAttempt, ChunkSink};
use super::attempt_error::{AttemptError, ErrorContext};
use super::chat::{ReasoningCache, chat_options, chat_request};
use super::retry::{DroppedParameters, OptionalParameter, Retries};
use super::rules::{AddressRule, ProviderRules, rules};
use super::settings::ModelName;
use super::settings::ProviderSettings;

/// A model of a provider.
#[derive(Clone, Debug)]
pub struct Provider {
    state: Arc<ProviderState>,
}

/// State shared by all requests.
#[derive(Debug)]
struct ProviderState {
    name: ModelName,
    /// The full name, as `provider:name`.
    full_name: String,
    client: Client,
    /// The HTTP client that connects to the provider.
    http: reqwest::Client,
    model: ModelIden,
    rules: ProviderRules,
    settings: ProviderSettings,
    dropped: DroppedParameters,
    reasoning: ReasoningCache,
    request_count: AtomicU64,
}

impl Provider {
    pub(super) fn open(settings: ProviderSettings) -> Result<Self, ModelError> {
        let name = ModelName::read(&settings.model)?;
        let kind = name.kind(settings.key.is_some());
        let model = ModelIden::new(kind, name.model.as_str());
        let rules = rules(kind, &name.model);
        let (client, http) = connect(&name, &settings, rules.address)?;
        let state = ProviderState {
            full_name: name.to_string(),
            name,
            client,
            http,
            model,
            rules,
            settings,
            dropped: DroppedParameters::default(),
            reasoning: ReasoningCache::default(),
            request_count: AtomicU64::new(0),
        };
        Ok(Self {
            state: Arc::new(state),
        })
    }
}

impl Model for Provider {
    fn name(&self) -> &str {
        &self.state.full_name
    }

    fn ask(&self, request: ModelRequest) -> BoxStream<'static, Result<ReplyChunk, ModelError>> {
        let (sender, chunks) = mpsc::unbounded();
        let state = Arc::clone(&self.state);
        // The stream drives the request: it proceeds while the caller polls, and is dropped with the stream.
        let work = async move {
            let mut sink = ChunkSink::new(sender);
            let outcome = state.send(&request, &mut sink).await;
            sink.send(outcome.map(ReplyChunk::Done));
        };
        let work = stream::once(work).filter_map(|()| ready(None));
        stream::select(chunks, work).boxed()
    }
}

impl ProviderState {
    async fn send(
        &self,
        request: &ModelRequest,
        sink: &mut ChunkSink,
    ) -> Result<Reply, ModelError> {
        let mut usage = Usage::default();
        match self.attempts(request, sink, &mut usage).await {
            Ok(received) => {
                let mut reply = received.reply;
                // Failed attempts are requests, too.
                usage += reply.usage;
                reply.usage = self.with_cost(usage);
                if let Some(message) = received.reasoning_message {
                    self.reasoning.insert(message);
                }
                Ok(reply)
            }
            Err(error) => Err(error.into_model_error(self.with_cost(usage))),
        }
    }

    /// Adds the cost of the tokens that the provider reports.
    fn with_cost(&self, usage: Usage) -> Usage {
        let is_reported = 0 < usage.input_tokens + usage.output_tokens;
        let prices = self.settings.prices.filter(|_| is_reported);
        Usage {
            cost: prices.map(|prices| prices.cost(&usage)),
            ..usage
        }
    }

    async fn attempts(
        &self,
        request: &ModelRequest,
        sink: &mut ChunkSink,
        usage: &mut Usage,
    ) -> Result<ProviderReply, AttemptError> {
        let number = self.request_count.fetch_add(1, Ordering::Relaxed);
        let mut retries = Retries::new(&self.settings, number);
        let timeout = self.settings.timeout;
        let deadline = Instant::now() + timeout;
        loop {
            usage.requests += 1;
            let attempt = self.attempt(request).run(request.delivery, sink);
            let Ok(outcome) = timeout_at(deadline, attempt).await else {
                return Err(AttemptError::timed_out(self.error_context(), timeout));
            };
            let error = match outcome {
                Ok(reply) => return Ok(reply),
                Err(error) => {
                    *usage += error.usage;
                    // Text that was passed on cannot be taken back, so another attempt would repeat it.
                    if sink.has_sent {
                        return Err(error);
                    }
                    error
                }
            };
            // Each parameter is dropped only once, so this loop ends.
            if self.drop_rejected_parameter(&error, request) {
                continue;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let Some(delay) = retries.next_delay(&error, left) else {
                return Err(error);
            };
            tracing::debug!(model = self.full_name, ?delay, "{}", error.message);
            sleep(delay).await;
        }
    }

    fn attempt(&self, request: &ModelRequest) -> ChatAttempt<'_> {
        let model = (self.rules, self.name.model.as_str());
        ChatAttempt {
            client: &self.client,
            http: &self.http,
            model: &self.model,
            chat: chat_request(request, self.rules, &self.reasoning),
            options: chat_options(request, &self.settings, model, &self.dropped),
            context: self.error_context(),
            stream_end: self.rules.stream_end,
            max_bytes: self.settings.max_bytes,
        }
    }

    /// Returns true if the provider rejected the request for a parameter that can be left out, and leaves it out of all further requests.
    fn drop_rejected_parameter(&self, error: &AttemptError, request: &ModelRequest) -> bool {
        let rejection = error.rejection.as_deref();
        let Some(parameter) = rejection.and_then(OptionalParameter::named_in) else {
            return false;
        };
        let was_sent = parameter == OptionalParameter::Temperature || request.answer.is_some();
        let is_new = was_sent && !self.dropped.contains(parameter);
        self.dropped.insert(parameter);
        is_new
    }

    fn error_context(&self) -> ErrorContext<'_> {
        ErrorContext {
            name: &self.name,
            key: self.settings.key.as_ref(),
            now: self.settings.now,
        }
    }
}

/// Creates the client with the provider's address and key, and the HTTP client that connects to the provider.
fn connect(
    name: &ModelName,
    settings: &ProviderSettings,
    address: AddressRule,
) -> Result<(Client, reqwest::Client), ModelError> {
    let endpoint = endpoint(name, settings)?;
    let auth = auth(name, settings)?;
    install_crypto_provider();
    let failed = |error: &dyn std::fmt::Display| {
        ModelError::configuration(format!("no connection can be made: {error}"))
    };
    // A followed redirect would send the key to another host. Without one, the response is an error that says so.
    let http = reqwest::Client::builder()
        .connect_timeout(settings.connect_timeout)
        .redirect(Policy::none())
        .build()
        .map_err(|error| failed(&error))?;
    // `genai` connects to a relay, which takes one connection and may neither be behind a proxy nor compress.
    let local = reqwest::Client::builder()
        .redirect(Policy::none())
        .pool_max_idle_per_host(0)
        .no_proxy()
        .no_gzip()
        .build()
        .map_err(|error| failed(&error))?;
    let kind = name.kind(settings.key.is_some());
    let config = ProviderConfig {
        endpoint,
        auth: Some(auth),
    };
    let client = Client::builder()
        .with_reqwest(if address == AddressRule::Fixed {
            http.clone()
        } else {
            local
        })
        .append_provider_config(kind, config)
        .build()
        .map_err(|error| failed(&error))?;
    Ok((client, http))
}

fn endpoint(name: &ModelName, settings: &ProviderSettings) -> Result<Option<Endpoint>, ModelError> {
    let Some(text) = &settings.base_url else {
        if name.needs_base_url() {
            let message = format!("`{}` needs a base URL", name.provider);
            return Err(ModelError::configuration(message)
                .help("set it to the address of the server, such as `http://localhost:8000/v1`"));
        }
        return Ok(None);
    };
    let url = Url::parse(text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let Some(mut url) = url else {
        return Err(
            ModelError::configuration(format!("the base URL `{text}` is not an address"))
                .help("write it as `https://HOST/PATH`"),
        );
    };
    // `genai` resolves paths against this URL, so its path must end with a slash.
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(Some(Endpoint::from_owned(url.as_str())))
}

fn auth(name: &ModelName, settings: &ProviderSettings) -> Result<AuthData, ModelError> {
    match (&settings.key, name.key_variable()) {
        (Some(key), _) if key.is_valid_header() => Ok(AuthData::from_single(key.expose())),
        (Some(_), _) => Err(ModelError::configuration(format!(
            "the key for `{}` is empty or has characters that a header does not allow",
            name.provider
        ))),
        (None, Some(variable)) if name.needs_key() => Err(ModelError::configuration(format!("there is no key for `{}`", name.provider))
        .help(format!(
            "set the environment variable `{variable}`, or name another one as `model.key_variable` in `planwright.toml`"
        ))),
        (None, _) => Ok(AuthData::None),
    }
}

/// Installs `ring` as the cryptography provider, unless the embedding application has chosen another.
pub(super) fn install_crypto_provider() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
