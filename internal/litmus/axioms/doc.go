// Package axioms says what the memory model of the Linux kernel allows a litmus test in C to
// end with.
//
// What it is: the axioms of that model, for candidate executions, and Search, which tries all
// candidates. A candidate says what each thread does, from which store each load reads, and in
// which order the stores to each location are. The model is that of tools/memory-model in the
// kernel's tree as of 6.15: coherence, atomicity, happens-before, propagation, RCU with SRCU, plain
// accesses, and its definition of a data race.
//
// What it is not: a machine. There are no schedules and no steps, and nothing is taken from package
// lkmm, whose machine shows less: it performs loads in order.
//
// Its rule: a result that is Complete is exact. What isn't covered is an error.
//
// # How candidates are found
//
// Threads run alone first; a load takes each value that its location may have. Which values that
// are is found with branches that go either way, so that a value that only justifies itself is among
// them. Then traces are combined, loads are given stores, and stores an order; an execution is left
// out early where a value has no store, where a location isn't coherent, where the axioms already
// forbid what all orders of the stores have in common, and where it can't change the outcome. After
// a bound of work, final states aren't listed any more (Listed), but the search for one that changes
// the verdict goes on.
//
// # Dependencies
//
// An address, a value and the condition of an if depend on the loads whose values they are computed
// from, by whatever names. A control dependency orders the stores in the arms of its if, and none
// behind them.
//
// # The exam
//
// The public collection of the memory model's maintainer: TestCollection, if KPSIM_LITMUS_C names its
// folder. Of 2,173 tests that are Never 2,112 come out so, and 2,458 of 2,462 that are Sometimes. 58
// of the former and the four others have data races, which are reported: comments of the collection
// are older than the model there, or are about what compilers make of plain accesses. The last
// three are tests (JO-OOTA) whose comments say that the model allows what they don't want.
//
// # Limits
//
// What ctest reads. A value that is computed from itself, by plain accesses that race, isn't tried. 64
// loads of a thread, 64 stores to a location, 1,024 accesses and barriers of a thread, 200,000 traces.
package axioms
