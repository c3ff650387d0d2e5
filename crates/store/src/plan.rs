//! Plans that were saved: by name, all versions.

use std::time::SystemTime;

use planwright_core::Value;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::{Fault, StoreError};
use crate::format::{Digest, parse_value, value_json};
use crate::names;
use crate::store::Store;
use crate::times::{from_nanos, to_nanos};

/// How many ids are named where several would do.
const CANDIDATES: usize = 8;

/// A plan that is to be saved.
#[derive(Clone, Debug, PartialEq)]
pub struct NewPlan {
    /// Its name: letters, digits, `_`, `-` and `.`.
    pub name: String,
    /// The plan as it is written.
    pub text: String,
    /// The dialect that it is written in.
    pub dialect: Option<String>,
    /// What it needs to be given. It is up to the caller how that is described.
    pub inputs: Value,
    /// When it is saved.
    pub saved: SystemTime,
}

/// A version of a plan that was saved.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoredPlan {
    /// The id of this version.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Which version, from 1.
    pub version: u32,
    /// The plan as it is written.
    pub text: String,
    /// The dialect that it is written in.
    pub dialect: Option<String>,
    /// What it needs to be given.
    pub inputs: Value,
    /// When it was saved.
    pub saved: SystemTime,
}

/// What came of saving a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The id of the version.
    pub id: String,
    /// Which version it is.
    pub version: u32,
    /// Whether there is one more now; the newest version may have been the same already.
    pub is_new: bool,
}

impl Store {
    /// Saves a plan as the newest version of its name, unless that is what the newest version is.
    ///
    /// # Errors
    ///
    /// [`StoreError::BadName`] where the name is none, [`StoreError::File`].
    pub fn save_plan(&self, new: NewPlan) -> Result<Saved, StoreError> {
        names::check("name of a plan", &new.name)?;
        let inputs = value_json(&new.inputs).map_err(StoreError::Format)?;
        self.writer().change(move |connection| {
            let newest = newest(connection, &new.name)?;
            if let Some(same) = newest
                .as_ref()
                .filter(|newest| newest.text == new.text && newest.dialect == new.dialect)
            {
                return Ok(Saved {
                    id: same.id.clone(),
                    version: same.version,
                    is_new: false,
                });
            }
            let version = newest.map_or(1, |newest| newest.version + 1);
            let whole = Digest::of(&format!("{}\n{version}\n{}", new.name, new.text)).to_string();
            let id = whole.chars().take(16).collect::<String>();
            connection
                .prepare_cached(
                    "INSERT INTO plans (id, name, version, dialect, inputs, saved_ns, text)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )?
                .execute(params![
                    id,
                    new.name,
                    version,
                    new.dialect,
                    inputs,
                    to_nanos(new.saved),
                    new.text,
                ])?;
            Ok(Saved {
                id,
                version,
                is_new: true,
            })
        })
    }

    /// The newest version of every plan that was saved, by name.
    ///
    /// # Errors
    ///
    /// [`StoreError::File`].
    pub fn plans(&self) -> Result<Vec<StoredPlan>, StoreError> {
        self.read(|connection| {
            let condition =
                "version = (SELECT max(version) FROM plans AS other WHERE other.name = plans.name)
                ORDER BY name";
            select(connection, condition, params![])
        })
    }

    /// All versions of a plan, the oldest first.
    ///
    /// # Errors
    ///
    /// Those of [`Store::plan`].
    pub fn plan_versions(&self, selector: &str) -> Result<Vec<StoredPlan>, StoreError> {
        self.read(|connection| {
            let plan = find(connection, selector, None)?;
            select(connection, "name = ?1 ORDER BY version", params![plan.name])
        })
    }

    /// The plan whose name is `selector`, in the newest version or the one that is named; or the version whose id
    /// begins with `selector`, where it is the only one.
    ///
    /// # Errors
    ///
    /// [`StoreError::Missing`] and [`StoreError::Ambiguous`] where it is not just one.
    pub fn plan(&self, selector: &str, version: Option<u32>) -> Result<StoredPlan, StoreError> {
        self.read(|connection| find(connection, selector, version))
    }

    /// Forgets one version of a plan, or all of them, and says which those were. Runs of it keep what they need.
    ///
    /// # Errors
    ///
    /// Those of [`Store::plan`].
    pub fn delete_plan(
        &self,
        selector: &str,
        version: Option<u32>,
    ) -> Result<Vec<StoredPlan>, StoreError> {
        let selector = selector.to_owned();
        self.writer().change(move |connection| {
            let plan = find(connection, &selector, version)?;
            let deleted = if version.is_some() || plan.name != selector {
                vec![plan]
            } else {
                select(connection, "name = ?1 ORDER BY version", params![plan.name])?
            };
            for plan in &deleted {
                connection.execute("DELETE FROM plans WHERE id = ?1", [&plan.id])?;
            }
            Ok(deleted)
        })
    }
}

fn newest(connection: &Connection, name: &str) -> Result<Option<StoredPlan>, Fault> {
    let found = select(
        connection,
        "name = ?1 ORDER BY version DESC LIMIT 1",
        params![name],
    )?;
    Ok(found.into_iter().next())
}

fn find(
    connection: &Connection,
    selector: &str,
    version: Option<u32>,
) -> Result<StoredPlan, Fault> {
    let missing = || {
        let version = version.map_or(String::new(), |version| format!(", version {version}"));
        StoreError::Missing {
            what: "plan",
            selector: format!("{selector}{version}"),
        }
    };
    if !names::is_name(selector) {
        return Err(missing().into());
    }
    let is_known: Option<i64> = connection
        .query_row(
            "SELECT 1 FROM plans WHERE name = ?1 LIMIT 1",
            [selector],
            |row| row.get(0),
        )
        .optional()?;
    let mut found = match (is_known, version) {
        (Some(_), None) => newest(connection, selector)?.into_iter().collect(),
        (Some(_), Some(version)) => select(
            connection,
            "name = ?1 AND version = ?2",
            params![selector, version],
        )?,
        (None, _) => {
            let condition =
                "?1 <= id AND id < ?1 || char(127) AND (?2 IS NULL OR version = ?2) ORDER BY id";
            select(connection, condition, params![selector, version])?
        }
    };
    if 1 < found.len() {
        return Err(Fault::Store(StoreError::Ambiguous {
            what: "plan",
            selector: selector.to_owned(),
            candidates: found
                .iter()
                .take(CANDIDATES)
                .map(|plan| format!("{} ({}, version {})", plan.id, plan.name, plan.version))
                .collect(),
        }));
    }
    found.pop().ok_or_else(|| missing().into())
}

fn select(
    connection: &Connection,
    condition: &str,
    params: &[&dyn rusqlite::ToSql],
) -> Result<Vec<StoredPlan>, Fault> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT id, name, version, text, dialect, saved_ns, inputs FROM plans WHERE {condition}"
    ))?;
    let rows = statement.query_map(params, columns)?;
    rows.map(|row| {
        let (mut plan, inputs) = row?;
        plan.inputs = parse_value(&inputs).map_err(|reason| {
            StoreError::Format(format!("the plan `{}` cannot be read: {reason}", plan.name))
        })?;
        Ok(plan)
    })
    .collect()
}

fn columns(row: &Row<'_>) -> rusqlite::Result<(StoredPlan, String)> {
    let plan = StoredPlan {
        id: row.get(0)?,
        name: row.get(1)?,
        version: row.get(2)?,
        text: row.get(3)?,
        dialect: row.get(4)?,
        saved: from_nanos(row.get(5)?),
        inputs: Value::Null,
    };
    Ok((plan, row.get(6)?))
}
