//! Options of the siege: its length, its seed, its scenes.

#[derive(Clone, Debug)]
pub struct Options {
    pub seconds: f64,
    pub seed: u64,
    /// Names of scenes; none means all.
    only: Vec<String>,
    /// A single place to try again, in the words in which its loss was reported.
    pub place: Option<String>,
}

impl Options {
    /// # Panics
    /// An argument is invalid.
    pub fn from_args() -> Self {
        let mut options = Self {
            seconds: 20.0,
            seed: 1,
            only: Vec::new(),
            place: None,
        };
        let mut args = std::env::args().skip(1);
        while let Some(arg) = args.next() {
            let mut value = || args.next().unwrap_or_else(|| panic!("{arg} needs a value"));
            match arg.as_str() {
                "--seconds" => options.seconds = value().parse().expect("a number of seconds"),
                "--seed" => options.seed = value().parse().expect("a number"),
                "--only" => options.only = value().split(',').map(str::to_owned).collect(),
                "--place" => options.place = Some(value()),
                _ => panic!(
                    "what is {arg}? known: --seconds N, --seed N, --only SCENE,..., --place PLACE"
                ),
            }
        }
        options
    }

    pub fn wants(&self, scene: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == scene)
    }

    pub fn with_seconds(&self, seconds: f64) -> Self {
        Self {
            seconds,
            ..self.clone()
        }
    }
}
