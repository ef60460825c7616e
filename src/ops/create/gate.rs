//! The size gate of a `create`: whether files are counted, and the decision saved for the session.

use crate::ops::capture::left_out::rules_digest;
use crate::ops::context::Context;
use crate::store::repository::Store;
use crate::store::small_files::size_gate::{self, GateKey};

/// Options of one call for the gate.
#[derive(Clone, Debug, Default)]
pub struct GateOptions {
    pub max_files: Option<u64>,
    pub session: Option<String>,
}

/// The size gate for this call.
pub struct Gate {
    pub limit: u64,
    force: bool,
    key: Option<GateKey>,
    /// Whether this session was over the limit, if decided before.
    pub remembered: Option<bool>,
}

impl Gate {
    /// Makes the gate; `force` or a limit of zero disables it.
    pub fn of(context: &Context, store: &Store, options: &GateOptions, force: bool) -> Self {
        let limit = options.max_files.unwrap_or(context.settings.max_files);
        let force = force || limit == 0;
        let session = options
            .session
            .as_ref()
            .or(context.environment.session.as_ref())
            .filter(|s| !s.is_empty());
        let key = session.map(|session| {
            let rules = rules_digest(&store.exclusion_list(), &context.settings);
            GateKey {
                session: session.clone(),
                limit,
                rules,
            }
        });
        let remembered = key.as_ref().filter(|_| !force);
        let remembered = remembered.and_then(|key| size_gate::recall(store.layout(), key));
        Self {
            limit,
            force,
            key,
            remembered,
        }
    }

    /// The limit, unless this session was already decided: one that began under the limit goes on.
    pub fn limit_to_count(&self) -> Option<u64> {
        (!self.force && self.remembered.is_none()).then_some(self.limit)
    }

    /// The limit, regardless of the decision remembered.
    pub fn limit_of_call(&self) -> Option<u64> {
        (!self.force).then_some(self.limit)
    }

    pub fn remember(&self, store: &Store, over: bool) {
        if let Some(key) = self
            .key
            .as_ref()
            .filter(|_| self.limit_to_count().is_some())
        {
            size_gate::remember(store.layout(), key, over);
        }
    }
}
