// Package act has a row for each operation that a task of a scenario can do: what the
// language takes for it, what a machine needs to have it, what it touches, how likely it is
// drawn, its paragraph of documentation, and how it runs.
//
// What it is not: it reads no scenario and prints none, and it builds no machine. Package
// scenario says what a row is, lang reads and prints by rows, gen draws by them, edit leaves
// out by them, and the rig runs them.
//
// Its rule: an operation is one row in one file, a file a family. No other package has a
// list of operations.
//
// Its limits: a parameter of a new kind needs a constant and a row in scenario (which field has
// it, which values are allowed), a row in lang (how it is written), and, if it names a part of the
// scenario, a place in edit (what happens to the operation when the part is left out).
package act
