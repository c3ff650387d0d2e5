//! The page of runs as a view in the clients of the gateway.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use planwright::config::Config;
use planwright::core::Value;
use planwright_serve::{PageRequest, RunPage};
use planwright_store::Store;
use planwright_web::{NoTools, Page, ViewAnswer, ViewRequest};

use crate::error::CommandError;
use crate::serve::ui::page_settings;

/// The page for the runs of `store`. It shows plans and takes decisions, but runs nothing: plans run through the gateway.
pub(crate) fn page(store: &Store, config: &Config) -> Result<Arc<dyn RunPage>, CommandError> {
    let settings = page_settings(store, config, Arc::new(NoTools))?;
    let page = Page::for_views(settings).map_err(|error| {
        CommandError::new("the system has no random numbers".to_owned()).internal(error)
    })?;
    Ok(Arc::new(View(page)))
}

/// A [`Page`] as the gateway uses it.
struct View(Page);

impl RunPage for View {
    fn document(&self) -> String {
        self.0.view_document()
    }

    fn read(
        &self,
        client: Option<String>,
        request: PageRequest,
    ) -> BoxFuture<'static, (u16, Value)> {
        let page = self.0.clone();
        let request = ViewRequest {
            run: request.run,
            path: request.path,
            body: request.body.as_ref().map(Into::into),
        };
        async move { status_and_body(page.read(client.as_deref(), request).await) }.boxed()
    }

    fn decide(&self, client: Option<String>, body: Value) -> BoxFuture<'static, (u16, Value)> {
        let page = self.0.clone();
        async move { status_and_body(page.decide(client.as_deref(), (&body).into()).await) }.boxed()
    }
}

fn status_and_body(answer: ViewAnswer) -> (u16, Value) {
    (answer.status, Value::from(answer.body))
}
