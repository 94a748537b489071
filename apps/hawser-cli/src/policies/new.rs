//! `hawser policies new`: a crate with a policy of one's own, which builds, is tested, and has a plan to compare it by.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use hawser::{PolicyKind, Registry};
use hawser_command::exit::{Exit, Failure};
use hawser_command::output::Output;
use hawser_command::report::print;

const EXAMPLES: &str = "\
The crate has a small policy with a parameter and tests of its own (src/lib.rs), the command with it (src/main.rs), a test in the simulator \
(tests/simulated.rs), and a plan that sets it next to others (plan.toml). It depends on a checkout of Hawser by its path.

Examples:
  hawser policies new nearest
  hawser policies new gentle --kind congestion --hawser ~/hawser
  cd nearest && cargo test --no-default-features    # seconds; `cargo test` builds the command as well";

/// `hawser policies new`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct New {
    /// Name of the policy, of its crate and of its folder: small letters, digits and `-`
    name: String,
    /// What it decides
    #[arg(long, value_enum, default_value = "scheduler")]
    kind: Kind,
    /// A checkout of Hawser. Default: the one that contains this folder, or ./hawser
    #[arg(long, value_name = "DIR")]
    hawser: Option<PathBuf>,
    /// The folder to make. Default: the name
    #[arg(short, long = "out", value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The kinds that there is a template for.
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Which path sends what next
    Scheduler,
    /// How much may be in flight on a path
    Congestion,
}

impl Kind {
    fn policy(self) -> PolicyKind {
        match self {
            Kind::Scheduler => PolicyKind::Scheduler,
            Kind::Congestion => PolicyKind::Congestion,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Kind::Scheduler => "scheduler",
            Kind::Congestion => "congestion controller",
        }
    }

    fn code(self) -> &'static str {
        match self {
            Kind::Scheduler => include_str!("../../templates/policy/scheduler.rs.in"),
            Kind::Congestion => include_str!("../../templates/policy/controller.rs.in"),
        }
    }

    fn rivals(self) -> &'static str {
        match self {
            Kind::Scheduler => r#""default", "minrtt", "ecf""#,
            Kind::Congestion => r#""tide", "cubic", "bbr""#,
        }
    }
}

/// The files that do not depend on the kind.
const FILES: [(&str, &str); 6] = [
    ("Cargo.toml", include_str!("../../templates/policy/Cargo.toml.in")),
    ("README.md", include_str!("../../templates/policy/README.md.in")),
    ("plan.toml", include_str!("../../templates/policy/plan.toml.in")),
    ("scenario.toml", include_str!("../../templates/policy/scenario.toml.in")),
    ("src/main.rs", include_str!("../../templates/policy/main.rs.in")),
    ("tests/simulated.rs", include_str!("../../templates/policy/simulated.rs.in")),
];

/// Makes the crate.
///
/// # Errors
/// A name that no crate may have or that a policy has, no checkout, a folder that is there, or one that cannot be written.
pub(super) fn run(arguments: &New, registry: &Registry, output: Output) -> Result<(), Failure> {
    check_name(&arguments.name, arguments.kind, registry)?;
    let checkout = checkout(arguments.hawser.as_deref())?;
    let folder = arguments.out.clone().unwrap_or_else(|| PathBuf::from(&arguments.name));
    if folder.exists() {
        let words = format!("{} is there already: name another folder with --out", folder.display());
        return Err(Failure::new(Exit::Usage, words));
    }
    let filled = |template: &str| fill(template, arguments, &checkout);
    for (name, template) in FILES {
        write(&folder.join(name), &filled(template))?;
    }
    write(&folder.join("src/lib.rs"), &filled(arguments.kind.code()))?;
    write(&folder.join(".gitignore"), "/target\n/results\n")?;
    // The same versions of libraries as the checkout: what was built and tested there.
    let versions = checkout.join("Cargo.lock");
    let text = fs::read_to_string(&versions).map_err(|error| Failure::read(&versions, &error))?;
    write(&folder.join("Cargo.lock"), &text)?;
    print(format!("cd {} && cargo test --no-default-features", folder.display()));
    output.remark(format_args!(
        "hawser: {} is a {} with tests and a plan; its README.md says what to try",
        folder.display(),
        arguments.kind.words()
    ));
    Ok(())
}

fn check_name(name: &str, kind: Kind, registry: &Registry) -> Result<(), Failure> {
    let is_word = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_lowercase())
            && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    if !is_word(name) || name.ends_with('-') || name.len() > 64 {
        let words = format!(
            "\"{name}\": expected small letters, digits and `-`, a letter first, such as nearest-link"
        );
        return Err(Failure::new(Exit::Usage, words));
    }
    if matches!(name, "test" | "core" | "std" | "hawser" | "new") || name.starts_with("hawser-") {
        return Err(Failure::new(
            Exit::Usage,
            format!("\"{name}\" has a meaning already: choose another name"),
        ));
    }
    if registry.policy(kind.policy(), name).is_some() {
        let words = format!("there is a {} `{name}` already: choose another name", kind.words());
        return Err(Failure::new(Exit::Usage, words));
    }
    Ok(())
}

/// The folder of the sources.
fn checkout(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let is_checkout = |folder: &&Path| {
        folder.join("transport/hawser-policy/Cargo.toml").exists()
            && folder.join("apps/hawser-cli/Cargo.toml").exists()
    };
    let here = std::env::current_dir().map_err(|error| Failure::read(Path::new("."), &error))?;
    let found = match named {
        Some(folder) => Some(folder).filter(is_checkout).map(Path::to_owned),
        None => here
            .ancestors()
            .find(is_checkout)
            .map(Path::to_owned)
            .or_else(|| Some(here.join("hawser")).filter(|folder| is_checkout(&folder.as_path()))),
    };
    let found = found.ok_or_else(|| {
        let place =
            named.map_or_else(|| "here, above or in ./hawser".to_owned(), |it| it.display().to_string());
        Failure::new(
            Exit::Usage,
            format!("{place}: no checkout of Hawser; clone it and name its folder with --hawser"),
        )
    })?;
    found.canonicalize().map_err(|error| Failure::read(&found, &error))
}

/// A template with the names in their places.
fn fill(template: &str, arguments: &New, checkout: &Path) -> String {
    let kind = arguments.kind;
    // In TOML and in the shell lines of README a quote or a backslash of a path would end its string.
    let checkout = checkout.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
    let values = [
        ("{{name}}", arguments.name.as_str()),
        ("{{module}}", &arguments.name.replace('-', "_")),
        ("{{kind}}", kind.words()),
        ("{{field}}", kind.policy().field()),
        ("{{option}}", &super::option(kind.policy())),
        ("{{rivals}}", kind.rivals()),
        ("{{checkout}}", &checkout),
        ("{{rust-version}}", env!("CARGO_PKG_RUST_VERSION")),
    ];
    values.iter().fold(template.to_owned(), |text, (mark, value)| text.replace(mark, value))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::write(path, &error);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(path, text).map_err(failed)
}
