//! What is measured: sums over strands, and the longest path through them.

/// The longest path from a beginning to here.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Path {
    /// Its time.
    pub span: u64,
    /// The same, with what it would have cost to let other threads have the halves on it.
    pub burdened: u64,
}

impl Path {
    pub fn then(self, next: Self) -> Self {
        Self { span: self.span + next.span, burdened: self.burdened + next.burdened }
    }

    pub fn longer(self, other: Self) -> Self {
        Self { span: self.span.max(other.span), burdened: self.burdened.max(other.burdened) }
    }

    /// As if another thread had run it.
    pub fn migrated(self) -> Self {
        Self { span: self.span, burdened: self.burdened + super::clock::burden() }
    }
}

/// The code of a fork's second half, and what was measured inside of the two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Site {
    /// The address of the code; 0 for what is in no fork.
    pub code: usize,
    pub forks: u64,
    pub stolen: u64,
    /// In halves of this fork, without the forks in them.
    pub work: u64,
}

/// A part of the program with a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub name: &'static str,
    pub times: u64,
    pub work: u64,
    pub path: Path,
}

/// What adds up, whoever ran it.
#[derive(Clone, Default, Debug)]
pub(crate) struct Sums {
    pub work: u64,
    pub forks: u64,
    pub stolen: u64,
    /// What could have been run apart: halves, spawned jobs, blocks of loops.
    pub pieces: u64,
    pub sites: Vec<Site>,
    pub parts: Vec<Part>,
}

impl Sums {
    /// The place of the site with this code in `sites`, which is `near` in most cases.
    pub fn site(&mut self, near: usize, code: usize) -> usize {
        if self.sites.get(near).is_some_and(|site| site.code == code) {
            return near;
        }
        self.sites.iter().position(|site| site.code == code).unwrap_or_else(|| {
            self.sites.push(Site { code, forks: 0, stolen: 0, work: 0 });
            self.sites.len() - 1
        })
    }

    /// The part with this name.
    pub fn part(&mut self, name: &'static str) -> &mut Part {
        let at = self.parts.iter().position(|part| part.name == name).unwrap_or_else(|| {
            self.parts.push(Part { name, times: 0, work: 0, path: Path::default() });
            self.parts.len() - 1
        });
        &mut self.parts[at]
    }

    pub fn add(&mut self, other: &Sums) {
        self.work += other.work;
        self.forks += other.forks;
        self.stolen += other.stolen;
        self.pieces += other.pieces;
        for site in &other.sites {
            let at = self.site(0, site.code);
            let own = &mut self.sites[at];
            own.forks += site.forks;
            own.stolen += site.stolen;
            own.work += site.work;
        }
        for part in &other.parts {
            let own = self.part(part.name);
            own.times += part.times;
            own.work += part.work;
            own.path = own.path.then(part.path);
        }
    }
}
