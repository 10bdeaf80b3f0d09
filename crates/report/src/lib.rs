//! Placeholder of this room; see docs/architecture.md.
