//! Facts about a project before anything runs. The program collects them, and the framework rows
//! decide from them.

/// A folder of a project that can have its own tests: the root, or a package below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folder {
    /// Path from the project root, with `/`; empty for the root.
    pub path: String,
    /// Paths within the folder, with `/`: its own files, and those of the folders in
    /// [`LISTED_FOLDERS`].
    pub files: Vec<String>,
    /// The text of the existing files that some row reads.
    pub texts: Vec<(String, String)>,
}

/// Subfolders whose files detection also sees.
pub const LISTED_FOLDERS: &[&str] = &["tests", "test", "spec", "__tests__", ".config"];

/// Detection looks at a folder below the root only if it contains one of these.
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

/// How certain it is that a folder uses a framework.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    None,
    /// The language's manifest, which projects in other languages often have too (a linter's
    /// `pyproject.toml`).
    Likely,
    /// The framework's own configuration, or tests.
    Sure,
}

/// How far one run of a framework reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// A run also covers the packages below the folder, so they need no run of their own.
    Tree,
    /// Each package needs its own run.
    Package,
}

/// Everything an invocation depends on.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub folder: Folder,
    /// The absolute path of the folder.
    pub root: String,
    /// A new private folder outside the worktree; deleted after the run.
    pub scratch: String,
    /// The existing tools among those that a row names, with their paths. A plain name is looked up
    /// on PATH. A name with a `/` is looked up in the folder and its parents up to the project
    /// root. A name that starts with [`ACTIVE_ENVIRONMENT`] is looked up in the virtual environment
    /// that is active in the user's shell.
    pub tools: Vec<(String, String)>,
    /// Folders from which an interpreter imports the project's own code, because it is installed as
    /// editable.
    pub imports: Vec<String>,
    /// The text of the selected files that can be read.
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

    /// Converts a path within the folder to a path within the project.
    pub fn within(&self, path: &str) -> String {
        if self.path.is_empty() { path.to_owned() } else { format!("{}/{path}", self.path) }
    }

    /// Converts a path within the project to a path within the folder.
    pub fn inside<'a>(&self, path: &'a str) -> Option<&'a str> {
        if self.path.is_empty() {
            Some(path)
        } else {
            path.strip_prefix(&self.path)?.strip_prefix('/')
        }
    }
}

impl Facts {
    /// The path of a tool, if it exists.
    pub fn tool(&self, name: &str) -> Option<&str> {
        self.tools.iter().find(|(known, _)| known == name).map(|(_, path)| path.as_str())
    }

    /// The first of these tools that exists.
    pub fn first_tool(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.tool(name))
    }

    /// A path in the scratch folder.
    pub fn scratch(&self, name: &str) -> String {
        format!("{}/{name}", self.scratch)
    }
}
