//! A fence as a list of places, outer ones first, so that each can be laid over what came before.

use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::{Fence, Network};
use crate::egress::Address;

/// Sockets of services live here: with one of them a program reaches out of any fence of files.
const SERVICES: &str = "/run";
/// A name server's address may be kept among them.
const RESOLVERS: &[&str] = &["/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager"];
/// Folders that everybody may write to are given anew.
const SCRATCH: &[&str] = &["/tmp", "/var/tmp"];
/// The kernel's list of sockets: those in folders with their paths.
const SOCKETS: &str = "/proc/net/unix";
/// More sockets than this in folders that are seen are more than we can cover.
const COVERS_MAX: usize = 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Nothing is there that is not in the list.
    pub(super) bare: bool,
    pub(super) places: Vec<Place>,
    /// The folder of our own proxy's socket.
    pub(super) proxy: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
}

/// In this order where they meet in one place: the last one is seen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Empty, and stays so.
    Empty,
    /// A socket that cannot be connected to; one that is gone meanwhile is passed over.
    Cover,
    /// Empty, writable, and gone afterwards.
    Scratch,
    /// As it is elsewhere, unchangeable.
    Show {
        from: PathBuf,
    },
    Write,
}

pub(super) fn plan(fence: &Fence) -> Result<Plan> {
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
    for path in fence.shown.iter().cloned().chain(resolvers).chain(proxy.clone()).filter(|path| path.exists()) {
        for link in links_on_the_way(&path) {
            add(link.clone(), Kind::Show { from: link });
        }
        let path = own_place(&path).with_context(|| format!("find {}", path.display()))?;
        add(path.clone(), Kind::Show { from: path });
    }
    for bound in &fence.bound {
        let from = bound.from.canonicalize().with_context(|| format!("find {}", bound.from.display()))?;
        let to = bound.to.canonicalize().with_context(|| format!("find {}", bound.to.display()))?;
        add(to, Kind::Show { from });
    }
    for path in &fence.writable {
        for link in links_on_the_way(path) {
            add(link.clone(), Kind::Show { from: link });
        }
        add(path.canonicalize().with_context(|| format!("find {}", path.display()))?, Kind::Write);
    }
    places.sort_by(|a, b| (depth(&a.path), &a.path, &a.kind).cmp(&(depth(&b.path), &b.path, &b.kind)));
    places.dedup();
    let bare = places.iter().any(|place| place.path == Path::new("/") && place.kind == Kind::Empty);
    places.retain(|place| place.path != Path::new("/"));
    Ok(Plan { bare, places: without_repetition(places), proxy })
}

/// Leaves out what the place around it shows anyway: each one is a mount for every program that is started.
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
    /// Shows what is in this very place.
    fn is_as_it_is(&self) -> bool {
        matches!(&self.kind, Kind::Show { from } if *from == self.path)
    }
}

impl Plan {
    /// Lays something harmless over every socket that would be seen: a mount that cannot be written to does not keep
    /// anybody from connecting.
    pub(super) fn cover_sockets(&mut self) -> Result<()> {
        // Without the list nobody can be found; hidden folders still hold.
        let list = fs::read(SOCKETS).unwrap_or_default();
        let list = String::from_utf8_lossy(&list);
        let is_socket = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|facts| facts.file_type().is_socket());
        let paths = list.lines().filter_map(|line| Some(PathBuf::from(line.get(line.find(" /")? + 1..)?)));
        let paths = paths.filter_map(|path| path.canonicalize().ok()).filter(is_socket);
        let mut seen: Vec<PathBuf> = paths.filter(|path| self.shows(path)).collect();
        seen.sort();
        seen.dedup();
        ensure!(seen.len() <= COVERS_MAX, "there are {} sockets in folders that are shown", seen.len());
        self.places.extend(seen.into_iter().map(|path| Place { path, kind: Kind::Cover }));
        Ok(())
    }

    fn shows(&self, path: &Path) -> bool {
        if self.proxy.as_ref().is_some_and(|proxy| path.starts_with(proxy)) {
            return false;
        }
        match self.places.iter().rev().find(|place| path.starts_with(&place.path)) {
            Some(place) => match &place.kind {
                Kind::Empty | Kind::Cover | Kind::Scratch => false,
                Kind::Show { .. } | Kind::Write => true,
            },
            None => !self.bare,
        }
    }
}

/// The real place of a path that may itself be a link: where the link is, not where it leads.
fn own_place(path: &Path) -> std::io::Result<PathBuf> {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok(parent.canonicalize()?.join(name)),
        _ => path.canonicalize(),
    }
}

/// The links that a path goes through, each by its real place: in a root that is hidden they have to be shown, too.
fn links_on_the_way(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1).filter(|above| above.is_symlink());
    above.filter_map(|link| own_place(link).ok()).collect()
}

fn depth(path: &Path) -> usize {
    path.components().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_places_are_laid_over_outer_ones() {
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
            Place { path: root.join("home/cache"), kind: Kind::Show { from: root.join("home/cache") } },
            Place { path: inner, kind: Kind::Write },
        ];
        assert_eq!(ours, expected.iter().collect::<Vec<_>>());
    }

    #[test]
    fn nothing_is_shown_twice() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in ["tools/bin", "tools/secret/seen", "tools/work/lib"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        fs::write(root.join("tools/bin/program"), "").unwrap();
        let fence = Fence {
            shown: ["tools", "tools/bin", "tools/bin/program", "tools/secret/seen", "tools/work/lib"]
                .map(|path| root.join(path))
                .to_vec(),
            hidden: vec![root.join("tools/secret")],
            writable: vec![root.join("tools/work")],
            ..Fence::default()
        };
        let places = plan(&fence).unwrap().places;
        let ours: Vec<_> = places.iter().filter_map(|place| place.path.strip_prefix(&root).ok()).collect();
        let expected = ["tools", "tools/secret", "tools/work", "tools/secret/seen", "tools/work/lib"];
        assert_eq!(ours, expected.map(Path::new));
    }

    #[test]
    fn a_place_to_write_to_has_to_exist() {
        let fence = Fence { writable: vec!["/no/such/folder".into()], ..Fence::default() };
        assert_eq!(plan(&fence).unwrap_err().to_string(), "find /no/such/folder");
    }
}
