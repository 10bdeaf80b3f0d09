//! Map presets: the kernel mappings people compare.

use super::{Address, BatRange, Bytes, KernelLayout, Machine, MachineError, MapRange, PinnedRange, Serves};

/// Page of the `thp` preset.
const HUGE_PAGE: u64 = 2 << 20;

/// Applies presets joined by `+`.
pub(super) fn apply(machine: &Machine, words: &str) -> Result<Machine, MachineError> {
    let mut out = machine.clone();
    for word in words.split('+').map(str::trim) {
        match word {
            "4k" => out.map.clear(),
            "large-on-demand" => {
                let k = layout(machine, word)?;
                out.map.push(MapRange { base: k.base, len: k.len, page: k.large_page, global: false });
            }
            "bat" => {
                let k = layout(machine, word)?;
                out.bats.push(BatRange { base: k.base, len: k.len, serves: Serves::all() });
            }
            "thp" => {
                let len = machine.first_kernel_address();
                out.map.push(MapRange {
                    base: Address(0),
                    len: Bytes(len),
                    page: Bytes(HUGE_PAGE),
                    global: false,
                });
            }
            _ => match word.strip_prefix("pin=").map(str::parse::<u32>) {
                Some(Ok(n)) => pin(&mut out, layout(machine, word)?, n),
                _ => {
                    let reason = "not a preset; write 4k, large-on-demand, pin=N, bat or thp, joined by +";
                    return Err(MachineError::Variation { what: word.into(), reason: reason.into() });
                }
            },
        }
    }
    let name = machine.name.clone();
    out.checked(&name)
}

fn layout(machine: &Machine, word: &str) -> Result<KernelLayout, MachineError> {
    machine.kernel.ok_or_else(|| MachineError::Variation {
        what: word.into(),
        reason: format!(
            "machine {} does not say where its kernel lies; add [kernel] with base, len and large_page",
            machine.name
        ),
    })
}

/// Pins the first `n` large pages of the kernel in every TLB of the last level.
fn pin(machine: &mut Machine, kernel: KernelLayout, n: u32) {
    let last = machine.tlbs.iter().map(|t| t.level).max().unwrap_or(1);
    for tlb in machine.tlbs.iter_mut().filter(|t| t.level == last) {
        tlb.pinned = (0..u64::from(n))
            .map(|i| PinnedRange {
                base: Address(kernel.base.0.wrapping_add(i * kernel.large_page.0)),
                size: kernel.large_page,
            })
            .collect();
    }
}
