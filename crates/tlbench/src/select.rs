//! Choosing metrics by name or glob.

use anyhow::bail;
use globset::Glob;

/// Names on the command line, as tests of a metric's name.
pub struct Selection {
    patterns: Vec<Pattern>,
}

struct Pattern {
    text: String,
    glob: globset::GlobMatcher,
    /// It is a metric's own name: it selects that metric and its tails, not what else is dotted below it.
    is_name: bool,
}

impl Pattern {
    fn selects(&self, name: &str) -> bool {
        let below = || name.strip_prefix(self.text.as_str()).and_then(|rest| rest.strip_prefix('.'));
        self.glob.is_match(name)
            || below().is_some_and(|rest| !self.is_name || matches!(rest, "p99" | "p999"))
    }
}

impl Selection {
    /// Parses names and globs and checks that each one selects something of `known`; a name that selects nothing is an
    /// error that suggests the near one. The beginning of names selects all of them (`syscall` selects
    /// `syscall.null`). No pattern selects everything.
    pub fn parse(patterns: &[String], known: &[String]) -> anyhow::Result<Self> {
        let mut parsed = Vec::new();
        for text in patterns {
            let glob = Glob::new(text)
                .map_err(|e| anyhow::anyhow!("{text}: not a name or glob: {e}"))?
                .compile_matcher();
            let pattern = Pattern { text: text.clone(), glob, is_name: known.contains(text) };
            if !known.iter().any(|name| pattern.selects(name)) {
                bail!("{}", unknown(text, known));
            }
            parsed.push(pattern);
        }
        Ok(Selection { patterns: parsed })
    }

    /// Whether `name` is selected.
    pub fn selects(&self, name: &str) -> bool {
        self.patterns.is_empty() || self.patterns.iter().any(|pattern| pattern.selects(name))
    }
}

/// The message for a name that selects nothing.
fn unknown(pattern: &str, known: &[String]) -> String {
    let near = known
        .iter()
        .map(|name| (strsim::jaro_winkler(pattern, name), name))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(similarity, _)| *similarity > 0.7);
    match near {
        Some((_, name)) => {
            format!("no metric is named {pattern}; did you mean {name}? (`tlbench list` shows all)")
        }
        None => format!("no metric is named {pattern}; `tlbench list` shows all"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Vec<String> {
        ["sig.prot", "sig.catch", "syscall.null", "proc.fork", "proc.fork.p99", "proc.fork.64m"]
            .map(String::from)
            .to_vec()
    }

    #[test]
    fn names_globs_and_prefixes_select() {
        let selects = |pattern: &str, name: &str| {
            Selection::parse(&[pattern.to_owned()], &known()).unwrap().selects(name)
        };
        assert!(selects("sig.*", "sig.prot") && selects("sig", "sig.catch"));
        assert!(selects("proc.fork", "proc.fork.p99") && !selects("proc.fork", "proc.fork.64m"));
        assert!(selects("proc", "proc.fork.64m") && selects("proc.fork*", "proc.fork.64m"));
        assert!(!selects("sig.prot", "sig.catch"));
        assert!(Selection::parse(&[], &known()).unwrap().selects("anything"));
    }

    #[test]
    fn a_wrong_name_suggests_the_near_one() {
        let Err(error) = Selection::parse(&["sig.prto".to_owned()], &known()) else { panic!("selected") };
        assert!(error.to_string().contains("did you mean sig.prot?"), "{error}");
        let Err(error) = Selection::parse(&["zzz".to_owned()], &known()) else { panic!("selected") };
        assert!(error.to_string().contains("`tlbench list` shows all"), "{error}");
    }
}
