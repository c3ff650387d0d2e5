//! Settings of the store as a whole, which no export contains.

use planwright_engine::approval::SealKey;
use rusqlite::{Connection, OptionalExtension};

use crate::error::{Fault, StoreError};
use crate::store::Store;

/// The name of the key of seals.
const SEAL_KEY: &str = "seal_key";

impl Store {
    /// The key that consent to calls with secrets is sealed with: 32 random bytes, made when it is first asked for.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn seal_key(&self) -> Result<SealKey, StoreError> {
        if let Some(key) = self.read(seal_key)? {
            return Ok(SealKey::new(key));
        }
        self.writer().change(|connection| {
            // SQLite's generator is seeded by the system. Another process may have been first: its key stands.
            connection.execute(
                "INSERT INTO settings (name, value) VALUES (?1, randomblob(32)) ON CONFLICT DO NOTHING",
                [SEAL_KEY],
            )?;
            Ok(())
        })?;
        let key = self.read(seal_key)?;
        key.map(SealKey::new)
            .ok_or_else(|| StoreError::Format("the key of seals is missing".to_owned()))
    }
}

fn seal_key(connection: &Connection) -> Result<Option<[u8; 32]>, Fault> {
    let value: Option<Vec<u8>> = connection
        .query_row(
            "SELECT value FROM settings WHERE name = ?1",
            [SEAL_KEY],
            |row| row.get(0),
        )
        .optional()?;
    match value.map(<[u8; 32]>::try_from) {
        None => Ok(None),
        Some(Ok(key)) => Ok(Some(key)),
        Some(Err(_)) => Err(Fault::Store(StoreError::Format(
            "the key of seals is damaged".to_owned(),
        ))),
    }
}
