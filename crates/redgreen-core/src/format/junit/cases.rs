//! The cases of a document in a compact form. Most cases pass without details, and there can be
//! millions.

use std::borrow::Cow;
use std::collections::HashMap;
use std::num::NonZeroU32;

use super::Case;

/// Cases in the order of the document.
#[derive(Clone, Debug, Default)]
pub struct Cases {
    rows: Vec<Row>,
    /// The concatenated names of compact cases.
    names: String,
    /// Classes, files and status values, which many cases share.
    words: Interner,
    /// Cases with details, in full.
    telling: Vec<Case>,
}

/// A case that has only attributes: an offset range in `names` and indices into `words`. For a case
/// with details, the class is `TELLING` and the name is its index in `telling`.
#[derive(Clone, Copy, Debug)]
struct Row {
    name: u32,
    name_end: u32,
    class: u32,
    file: Option<Number>,
    status: Option<Number>,
    line: Option<Number>,
    /// NaN if unknown: a million `Option`s would take eight megabytes more.
    seconds: f64,
}

const TELLING: u32 = u32::MAX;

/// Starts at one, so that `Option` takes no extra space.
type Number = NonZeroU32;

#[derive(Clone, Debug, Default)]
struct Interner {
    all: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
}

impl Cases {
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// All cases, as they were read.
    pub fn iter(&self) -> impl Iterator<Item = Cow<'_, Case>> {
        self.rows.iter().filter_map(|row| match row.class {
            TELLING => self.telling.get(row.name as usize).map(Cow::Borrowed),
            _ => self.whole(*row).map(Cow::Owned),
        })
    }

    /// Cases with details: a failure, an error, the reason of a skip, or output.
    pub fn telling(&self) -> impl Iterator<Item = &Case> {
        self.telling.iter()
    }

    /// Renames every class.
    pub fn rename_classes(&mut self, rename: impl Fn(&str) -> String) {
        for case in &mut self.telling {
            case.classname = rename(&case.classname);
        }
        let mut renamed: HashMap<u32, u32> = HashMap::new();
        for row in self.rows.iter_mut().filter(|row| row.class != TELLING) {
            let known = renamed.get(&row.class).copied();
            let class = known.or_else(|| self.words.number(&rename(self.words.word(row.class)?)));
            if let Some(class) = class {
                renamed.insert(row.class, class);
                row.class = class;
            }
        }
    }

    pub(super) fn push(&mut self, case: Case) {
        let row = self.silent(&case).or_else(|| {
            let name = u32::try_from(self.telling.len()).ok()?;
            self.telling.push(case);
            Some(Row {
                name,
                name_end: 0,
                class: TELLING,
                file: None,
                status: None,
                line: None,
                seconds: f64::NAN,
            })
        });
        self.rows.extend(row);
    }

    /// `None` if the case has details.
    fn silent(&mut self, case: &Case) -> Option<Row> {
        let Case { name, classname, file, line, seconds, status, .. } = case;
        let Case { failure, error, skipped, flaky, warning, system_out, .. } = case;
        let tells =
            failure.is_some() || error.is_some() || skipped.is_some() || system_out.is_some();
        if tells || *flaky || *warning {
            return None;
        }
        let from_one = |number: u32| Number::new(number.checked_add(1)?);
        let word = |words: &mut Interner, text: &Option<String>| match text {
            None => Some(None),
            Some(text) => from_one(words.number(text)?).map(Some),
        };
        let line = match line {
            None => None,
            Some(line) => Some(from_one(*line)?),
        };
        let name = name.as_deref()?;
        let start = u32::try_from(self.names.len()).ok()?;
        let end = u32::try_from(self.names.len().checked_add(name.len())?).ok()?;
        let row = Row {
            name: start,
            name_end: end,
            class: self.words.number(classname)?,
            file: word(&mut self.words, file)?,
            status: word(&mut self.words, status)?,
            line,
            seconds: seconds.unwrap_or(f64::NAN),
        };
        self.names.push_str(name);
        Some(row)
    }

    fn whole(&self, row: Row) -> Option<Case> {
        let Row { name, name_end, class, file, status, line, seconds } = row;
        let word = |number: Option<Number>| Some(self.words.word(number?.get() - 1)?.to_owned());
        Some(Case {
            name: Some(self.names.get(name as usize..name_end as usize)?.to_owned()),
            classname: self.words.word(class)?.to_owned(),
            file: word(file),
            status: word(status),
            line: line.map(|line| line.get() - 1),
            seconds: Some(seconds).filter(|seconds| !seconds.is_nan()),
            ..Case::default()
        })
    }
}

impl Interner {
    fn word(&self, number: u32) -> Option<&str> {
        self.all.get(number as usize).map(|word| &**word)
    }

    /// `None` if there are too many to count.
    fn number(&mut self, word: &str) -> Option<u32> {
        if let Some(known) = self.numbers.get(word) {
            return Some(*known);
        }
        let number = u32::try_from(self.all.len()).ok().filter(|number| *number != TELLING)?;
        self.all.push(word.into());
        self.numbers.insert(word.into(), number);
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::junit::Detail;

    fn case(name: &str, class: &str) -> Case {
        Case { name: Some(name.to_owned()), classname: class.to_owned(), ..Case::default() }
    }

    #[test]
    fn returns_cases_unchanged() {
        let told = [
            case("a", "x.Y"),
            Case {
                line: Some(0),
                seconds: Some(0.25),
                file: Some("x/y.py".to_owned()),
                ..case("", "x.Y")
            },
            Case {
                status: Some("run".to_owned()),
                failure: Some(Box::new(Detail::default())),
                ..case("b", "z")
            },
            Case { name: None, ..case("", "") },
            Case { status: Some("disabled".to_owned()), seconds: Some(0.0), ..case("ä", "") },
        ];
        let mut cases = Cases::default();
        told.iter().cloned().for_each(|case| cases.push(case));
        let read: Vec<String> = cases.iter().map(|case| format!("{case:?}")).collect();
        assert_eq!(read, told.map(|case| format!("{case:?}")));
        assert_eq!((cases.len(), cases.telling().count()), (5, 2));
    }

    #[test]
    fn renames_classes_in_all_cases() {
        let mut cases = Cases::default();
        let failed = Case { failure: Some(Box::new(Detail::default())), ..case("c", "x") };
        [case("a", "x"), case("b", "y"), failed].into_iter().for_each(|case| cases.push(case));
        cases.rename_classes(|class| format!("{class}!"));
        let classes: Vec<String> = cases.iter().map(|case| case.classname.clone()).collect();
        assert_eq!(classes, ["x!", "y!", "x!"]);
    }

    #[test]
    fn compact_cases_take_little_memory() {
        assert!(size_of::<Row>() <= 32, "{}", size_of::<Row>());
    }
}
