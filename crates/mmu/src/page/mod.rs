//! From addresses to dense page numbers.
//!
//! Every translation unit (a page of some size in some address space, or a pinned range) gets a small number
//! when it is first seen. TLBs then work on arrays indexed by that number instead of hash tables.

mod hash;
mod rules;

use std::collections::HashMap;

pub use rules::PagingRules;

use hash::FastHash;

/// A dense page number.
pub type PageId = u32;

/// "No page": the reference is translated outside the TLBs.
pub const OUTSIDE: PageId = u32::MAX;

/// Page numbers stay below this, so that two bits of a `u32` are free for the class of reference.
pub const MAX_PAGE_IDS: usize = 1 << 30;

/// What is known of one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// First address.
    pub base: u64,
    /// log2 of its size in bytes.
    pub shift: u8,
    /// Whether it lies in the kernel's range.
    pub kernel: bool,
    /// Whether it is larger than the base page.
    pub large: bool,
    /// Address-space number plus one; 0 when the entry carries none.
    pub space: u32,
}

impl Page {
    /// Last address.
    pub fn last(&self) -> u64 {
        self.base | ((1u64 << self.shift) - 1)
    }
}

const CACHED: usize = 1024;

#[derive(Clone, Copy)]
struct Cached {
    frame: u64,
    space: u32,
    id: PageId,
}

/// Assigns page numbers under one set of [`PagingRules`].
pub struct PageTable {
    rules: PagingRules,
    pages: Vec<Page>,
    ids: HashMap<(u64, u64), PageId, FastHash>,
    cache: Vec<Cached>,
    space: u32,
    limit: usize,
}

/// More pages than allowed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the trace touches more than {limit} different pages (footprint {}); raise the limit or use larger pages",
    footprint(*.limit)
)]
pub struct TooManyPages {
    /// The limit that was hit.
    pub limit: usize,
}

fn footprint(limit: usize) -> String {
    format!("{} GiB at 4 KiB", limit / (1 << 18))
}

impl PageTable {
    /// An empty table; at most `limit` pages are numbered before [`TooManyPages`].
    pub fn new(rules: PagingRules, limit: usize) -> Self {
        let never = Cached { frame: u64::MAX, space: u32::MAX, id: OUTSIDE };
        PageTable {
            rules,
            pages: Vec::new(),
            ids: HashMap::default(),
            cache: vec![never; 3 * CACHED],
            space: 0,
            limit: limit.min(MAX_PAGE_IDS),
        }
    }

    /// The rules this table follows.
    pub fn rules(&self) -> &PagingRules {
        &self.rules
    }

    /// All pages, indexed by page number.
    pub fn pages(&self) -> &[Page] {
        &self.pages
    }

    /// Switches to address space `number`.
    pub fn set_space(&mut self, number: u32) {
        self.space = number;
    }

    /// The current address space.
    pub fn space(&self) -> u32 {
        self.space
    }

    /// Two addresses with the same `address >> frame_shift()` lie in the same page.
    pub fn frame_shift(&self) -> u32 {
        self.rules.frame_shift()
    }

    /// The page of `addr` for references of `class` (0 fetch, 1 load, 2 store), numbered now if new;
    /// [`OUTSIDE`] when a block range translates it.
    #[inline]
    pub fn id(&mut self, class: usize, addr: u64) -> Result<PageId, TooManyPages> {
        let frame = addr >> self.rules.frame_shift();
        let slot = class * CACHED + (frame as usize & (CACHED - 1));
        let cached = self.cache[slot];
        if cached.frame == frame && cached.space == self.space {
            return Ok(cached.id);
        }
        let id = self.find_or_number(class, addr)?;
        self.cache[slot] = Cached { frame, space: self.space, id };
        Ok(id)
    }

    #[cold]
    fn find_or_number(&mut self, class: usize, addr: u64) -> Result<PageId, TooManyPages> {
        let Some((base, shift)) = self.rules.page(class, addr) else { return Ok(OUTSIDE) };
        let page = self.rules.describe(base, shift, self.space);
        let key = (page.base, (u64::from(page.space) << 8) | u64::from(shift));
        if let Some(&id) = self.ids.get(&key) {
            return Ok(id);
        }
        if self.pages.len() >= self.limit {
            return Err(TooManyPages { limit: self.limit });
        }
        let id = self.pages.len() as PageId;
        self.pages.push(page);
        self.ids.insert(key, id);
        Ok(id)
    }

    /// The page of `addr` in the current address space if it has ever been looked up, for each class;
    /// used by single-page invalidation.
    pub fn known(&self, addr: u64) -> [Option<PageId>; 3] {
        std::array::from_fn(|class| {
            let (base, shift) = self.rules.page(class, addr)?;
            let page = self.rules.describe(base, shift, self.space);
            self.ids.get(&(page.base, (u64::from(page.space) << 8) | u64::from(shift))).copied()
        })
    }
}
