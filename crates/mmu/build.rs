//! Embeds every machine file of `machines/`, so that adding a machine is adding a file.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join("machines");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files: Vec<_> =
        fs::read_dir(&folder)?.collect::<Result<Vec<_>, _>>()?.iter().map(|e| e.path()).collect();
    files.retain(|p| p.extension().is_some_and(|e| e == "toml"));
    files.sort();
    let mut code = String::from("const BUILTIN: &[(&str, &str)] = &[\n");
    for path in files {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        code += &format!("    ({stem:?}, include_str!({:?})),\n", path.display().to_string());
    }
    code += "];\n";
    fs::write(Path::new(&env::var("OUT_DIR").map_err(io::Error::other)?).join("builtin_machines.rs"), code)
}
