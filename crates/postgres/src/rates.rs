//! The rates of clients, over all processes: a generic cell rate algorithm whose one number for each client is a row of a table.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use planwright_store::database::{QueryError, RequestRate, SqlSession, SqlValue};

use crate::connection::PostgresConnection;
use crate::server::PostgresServer;
use crate::values::{first, integer, micros, text};

/// The time of the server in microseconds.
const NOW: &str = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)";

/// The requests that clients have sent to all processes.
pub(crate) struct ClientRates {
    server: Arc<PostgresServer>,
    /// The connection, opened with the first request: only gateways have rates.
    connection: Mutex<Option<PostgresConnection>>,
}

impl ClientRates {
    pub(crate) fn new(server: &Arc<PostgresServer>) -> Self {
        Self {
            server: Arc::clone(server),
            connection: Mutex::default(),
        }
    }

    /// Counts `count` requests of the client, or returns the time until they are allowed.
    pub(crate) fn take(
        &self,
        client: &str,
        count: u32,
        rate: RequestRate,
    ) -> Result<Option<Duration>, QueryError> {
        let mut connection = self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let open = match connection.take() {
            Some(open) => open,
            None => {
                let open = PostgresConnection::for_leases(&self.server)?;
                // Each statement is a transaction. What a crash of the server loses of the counts, clients gain.
                open.batch(
                    "SET default_transaction_read_only TO off; SET synchronous_commit TO off",
                )?;
                open
            }
        };
        let taken = take(&open, client, count, rate)?;
        // A connection that failed is not used again.
        *connection = Some(open);
        Ok(taken)
    }
}

/// Counts the requests in one statement, which locks the row of the client alone.
fn take(
    session: &dyn SqlSession,
    client: &str,
    count: u32,
    rate: RequestRate,
) -> Result<Option<Duration>, QueryError> {
    let gap = micros(rate.gap).max(1);
    let cost = gap.saturating_mul(count.into());
    let burst = gap.saturating_mul(rate.burst.into());
    let client = text(client);
    let taken = first(
        session,
        &format!(
            "INSERT INTO client_rates AS known (client, full_us) VALUES (?1, {NOW} + ?2)
             ON CONFLICT (client) DO UPDATE SET full_us = greatest(known.full_us, {NOW}) + ?2
             WHERE greatest(known.full_us, {NOW}) + ?2 <= {NOW} + ?3
             RETURNING full_us"
        ),
        &[
            client.clone(),
            SqlValue::Integer(cost),
            SqlValue::Integer(burst),
        ],
        |row| integer(row, 0),
    )?;
    if taken.is_some() {
        return Ok(None);
    }
    let full = first(
        session,
        &format!("SELECT full_us - {NOW} FROM client_rates WHERE client = ?1"),
        &[client],
        |row| integer(row, 0),
    )?;
    let wait = full.unwrap_or(0).saturating_add(cost).saturating_sub(burst);
    Ok(Some(Duration::from_micros(
        u64::try_from(wait).unwrap_or(0),
    )))
}

impl fmt::Debug for ClientRates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientRates").finish_non_exhaustive()
    }
}
