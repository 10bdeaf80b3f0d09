//! CPU lists as the kernel writes them: `0-3,8,10-11`.

/// Highest CPU number accepted: Linux is built for 8192 CPUs at most. A list that claims more is cut there.
const MAX_CPU: usize = 8191;

/// The CPUs of a list, ascending, without repetition. Parts that are not numbers are skipped.
pub fn parse_cpu_list(text: &str) -> Vec<usize> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.trim().split_once('-').unwrap_or((part.trim(), part.trim()));
        let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) else { continue };
        if cpus.len() <= MAX_CPU {
            cpus.extend(first..=last.min(MAX_CPU));
        }
    }
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// The shortest list text of ascending `cpus`: `0-3,8`.
pub fn format_cpu_list(cpus: &[usize]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(&first) = cpus.get(at) {
        let mut last = first;
        while cpus.get(at + 1) == Some(&(last + 1)) {
            at += 1;
            last += 1;
        }
        at += 1;
        parts.push(if first == last { first.to_string() } else { format!("{first}-{last}") });
    }
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_survives_the_way_there_and_back() {
        for text in ["0", "0-3", "0-3,8,10-11", "5,7,9"] {
            assert_eq!(format_cpu_list(&parse_cpu_list(text)), text);
        }
        assert_eq!(format_cpu_list(&parse_cpu_list("3,1-2,2,x,-")), "1-3");
        assert_eq!(parse_cpu_list(""), Vec::<usize>::new());
        assert_eq!(parse_cpu_list("0-99999999999").len(), 8192);
    }
}
