//! Honest work, and the code of its acceptance.

use super::*;

pub(super) const HONEST: &[Row] = &[
    Row(Red, OLD_PY, "+a +b", "+a +b -n", "accepted red.assertion"),
    Row(Red, OLD_PY, "+a", "+a !n:NameError", "accepted red.missing_symbol"),
    Row(Red, OLD_PY, "+a", "+a !n:NotImplementedError", "accepted red.not_implemented"),
    Row(Red, OLD_PY, "+a", "+a !n:KeyError", "accepted red.error"),
    // A runner that loads nothing hides its own tests, but not those of another language.
    Row(
        Red,
        "test+b_spec.rb",
        "+a +a_spec.rb::a",
        "+a load:b_spec.rb",
        "accepted red.missing_symbol",
    ),
    Row(
        Red,
        "test+b_spec.rb",
        "+a +a_spec.rb::a",
        "+a_spec.rb::a load:b_spec.rb",
        "refused red.tests_vanished",
    ),
    Row(
        Red,
        "test+b_spec.rb",
        "+a_spec.rb::a +c_spec.rb::c",
        "+c_spec.rb::c load:b_spec.rb",
        "refused red.tests_vanished",
    ),
    // A missing module in a new test file hides nothing else. In an old file it hides the old
    // tests.
    Row(Red, NEW_PY, "+a", "+a load:tests/test_n.py", "accepted red.missing_symbol"),
    Row(
        Red,
        OLD_PY,
        "+a +tests/test_b.py::b",
        "+tests/test_b.py::b load:tests/test_a.py",
        "accepted red.missing_symbol",
    ),
    // This runner stops at the first broken file.
    Row(
        Red,
        NEW_PY,
        "+a +tests/test_b.py::b",
        "load:tests/test_n.py",
        "accepted red.missing_symbol",
    ),
    // Cargo: if a target does not compile, all its tests are missing.
    Row(
        Red,
        "mixed~src/lib.rs",
        "+roman::tests::one +roman/tests/it::x",
        "+roman/tests/it::x load:src/lib.rs",
        "accepted red.missing_symbol",
    ),
    Row(
        Red,
        "mixed~src/lib.rs",
        "+roman::tests::one +roman/tests/it::x",
        "load:src/lib.rs",
        "accepted red.missing_symbol",
    ),
    Row(
        Red,
        "test+tests/new.rs",
        "+roman::tests::one +roman/tests/old::x",
        "+roman::tests::one +roman/tests/old::x load:tests/new.rs",
        "accepted red.missing_symbol",
    ),
    Row(
        Red,
        "test~tests/common/mod.rs",
        "+roman::tests::one +roman/tests/old::x",
        "+roman::tests::one load:tests/common/mod.rs",
        "accepted red.missing_symbol",
    ),
    Row(
        Red,
        "test+tests/helper.rs test~tests/old.rs",
        "+roman::tests::one +roman/tests/old::x",
        "+roman::tests::one load:tests/helper.rs",
        "accepted red.missing_symbol",
    ),
    // Several new tests, one of which already passes.
    Row(Red, OLD_PY, "+a", "+a +m -n", "accepted red.assertion"),
    Row(Red, OLD_PY, "+p[1]", "+p[1] -p[2]", "accepted red.assertion"),
    // An old assertion was changed, or a skipped test was enabled.
    Row(Red, OLD_PY, "+a +b", "-a +b", "accepted red.assertion"),
    Row(
        Red,
        "test~tests/it.rs",
        "+roman/tests/it::x",
        "-roman/tests/it::x",
        "accepted red.assertion",
    ),
    Row(Red, OLD_PY, "+a ?b", "+a -b", "accepted red.assertion"),
    // Failures that existed before do not count against the step.
    Row(
        Red,
        OLD_PY,
        "+a -b ?c xd load:tests/old.py",
        "+a -b ?c xd -n load:tests/old.py",
        "accepted red.assertion",
    ),
    Row(
        Red,
        "test+tests/data/x.json test~tests/test_a.py stub~calc.py manifest~Cargo.toml",
        "+a",
        "+a -n",
        "accepted red.assertion",
    ),
    Row(Red, NEW_PY, "exit=5", "-tests/test_n.py::n", "accepted red.assertion"),
    Row(
        Green,
        "impl~calc.py",
        "+a => test~tests/test_a.py => +a -n",
        "+a +n",
        "accepted green.passes",
    ),
    Row(
        Green,
        "impl~calc.py test+tests/test_m.py",
        "+a => test~tests/test_a.py => +a -n",
        "+a +n +tests/test_m.py::m",
        "accepted green.passes",
    ),
    Row(
        Green,
        "impl+calc.py",
        "+a => test+tests/test_n.py => +a load:tests/test_n.py",
        "+a +tests/test_n.py::n",
        "accepted green.passes",
    ),
    Row(
        Green,
        "impl~calc.py",
        "+a +b => test~tests/test_a.py => load:tests/test_a.py",
        "+a +b",
        "accepted green.passes",
    ),
    Row(
        Green,
        "mixed~src/lib.rs",
        "+roman::tests::one => mixed~src/lib.rs => load:src/lib.rs",
        "+roman::tests::one +roman::tests::two",
        "accepted green.passes",
    ),
    Row(
        Green,
        "impl~calc.py",
        "+a -b ?c xd load:tests/old.py => test~tests/test_a.py => +a -b ?c xd -n load:tests/old.py",
        "+a -b ?c xd +n load:tests/old.py",
        "accepted green.passes",
    ),
    Row(
        Green,
        "impl~calc.py",
        "load:tests/old.py => test+tests/test_n.py => load:tests/old.py load:tests/test_n.py",
        "+tests/test_n.py::n load:tests/old.py",
        "accepted green.passes",
    ),
    Row(
        Green,
        "impl~calc.py",
        "exit=5 => test+tests/test_n.py => -tests/test_n.py::n",
        "+tests/test_n.py::n",
        "accepted green.passes",
    ),
    Row(
        Green,
        "impl~calc.py",
        "+a exit=1 => test~tests/test_a.py => +a -n",
        "+a +n exit=1",
        "accepted green.passes",
    ),
    Row(
        Green,
        "impl~calc.py",
        "+a xs => test~tests/test_a.py => +a xs -n",
        "+a -s +n",
        "accepted green.passes",
    ),
    // A panic in a new test ends all tests that Go runs with it.
    Row(Red, "test+b_test.go", "+demo.TestA", "%demo.TestB:panic", "accepted red.error"),
    Row(
        Green,
        "impl~a.go",
        "+demo.TestA => test+b_test.go => %demo.TestB:panic",
        "+demo.TestA +demo.TestB",
        "accepted green.passes",
    ),
    Row(Refactor, "", "+a", "-a", "accepted refactor.nothing"),
    Row(
        Refactor,
        "impl~calc.py test~tests/test_a.py",
        "+a -b ?c xd",
        "+a -b ?c xd +e",
        "accepted refactor.kept",
    ),
];
