// Package mutants breaks the engine on purpose: each mutant leaves out, doubles or swaps one step of a protocol, and
// names the property that must notice.
//
// What it is not: it holds no copy of an engine. A mutant wraps an interface of the waist, or a step of
// kprobes.Steps.
//
// Where a row goes: All (all_table.go, and past.go for rows of History) has the mutants that a property notices in a
// scenario; planted (planted.go) completes rows of faults that stand in the code which they break. ofRules
// (rules.go) has those that only the tests of the specification's rules notice. History (history.tsv) has the
// faults that kernels had; Shipped (shipped.go) says which of All an edition's kernels had; Absent (absent.go) has
// faults that can't be made here, with the reason. Barriers (barriers.go) are made from kapi's table of orders, one
// each, and need no row; LostOrders (lost.go) says where the orders that Linux once lacked show, and Unchecked has
// removed checks that stand for an order.
//
// Its rule: a mutant is a row of All and at most one function beside the table. A mutant that no property kills, or
// that the wrong one does, fails the table test.
//
// Its limits: a step that passes a value of the engine's own type can be left out or called twice, but not changed in
// part.
package mutants
