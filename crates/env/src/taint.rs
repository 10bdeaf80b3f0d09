//! The kernel's taint mask in words.

/// Letter and name of each bit (Documentation/admin-guide/tainted-kernels.rst).
const FLAGS: [(char, &str); 20] = [
    ('P', "proprietary_module"),
    ('F', "forced_module"),
    ('S', "cpu_out_of_spec"),
    ('R', "forced_unload"),
    ('M', "machine_check"),
    ('B', "bad_page"),
    ('U', "user_request"),
    ('D', "oops"),
    ('A', "overridden_acpi_table"),
    ('W', "warning"),
    ('C', "staging_driver"),
    ('I', "firmware_workaround"),
    ('O', "out_of_tree_module"),
    ('E', "unsigned_module"),
    ('L', "soft_lockup"),
    ('K', "livepatch"),
    ('X', "distribution_defined"),
    ('T', "randomized_structs"),
    ('N', "test_module"),
    ('J', "fwctl"),
];

/// Names of the bits set in a taint mask; bits without a name give `bit_N`.
pub(crate) fn decode(mask: u64) -> Vec<String> {
    (0..64usize)
        .filter(|bit| mask >> bit & 1 == 1)
        .map(|bit| FLAGS.get(bit).map_or_else(|| format!("bit_{bit}"), |(_, name)| (*name).to_owned()))
        .collect()
}

/// The letters `/proc/version`-style reports use, e.g. `PWO`.
pub(crate) fn letters(mask: u64) -> String {
    FLAGS.iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1).map(|(_, (letter, _))| *letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_the_kernel_documentation_reads_as_it_says() {
        // 4609 = 1 + 512 + 4096: "P" "W" "O", the documentation's example.
        assert_eq!(decode(4609), ["proprietary_module", "warning", "out_of_tree_module"]);
        assert_eq!(letters(4609), "PWO");
        assert_eq!(decode(0), Vec::<String>::new());
        assert_eq!(decode(1 << 40), ["bit_40"]);
    }
}
