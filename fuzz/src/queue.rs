//! A record of a fleet's queue, which anybody who can write to the queue can write: a submission, the
//! status of a job, what a day may spend.

use redgreen_core::fleet::budget::Day;
use redgreen_core::fleet::status::{Status, ready};
use redgreen_core::fleet::{Job, lanes_for};

pub(crate) fn input(bytes: &[u8]) {
    if let Ok(job) = serde_json::from_slice::<Job>(bytes) {
        assert!(job.refusals().iter().all(|refusal| !refusal.to_string().is_empty()));
        let again: Result<Job, _> = serde_json::from_str(&job.fingerprint());
        assert_eq!(again.as_ref().ok(), Some(&job), "{again:?}");
        job.headline();
        lanes_for(&job.labels, &[job.lane()]);
        ready(&job.after, |_| None);
    }
    if let Ok(status) = serde_json::from_slice::<Status>(bytes) {
        let text = serde_json::to_string(&status).unwrap_or_default();
        assert!(serde_json::from_str::<Status>(&text).is_ok(), "{text}");
    }
    if let Ok(day) = serde_json::from_slice::<Day>(bytes) {
        day.total();
    }
}
