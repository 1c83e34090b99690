//! A sandbox as a list of paths, outer paths first, so that each can be mounted over the previous
//! ones.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{Fence, Network};
use crate::egress::Address;

/// The folder of service sockets. Through one of them a program can escape from any file
/// restrictions.
const SERVICES: &str = "/run";
/// The resolver configuration may be below `/run`.
const RESOLVERS: &[&str] = &["/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager"];
/// World-writable folders, which are replaced by empty ones.
const SCRATCH: &[&str] = &["/tmp", "/var/tmp"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sandbox) struct Plan {
    /// Only the listed paths exist.
    pub(in crate::sandbox) bare: bool,
    pub(in crate::sandbox) places: Vec<Place>,
    /// The folder of our own proxy's socket.
    pub(in crate::sandbox) proxy: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::sandbox) struct Place {
    pub(in crate::sandbox) path: PathBuf,
    pub(in crate::sandbox) kind: Kind,
}

/// If several apply to one path, the last one in this order wins.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::sandbox) enum Kind {
    /// Empty and read-only.
    Empty,
    /// A socket that cannot be connected to. Ignored if it no longer exists.
    #[cfg_attr(
        target_os = "macos",
        expect(dead_code, reason = "Seatbelt closes sockets with the network")
    )]
    Cover,
    /// Empty, writable and temporary.
    Scratch,
    /// A read-only copy of another path.
    Show {
        from: PathBuf,
    },
    Write,
}

pub(in crate::sandbox) fn plan(fence: &Fence) -> Result<Plan> {
    let mut places = Vec::new();
    let mut add = |path: PathBuf, kind: Kind| places.push(Place { path, kind });
    let present = |path: &Path| path.canonicalize().ok();
    for folder in SCRATCH.iter().filter_map(|folder| present(Path::new(folder))) {
        add(folder, Kind::Scratch);
    }
    let services = present(Path::new(SERVICES));
    for hidden in fence.hidden.iter().filter_map(|path| present(path)).chain(services) {
        add(hidden, Kind::Empty);
    }
    let resolvers = RESOLVERS.iter().map(PathBuf::from).filter(|_| fence.network == Network::Full);
    let proxy = fence.outlet.as_ref().and_then(|outlet| match &outlet.proxy {
        Address::Socket(path) => path.parent().map(Path::to_owned),
        Address::Port(_) => None,
    });
    for path in fence
        .shown
        .iter()
        .cloned()
        .chain(resolvers)
        .chain(proxy.clone())
        .filter(|path| path.exists())
    {
        for link in links_on_the_way(&path) {
            add(link.clone(), Kind::Show { from: link });
        }
        let path = own_place(&path).with_context(|| format!("find {}", path.display()))?;
        add(path.clone(), Kind::Show { from: path });
    }
    for bound in &fence.bound {
        let from =
            bound.from.canonicalize().with_context(|| format!("find {}", bound.from.display()))?;
        let to = bound.to.canonicalize().with_context(|| format!("find {}", bound.to.display()))?;
        add(to, Kind::Show { from });
    }
    for path in &fence.writable {
        for link in links_on_the_way(path) {
            add(link.clone(), Kind::Show { from: link });
        }
        add(path.canonicalize().with_context(|| format!("find {}", path.display()))?, Kind::Write);
    }
    places.sort_by(|a, b| {
        (depth(&a.path), &a.path, &a.kind).cmp(&(depth(&b.path), &b.path, &b.kind))
    });
    places.dedup();
    let bare = places.iter().any(|place| place.path == Path::new("/") && place.kind == Kind::Empty);
    places.retain(|place| place.path != Path::new("/"));
    Ok(Plan { bare, places: without_repetition(places), proxy })
}

/// Leaves out paths that are visible through their parent: each one costs a mount for every
/// program.
fn without_repetition(places: Vec<Place>) -> Vec<Place> {
    let mut kept: Vec<Place> = Vec::new();
    for place in places {
        let around = kept.iter().rev().find(|outer| place.path.starts_with(&outer.path));
        if !place.is_as_it_is() || !around.is_some_and(Place::is_as_it_is) {
            kept.push(place);
        }
    }
    kept
}

impl Place {
    /// Whether the path shows itself.
    fn is_as_it_is(&self) -> bool {
        matches!(&self.kind, Kind::Show { from } if *from == self.path)
    }
}

/// The real path of a file that may be a link: of the link, not of its target.
fn own_place(path: &Path) -> std::io::Result<PathBuf> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok(parent.canonicalize()?.join(name)),
        _ => path.canonicalize(),
    }
}

/// The real paths of the links in a path. In a hidden root they have to be shown, too.
fn links_on_the_way(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1).filter(|above| above.is_symlink());
    above.filter_map(|link| own_place(link).ok()).collect()
}

fn depth(path: &Path) -> usize {
    path.components().count()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn sorts_inner_paths_after_outer_ones() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (outer, inner) = (root.join("home"), root.join("home/cache/room"));
        fs::create_dir_all(&inner).unwrap();
        let fence = Fence {
            writable: vec![inner.clone()],
            hidden: vec![root.join("absent"), outer.clone()],
            shown: vec![root.join("home/cache")],
            ..Fence::default()
        };
        let places = plan(&fence).unwrap().places;
        let ours: Vec<_> = places.iter().filter(|place| place.path.starts_with(&outer)).collect();
        let expected = [
            Place { path: outer, kind: Kind::Empty },
            Place {
                path: root.join("home/cache"),
                kind: Kind::Show { from: root.join("home/cache") },
            },
            Place { path: inner, kind: Kind::Write },
        ];
        assert_eq!(ours, expected.iter().collect::<Vec<_>>());
    }

    #[test]
    fn leaves_out_paths_visible_through_their_parent() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in ["tools/bin", "tools/secret/seen", "tools/work/lib"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        fs::write(root.join("tools/bin/program"), "").unwrap();
        let fence = Fence {
            shown: [
                "tools",
                "tools/bin",
                "tools/bin/program",
                "tools/secret/seen",
                "tools/work/lib",
            ]
            .map(|path| root.join(path))
            .to_vec(),
            hidden: vec![root.join("tools/secret")],
            writable: vec![root.join("tools/work")],
            ..Fence::default()
        };
        let places = plan(&fence).unwrap().places;
        let ours: Vec<_> =
            places.iter().filter_map(|place| place.path.strip_prefix(&root).ok()).collect();
        let expected =
            ["tools", "tools/secret", "tools/work", "tools/secret/seen", "tools/work/lib"];
        assert_eq!(ours, expected.map(Path::new));
    }

    #[test]
    fn a_writable_path_must_exist() {
        let fence = Fence { writable: vec!["/no/such/folder".into()], ..Fence::default() };
        assert_eq!(plan(&fence).unwrap_err().to_string(), "find /no/such/folder");
    }
}
