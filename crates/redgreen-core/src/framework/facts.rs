//! What is known of a project before anything runs. The program looks; the rows decide from what it saw.

/// One folder of a project that may have tests of its own: the root, or a package below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folder {
    /// From the project's root, with `/`; empty for the root itself.
    pub path: String,
    /// Paths within the folder, with `/`: its own files, and those of the folders in [`LISTED_FOLDERS`].
    pub files: Vec<String>,
    /// The text of those files that some row reads, as far as they exist.
    pub texts: Vec<(String, String)>,
}

/// The folders whose files detection wants to see beside a folder's own.
pub const LISTED_FOLDERS: &[&str] = &["tests", "test", "spec", "__tests__", ".config"];

/// A folder below the root is looked at when it holds one of these.
pub const MANIFESTS: &[&str] = &[
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "package.json",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "pytest.ini",
    "Cargo.toml",
    "go.mod",
    ".rspec",
    "Gemfile",
    "phpunit.xml",
    "phpunit.xml.dist",
    "composer.json",
    "mix.exs",
    "CMakeLists.txt",
];

/// How sure a folder makes us of a framework.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    None,
    /// The language's manifest, which many a project of another language has too (a linter's `pyproject.toml`).
    Likely,
    /// The framework's own configuration, or tests.
    Sure,
}

/// How far one run of a framework goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// A run in a folder also runs what lies below: packages there need none of their own.
    Tree,
    /// Each package is run by itself.
    Package,
}

/// Everything an invocation depends on.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub folder: Folder,
    /// Where the folder is on this machine.
    pub root: String,
    /// A fresh folder outside the worktree that only we can read; gone after the run.
    pub scratch: String,
    /// Of the tools a row names, those that exist, and where. A plain name was looked for on PATH; one with a `/` in
    /// the folder and in those above it up to the project's root; one that begins with [`ACTIVE_ENVIRONMENT`] in the
    /// virtual environment that is active in the user's shell.
    pub tools: Vec<(String, String)>,
    /// Folders that an interpreter imports the project's own code from, for it is installed as editable.
    pub imports: Vec<String>,
    /// The text of the files that were chosen, as far as they can be read.
    pub chosen: Vec<(String, String)>,
}

pub const ACTIVE_ENVIRONMENT: &str = "$VIRTUAL_ENV/";

impl Folder {
    pub fn has(&self, path: &str) -> bool {
        self.files.iter().any(|file| file == path)
    }

    pub fn text(&self, path: &str) -> Option<&str> {
        self.texts.iter().find(|(name, _)| name == path).map(|(_, text)| text.as_str())
    }

    pub fn says(&self, path: &str, words: &str) -> bool {
        self.text(path).is_some_and(|text| text.contains(words))
    }

    /// A path of the folder as a path of the project.
    pub fn within(&self, path: &str) -> String {
        if self.path.is_empty() { path.to_owned() } else { format!("{}/{path}", self.path) }
    }

    /// A path of the project as a path of the folder.
    pub fn inside<'a>(&self, path: &'a str) -> Option<&'a str> {
        if self.path.is_empty() { Some(path) } else { path.strip_prefix(&self.path)?.strip_prefix('/') }
    }
}

impl Facts {
    /// Where a tool is, if it exists.
    pub fn tool(&self, name: &str) -> Option<&str> {
        self.tools.iter().find(|(known, _)| known == name).map(|(_, path)| path.as_str())
    }

    /// The first of several tools that exists.
    pub fn first_tool(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.tool(name))
    }

    /// A path in the scratch folder.
    pub fn scratch(&self, name: &str) -> String {
        format!("{}/{name}", self.scratch)
    }
}
