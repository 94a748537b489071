//! `include = ["base.toml"]`: other files, of which this one replaces what it says again.

use super::merge::{merge, normalise};
use super::{Content, Origin, Result, Table, parse};
use crate::files::Files;

/// Includes of a scenario in all. Each file that includes two others twice doubles the work of those above it.
const MAX_INCLUDES: usize = 256;

/// The files that are being read.
pub(super) struct Includes {
    /// One includes the next.
    open: Vec<String>,
    /// How many there were so far.
    count: usize,
}

impl Includes {
    /// Begins with the scenario itself.
    pub(super) fn of(path: &str) -> Self {
        Includes { open: vec![path.to_owned()], count: 0 }
    }
}

/// A file with what it includes.
pub(super) fn with_includes(
    text: &str,
    origin: &Origin,
    includes: &mut Includes,
    files: &mut dyn Files,
) -> Result<Table> {
    let mut table = parse(text, origin)?;
    normalise(&mut table)?;
    let Some(include) = table.remove("include") else { return Ok(table) };
    let Content::Array(names) = &include.value.content else {
        return Err(include.value.origin.error("include", "expected an array such as [\"base.toml\"]"));
    };
    let mut below = Table::default();
    for (index, name) in names.iter().enumerate() {
        let field = format!("include[{index}]");
        let Content::String(file) = &name.content else {
            return Err(name.origin.error(&field, format!("expected a file name, found {}", name.kind())));
        };
        let path = name.origin.resolve(file);
        if includes.open.contains(&path) {
            let chain: Vec<_> = includes.open.iter().map(String::as_str).chain([path.as_str()]).collect();
            let message = format!("a file includes itself: {}", chain.join(" -> "));
            return Err(name.origin.error(&field, message));
        }
        includes.count += 1;
        if includes.count > MAX_INCLUDES {
            let message =
                format!("a scenario includes at most {MAX_INCLUDES} files, each as often as it is included");
            return Err(name.origin.error(&field, message));
        }
        let text = files.read(&path).map_err(|message| name.origin.error(&field, message))?;
        let inner = Origin::file(&name.origin.display(file), &path);
        includes.open.push(path);
        let included = with_includes(&text, &inner, includes, files)?;
        includes.open.pop();
        merge(&mut below, included);
    }
    merge(&mut below, table);
    Ok(below)
}

/// `name` as seen from the folder of `file`, without needless steps: `a/b.toml` and `../c.toml` give `c.toml`.
pub(crate) fn join(file: &str, name: &str) -> String {
    if name.starts_with('/') {
        return name.to_owned();
    }
    let folder = file.rfind('/').map_or("", |end| &file[..end]);
    let mut parts: Vec<&str> = Vec::new();
    let root = folder.is_empty() && file.starts_with('/') || folder.starts_with('/');
    for part in folder.split('/').chain(name.split('/')).filter(|part| !part.is_empty() && *part != ".") {
        match (part, parts.last()) {
            ("..", Some(&last)) if last != ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    format!("{}{}", if root { "/" } else { "" }, parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_relative_to_the_file_that_names_them() {
        for (file, name, expected) in [
            ("drive.toml", "base.toml", "base.toml"),
            ("dir/drive.toml", "base.toml", "dir/base.toml"),
            ("dir/drive.toml", "../base.toml", "base.toml"),
            ("drive.toml", "../base.toml", "../base.toml"),
            ("../a/b.toml", "./../c.toml", "../c.toml"),
            ("/x/a.toml", "b.toml", "/x/b.toml"),
            ("/a.toml", "b.toml", "/b.toml"),
            ("x/a.toml", "/b.toml", "/b.toml"),
        ] {
            assert_eq!(join(file, name), expected, "{name} in {file}");
        }
    }
}
