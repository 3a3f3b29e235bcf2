//! How many workers a pool should have, and why.
//!
//! The program may say, and so may the environment. If neither does, it is what the machine allows: the CPUs in the thread's mask and in
//! its control group, the CPU time of that group and of all groups above it, and the threads that may still be started. The smallest
//! counts. What cannot be read, or is not understood, is no limit.

mod groups;
mod read;
#[cfg(test)]
mod tests;

pub use read::Limits;

use std::ffi::OsString;
use std::fmt;

/// What an input is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The program asks for a number.
    Program,
    /// A variable of the environment.
    Variable,
    /// The CPUs that the thread may run on.
    Affinity,
    /// The CPUs of a control group.
    Cpuset,
    /// The CPU time of a control group.
    Quota,
    /// The threads that may be started.
    Threads,
}

impl Kind {
    /// One word for it.
    ///
    /// ```
    /// assert_eq!(heist_os::limits::Kind::Quota.name(), "quota");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Variable => "variable",
            Self::Affinity => "affinity",
            Self::Cpuset => "cpuset",
            Self::Quota => "quota",
            Self::Threads => "threads",
        }
    }
}

/// What an input has to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allows {
    /// There is no limit here.
    Everything,
    /// So many workers.
    Workers(usize),
    /// So much CPU time in each period.
    Cpu {
        /// The time.
        quota_us: u64,
        /// The period, not 0.
        period_us: u64,
    },
    /// It was not understood, which is no limit either.
    Unknown,
}

impl Allows {
    /// How many workers that is, rounded up; 0 where there is room for none.
    ///
    /// ```
    /// use heist_os::limits::Allows;
    ///
    /// assert_eq!(Allows::Cpu { quota_us: 150_000, period_us: 100_000 }.workers(), Some(2));
    /// assert_eq!(Allows::Everything.workers(), None);
    /// ```
    pub fn workers(self) -> Option<usize> {
        match self {
            Self::Workers(workers) => Some(workers),
            Self::Cpu { quota_us, period_us } => {
                Some(usize::try_from(quota_us.div_ceil(period_us.max(1))).unwrap_or(usize::MAX))
            }
            Self::Everything | Self::Unknown => None,
        }
    }
}

/// Something that has, or could have, a part in the decision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Input {
    /// What it is about.
    pub kind: Kind,
    /// The path of a file, or the name of a variable or of a call.
    pub source: String,
    /// What was found there.
    pub raw: String,
    /// What that means.
    pub allows: Allows,
}

/// A variable whose value is no number of threads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadVariable {
    name: &'static str,
    value: String,
}

impl fmt::Display for BadVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={:?} is not a number of threads; unset it or give one", self.name, self.value)
    }
}

impl std::error::Error for BadVariable {}

/// How many workers, and what was looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// At least one.
    pub workers: usize,
    /// Which of the inputs has decided. `None` if nobody knows anything.
    pub by: Option<usize>,
    /// The program's wish and the variables first, then what the machine allows.
    pub inputs: Vec<Input>,
}

/// The variable of heist's own.
const OWN_VARIABLE: &str = "HEIST_NUM_THREADS";

impl Decision {
    /// For a pool whose program asks for `asked` threads; 0 if it does not say. The machine is only looked at if nobody says.
    ///
    /// # Errors
    /// If `HEIST_NUM_THREADS` is no number.
    ///
    /// ```
    /// assert!(heist_os::limits::Decision::for_pool(1)?.workers == 1);
    /// # Ok::<(), heist_os::limits::BadVariable>(())
    /// ```
    pub fn for_pool(asked: usize) -> Result<Self, BadVariable> {
        let mut inputs = wishes(asked, &|name| std::env::var_os(name))?;
        if wish(&inputs).is_none() {
            inputs.append(&mut Limits::new().read(0));
        }
        Ok(Self::of(inputs))
    }

    /// The same decision, with everything that was not asked for it as well. `variable` is the environment.
    ///
    /// # Errors
    /// If `HEIST_NUM_THREADS` is no number.
    ///
    /// ```
    /// use heist_os::limits::{Decision, Limits};
    ///
    /// let decision = Decision::in_full(0, &|_| None, &mut Limits::new())?;
    /// let by = &decision.inputs[decision.by.expect("some CPU is there")];
    /// println!("{} workers, because {} says {}", decision.workers, by.source, by.raw);
    /// # Ok::<(), heist_os::limits::BadVariable>(())
    /// ```
    pub fn in_full(
        asked: usize,
        variable: &dyn Fn(&str) -> Option<OsString>,
        limits: &mut Limits,
    ) -> Result<Self, BadVariable> {
        let mut inputs = wishes(asked, variable)?;
        inputs.append(&mut limits.read(0));
        Ok(Self::of(inputs))
    }

    fn of(inputs: Vec<Input>) -> Self {
        let (by, workers) = match wish(&inputs) {
            Some((at, workers)) => (Some(at), workers),
            None => read::smallest(&inputs),
        };
        Self { workers, by, inputs }
    }

    /// What the machine allows, and which of the inputs says so, whatever program and environment wish.
    ///
    /// ```
    /// use heist_os::limits::{Decision, Limits};
    ///
    /// let decision = Decision::in_full(99, &|_| None, &mut Limits::new())?;
    /// let (_, allowed) = decision.allowed();
    /// println!("99 workers, where {allowed} would do");
    /// # Ok::<(), heist_os::limits::BadVariable>(())
    /// ```
    pub fn allowed(&self) -> (Option<&Input>, usize) {
        let (at, workers) = read::smallest(&self.inputs);
        (at.map(|at| &self.inputs[at]), workers)
    }

    /// The variable that has decided, if one has.
    pub fn variable(&self) -> Option<&str> {
        let by = &self.inputs[self.by?];
        (by.kind == Kind::Variable).then_some(&*by.source)
    }
}

/// Who says how many: the program, or the environment if that says less or the program does not say. There heist's variable comes before
/// rayon's.
fn wish(inputs: &[Input]) -> Option<(usize, usize)> {
    let number = |is_it: &dyn Fn(&Input) -> bool| {
        let at = inputs.iter().position(is_it)?;
        Some((at, inputs[at].allows.workers()?))
    };
    let program = number(&|input| input.kind == Kind::Program);
    let is_rayons = |input: &Input| input.kind == Kind::Variable && input.source != OWN_VARIABLE;
    let variable = number(&|input| input.source == OWN_VARIABLE)
        .or_else(|| number(&|input| is_rayons(input) && input.allows != Allows::Unknown));
    match (program, variable) {
        (Some(program), Some(variable)) => Some(if variable.1 < program.1 { variable } else { program }),
        (program, variable) => program.or(variable),
    }
}

/// What the program and the environment say.
fn wishes(asked: usize, variable: &dyn Fn(&str) -> Option<OsString>) -> Result<Vec<Input>, BadVariable> {
    let mut inputs = Vec::new();
    if asked != 0 {
        inputs.push(Input {
            kind: Kind::Program,
            source: "num_threads".into(),
            raw: asked.to_string(),
            allows: Allows::Workers(asked),
        });
    }
    for name in [OWN_VARIABLE, "RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"] {
        let Some(value) = variable(name) else { continue };
        let raw = value.to_string_lossy().into_owned();
        let allows = if name == OWN_VARIABLE { own_number(&raw)? } else { rayons_number(&raw) };
        inputs.push(Input { kind: Kind::Variable, source: name.into(), raw, allows });
    }
    Ok(inputs)
}

/// A count from heist's own variable: 0 or nothing means unset, anything else must be a number.
fn own_number(raw: &str) -> Result<Allows, BadVariable> {
    let text = raw.trim();
    match text.parse() {
        Ok(0) => Ok(Allows::Everything),
        Ok(number) => Ok(Allows::Workers(number)),
        Err(_) if text.is_empty() => Ok(Allows::Everything),
        Err(_) => Err(BadVariable { name: OWN_VARIABLE, value: text.into() }),
    }
}

/// As rayon reads its own: what is not a number does not count, and 0 is the wish for what the machine allows.
fn rayons_number(raw: &str) -> Allows {
    match raw.parse() {
        Ok(0) => Allows::Everything,
        Ok(number) => Allows::Workers(number),
        Err(_) => Allows::Unknown,
    }
}
