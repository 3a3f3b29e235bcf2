//! heist's live view: a page in the browser that draws what a program's pools do, while they do it.
//!
//! Data flows one way: `sample.rs` looks at the pools and makes a [`Frame`](frame::Frame), a plain value; `frame.rs` writes that as JSON of a
//! bounded size; `server.rs` sends it to those who look, from a private pool of one worker, so that it works while the program's own pools hang;
//! the files in `page/` draw it. The view reads and never changes the program.
//!
//! ```
//! let live = heist::live::serve("127.0.0.1:0")?;
//! println!("open {}", live.url());
//! # std::io::Result::Ok(())
//! ```

pub mod demo;
mod environment;
pub mod frame;
pub mod page;
mod recorded;
mod request;
mod sample;
mod server;
mod token;
mod viewers;

pub use page::self_contained;
#[doc(hidden)]
pub use server::serve_demo;
pub use server::{Live, serve, serve_beyond_loopback};
