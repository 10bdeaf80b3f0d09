//! JSON documents: which tool's, and errors with their place.

use serde::de::{DeserializeOwned, IgnoredAny};

use super::input::Input;
use super::sink::Sink;
use super::{ImportError, criterion, google, hyperfine};

/// A larger document is not parsed: it has to be in memory as a whole.
const LARGEST: usize = 128 << 20;

/// A whole document in memory, with tokens that are no JSON made null.
pub(super) struct Document {
    pub bytes: Vec<u8>,
}

/// Reads one document with the reader its keys ask for.
pub(super) fn read(input: &mut Input, sink: &mut Sink) -> Result<(), ImportError> {
    let mut document = Document { bytes: input.whole(LARGEST)? };
    document.replace_non_numbers(sink);
    let has = |key: &str| {
        let quoted = format!("\"{key}\"");
        memchr::memmem::find(&document.bytes, quoted.as_bytes()).is_some()
    };
    if has("criterion_estimates_v1") {
        return criterion::critcmp(&document, sink);
    }
    if has("sampling_mode") && has("iters") {
        return criterion::sample(&document, input, sink);
    }
    if has("point_estimate") {
        return criterion::estimates(&document, input, sink);
    }
    if has("context") && has("benchmarks") {
        return google::read(&document, sink);
    }
    if has("results") {
        return hyperfine::read(&document, sink);
    }
    document.parse::<IgnoredAny>("JSON", sink)?;
    Err(ImportError::Nothing {
        file: sink.file.clone(),
        what: "a JSON document of no tool known here".into(),
    })
}

impl Document {
    /// Parses the document; what follows its end is reported and not used.
    pub fn parse<T: DeserializeOwned>(
        &self,
        format: &'static str,
        sink: &mut Sink,
    ) -> Result<T, ImportError> {
        let mut parser = serde_json::Deserializer::from_slice(&self.bytes);
        let parsed = T::deserialize(&mut parser).map_err(|error| ImportError::Damaged {
            file: sink.file.clone(),
            format,
            place: self.place(error.line(), error.column()),
            why: why(&error),
        })?;
        if let Err(error) = parser.end() {
            let rest = self.bytes.split(|&b| b == b'\n').nth(error.line().saturating_sub(1));
            sink.skip(
                error.line(),
                rest.unwrap_or_default(),
                "text after the end of the first JSON document, not used",
            );
        }
        Ok(parsed)
    }

    fn place(&self, line: usize, column: usize) -> String {
        let before: usize =
            self.bytes.split_inclusive(|&b| b == b'\n').take(line.saturating_sub(1)).map(<[u8]>::len).sum();
        format!("line {line}, column {column}, byte {}", (before + column).min(self.bytes.len()))
    }

    /// Makes `NaN` and `Infinity`, which some writers print, null; each one is reported.
    fn replace_non_numbers(&mut self, sink: &mut Sink) {
        const TOKENS: [&[u8]; 6] = [b"-Infinity", b"Infinity", b"-inf", b"inf", b"NaN", b"nan"];
        if TOKENS.iter().all(|token| memchr::memmem::find(&self.bytes, token).is_none()) {
            return;
        }
        let (mut quoted, mut escaped, mut line, mut at) = (false, false, 1, 0);
        let mut found = Vec::new();
        while at < self.bytes.len() {
            match self.bytes[at] {
                b'\n' => line += 1,
                _ if escaped => escaped = false,
                b'\\' if quoted => escaped = true,
                b'"' => quoted = !quoted,
                _ if !quoted => {
                    if let Some(token) = TOKENS.iter().find(|t| self.bytes[at..].starts_with(t)) {
                        sink.skip(line, token, "not a JSON number: this value is missing");
                        found.push((at, token.len()));
                        at += token.len();
                        continue;
                    }
                }
                _ => {}
            }
            at += 1;
        }
        let mut plain = Vec::with_capacity(self.bytes.len() + found.len());
        let mut copied = 0;
        for (at, length) in found {
            plain.extend_from_slice(&self.bytes[copied..at]);
            plain.extend_from_slice(b"null");
            copied = at + length;
        }
        plain.extend_from_slice(&self.bytes[copied..]);
        self.bytes = plain;
    }
}

/// serde_json's words without the place, which is given in our own way.
fn why(error: &serde_json::Error) -> String {
    let shown = error.to_string();
    let shown = shown.split(" at line ").next().unwrap_or(&shown).to_owned();
    if error.is_eof() {
        return format!("{shown}: the file is cut off; export it again");
    }
    shown
}
