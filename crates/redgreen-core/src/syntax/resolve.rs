//! Question 3, continued: which project files does an import refer to?

use super::imports::Import;
use super::language::Language;
use crate::path::{folder, join, normal};

/// The files of a project, without their contents.
#[derive(Clone, Copy, Debug, Default)]
pub struct Project<'a> {
    /// Relative to the project, with `/`.
    pub paths: &'a [String],
    /// The project's own packages, as manifests name them: a crate, a Go module, an npm package.
    pub packages: &'a [Package],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    pub name: String,
    /// The folder of its manifest. Empty for the root.
    pub folder: String,
}

const SCRIPT_ENDINGS: [&str; 9] =
    [".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".vue"];
const MODULES_MAX: usize = 32;

/// The files that an import in `from` refers to. Empty if it is from outside the project.
pub fn resolve(
    language: Language,
    from: &str,
    import: &Import,
    project: Project<'_>,
) -> Vec<String> {
    let mut found = match language {
        Language::Python => python(from, import, project),
        Language::Rust => rust(from, import, project),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            script(from, import, project)
        }
        Language::Go => go(from, import, project),
        Language::Java => java(from, import, project),
        Language::Other => Vec::new(),
    };
    let mut seen = std::collections::HashSet::new();
    found.retain(|path| seen.insert(path.clone()));
    found
}

/// The name of the package in a manifest.
pub fn package_name(manifest: &str, text: &str) -> Option<String> {
    match manifest {
        "package.json" => {
            let json: serde_json::Value = serde_json::from_str(text).ok()?;
            Some(json.get("name")?.as_str()?.to_owned())
        }
        "go.mod" => {
            text.lines().find_map(|line| Some(line.strip_prefix("module ")?.trim().to_owned()))
        }
        "Cargo.toml" | "pyproject.toml" => {
            // The first `name` in a manifest is that of the package.
            let line = text.lines().find(|line| line.trim_start().starts_with("name"))?;
            let value = line.split_once('=')?.1.trim();
            Some(value.trim_matches(['"', '\'']).to_owned())
        }
        _ => None,
    }
}

fn python(from: &str, import: &Import, project: Project<'_>) -> Vec<String> {
    let dots = import.module.chars().take_while(|letter| *letter == '.').count();
    let below = import.module.trim_start_matches('.').replace('.', "/");
    let mut found = Vec::new();
    if dots > 0 {
        let mut base = folder(from);
        for _ in 1..dots {
            base = folder(base);
        }
        found.extend(python_module(&[join(base, &below)], import, project));
        return found;
    }
    // The nearest first: next to the file, at the root, in a source folder, anywhere in the same
    // part of the repository.
    let mut bases =
        vec![join(folder(from), &below), below.clone(), join("src", &below), join("lib", &below)];
    bases.dedup();
    found.extend(python_module(&bases, import, project));
    if found.is_empty() {
        let ends = [format!("/{below}.py"), format!("/{below}/__init__.py")];
        let anywhere =
            project.paths.iter().filter(|path| ends.iter().any(|end| path.ends_with(end)));
        let shared = |path: &str| {
            path.split('/').zip(from.split('/')).take_while(|(left, right)| left == right).count()
        };
        found.extend(
            anywhere.min_by_key(|path| (std::cmp::Reverse(shared(path)), path.len())).cloned(),
        );
    }
    found
}

fn python_module(bases: &[String], import: &Import, project: Project<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for base in bases {
        let own = [format!("{base}.py"), join(base, "__init__.py"), format!("{base}.pyi")];
        found.extend(own.into_iter().find(|path| has(project, path)));
        // `from package import module`.
        let names = import.names.iter().take(MODULES_MAX);
        found.extend(
            names
                .flat_map(|name| {
                    [join(base, &format!("{name}.py")), join(base, &format!("{name}/__init__.py"))]
                })
                .filter(|path| has(project, path)),
        );
        if !found.is_empty() {
            break;
        }
    }
    found
}

fn rust(from: &str, import: &Import, project: Project<'_>) -> Vec<String> {
    let mut parts: Vec<&str> = import.module.split("::").collect();
    let names: Vec<&str> = import.names.iter().map(String::as_str).take(MODULES_MAX).collect();
    let head = parts.first().copied().unwrap_or_default();
    let (base, sure) = match head {
        "crate" => {
            parts.remove(0);
            (crate_folder(from), true)
        }
        "self" | "super" => {
            let ups = parts.iter().filter(|part| **part == "super").count();
            parts.retain(|part| !matches!(*part, "self" | "super"));
            // In a `mod tests` of the same file, the first `super` is the file itself.
            let near = up(&module_folder(from), ups.saturating_sub(1));
            let far = up(&near, 1);
            let inside =
                [near, far].into_iter().find_map(|base| rust_parts(&base, &parts, &names, project));
            return vec![inside.unwrap_or_else(|| from.to_owned())];
        }
        "std" | "core" | "alloc" | "proc_macro" => return Vec::new(),
        name => {
            parts.remove(0);
            let own =
                project.packages.iter().find(|package| package.name.replace('-', "_") == name);
            let package = from.rsplit_once("/tests/").map_or("", |(package, _)| package);
            match own {
                Some(package) => (join(&package.folder, "src"), true),
                // Without its name, a crate is identified only by its modules.
                None => (join(package, "src"), false),
            }
        }
    };
    if let Some(path) = rust_parts(&base, &parts, &names, project) {
        return vec![path];
    }
    let roots = ["lib.rs", "main.rs"].map(|root| join(&base, root));
    roots.into_iter().find(|root| sure && has(project, root)).into_iter().collect()
}

/// The file of the longest prefix of the path that exists.
fn rust_parts(base: &str, parts: &[&str], names: &[&str], project: Project<'_>) -> Option<String> {
    let named =
        names.iter().find_map(|name| rust_module(base, &[parts, &[*name]].concat(), project));
    let shorter = || {
        (1..=parts.len()).rev().find_map(|length| rust_module(base, parts.get(..length)?, project))
    };
    named.or_else(shorter)
}

fn up(place: &str, times: usize) -> String {
    let mut place = place;
    for _ in 0..times {
        place = folder(place);
    }
    place.to_owned()
}

fn rust_module(base: &str, parts: &[&str], project: Project<'_>) -> Option<String> {
    if parts.is_empty() {
        return None;
    }
    let path = join(base, &parts.join("/"));
    [format!("{path}.rs"), format!("{path}/mod.rs")].into_iter().find(|path| has(project, path))
}

fn crate_folder(from: &str) -> String {
    match from.rfind("src/") {
        Some(at) => from.get(..at + 3).unwrap_or_default().to_owned(),
        None => folder(from).to_owned(),
    }
}

/// The folder with the children of a module.
fn module_folder(from: &str) -> String {
    let stem = from.strip_suffix(".rs").unwrap_or(from);
    let name = stem.rsplit('/').next().unwrap_or(stem);
    if matches!(name, "mod" | "lib" | "main") { folder(from).to_owned() } else { stem.to_owned() }
}

fn script(from: &str, import: &Import, project: Project<'_>) -> Vec<String> {
    let module = import.module.split('?').next().unwrap_or_default();
    let mut bases = Vec::new();
    if module.starts_with('.') {
        bases.push(normal(&join(folder(from), module)));
    } else if let Some(rest) = module.strip_prefix("@/").or_else(|| module.strip_prefix("~/")) {
        bases.extend([join("src", rest), rest.to_owned()]);
    } else {
        for package in project.packages {
            if let Some(rest) = module.strip_prefix(package.name.as_str()) {
                let rest = rest.trim_start_matches('/');
                bases.extend([
                    join(&package.folder, rest),
                    join(&join(&package.folder, "src"), rest),
                ]);
            }
        }
        bases.push(join("src", module));
        bases.push(module.to_owned());
    }
    bases.iter().find_map(|base| script_file(base, project)).into_iter().collect()
}

fn script_file(base: &str, project: Project<'_>) -> Option<String> {
    if !base.is_empty() && has(project, base) {
        return Some(base.to_owned());
    }
    // TypeScript imports `./a.js` and means `./a.ts`.
    let stem = [".js", ".jsx", ".mjs", ".cjs"]
        .iter()
        .find_map(|end| base.strip_suffix(end))
        .unwrap_or(base);
    let beside =
        SCRIPT_ENDINGS.iter().flat_map(|end| [format!("{base}{end}"), format!("{stem}{end}")]);
    let index = SCRIPT_ENDINGS.iter().map(|end| join(base, &format!("index{end}")));
    beside.chain(index).find(|path| has(project, path))
}

fn go(from: &str, import: &Import, project: Project<'_>) -> Vec<String> {
    let place = if import.relative {
        Some(folder(from).to_owned())
    } else {
        let own = project.packages.iter().find_map(|package| {
            let rest = import.module.strip_prefix(package.name.as_str())?;
            (rest.is_empty() || rest.starts_with('/'))
                .then(|| join(&package.folder, rest.trim_start_matches('/')))
        });
        own.or_else(|| go_guess(&import.module, project))
    };
    let Some(place) = place else { return Vec::new() };
    let files =
        project.paths.iter().filter(|path| path.ends_with(".go") && !path.ends_with("_test.go"));
    files.filter(|path| folder(path) == place).cloned().collect()
}

/// Without the module name: the longest suffix of the path that is a folder here.
fn go_guess(module: &str, project: Project<'_>) -> Option<String> {
    if !module.split('/').next()?.contains('.') {
        return None;
    }
    let starts = module.match_indices('/').map(|(at, _)| module.get(at + 1..).unwrap_or_default());
    let is_folder =
        |end: &&str| project.paths.iter().any(|path| path.ends_with(".go") && folder(path) == *end);
    starts.filter(|end| !end.is_empty()).find(is_folder).map(str::to_owned)
}

fn java(from: &str, import: &Import, project: Project<'_>) -> Vec<String> {
    let path = import.module.replace('.', "/");
    let everything = import.names.iter().any(|name| name == "*");
    let files = project.paths.iter().filter(|file| file.ends_with(".java"));
    let matching = files.filter(|file| {
        let stem = file.strip_suffix(".java").unwrap_or(file);
        stem == path
            || stem.ends_with(&format!("/{path}"))
            || everything && (folder(file) == path || folder(file).ends_with(&format!("/{path}")))
    });
    let code = matching.filter(|file| {
        !import.relative || !file.contains("src/test/") || !from.contains("src/test/")
    });
    code.cloned().collect()
}

fn has(project: Project<'_>, path: &str) -> bool {
    project.paths.iter().any(|known| known == path)
}
