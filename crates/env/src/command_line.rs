//! The kernel command line without what nobody should publish.

/// Parts of a parameter's name that announce a secret or an identity.
const SECRET_NAMES: [&str; 12] =
    ["key", "pass", "secret", "token", "auth", "cred", "serial", "uuid", "mac", "luks", "crypt", "cookie"];

/// Parameters whose value is a network address or a name of this very machine.
const IDENTITY_NAMES: [&str; 6] =
    ["ip", "nfsroot", "bootif", "hostname", "systemd.hostname", "rd.iscsi.initiator"];

/// Parameters whose name looks secret but is not.
const HARMLESS_NAMES: [&str; 5] =
    ["lockdown", "machine_check", "keepinitrd", "console_msg_format", "tsx_async_abort"];

const HIDDEN: &str = "<hidden>";

/// The command line with values hidden that are, or look like, keys, UUIDs, serial numbers and addresses.
/// What follows `--` belongs to the init program and is left out.
pub(crate) fn publishable(line: &str) -> String {
    let words = line.split_whitespace().take_while(|word| *word != "--");
    words.map(publishable_word).collect::<Vec<_>>().join(" ")
}

/// One `name=value` (or bare word) with its value hidden where needed.
pub(crate) fn publishable_word(word: &str) -> String {
    let Some((name, value)) = word.split_once('=') else {
        return if looks_secret(word) { HIDDEN.to_owned() } else { word.to_owned() };
    };
    let lower = name.to_lowercase();
    let hidden = || format!("{name}={HIDDEN}");
    if IDENTITY_NAMES.contains(&lower.as_str()) {
        return hidden();
    }
    if !HARMLESS_NAMES.contains(&lower.as_str()) && SECRET_NAMES.iter().any(|secret| lower.contains(secret)) {
        return hidden();
    }
    // root=UUID=..., rd.luks.name=...=..., option lists separated by commas.
    let parts: Vec<String> = value
        .split_inclusive([',', ';'])
        .map(|part| {
            let body = part.trim_end_matches([',', ';']);
            let kept = if body.contains('=') { publishable_word(body) } else { hide_secret(body) };
            kept + &part[body.len()..]
        })
        .collect();
    format!("{name}={}", parts.concat())
}

/// `text`, or the mark when any path component of it looks secret.
fn hide_secret(text: &str) -> String {
    let parts: Vec<&str> =
        text.split('/').map(|part| if looks_secret(part) { HIDDEN } else { part }).collect();
    parts.join("/")
}

/// Values that are identities by shape: UUIDs, MAC addresses, long hexadecimal or base64 words.
fn looks_secret(text: &str) -> bool {
    let body = text.trim_start_matches("0x");
    let hex = body.chars().filter(char::is_ascii_hexdigit).count();
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let dashes = text.matches('-').count();
    let uuid = dashes >= 4 && hex + dashes == body.len() && hex >= 20;
    let mac = text.matches(':').count() == 5 && hex == 12;
    // Long masks of CPUs are hexadecimal too, but with a comma every 8 digits or a 0x in front.
    let long_hex = !text.starts_with("0x") && hex == body.len() && hex >= 16 && digits < hex;
    let base64 = text.len() >= 24
        && digits >= 3
        && text.chars().any(|c| c.is_ascii_uppercase())
        && text.chars().any(|c| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "+=_-".contains(c));
    uuid || mac || long_hex || base64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuning_parameters_are_kept_as_they_are() {
        let line = "BOOT_IMAGE=/boot/vmlinuz-6.18 root=/dev/vda1 ro quiet mitigations=auto,nosmt isolcpus=nohz,domain,2-7 \
                    nohz_full=2-7 rcu_nocbs=2-7 preempt=lazy hugepagesz=1G hugepages=4 intel_idle.max_cstate=1 irqaffinity=0-1";
        assert_eq!(publishable(line), line.split_whitespace().collect::<Vec<_>>().join(" "));
    }

    #[test]
    fn identities_and_secrets_are_hidden() {
        let cases = [
            ("root=UUID=0b7f4f2e-3c7e-4d3b-8d5c-a2f5a7d1c9e0", "root=UUID=<hidden>"),
            ("root=PARTUUID=0b7f4f2e-02", "root=PARTUUID=<hidden>"),
            ("rd.luks.name=0b7f4f2e-3c7e-4d3b-8d5c-a2f5a7d1c9e0=root", "rd.luks.name=<hidden>"),
            ("BOOTIF=01-52-54-00-12-34-56", "BOOTIF=<hidden>"),
            ("x=52:54:00:12:34:56", "x=<hidden>"),
            ("ip=10.0.0.2::10.0.0.1:255.255.255.0::eth0", "ip=<hidden>"),
            ("agent.token=abc", "agent.token=<hidden>"),
            ("foo=4f2e3c7e4d3b8d5ca2f5a7d1c9e00b7f", "foo=<hidden>"),
            ("quiet -- --api-key hunter2", "quiet"),
            (
                "resume=/dev/disk/by-uuid/0b7f4f2e-3c7e-4d3b-8d5c-a2f5a7d1c9e0",
                "resume=/dev/disk/by-uuid/<hidden>",
            ),
        ];
        for (line, wanted) in cases {
            assert_eq!(publishable(line), wanted);
        }
    }
}
