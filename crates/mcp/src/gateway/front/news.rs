//! What a client hears of that belongs to none of its requests.
#![expect(
    deprecated,
    reason = "clients of earlier revisions are told of logs and of resources in this way"
)]

use std::time::Duration;

use planwright_core::Value;
use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};

use super::Front;
use super::forwarding::read;
use crate::gateway::changes::{News, Newsreader};

/// How often it is looked whether a client to which there is no news is still there.
const LOOK: Duration = Duration::from_secs(5);

impl Front {
    /// Tells a client of earlier revisions, as long as it is there.
    pub(super) fn tell(&self, peer: Peer<RoleServer>) {
        let (mut news, subscriptions) = (Newsreader::new(&self.shared), self.subscriptions.clone());
        tokio::spawn(async move {
            let mut look = tokio::time::interval(LOOK);
            loop {
                let news = tokio::select! {
                    news = news.next() => news,
                    // Nobody tells of a client that is gone.
                    _ = look.tick() => {
                        if peer.is_transport_closed() {
                            return;
                        }
                        continue;
                    }
                };
                let Some(news) = news else {
                    return;
                };
                let told = match news {
                    News::Tools => peer.notify_tool_list_changed().await,
                    News::Prompts => peer.notify_prompt_list_changed().await,
                    News::Resources => peer.notify_resource_list_changed().await,
                    News::Updated(params) if subscriptions.has(&params) => match read(params) {
                        Ok(params) => peer.notify_resource_updated(params).await,
                        Err(_) => Ok(()),
                    },
                    News::Log(params) => match read(params) {
                        Ok(params) => peer.notify_logging_message(params).await,
                        Err(_) => Ok(()),
                    },
                    News::Updated(_) => Ok(()),
                };
                if told.is_err() || peer.is_transport_closed() {
                    return;
                }
            }
        });
    }

    /// Tells a client what it has asked to be told.
    pub(super) async fn tell_subscriber(&self, subscription: SubscriptionContext) {
        let mut news = Newsreader::new(&self.shared);
        let accepted = subscription.accepted().clone();
        let addresses = accepted.resource_subscriptions.unwrap_or_default();
        let mut following = Vec::new();
        for address in &addresses {
            following.extend(self.follow(address).await);
        }
        loop {
            let news = tokio::select! {
                () = subscription.cancelled() => break,
                news = news.next() => match news {
                    Some(news) => news,
                    None => break,
                },
            };
            let sink = subscription.sink();
            let told = match news {
                News::Tools if accepted.tools_list_changed == Some(true) => {
                    sink.notify_tool_list_changed().await
                }
                News::Prompts if accepted.prompts_list_changed == Some(true) => {
                    sink.notify_prompt_list_changed().await
                }
                News::Resources if accepted.resources_list_changed == Some(true) => {
                    sink.notify_resource_list_changed().await
                }
                News::Updated(params) => match params.get("uri").and_then(Value::as_text) {
                    Some(address) if addresses.iter().any(|one| one == address) => {
                        sink.notify_resource_updated(address).await
                    }
                    _ => Ok(()),
                },
                _ => Ok(()),
            };
            if told.is_err() {
                break;
            }
        }
        drop(following);
    }
}
