//! The sources of all crates without their tests.

use super::rust_text::RustText;
use crate::project::ProjectFile;

/// The attribute of modules for tests.
const TEST_ATTRIBUTE: &str = "#[cfg(test)]";

/// A Rust file below a `src` folder. Code and comments of its test modules are blank.
#[derive(Debug)]
pub(super) struct SourceFile<'a> {
    pub(super) path: &'a str,
    pub(super) text: RustText,
}

/// Returns the sources among `files`, without the files of test modules.
pub(super) fn sources(files: &[ProjectFile]) -> Vec<SourceFile<'_>> {
    let mut sources = Vec::new();
    let mut test_modules = Vec::new();
    for file in files.iter().filter(|file| is_source(file)) {
        let mut text = RustText::new(&file.text);
        test_modules.extend(
            test_module_names(&text.code)
                .into_iter()
                .map(|name| format!("{}/{name}", module_folder(&file.path))),
        );
        blank_inline_tests(&mut text);
        sources.push(SourceFile {
            path: &file.path,
            text,
        });
    }
    sources.retain(|source| {
        !test_modules.iter().any(|module| {
            let rest = source.path.strip_prefix(module.as_str());
            rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        })
    });
    sources
}

fn is_source(file: &ProjectFile) -> bool {
    file.is_rust() && file.path.split('/').any(|folder| folder == "src")
}

/// Returns the folder of the submodules of the module in the file at `path`.
fn module_folder(path: &str) -> &str {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match name {
        "mod.rs" | "lib.rs" | "main.rs" => folder,
        _ => path.strip_suffix(".rs").unwrap_or(path),
    }
}

/// Returns the names of the test modules that have their own files.
fn test_module_names(code: &str) -> Vec<String> {
    let after_attributes = code.split(TEST_ATTRIBUTE).skip(1);
    let names = after_attributes.filter_map(|code| {
        let (declaration, _) = code.split_once([';', '{'])?;
        let is_file = code[declaration.len()..].starts_with(';');
        let mut words = declaration.split_whitespace().rev();
        let name = words.next().filter(|_| is_file)?;
        (words.next() == Some("mod")).then(|| name.to_owned())
    });
    names.collect()
}

/// Blanks the test modules that are written within the file.
fn blank_inline_tests(text: &mut RustText) {
    let mut from = 0;
    while let Some(found) = text.code[from..].find(TEST_ATTRIBUTE) {
        let start = from + found;
        from = start + TEST_ATTRIBUTE.len();
        let Some(open) = text.code[from..].find([';', '{']).map(|at| from + at) else {
            return;
        };
        let declaration = &text.code[from..open];
        let is_module = declaration.split_whitespace().any(|word| word == "mod");
        if !is_module || text.code[open..].starts_with(';') {
            continue;
        }
        let end = closing_brace(&text.code, open);
        let lines =
            text.code[..start].matches('\n').count()..=text.code[..end].matches('\n').count();
        for view in [&mut text.code, &mut text.comments] {
            let view_lines = view.split('\n').enumerate();
            let view_lines =
                view_lines.map(|(number, line)| if lines.contains(&number) { "" } else { line });
            *view = view_lines.collect::<Vec<_>>().join("\n");
        }
        from = 0;
    }
}

/// Returns the position of the brace that closes the one at `open`.
fn closing_brace(code: &str, open: usize) -> usize {
    let mut depth = 0;
    for (at, letter) in code[open..].char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return open + at;
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], expected: &[(&str, &str)]) {
        let files: Vec<ProjectFile> = files
            .iter()
            .map(|(path, text)| ProjectFile {
                path: (*path).to_owned(),
                text: (*text).to_owned(),
            })
            .collect();
        let found: Vec<(&str, String)> = sources(&files)
            .iter()
            .map(|source| {
                let words: Vec<&str> = source.text.code.split_whitespace().collect();
                (source.path, words.join(" "))
            })
            .collect();
        let expected: Vec<(&str, String)> = expected
            .iter()
            .map(|(path, code)| (*path, (*code).to_owned()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn tests_are_left_out() {
        check(
            &[
                ("a/src/lib.rs", "mod b;\n#[cfg(test)]\nmod tests;"),
                ("a/src/tests.rs", "fn test() {}"),
                ("a/src/tests/deep.rs", "fn test() {}"),
                ("a/src/b.rs", "fn b() {}\n#[cfg(test)]\nmod wild;"),
                ("a/src/b/wild.rs", "fn test() {}"),
                ("a/src/b/wilder.rs", "fn wilder() {}"),
                ("a/tests/it/main.rs", "fn test() {}"),
                ("a/src/b.md", "text"),
            ],
            &[
                ("a/src/lib.rs", "mod b; #[cfg(test)] mod tests;"),
                ("a/src/b.rs", "fn b() {} #[cfg(test)] mod wild;"),
                ("a/src/b/wilder.rs", "fn wilder() {}"),
            ],
        );
    }

    #[test]
    fn inline_tests_are_blank() {
        check(
            &[(
                "a/src/lib.rs",
                "fn a() {}\n#[cfg(test)]\n#[expect(x)]\nmod tests {\n    fn t() { \"}\" }\n}\nfn b() {}",
            )],
            &[("a/src/lib.rs", "fn a() {} fn b() {}")],
        );
        check(
            &[(
                "a/src/lib.rs",
                "#[cfg(test)]\nfn a() {}\nmod b { fn c() {} }",
            )],
            &[("a/src/lib.rs", "#[cfg(test)] fn a() {} mod b { fn c() {} }")],
        );
    }
}
