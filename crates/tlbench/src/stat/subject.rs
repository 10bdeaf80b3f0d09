//! The commands under test: split at `--`, multiplied by parameters, named.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// Commands at most; more would be a scan that nobody reads.
const MOST: usize = 64;

/// One command under test.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Its name in the record, unlike any other's.
    pub name: String,
    /// The command as the user would type it.
    pub command: String,
    /// Its argument vector.
    pub arguments: Vec<OsString>,
    /// The file executed.
    pub program: PathBuf,
    /// Parameters in force.
    pub parameters: Vec<(String, String)>,
    /// Which of the commands given it was made from, from 0.
    pub origin: usize,
}

/// `-P NAME VALUE,VALUE`.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Written as `{NAME}` in commands.
    pub name: String,
    /// Its values.
    pub values: Vec<String>,
}

/// Splits the words after the first `--` at each further `--`.
pub fn split(words: &[OsString]) -> anyhow::Result<Vec<Vec<OsString>>> {
    let commands: Vec<Vec<OsString>> = words.split(|word| word == "--").map(<[OsString]>::to_vec).collect();
    if commands.iter().any(Vec::is_empty) {
        bail!("an empty command; write `stat -- CMD` or `stat -- CMD_A -- CMD_B`");
    }
    Ok(commands)
}

/// Reads the `-P` pairs.
pub fn parameters(words: &[String]) -> anyhow::Result<Vec<Parameter>> {
    let parameters = words.chunks(2).map(|pair| {
        let [name, values] = pair else { bail!("-P takes a name and its values, e.g. -P threads 1,2,4") };
        Ok(Parameter { name: name.clone(), values: values.split(',').map(str::to_owned).collect() })
    });
    parameters.collect()
}

/// Puts the values of parameters in the place of `{NAME}`.
pub fn filled(text: &OsStr, parameters: &[(String, String)]) -> OsString {
    let mut bytes = text.as_bytes().to_vec();
    for (name, value) in parameters {
        let pattern = format!("{{{name}}}").into_bytes();
        let mut at = 0;
        while let Some(found) = bytes[at..].windows(pattern.len()).position(|window| window == pattern) {
            let start = at + found;
            bytes.splice(start..start + pattern.len(), value.bytes());
            at = start + value.len();
        }
    }
    OsString::from_vec(bytes)
}

/// How commands are made into subjects.
pub struct Making<'a> {
    /// `-P`.
    pub parameters: &'a [Parameter],
    /// Names given by the user, one per command.
    pub names: &'a [String],
    /// The shell that runs each command as one text, if asked for.
    pub shell: Option<&'a OsStr>,
    /// Where the commands run.
    pub directory: Option<&'a Path>,
}

impl Making<'_> {
    /// Every command with every combination of parameters.
    pub fn subjects(&self, commands: &[Vec<OsString>]) -> anyhow::Result<Vec<Subject>> {
        if !self.names.is_empty() && self.names.len() != commands.len() {
            bail!("{} names for {} commands; give --name once per command", self.names.len(), commands.len());
        }
        let combinations = self.combinations();
        if commands.len() * combinations.len() > MOST {
            bail!("{} commands; at most {MOST}", commands.len() * combinations.len());
        }
        let mut subjects = Vec::new();
        for (origin, words) in commands.iter().enumerate() {
            for parameters in &combinations {
                subjects.push(self.subject(origin, words, parameters)?);
            }
        }
        make_names_unique(&mut subjects);
        Ok(subjects)
    }

    fn subject(
        &self,
        origin: usize,
        words: &[OsString],
        given: &[(String, String)],
    ) -> anyhow::Result<Subject> {
        let words: Vec<OsString> = words.iter().map(|word| filled(word, given)).collect();
        let command = match self.shell {
            Some(_) => words.join(OsStr::new(" ")).to_string_lossy().into_owned(),
            None => words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
        };
        let arguments = match self.shell {
            Some(shell) => vec![shell.to_owned(), "-c".into(), words.join(OsStr::new(" "))],
            None => words,
        };
        let program = harness::find_program(&arguments[0], self.directory)
            .with_context(|| format!("`{}`", arguments[0].to_string_lossy()))?;
        let mut name = self.names.get(origin).unwrap_or(&command).clone();
        let shown: Vec<String> = given
            .iter()
            .filter(|_| self.names.get(origin).is_some())
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if !shown.is_empty() {
            name = format!("{name} ({})", shown.join(", "));
        }
        Ok(Subject { name, command, arguments, program, parameters: given.to_vec(), origin })
    }

    /// Every combination of parameter values; a single empty one without parameters.
    fn combinations(&self) -> Vec<Vec<(String, String)>> {
        let mut made = vec![Vec::new()];
        for parameter in self.parameters {
            made = made
                .into_iter()
                .flat_map(|known: Vec<(String, String)>| {
                    parameter.values.iter().map(move |value| {
                        let mut longer = known.clone();
                        longer.push((parameter.name.clone(), value.clone()));
                        longer
                    })
                })
                .collect();
        }
        made
    }
}

fn make_names_unique(subjects: &mut [Subject]) {
    for i in 1..subjects.len() {
        let repeats = subjects[..i].iter().filter(|s| s.command == subjects[i].command).count();
        let taken = |name: &str| subjects[..i].iter().any(|subject| subject.name == name);
        let mut nth = repeats.max(1) + 1;
        let mut name = subjects[i].name.clone();
        while taken(&name) {
            name = format!("{} (#{nth})", subjects[i].name);
            nth += 1;
        }
        subjects[i].name = name;
    }
}

/// A word as one would type it in a shell.
fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-_=./:,+@%^".contains(c));
    if plain { text.into_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn commands_are_split_multiplied_and_named() {
        let commands = split(&words("sh -c {n} -- true -- true")).unwrap();
        let parameters = parameters(&["n".into(), "1,2".into()]).unwrap();
        let making = Making { parameters: &parameters, names: &[], shell: None, directory: None };
        let names: Vec<String> =
            making.subjects(&commands).unwrap().into_iter().map(|subject| subject.name).collect();
        assert_eq!(names, ["sh -c 1", "sh -c 2", "true", "true (#2)", "true (#3)", "true (#4)"]);
        assert!(split(&words("true --")).is_err());
        assert!(making.subjects(&[words("no-such-command-at-all")]).is_err());
    }

    #[test]
    fn braces_are_filled_once_and_words_are_quoted() {
        let given = [("a".to_owned(), "{a}x".to_owned())];
        assert_eq!(filled(OsStr::new("-{a}-{b}-{a}"), &given), "-{a}x-{b}-{a}x");
        assert_eq!(quoted(OsStr::new("it's")), r"'it'\''s'");
    }
}
