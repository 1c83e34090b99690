//! `TODO_LIST.md` of a planner: the box of a task that is done is ticked, with a link to its
//! summary.

/// The list's file name, wherever the planner keeps it.
pub const FILE: &str = "TODO_LIST.md";

/// The list with the task's box ticked; `None` where it has no open box of that task.
pub fn ticked(list: &str, task: &str, summary: &str) -> Option<String> {
    let mut found = false;
    let lines: Vec<String> = list
        .split_inclusive('\n')
        .map(|line| match tick(line, task, summary).filter(|_| !found) {
            Some(ticked) => {
                found = true;
                ticked
            }
            None => line.to_owned(),
        })
        .collect();
    found.then(|| lines.concat())
}

fn tick(line: &str, task: &str, summary: &str) -> Option<String> {
    let (text, end) = line.split_at(line.trim_end().len());
    let bullet = text.trim_start();
    let rest = ["- [ ] ", "* [ ] ", "+ [ ] "].iter().find_map(|open| bullet.strip_prefix(open))?;
    if !names(rest, task) {
        return None;
    }
    let indent = text.get(..text.len() - bullet.len()).unwrap_or_default();
    let mark = bullet.get(..1).unwrap_or("-");
    // A planner's own link leads to the task; where it is done, its summary is what to read.
    let words = rest.split(" → ").next().unwrap_or(rest).trim_end();
    Some(format!("{indent}{mark} [x] {words} → [summary]({summary}){end}"))
}

/// Whether the words have the id as a whole: `IMPL-1` is not in `IMPL-1.2` or `IMPL-10`.
fn names(words: &str, task: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_';
    words.match_indices(task).any(|(at, _)| {
        let before = words.get(..at).unwrap_or_default().chars().next_back();
        let mut after = words.get(at + task.len()..).unwrap_or_default().chars();
        let next = after.next();
        let goes_on =
            next.is_some_and(is_part) || next == Some('.') && after.next().is_some_and(is_part);
        !task.is_empty() && !before.is_some_and(is_part) && !goes_on
    })
}

#[test]
fn only_the_box_of_the_task_is_ticked() {
    let list = "# Tasks\n- [ ] **IMPL-10**: later\n- [ ] **IMPL-1.2**: part\n  - [ ] **IMPL-1**: Temperatures → [task](./.task/IMPL-1.json)\n- [x] IMPL-0\n";
    let ticked_list = ticked(list, "IMPL-1", ".summaries/IMPL-1-summary.md").unwrap();
    assert_eq!(
        ticked_list,
        "# Tasks\n- [ ] **IMPL-10**: later\n- [ ] **IMPL-1.2**: part\n  - [x] **IMPL-1**: Temperatures → [summary](.summaries/IMPL-1-summary.md)\n- [x] IMPL-0\n"
    );
    assert_eq!(ticked(&ticked_list, "IMPL-1", "x"), None);
    assert_eq!(ticked(list, "", "x"), None);
    assert_eq!(ticked("- [ ] IMPL-1", "IMPL-1", "s.md").unwrap(), "- [x] IMPL-1 → [summary](s.md)");
}
