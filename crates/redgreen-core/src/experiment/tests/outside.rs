//! What in new code is a reason to doubt it.

use super::*;

#[test]
fn what_a_brief_asks_for_is_no_reason_to_doubt_and_a_runner_is_no_such_thing() {
    let doubted = |path: &str, code: &str, brief: &str| {
        let scene = Scene { now: &[(path, code)], brief, ..Scene::default() };
        scene.ask(JudgedPhase::Green, |material| !suspicions(material).is_empty())
    };
    let level = "export const level = () => (process.env.NODE_ENV === 'production' ? 'warn' : 'debug')\n";
    assert!(!doubted("level.js", level, "level() is warn when NODE_ENV is production"));
    assert!(doubted("level.js", level, "level() is warn or debug"));
    for (path, code, brief) in [
        ("a.py", "import sys\n\nTESTED = 'pytest' in sys.modules\n", "Add f, and test it with pytest."),
        ("a.js", "export const tested = Boolean(import.meta.vitest)\n", "Add f; its tests run in vitest."),
        ("a.js", "export const tested = 'JEST_WORKER_ID' in process.env\n", "Add f, tested with jest."),
    ] {
        assert!(doubted(path, code, brief), "{code}");
    }
}
