//! Reads the input of experiments from the two trees.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use anyhow::Result;
use redgreen_core::syntax::Package;

use super::{Candidate, packages};
use crate::git::Git;

/// Reads the text of a file in one of the trees.
pub(super) type Reader<'a> = Box<dyn Fn(&str) -> Option<String> + 'a>;

/// The input of experiments.
pub(super) struct TreeReader<'a> {
    pub(super) paths: Vec<String>,
    pub(super) packages: Vec<Package>,
    pub(super) before: Reader<'a>,
    pub(super) now: Reader<'a>,
}

impl<'a> TreeReader<'a> {
    pub(super) fn of(git: &'a Git, candidate: &'a Candidate<'a>) -> Result<Self> {
        let files = git.tree_files(candidate.head)?;
        let paths: Vec<String> =
            files.iter().filter_map(|file| file.path.to_str().map(str::to_owned)).collect();
        let packages = packages::of(git, candidate.head, &paths)?;
        let texts = Rc::new(Texts { git, read: RefCell::default() });
        let reader = |tree: &'a str| -> Reader<'a> {
            let texts = Rc::clone(&texts);
            Box::new(move |path| texts.read(tree, path))
        };
        Ok(Self { paths, packages, before: reader(candidate.base), now: reader(candidate.head) })
    }
}

/// Files of both trees, each read once.
struct Texts<'a> {
    git: &'a Git,
    read: RefCell<HashMap<(String, String), Option<String>>>,
}

impl Texts<'_> {
    pub(super) fn read(&self, tree: &str, path: &str) -> Option<String> {
        let key = (tree.to_owned(), path.to_owned());
        if let Some(known) = self.read.borrow().get(&key) {
            return known.clone();
        }
        let bytes = self.git.read_file(tree, path).ok().flatten();
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        self.read.borrow_mut().insert(key, text.clone());
        text
    }
}
