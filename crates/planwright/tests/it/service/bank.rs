//! A bank whose transfers are counted.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use planwright::schemars::{self, JsonSchema};
use planwright::service::Builder;
use planwright::{Function, Functions, Planwright, ToolError};
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Transfer {
    to: String,
}

/// A bank that records its transfers; the first transfers fail.
#[derive(Clone, Default)]
pub(crate) struct Bank {
    looks: Arc<AtomicUsize>,
    paid: Arc<Mutex<Vec<String>>>,
    failures: Arc<AtomicUsize>,
}

impl Bank {
    /// Creates a bank whose next transfers fail.
    pub(crate) fn failing(failures: usize) -> Self {
        let bank = Self::default();
        bank.failures.store(failures, Ordering::Relaxed);
        bank
    }

    /// The function `pay`.
    pub(crate) fn pay(&self) -> Function {
        let bank = self.clone();
        Function::new("pay", move |transfer: Transfer| {
            let bank = bank.clone();
            async move {
                bank.paid.lock().unwrap().push(transfer.to.clone());
                let fails =
                    bank.failures
                        .try_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                            left.checked_sub(1)
                        });
                match fails {
                    Ok(_) => Err(ToolError::tool("no money", planwright::Value::Null)),
                    Err(_) => Ok(format!("paid {}", transfer.to)),
                }
            }
        })
    }

    /// The function `look`.
    pub(crate) fn look(&self) -> Function {
        let looks = Arc::clone(&self.looks);
        Function::new("look", move |(): ()| {
            let looks = Arc::clone(&looks);
            async move { Ok::<_, ToolError>(looks.fetch_add(1, Ordering::Relaxed) + 1) }
        })
    }

    /// `look`, and `pay` as it is here.
    pub(crate) fn builder(&self, pay: Function) -> Builder {
        let functions = Functions::named("bank").with(self.look()).with(pay);
        Planwright::builder().functions(functions)
    }

    /// `look`, and `pay`, which needs consent.
    pub(crate) async fn asking(&self) -> Planwright {
        let opened = self.builder(self.pay().needs_approval()).open().await;
        opened.unwrap()
    }

    /// Returns the payees in order, failed attempts included.
    pub(crate) fn paid(&self) -> Vec<String> {
        self.paid.lock().unwrap().clone()
    }

    /// Returns the number of calls of `look`.
    pub(crate) fn looks(&self) -> usize {
        self.looks.load(Ordering::Relaxed)
    }
}

/// Looks, then pays Ada.
pub(crate) const PAY: &str = r#"{"steps": [
    {"id": "look", "tool": "look"},
    {"id": "pay", "tool": "pay", "args": {"to": "ada"}, "after": ["look"]}
]}"#;
