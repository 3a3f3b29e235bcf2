//! The pools of the contestants: one for loops inside, and the global ones for the main thread.

use std::sync::Once;

use super::{Place, WORKERS};
use crate::peers::{Backend, rayon::Rayon};

pub struct Pools {
    rayon: rayon::ThreadPool,
    #[cfg(feature = "heist")]
    heist: heist::ThreadPool,
}

impl Pools {
    pub fn start() -> Pools {
        static GLOBAL: Once = Once::new();
        GLOBAL.call_once(|| {
            let builder = rayon::ThreadPoolBuilder::new().num_threads(WORKERS);
            builder.build_global().expect("nothing has used rayon's global pool before");
            #[cfg(feature = "heist")]
            {
                crate::tasks::runtime::Heist::ready();
                assert_eq!(heist::current_num_threads(), WORKERS);
                // A rayon-core that is patched to run on heist would make heist race against itself.
                rayon::broadcast(|_| assert_eq!(heist::current_thread_index(), None));
            }
        });
        Pools {
            rayon: Rayon::pool(WORKERS),
            #[cfg(feature = "heist")]
            heist: crate::peers::heist::Heist::pool(WORKERS),
        }
    }

    pub fn in_rayon<R: Send>(&self, place: Place, work: impl FnOnce() -> R + Send) -> R {
        match place {
            Place::Inside => self.rayon.install(work),
            Place::Outside => work(),
        }
    }

    #[cfg(feature = "heist")]
    pub fn in_heist<R: Send>(&self, place: Place, work: impl FnOnce() -> R + Send) -> R {
        match place {
            Place::Inside => self.heist.install(work),
            Place::Outside => work(),
        }
    }
}
