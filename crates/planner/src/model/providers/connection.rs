//! The connection to a provider.

use std::sync::Once;

use genai::Client;
use genai::resolver::{AuthData, Endpoint, ProviderConfig};
use reqwest::Url;
use reqwest::redirect::Policy;

use super::super::{ModelError, ModelErrorKind};
use super::provider_name::ModelName;
use super::settings::ProviderSettings;

/// A client that knows where the provider is and what lets us in. It reads neither from the environment.
pub(super) fn connect(name: &ModelName, settings: &ProviderSettings) -> Result<Client, ModelError> {
    let endpoint = endpoint(name, settings)?;
    let auth = auth(name, settings)?;
    use_ring();
    // A redirect would take the key along to wherever it leads; it ends as a failure that says so.
    let http = reqwest::Client::builder()
        .connect_timeout(settings.connect_timeout)
        .redirect(Policy::none())
        .build()
        .map_err(|error| configuration(format!("no connection can be made: {error}")))?;
    let config = ProviderConfig {
        endpoint,
        auth: Some(auth),
    };
    Client::builder()
        .with_reqwest(http)
        .append_provider_config(name.kind(settings.key.is_some()), config)
        .build()
        .map_err(|error| configuration(format!("no connection can be made: {error}")))
}

fn endpoint(name: &ModelName, settings: &ProviderSettings) -> Result<Option<Endpoint>, ModelError> {
    let Some(text) = &settings.base_url else {
        if name.needs_base_url() {
            let message = format!("`{}` needs a base URL", name.provider);
            return Err(configuration(message)
                .help("say where the server is, such as `http://localhost:8000/v1`"));
        }
        return Ok(None);
    };
    let url = Url::parse(text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let Some(mut url) = url else {
        return Err(
            configuration(format!("the base URL `{text}` is no address"))
                .help("write it as `https://HOST/PATH`"),
        );
    };
    // What `genai` sends to is found relative to this, so the last part of the path must be a folder.
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(Some(Endpoint::from_owned(url.as_str())))
}

fn auth(name: &ModelName, settings: &ProviderSettings) -> Result<AuthData, ModelError> {
    match (&settings.key, name.key_variable()) {
        (Some(key), _) if key.can_be_sent() => Ok(AuthData::from_single(key.expose())),
        (Some(_), _) => Err(configuration(format!(
            "the key for `{}` is empty or holds what no header can carry",
            name.provider
        ))),
        (None, Some(variable)) if name.needs_key() => Err(ModelError::new(
            ModelErrorKind::Configuration,
            format!("there is no key for `{}`", name.provider),
        )
        .help(format!(
            "set the environment variable `{variable}`, or name another one as `model.key_variable` in `planwright.toml`"
        ))),
        (None, _) => Ok(AuthData::None),
    }
}

fn configuration(message: String) -> ModelError {
    ModelError::new(ModelErrorKind::Configuration, message)
}

/// Whoever embeds us may have chosen another cryptography for the process; then that is used.
fn use_ring() {
    static CHOICE: Once = Once::new();
    CHOICE.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
