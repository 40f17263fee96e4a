// Package engine is the seam between what patches live code and everything that
// asks it to: searches, the scenario language, the shell, interface files,
// monitors and proofs ask an Engine and know no other.
//
// What it is not: it has no protocol, and no engine.
package engine
