// Package lkmm says which versions of a cell a CPU may see under the memory model of
// the Linux kernel, and in which coherence order its own stores take effect.
//
// # What it is not
//
// It is no specification: that is tools/memory-model in the kernel's tree, and
// "Frightening Small Children and Disconcerting Grown-ups" (ASPLOS 2018). It is no
// model of a processor. A behaviour it shows is one that the kernel's model allows, and
// some compiler or processor may show; x86 shows few of them. It holds no values: the
// holder of a cell keeps its old values and asks how far back it is to read or store.
// Nothing waits here: the caller decides whether a lock is free and a grace period over.
//
// # The model
//
// The style is that of the operational models with views (a promising semantics
// without promises; Kang and others, POPL 2017). The stores to a cell, its messages,
// stand in coherence order. A view is a position in each cell. A CPU has a view that
// its loads can't fall behind, and a view of all it has read, stored, and had carried
// to it. A message carries a view, too: what has to be seen by a CPU that sees the
// message and orders what follows.
//
//	load          reads a message at or after the CPU's position in that cell
//	store         takes a place after that position, not necessarily the last one
//	acquire       the view of the message read is joined to what later loads see
//	rmb           so are the views of everything read before
//	release       the store carries all that the CPU has seen, also by relaxed loads
//	wmb           later stores carry the CPU's own stores, and what these carried
//	mb            all of these, and a view common to all CPUs is joined, both ways
//	RMW           reads the newest message and becomes the newest; no store comes between
//	lock, unlock  an acquiring RMW, a releasing store; a lock that follows an unlock on
//	              the same CPU orders everything but a store against a later load
//
// What was before an mb has reached all CPUs when anything after it happens. So a
// message also carries a fence view, and that travels further than a release: along
// reads-from, acquire, barriers, and data, address and control dependencies to stores.
// Without it ISA2 with an mb, a dependency and an acquire would appear, which the
// kernel's model forbids.
//
// RCU: a section that begins after a grace period has begun sees all that was before
// the grace period; the end of a grace period sees every section that ended before, or
// that it waited for. Sending an IPI is a release, taking it an acquire.
//
// # Dependencies
//
// LoadAfter and StoreAfter take and return sets of loads (Deps), for callers that know
// on which loads an address, a value or a condition depends. Load and Store are
// for Go code, which doesn't know: each load then counts as a control dependency
// of each later store of that CPU. That is stronger than the kernel's model, so it shows
// nothing which that forbids. Deref, there, is an acquire.
//
// # Choices
//
// choose(n) is asked only if n > 1, and answer 0 is the newest place. A run in which
// each answer is 0 is sequentially consistent.
//
// # Rule
//
// The package imports sim only. Nothing is allocated once the views have grown.
//
// # Limits
//
// Loads are performed in order, so there is no load buffering: no load sees a store that depends on
// a later store of its own CPU. (internal/litmus/ctest performs loads late instead, where the C
// program lets it; its verdicts are those of internal/litmus/axioms.) Plain accesses are READ_ONCE
// and WRITE_ONCE. smp_mb__before_atomic and the like are full barriers where they stand. The read
// of an operation that returns nothing (atomic_inc) is ordered by an rmb, and sections of one SRCU
// struct that overlap without nesting are one section: both are stronger than the kernel's model.
// At most 64 CPUs, eight RCU domains, and 64 loads of a CPU told apart (the rest share the last
// place). At most Depth versions of a cell are kept.
package lkmm
