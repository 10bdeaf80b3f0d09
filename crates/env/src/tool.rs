//! The program itself: how it was built decides what its loops cost.

use serde_json::Value;

use crate::section::Section;

pub(crate) fn section() -> Value {
    let mut section = Section::default();
    section.set("version", env!("CARGO_PKG_VERSION"));
    section.set("target", env!("ENV_BUILD_TARGET"));
    section.set("profile", env!("ENV_BUILD_PROFILE"));
    section.set("opt_level", env!("ENV_BUILD_OPT_LEVEL"));
    section.set("debug_assertions", cfg!(debug_assertions));
    section.set("target_features", env!("ENV_BUILD_FEATURES"));
    section.set("rustflags", env!("ENV_BUILD_RUSTFLAGS"));
    section.set("compiler", env!("ENV_BUILD_RUSTC"));
    section.into()
}
