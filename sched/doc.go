// Package sched says who goes next: the strategies that decide runs, the two
// replays, and the wrappers that record what was decided.
//
// What it is: implementations of sim.Chooser. A run is the default run (every
// question answered 0) plus a sparse list of deviations; a strategy is a way
// to pick such lists.
//
//	strategy     decides                                     good at
//	default      nothing: answers 0                          how long a run is
//	random       each boundary anew, uniformly               races wide open
//	sticky       a switch now and then, dense or rare        long preemptions, speed
//	pct          priorities that change at few boundaries    bugs of a small depth, with a bound
//	arriving     the same at more boundaries, some in order  interrupts at one certain place
//	pos          priorities drawn anew after each race       orders that matter, of those that don't none
//	guided       mutations of what showed something new      chains of rare steps
//	deviations   every schedule of at most k deviations      small witnesses, proofs up to k
//	portfolio    all of the above, each its share of time    not knowing which
//
//	states       from each state that there is all answers,  proofs; with Bound of at most
//	             once                                        k deviations, with Sleep in fewer runs
//	bounded      every schedule of at most k deviations, of  the same, where states can't be told
//	             each class one                              apart
//	full         one schedule of each class: those that      proofs, of small things
//	             differ in the order of commuting steps are one
//
//	Timed        who has the least clock goes next           measuring; it searches nothing
//
//	Exact        replays a Recording of this build           leaving it is a bug of the simulator
//	Anchored     replays a file's anchors, by label          drifting from them is reported
//	Chain        replays anchors counted one from the other      for shrinkers: a list may be cut anywhere
//	Prefix       replays the first answers of a recording    the rest is others' to decide
//	Sparse       plays any list, picks modulo N              generators and shrinkers
//
//	Recorder     writes down the deviations (or everything)
//	Labeller     turns them into anchors, and links of a Chain
//	Spot         makes an anchor of one question, also of a default answer
//	NoHold       forces each hold to 0: it must change nothing
//
// What it is not: it doesn't know what a mover is. That sources are drawn by
// arrival and everything else by choice, and that some text is watched, is all
// it tells apart.
//
// Its rule: run number i is a function of (Params, i), nothing else, so that a
// result doesn't depend on how many workers there are. Strategies that
// enumerate or learn (deviations, guided, portfolio) are given their run numbers
// in order, and told what came of each; to use many workers make Shards
// instances, a constant, and spread those.
//
// The second rule: a hold changes nothing that can be observed. Seq counts
// held questions, but a hold counts Step questions only; what a strategy plans
// ahead it therefore plans in Step questions, which it can always number: Seq
// less the questions of the other kinds, and those are never held. To what it
// doesn't go by its holds should be deaf (sim.Steady, sim.Through): a question
// costs five held boundaries.
//
// Its limits: no strategy that searches follows time. One that goes by footprints (pos, and
// guided in some runs) has to be told of each step (ObserverOf), and costs a
// multiple of the others.
package sched
