//! Text files of bounded size, without the byte order mark of some editors.

use std::fs::File;
use std::io::{self, Error, ErrorKind, Read, Write};
use std::path::Path;
use std::time::SystemTime;

use planwright::core::Value;

use crate::error::{CommandError, reason};

/// Maximum size of a file other than the plan, as it may be a device that never ends.
const MAX_BYTES: u64 = 256 << 20;

/// Reads a whole text file.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    text(File::open(path)?, MAX_BYTES)
}

/// Reads a JSON file that a person has written, in which no object may have a key twice. `form` is the hint about a file that is not JSON.
pub(crate) fn json(path: &Path, form: &str) -> Result<Value, CommandError> {
    let text = read(path).map_err(|error| CommandError::unreadable(path, &error))?;
    Value::from_written_json(&text).map_err(|error| {
        CommandError::new(format!("`{}` is not JSON: {error}", path.display())).hint(form)
    })
}

/// Reads a whole text file that no argument names. Anything else than a file is an error, because a pipe without a writer blocks forever.
pub(crate) fn read_found(path: &Path) -> io::Result<String> {
    let kind = path.metadata()?.file_type();
    // The error about a folder is that of reading it.
    if !kind.is_file() && !kind.is_dir() {
        return Err(Error::new(ErrorKind::InvalidInput, "it is not a file"));
    }
    read(path)
}

/// The state of a file: time of its last change, length, and its number, which differs if another file took its place.
pub(crate) type FileState = (SystemTime, u64, u64);

/// Returns the state of a file, by which a change of it is noticed; `None` if it does not exist.
pub(crate) fn state(file: &Path) -> Option<FileState> {
    let metadata = std::fs::metadata(file).ok()?;
    Some((metadata.modified().ok()?, metadata.len(), number(&metadata)))
}

#[cfg(unix)]
fn number(metadata: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn number(_: &std::fs::Metadata) -> u64 {
    0
}

/// Reads at most `limit` bytes as text; more are an error.
pub(crate) fn text(from: impl Read, limit: u64) -> io::Result<String> {
    let bytes = read_limited(from, limit)?;
    if limit < bytes.len() as u64 {
        let reason = format!("it has more than {limit} bytes");
        return Err(Error::new(ErrorKind::FileTooLarge, reason));
    }
    let mut text =
        String::from_utf8(bytes).map_err(|error| Error::new(ErrorKind::InvalidData, error))?;
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(text)
}

/// Reads up to one byte more than `limit`, so that the caller can reject longer input.
pub(crate) fn read_limited(from: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Creates a folder and those above it, unless they exist.
pub(crate) fn create_folder(folder: &Path) -> Result<(), CommandError> {
    std::fs::create_dir_all(folder).map_err(|error| {
        CommandError::new(format!(
            "cannot create the folder `{}`: {}",
            folder.display(),
            reason(&error)
        ))
    })
}

pub(crate) fn may_write(file: &Path, force: bool) -> Result<(), CommandError> {
    if file.is_dir() {
        return Err(CommandError::new(format!(
            "`{}` is a folder",
            file.display()
        )));
    }
    if !force && file.symlink_metadata().is_ok() {
        return Err(already_exists(file));
    }
    Ok(())
}

fn already_exists(file: &Path) -> CommandError {
    CommandError::new(format!("`{}` already exists", file.display()))
        .hint("name another file, or replace it with --force")
}

/// Writes `text` to `file` atomically: readers find the old content or the new. With `force`, an existing file is
/// [replaced](replace); without it, that is an error.
pub(crate) fn write(text: &str, file: &Path, force: bool) -> Result<(), CommandError> {
    if force {
        return replace(text, file);
    }
    let failed = |error: std::io::Error| unwritable(file, &error);
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut fresh = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    fresh.write_all(text.as_bytes()).map_err(failed)?;
    match fresh.persist_noclobber(file) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(already_exists(file))
        }
        Err(error) => Err(failed(error.error)),
    }
}

fn unwritable(file: &Path, error: &Error) -> CommandError {
    let message = format!("cannot write `{}`: {}", file.display(), reason(error));
    CommandError::new(message)
}

/// Replaces the content of a file, or writes a new file, atomically. Links and permissions stay.
pub(crate) fn replace(text: &str, file: &Path) -> Result<(), CommandError> {
    if file.symlink_metadata().is_err() {
        return write(text, file, false);
    }
    let failed = |error: std::io::Error| unwritable(file, &error);
    let target = file.canonicalize();
    let metadata = file.metadata();
    let (Ok(target), Ok(metadata)) = (target, metadata) else {
        // A link to a file that does not exist yet.
        return std::fs::write(file, text).map_err(failed);
    };
    if !metadata.is_file() {
        // A device or a pipe has no content to replace.
        return std::fs::write(file, text).map_err(failed);
    }
    let permissions = metadata.permissions();
    let folder = target.parent().unwrap_or(Path::new("."));
    let mut fresh = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    fresh.write_all(text.as_bytes()).map_err(failed)?;
    fresh
        .as_file()
        .set_permissions(permissions)
        .map_err(failed)?;
    fresh
        .persist(&target)
        .map_err(|error| failed(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{text, write};

    #[cfg(unix)]
    #[test]
    fn a_replaced_file_keeps_its_link_and_its_permissions() {
        use std::fs;
        use std::os::unix::fs::{PermissionsExt, symlink};

        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        symlink("file", &link).unwrap();
        assert!(write("new", &link, false).is_err());
        write("new", &link, true).unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o644);
        fs::remove_file(&file).unwrap();
        write("again", &link, true).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "again");
    }

    #[test]
    fn texts_are_bounded_and_bare() {
        let check = |bytes: &[u8], expected: Result<&str, &str>| {
            let read = text(bytes, 8).map_err(|error| error.to_string());
            assert_eq!(read.as_deref().map_err(String::as_str), expected);
        };
        check(b"", Ok(""));
        check(b"12345678", Ok("12345678"));
        check(b"123456789", Err("it has more than 8 bytes"));
        check("\u{feff}{}".as_bytes(), Ok("{}"));
        check(
            b"\xff\xfe",
            Err("invalid utf-8 sequence of 1 bytes from index 0"),
        );
        let endless = text(std::io::repeat(0), 8).map_err(|error| error.to_string());
        assert_eq!(endless, Err("it has more than 8 bytes".to_owned()));
    }
}
