//! Captures how this program was built, so that a record says which code was measured.

use std::env::var;
use std::process::Command;

fn main() {
    let rustc = Command::new(var("RUSTC").unwrap_or_else(|_| "rustc".to_owned()))
        .arg("--version")
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok())
        .unwrap_or_default();
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default().replace('\u{1f}', " ");
    for (name, value) in [
        ("ENV_BUILD_RUSTC", rustc.trim()),
        ("ENV_BUILD_TARGET", &var("TARGET").unwrap_or_default()),
        ("ENV_BUILD_OPT_LEVEL", &var("OPT_LEVEL").unwrap_or_default()),
        ("ENV_BUILD_PROFILE", &var("PROFILE").unwrap_or_default()),
        ("ENV_BUILD_RUSTFLAGS", flags.as_str()),
        ("ENV_BUILD_FEATURES", &var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default()),
    ] {
        println!("cargo::rustc-env={name}={value}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
