//! Options of the siege: its length, its seed, its scenes.

#[derive(Clone, Debug)]
pub struct Options {
    pub seconds: f64,
    pub seed: u64,
    /// Names of scenes; none means all.
    only: Vec<String>,
    /// A single place to try again, in the words in which its loss was reported, or the name of a
    /// scenario.
    pub place: Option<String>,
    /// Whether each scene takes some of the scenarios only, and little of each.
    pub is_sample: bool,
    /// Kills or errors for each scenario, however long they take.
    pub least: usize,
}

const OWN: [&str; 4] = ["--seconds", "--seed", "--only", "--place"];

impl Options {
    /// A sample without arguments; `None` if they are all the test harness's, which selects other
    /// tests by them.
    ///
    /// # Panics
    /// An argument is invalid.
    pub fn from_args() -> Option<Self> {
        let args: Vec<String> = std::env::args().skip(1).collect();
        let mut options = Self {
            seconds: 20.0,
            seed: 1,
            only: Vec::new(),
            place: None,
            is_sample: args.is_empty(),
            least: if args.is_empty() { 2 } else { 8 },
        };
        if options.is_sample {
            options.seconds = 3.0;
        } else if !args.iter().any(|arg| OWN.contains(&arg.as_str())) {
            return None;
        }
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let value = args.next().unwrap_or_else(|| panic!("{arg} needs a value"));
            match arg.as_str() {
                "--seconds" => options.seconds = value.parse().expect("a number of seconds"),
                "--seed" => options.seed = value.parse().expect("a number"),
                "--only" => options.only = value.split(',').map(str::to_owned).collect(),
                "--place" => options.place = Some(value),
                _ => panic!("what is {arg}? known: {}", OWN.join(", ")),
            }
        }
        Some(options)
    }

    /// Whether a scene is wanted; a sample cuts no power.
    pub fn wants(&self, scene: &str) -> bool {
        let is_named = self.only.is_empty() || self.only.iter().any(|only| only == scene);
        is_named && !(self.is_sample && scene == "power")
    }

    /// Whether a place, or some place of a scenario, is wanted.
    pub fn wants_place(&self, name: &str) -> bool {
        self.place.as_ref().is_none_or(|wanted| {
            let rest = wanted.strip_prefix(name).or(name.strip_prefix(&**wanted));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(", "))
        })
    }

    pub fn with_seconds(&self, seconds: f64) -> Self {
        Self {
            seconds,
            ..self.clone()
        }
    }
}
