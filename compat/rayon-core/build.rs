//! A package with a `links` key must have a build script; this one has nothing to build.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
