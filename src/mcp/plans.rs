//! The restores that were shown, of which each can be carried out once.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::base::mutex::lock;
use crate::base::text::escape;
use crate::error::{Code, Error, Result};

/// Time for which a plan is good.
const LIFETIME: Duration = Duration::from_mins(30);
/// Upper bound on the plans that are remembered; the oldest go first.
const MOST_PLANS: usize = 256;

/// A restore as it was shown.
#[derive(Clone, Debug)]
pub struct ShownPlan {
    pub dir: PathBuf,
    /// The command, without the options of a dry run.
    pub words: Vec<OsString>,
    /// What it would do, in a sentence.
    pub stake: String,
    pub shown: Instant,
}

/// The plans of one server, by their digests.
#[derive(Debug, Default)]
pub struct Plans(Mutex<HashMap<String, ShownPlan>>);

impl Plans {
    pub fn note(&self, digest: &str, plan: ShownPlan) {
        let mut plans = lock(&self.0);
        if plans.len() >= MOST_PLANS {
            let oldest = plans.iter().min_by_key(|(_, plan)| plan.shown);
            if let Some(oldest) = oldest.map(|(digest, _)| digest.clone()) {
                plans.remove(&oldest);
            }
        }
        plans.insert(digest.to_owned(), plan);
    }

    /// Returns a plan that can be carried out; `dir` is the directory that was named with it.
    ///
    /// # Errors
    /// It was not shown by this server, is used or too old, or is of another directory.
    pub fn find(&self, digest: &str, dir: Option<&Path>) -> Result<ShownPlan> {
        let refused = |why| not_known(digest, why);
        let plans = lock(&self.0);
        let plan = plans.get(digest);
        let plan = plan.ok_or_else(|| refused("was not shown by this server, or is used"))?;
        if plan.shown.elapsed() > LIFETIME {
            return Err(refused("was shown more than 30 minutes ago"));
        }
        if dir.is_some_and(|dir| dir != plan.dir) {
            return Err(refused("is of another directory"));
        }
        Ok(plan.clone())
    }

    /// As [`Self::find`], and uses the plan.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub fn take(&self, digest: &str) -> Result<ShownPlan> {
        let plan = self.find(digest, None)?;
        let is_first = lock(&self.0).remove(digest).is_some();
        is_first
            .then_some(plan)
            .ok_or_else(|| not_known(digest, "is used"))
    }
}

fn not_known(plan: &str, why: &str) -> Error {
    let what = format!("the plan '{}' {why}; nothing was changed", escape(plan));
    Error::new(Code::PLAN_NOT_KNOWN, what)
        .advise("the tool checkpoint_plan_restore makes a new one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_good_once_for_its_directory_and_for_half_an_hour() {
        let plans = Plans::default();
        let plan = |age: Duration| ShownPlan {
            dir: PathBuf::from("/p"),
            words: Vec::new(),
            stake: String::new(),
            shown: Instant::now().checked_sub(age).expect("a time"),
        };
        plans.note("a", plan(Duration::ZERO));
        assert!(plans.find("b", None).is_err());
        assert!(plans.find("a", Some(Path::new("/q"))).is_err());
        assert!(plans.find("a", Some(Path::new("/p"))).is_ok());
        assert!(plans.take("a").is_ok());
        assert!(plans.take("a").is_err());
        plans.note("old", plan(LIFETIME + Duration::from_secs(1)));
        let refused = plans.take("old").expect_err("too old");
        assert!(refused.to_string().contains("30 minutes"), "{refused}");
        for number in 0..MOST_PLANS + 5 {
            plans.note(&number.to_string(), plan(Duration::ZERO));
        }
        assert_eq!(lock(&plans.0).len(), MOST_PLANS);
    }
}
