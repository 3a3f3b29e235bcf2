//! Deliberate bugs, each of which a model must catch: a checker that cannot fail proves nothing.

/// Whether the bug `name` is planted: never, except under `--cfg heist_planted`, where the environment variable `HEIST_PLANTED`
/// chooses one. A name is a literal at its site, because `check/planted.sh` looks for it in the sources.
#[cfg(not(heist_planted))]
#[inline(always)]
pub const fn is_planted(_name: &str) -> bool {
    false
}

/// Whether the bug `name` is the one that `HEIST_PLANTED` chooses.
#[cfg(heist_planted)]
pub fn is_planted(name: &str) -> bool {
    use std::sync::OnceLock;
    // std's and not the checker's: no model is about it.
    static PLANTED: OnceLock<String> = OnceLock::new();
    PLANTED.get_or_init(|| std::env::var("HEIST_PLANTED").unwrap_or_default()) == name
}
