//! The goal of each figure, whether it is met, and its stored value.

use serde::{Deserialize, Serialize};

use super::{Bench, Measure};

/// A figure with its goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Goal {
    pub name: String,
    pub value: f64,
    pub unit: Unit,
    /// The goal: less than this.
    pub below: f64,
    pub met: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    Milliseconds,
    /// To what it is compared with.
    Ratio,
    Mebibytes,
}

/// A figure that got worse.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Regression {
    pub name: String,
    pub value: f64,
    pub landed: f64,
    pub unit: Unit,
}

/// Stored figures: the output of an earlier `bench --json`.
#[derive(Clone, Debug, Deserialize)]
pub struct StoredFigures {
    pub goals: Vec<Goal>,
}

/// The part of a measure that counts.
#[derive(Clone, Copy)]
enum Figure {
    Median,
    /// To the program of this name.
    RatioTo(&'static str),
    Peak,
    /// Memory in addition to the input.
    More,
}

/// The name of a measure, the figure, and its upper limit.
const GOALS: &[(&str, Figure, f64)] = &[
    ("start-up", Figure::Median, 3.0),
    ("a phase, own time", Figure::Median, 80.0),
    ("status, 10000 handoffs", Figure::RatioTo("git log -1"), 2.5),
    ("an external turn, own time", Figure::Peak, 15.0),
    ("JUnit XML, a million silent cases", Figure::More, 64.0),
    ("50 runs at once", Figure::Peak, 20.0),
    ("the list of 200 runs, first", Figure::Median, 300.0),
    ("the list of 200 runs", Figure::Median, 300.0),
    ("the page of a run of 500 cycles, first", Figure::Median, 300.0),
    ("the page of a run of 500 cycles", Figure::Median, 300.0),
    ("the page of a run of 500 cycles", Figure::Peak, 40.0),
    ("an edit check, p95, 50000 files", Figure::Median, 15.0),
    ("an edit check, p95, 50000 files", Figure::RatioTo("true"), 10.0),
    ("an edit check, p95, 50000 files", Figure::Peak, 20.0),
    ("an edit check of a new conftest.py, p95, 50000 files", Figure::Median, 15.0),
    ("an edit check of a new conftest.py, p95, 50000 files", Figure::Peak, 20.0),
    ("a GREEN verdict, pytest, 1 s", Figure::RatioTo(BARE), 1.5),
    ("a GREEN verdict, pytest, 1 s, cold", Figure::RatioTo(BARE), 3.0),
    ("a GREEN verdict, pytest, 30 s", Figure::RatioTo(BARE), 1.2),
    ("a GREEN verdict, pytest, 30 s, cold", Figure::RatioTo(BARE), 2.2),
    ("a GREEN verdict, vitest, 1 s", Figure::RatioTo(BARE), 1.5),
    ("a GREEN verdict, vitest, 1 s, cold", Figure::RatioTo(BARE), 3.0),
    ("a GREEN verdict, vitest, 30 s", Figure::RatioTo(BARE), 1.2),
    ("a GREEN verdict, vitest, 30 s, cold", Figure::RatioTo(BARE), 2.2),
    ("a GREEN verdict, go, 1 s", Figure::RatioTo(BARE), 3.0),
    ("a GREEN verdict, go, 1 s, cold", Figure::RatioTo(BARE), 3.0),
    ("a GREEN verdict, go, 30 s", Figure::RatioTo(BARE), 1.5),
    ("a GREEN verdict, go, 30 s, cold", Figure::RatioTo(BARE), 2.2),
    ("a GREEN verdict, cargo, 1 s", Figure::RatioTo(BARE), 3.0),
    ("a GREEN verdict, cargo, 1 s, cold", Figure::RatioTo(BARE), 3.0),
    ("a GREEN verdict, cargo, 30 s", Figure::RatioTo(BARE), 1.5),
    ("a GREEN verdict, cargo, 30 s, cold", Figure::RatioTo(BARE), 2.2),
    ("a proof of a range, pytest, 1 s", Figure::RatioTo(BARE), 2.5),
    ("a proof of a range, pytest, 1 s, cold", Figure::RatioTo(BARE), 4.0),
    ("a proof of a range, pytest, 30 s", Figure::RatioTo(BARE), 1.5),
    ("a proof of a range, pytest, 30 s, cold", Figure::RatioTo(BARE), 2.5),
    ("a proof of a range, vitest, 1 s", Figure::RatioTo(BARE), 2.5),
    ("a proof of a range, vitest, 1 s, cold", Figure::RatioTo(BARE), 4.0),
    ("a proof of a range, vitest, 30 s", Figure::RatioTo(BARE), 1.5),
    ("a proof of a range, vitest, 30 s, cold", Figure::RatioTo(BARE), 2.5),
    ("a proof of a range, go, 1 s", Figure::RatioTo(BARE), 2.5),
    ("a proof of a range, go, 1 s, cold", Figure::RatioTo(BARE), 4.0),
    ("a proof of a range, go, 30 s", Figure::RatioTo(BARE), 1.5),
    ("a proof of a range, go, 30 s, cold", Figure::RatioTo(BARE), 2.5),
    ("a proof of a range, cargo, 1 s", Figure::RatioTo(BARE), 2.5),
    ("a proof of a range, cargo, 1 s, cold", Figure::RatioTo(BARE), 4.0),
    ("a proof of a range, cargo, 30 s", Figure::RatioTo(BARE), 1.5),
    ("a proof of a range, cargo, 30 s, cold", Figure::RatioTo(BARE), 2.5),
    ("queue overhead of a job, a folder", Figure::Median, 50.0),
    // 0.9 of the ideal throughput.
    ("8 workers on agents that wait, a folder", Figure::RatioTo("the ideal"), 1.0 / 0.9),
    ("an idle worker, a folder", Figure::Peak, 30.0),
    // 500 in a second.
    ("submit one of 10000 jobs, a folder", Figure::Median, 2.0),
    ("the list of 10000 queued jobs, a folder", Figure::Median, 200.0),
    ("queue overhead of a job, NATS", Figure::Median, 50.0),
    // 0.9 of the ideal throughput.
    ("8 workers on agents that wait, NATS", Figure::RatioTo("the ideal"), 1.0 / 0.9),
    ("an idle worker, NATS", Figure::Peak, 30.0),
    // 500 in a second.
    ("submit one of 10000 jobs, NATS", Figure::Median, 2.0),
    ("the list of 10000 queued jobs, NATS", Figure::Median, 200.0),
];
/// What a verdict is compared with.
pub(super) const BARE: &str = "one bare run";
const RUN_PEAK: (&str, f64) = ("peak memory of a run", 25.0);
const PROGRAM: (&str, f64) = ("size of the program", 20.0);

/// A figure is worse if it grew by more than this share. On an idle machine, two runs of the bench
/// differ by less.
const MARGIN: f64 = 0.2;

/// Every figure with a goal.
pub(super) fn goals(bench: &Bench) -> Vec<Goal> {
    let of_measures = GOALS.iter().filter_map(|(name, figure, below)| {
        let measure = bench.measures.iter().find(|measure| measure.name == *name)?;
        let (value, unit) = figure.of(measure)?;
        Some(Goal::new(figure.name(name), value, unit, *below))
    });
    let size = |bytes: Option<u64>, (name, below): (&str, f64)| {
        bytes.map(|bytes| Goal::new(name, mebibytes(bytes), Unit::Mebibytes, below))
    };
    let whole = size(bench.peak_memory_bytes, RUN_PEAK)
        .into_iter()
        .chain(size(bench.program_bytes, PROGRAM));
    of_measures.chain(whole).collect()
}

/// Figures that got worse. Milliseconds come from another machine, so they are not compared.
pub fn losses(landed: &StoredFigures, goals: &[Goal]) -> Vec<Regression> {
    let lost = goals.iter().filter_map(|goal| {
        let before =
            landed.goals.iter().find(|known| known.name == goal.name && known.unit == goal.unit)?;
        let is_worse =
            goal.unit != Unit::Milliseconds && goal.value > before.value * (1.0 + MARGIN);
        let Goal { name, value, unit, .. } = goal.clone();
        is_worse.then_some(Regression { name, value, landed: before.value, unit })
    });
    lost.collect()
}

impl Goal {
    fn new(name: impl Into<String>, value: f64, unit: Unit, below: f64) -> Self {
        Self { name: name.into(), value, unit, below, met: value < below }
    }
}

impl Figure {
    /// The name of the goal for this figure of `measure`.
    fn name(self, measure: &str) -> String {
        match self {
            Self::Median => measure.to_owned(),
            Self::RatioTo(other) => format!("{measure}, to {other}"),
            Self::Peak => format!("{measure}: most memory"),
            Self::More => format!("{measure}: memory for them"),
        }
    }

    fn of(self, measure: &Measure) -> Option<(f64, Unit)> {
        match self {
            Self::Median => Some((measure.median_ms, Unit::Milliseconds)),
            Self::RatioTo(other) => {
                let against = measure.against.iter().find(|against| against.name == other)?;
                Some((against.ratio, Unit::Ratio))
            }
            Self::Peak => Some((mebibytes(measure.peak_memory_bytes?), Unit::Mebibytes)),
            Self::More => Some((mebibytes(measure.memory_bytes?), Unit::Mebibytes)),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with one digit after the point")]
pub fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench() -> Bench {
        let mut bench = Bench::empty(1);
        bench.measures.push(Measure::new("start-up", 4.0));
        bench
            .measures
            .push(Measure::new("status, 10000 handoffs", 20.0).against("git log -1", 10.0));
        bench.measures.push(Measure {
            peak_memory_bytes: Some(10 << 20),
            ..Measure::new("50 runs at once", 1.0)
        });
        bench.measures.push(Measure::new("of no goal", 1.0));
        bench.program_bytes = Some(19 << 20);
        bench
    }

    #[test]
    fn every_figure_with_a_goal_is_held_against_it() {
        let told: Vec<_> =
            goals(&bench()).into_iter().map(|goal| (goal.name, goal.value, goal.met)).collect();
        let expected = [
            ("start-up", 4.0, false),
            ("status, 10000 handoffs, to git log -1", 2.0, true),
            ("50 runs at once: most memory", 10.0, true),
            ("size of the program", 19.0, true),
        ];
        assert_eq!(told, expected.map(|(name, value, met)| (name.to_owned(), value, met)));
    }

    #[test]
    fn a_loss_is_more_than_the_margin_and_never_of_milliseconds() {
        let landed = StoredFigures { goals: goals(&bench()) };
        assert_eq!(losses(&landed, &landed.goals), []);
        let mut now = bench();
        now.program_bytes = Some(30 << 20);
        for measure in &mut now.measures {
            *measure = Measure { median_ms: 100.0, against: Vec::new(), ..measure.clone() }
                .against("git log -1", 45.0);
        }
        let lost: Vec<_> = losses(&landed, &goals(&now))
            .into_iter()
            .map(|loss| (loss.name, loss.landed))
            .collect();
        assert_eq!(lost, [("size of the program".to_owned(), 19.0)]);
        for measure in &mut now.measures {
            *measure =
                Measure { against: Vec::new(), ..measure.clone() }.against("git log -1", 40.0);
        }
        assert_eq!(losses(&landed, &goals(&now)).len(), 2);
    }

    #[test]
    fn each_name_has_one_goal() {
        let mut names = std::collections::BTreeSet::new();
        for (measure, figure, _) in GOALS {
            let name = figure.name(measure);
            assert!(names.insert(name.clone()), "{name}");
        }
    }
}
