//! Settings of the store as a whole, which no export contains.

use planwright_engine::approval::SealKey;
use rusqlite::{Connection, OptionalExtension};

use crate::error::{Fault, StoreError};
use crate::store::Store;

/// The name of the key of seals.
const SEAL_KEY: &str = "seal_key";

/// The name of the hash of the passphrase.
const PASSPHRASE: &str = "passphrase";

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

    /// The hash of the passphrase that decisions want, as its caller has written it; `None` if none is set.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn passphrase(&self) -> Result<Option<String>, StoreError> {
        self.read(|connection| {
            let hash = connection.query_row(
                "SELECT CAST(value AS TEXT) FROM settings WHERE name = ?1",
                [PASSPHRASE],
                |row| row.get(0),
            );
            Ok(hash.optional()?)
        })
    }

    /// Stores the hash of the passphrase that decisions want, or takes it away.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn set_passphrase(&self, hash: Option<&str>) -> Result<(), StoreError> {
        let hash = hash.map(|hash| hash.as_bytes().to_vec());
        self.writer().change(move |connection| {
            match hash {
                Some(hash) => connection.execute(
                    "INSERT INTO settings (name, value) VALUES (?1, ?2)
                     ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                    (PASSPHRASE, hash),
                )?,
                None => connection.execute("DELETE FROM settings WHERE name = ?1", [PASSPHRASE])?,
            };
            Ok(())
        })
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
