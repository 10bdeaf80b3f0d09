//! The probe of the machine itself.

use std::time::Duration;

use harness::{Clock, Signals};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::backing::{
    LINES, Mapping, Protection, alias_pages, distinct_pages, huge_zero_pages, page_bytes, spare_mappings,
    untouched_zero_pages, zero_pages,
};
use crate::kernel::{OFFSET_UNIT, pointer_chain, store_chain, zero_chain};
use crate::recording::{Batch, Chain, Look, Request};
use crate::sampler::Sampler;
use crate::survey::Probe;

use super::code::CodePages;
use super::empty::Emptier;
use super::sentinel::Sentinel;

/// Accesses of one call of a loop: short rings are walked several times.
const PER_CALL: usize = 1024;

/// Jumps of one call: the caller's own pages of code take entries that a full table misses for a pass, of which there must be
/// many.
const JUMPS_PER_CALL: usize = 16_384;

/// Slots of 4 KiB used in each huge page by the splinter test.
const SPLINTER_SLOTS: usize = 16;

/// Most accesses of one call.
const LONGEST_SLICE: usize = 4096;

/// Times that a batch is taken again because another process ran meanwhile.
const PREEMPTED: u32 = 2;

/// Looks at the sentinel before a batch is taken beside a neighbour.
const WAITS: usize = 12;

/// How often, and how far apart, a page count is tried that the first level may hold while no neighbour is there.
const LOOKS: usize = 30;
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

/// Measures this machine.
pub struct Hardware<'s> {
    /// How points are sampled.
    pub sampler: Sampler,
    /// Most pages of a chain with lines of its own.
    pub own_lines: u32,
    sentinel: Option<Sentinel>,
    emptier: Emptier,
    /// Cycles per access up to which the sentinel is quiet.
    quiet_cycles: f64,
    signals: Option<&'s Signals>,
    rng: Pcg64Mcg,
    pages: Option<Prepared>,
}

/// The mapping in use.
enum Prepared {
    Data { mapping: Mapping, stride: usize },
    Code(CodePages),
}

impl<'s> Hardware<'s> {
    /// A probe with `clock`; `l1_lines` are the lines of the L1 data cache, where known.
    pub fn new(clock: Clock, l1_lines: Option<u64>, seed: u64, signals: Option<&'s Signals>) -> Self {
        // Three quarters of the L1 data cache, as whole frames, as far as separate mappings are allowed.
        let wanted = l1_lines.unwrap_or(512) as usize * 3 / 4;
        let lines = wanted.min(spare_mappings()).clamp(LINES, 1024) / LINES * LINES;
        Hardware {
            sampler: Sampler::new(clock),
            own_lines: lines as u32,
            sentinel: None,
            emptier: Emptier::new(),
            quiet_cycles: 0.0,
            signals,
            rng: Pcg64Mcg::seed_from_u64(seed),
            pages: None,
        }
    }

    /// A random cyclic order of `count` pages.
    fn order(&mut self, count: u32) -> Vec<u32> {
        let mut order: Vec<u32> = (0..count).collect();
        order.shuffle(&mut self.rng);
        order
    }

    /// Offsets of the pages in a random order, repeated to at least [`PER_CALL`] accesses.
    fn offsets(
        &mut self,
        count: u32,
        stride: usize,
        slots: Option<(usize, usize)>,
    ) -> Result<Vec<u32>, String> {
        use rand::RngExt;
        let units = page_bytes() / OFFSET_UNIT;
        let order = self.order(count);
        let mut one = Vec::with_capacity(order.len());
        for page in order {
            let page = page as usize;
            let at = match slots {
                // `per` spots in each unit of so many base pages, at random places.
                Some((per, base_pages)) => {
                    (page / per * base_pages + self.rng.random_range(0..base_pages)) * units + page % LINES
                }
                None => page * stride * units + page % LINES,
            };
            one.push(
                u32::try_from(at)
                    .map_err(|_| format!("{count} pages {stride} apart exceed the offset list"))?,
            );
        }
        let repeats = PER_CALL.div_ceil(one.len().max(1));
        Ok(one.repeat(repeats))
    }

    fn pointer_batch(&mut self, request: Request, round: u32, base: *mut u8, stride: usize) -> Batch {
        let step = stride * page_bytes();
        let address =
            |page: u32| base.wrapping_add(page as usize * step + page as usize % LINES * OFFSET_UNIT);
        let order = self.order(request.pages);
        for (i, &page) in order.iter().enumerate() {
            let next = address(order[(i + 1) % order.len()]);
            // SAFETY: the address lies in the prepared mapping of at least `request.pages` pages, which is writable.
            unsafe { address(page).cast::<*mut u8>().write_volatile(next) };
        }
        let per_call = order.len() * PER_CALL.div_ceil(order.len());
        let mut at = address(order[0]);
        let steps = per_call as u64;
        if request.chain == Chain::Store {
            return self.sampler.batch(request, round, per_call, || {
                // SAFETY: the ring of pointers was just written, each at the beginning of a line of its own.
                at = unsafe { store_chain(at, steps, 1) };
            });
        }
        self.sampler.batch(request, round, per_call, || {
            // SAFETY: the ring of pointers was just written.
            at = unsafe { pointer_chain(at, steps) }.cast_mut();
        })
    }

    fn zero_batch(&mut self, request: Request, round: u32, base: *const u8, list: &[u32]) -> Batch {
        let mut carry = 0usize;
        // A long list in slices, so that a chunk does not last for milliseconds, in which others take the CPU.
        let slices = list.len().div_ceil(LONGEST_SLICE);
        let slice = list.len() / slices.max(1);
        let mut walk = |part: &[u32]| {
            // SAFETY: all offsets lie in the prepared mapping, which holds zeros; so the carry is zero.
            carry = unsafe { zero_chain(base.wrapping_add(carry), part) } as usize;
        };
        if slices > 1 {
            walk(list);
        }
        let mut at = 0;
        self.sampler.sliced(request, round, (slice, slices), || {
            walk(&list[at * slice..(at + 1) * slice]);
            at = (at + 1) % slices;
        })
    }
}

/// Bytes of a transparent huge page, where the kernel has them.
pub fn huge_page_bytes() -> Option<usize> {
    let bytes =
        environment::Root::host().number("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size").ok()?;
    usize::try_from(bytes).ok().filter(|b| b.is_power_of_two())
}

impl Probe for Hardware<'_> {
    fn prepare(&mut self, chain: Chain, stride: u32, most: u32) -> Result<(), String> {
        self.pages = None;
        let (count, step) = (most as usize, stride as usize);
        let frames = self.own_lines as usize / LINES;
        let enough = |needed: usize| {
            let spare = spare_mappings();
            if needed <= spare {
                Ok(())
            } else {
                Err(format!("needs {needed} mappings, vm.max_map_count leaves {spare}"))
            }
        };
        let mapping = match chain {
            Chain::Load | Chain::Store => {
                enough(count)?;
                alias_pages(count, step, frames, Protection::Write)
            }
            Chain::LoadAliased => zero_pages(count, step),
            // Faulted in by the pass that warms up.
            Chain::LoadScattered => untouched_zero_pages(count * step),
            Chain::LoadDistinct => distinct_pages(count * step * page_bytes()),
            Chain::Huge => huge_zero_pages(count),
            Chain::HugeSplinter => huge_zero_pages(count.div_ceil(SPLINTER_SLOTS)),
            Chain::Instruction | Chain::InstructionPacked => {
                enough(count)?;
                let pages = CodePages::new(count, chain == Chain::InstructionPacked)?;
                self.pages = Some(Prepared::Code(pages));
                return Ok(());
            }
        }
        .map_err(|e| e.to_string())?;
        if matches!(chain, Chain::Huge | Chain::HugeSplinter) {
            let found = crate::backing::backed(&mapping)?;
            if found.source == "PAGEMAP_SCAN" && found.huge < found.present / 2 {
                return Err(format!(
                    "no huge pages: {} of {} MiB are mapped by huge entries (/proc/self/pagemap)",
                    found.huge >> 20,
                    found.present >> 20
                ));
            }
        }
        self.pages = Some(Prepared::Data { mapping, stride: step });
        Ok(())
    }

    fn holds(&mut self, pages: u32, limit: f64) -> bool {
        let Ok(sentinel) = Sentinel::new(pages, &mut self.rng) else { return false };
        (0..LOOKS).any(|_| {
            let before = self.sampler.cycle_ns();
            let ns = sentinel.ns(&self.sampler.clock);
            let quiet = ns / before.min(self.sampler.cycle_ns()) <= limit;
            if !quiet {
                std::thread::sleep(BETWEEN_LOOKS);
            }
            quiet
        })
    }

    fn watch(&mut self, pages: u32, limit: f64) -> bool {
        // Without separate mappings the probe goes on unwatched, or as it was.
        let Ok(sentinel) = Sentinel::new(pages, &mut self.rng) else { return false };
        self.sentinel = Some(sentinel);
        self.quiet_cycles = limit;
        true
    }

    fn batch(&mut self, request: Request, round: u32) -> Result<Batch, String> {
        let mut before = self.look();
        // A neighbour often leaves for a moment; a look is shorter than a batch.
        let limit = self.quiet_cycles * self.sampler.cycle_ns();
        for _ in 0..WAITS {
            if before.is_none_or(|(_, ns)| ns <= limit) {
                break;
            }
            before = self.look();
        }
        let mut batch = self.undisturbed(request, round)?;
        batch.sentinel = before.zip(self.look()).map(|((pages, before), (_, after))| Look {
            pages,
            cycles: (before.max(after) / batch.cycle_ns) as f32,
        });
        Ok(batch)
    }

    fn interrupted(&self) -> bool {
        self.signals.is_some_and(|signals| signals.interrupted().is_some())
    }
}

impl Hardware<'_> {
    /// Pages of the sentinel and what it costs now, ns per access.
    fn look(&self) -> Option<(u32, f64)> {
        self.sentinel.as_ref().map(|sentinel| (sentinel.pages, sentinel.ns(&self.sampler.clock)))
    }

    /// A batch that began with empty tables and was not preempted, which would have filled them with others' entries; after
    /// a few tries, any.
    fn undisturbed(&mut self, request: Request, round: u32) -> Result<Batch, String> {
        let mut tries = 0;
        loop {
            self.emptier.empty();
            let batch = self.point(request, round)?;
            if batch.switches == 0 || tries == PREEMPTED {
                return Ok(batch);
            }
            tries += 1;
        }
    }

    fn point(&mut self, request: Request, round: u32) -> Result<Batch, String> {
        let pages = self.pages.take().ok_or("no mapping was prepared")?;
        let batch = match &pages {
            Prepared::Code(code) => {
                let order = self.order(request.pages);
                let ring = code.ring(&order)?;
                let passes = JUMPS_PER_CALL.div_ceil(order.len()) as u64;
                let per_call = order.len() * passes as usize;
                Ok(self.sampler.batch(request, round, per_call, || ring.run(passes)))
            }
            Prepared::Data { mapping, stride } => {
                let base = mapping.base();
                match request.chain {
                    Chain::Load | Chain::LoadDistinct | Chain::Store => {
                        Ok(self.pointer_batch(request, round, base, *stride))
                    }
                    Chain::Huge | Chain::HugeSplinter => {
                        let per = if request.chain == Chain::Huge { 1 } else { SPLINTER_SLOTS };
                        let base_pages = huge_page_bytes().unwrap_or(1 << 21) / page_bytes();
                        let list = self.offsets(request.pages, 1, Some((per, base_pages)))?;
                        Ok(self.zero_batch(request, round, base, &list))
                    }
                    Chain::LoadScattered => {
                        let list = self.offsets(request.pages, 1, Some((1, *stride)))?;
                        Ok(self.zero_batch(request, round, base, &list))
                    }
                    _ => {
                        let list = self.offsets(request.pages, *stride, None)?;
                        Ok(self.zero_batch(request, round, base, &list))
                    }
                }
            }
        };
        self.pages = Some(pages);
        batch
    }
}
