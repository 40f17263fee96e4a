// Package sched has the strategies that decide runs, the replays, and the wrappers that
// record decisions.
//
// What it is: implementations of sim.Chooser. A run is the default run (every question
// answered 0) plus a sparse list of deviations; a strategy is a way to pick such lists.
//
//	strategy     decides                                      good at
//	default      nothing: answers 0                           the length of a run
//	random       each boundary anew, uniformly                races with wide windows
//	sticky       a switch now and then, dense or rare         long preemptions, speed
//	pct          priorities that change at few boundaries     bugs of a small depth, with a bound
//	arriving     the same at more boundaries, some in order   interrupts at one certain place
//	pos          priorities drawn anew after each race        orders that matter, and no others
//	guided       mutations of runs that showed something new  chains of rare steps
//	overtake     conflicting accesses turned around, pairwise  engines of text: many steps, few conflicts
//	deviations   every schedule of at most k deviations       small witnesses, proofs up to k
//	portfolio    all of the above, each a share of the time   unknown bugs
//
//	states       every answer from every reachable state,     proofs; with Bound of at most
//	             once                                         k deviations, with Sleep in fewer runs
//	bounded      every schedule of at most k deviations,      the same, where states can't be
//	             one of each class                            compared
//	full         one schedule of each class of schedules      proofs of small scenarios
//	             that differ in the order of commuting steps
//
//	Timed        the mover with the least clock goes next     measuring; it searches nothing
//
//	Exact        replays a Recording of this build            a mismatch is a bug of the simulator
//	Anchored     replays a file's anchors, by label           reports a mismatch
//	Chain        replays anchors, each counted from the last  for shrinkers: a list may be cut anywhere
//	Prefix       replays the first answers of a recording     then another strategy decides
//	Sparse       plays any list, picks modulo N               generators and shrinkers
//
//	Recorder     records the deviations (or all answers)
//	Labeller     turns them into anchors, and links of a Chain
//	Spot         makes an anchor of one question, also of a default answer
//	NoHold       forces each hold to 0, which must change nothing
//
// What it is not: it doesn't know what a mover is. It distinguishes only that sources
// are drawn by arrival, that few of the stores that CPUs hold wait, and for long, and
// everything else by choice, and that some text is watched. States, bounded and full answer
// that CPUs hold stores (sim.Buffer), and count that as no deviation: where each store takes
// effect at once, it is as if none were held.
//
// Its rule: run number i is a function of (Params, i) and nothing else, so a result
// doesn't depend on the number of workers. Strategies that enumerate or learn
// (deviations, guided, portfolio) get their run numbers in order, with the result of
// each run. To use many workers, make Shards instances, a constant, and spread those.
//
// The second rule: a hold changes nothing observable. Seq counts held questions, but a
// hold counts Step questions only. So a strategy plans ahead in Step questions, whose
// number it always knows: Seq less the questions of the other kinds, which are never
// held. A hold should cover every change that the strategy ignores (sim.Steady,
// sim.Through), because a question costs as much as five held boundaries.
//
// Its limits: no search strategy follows time. A strategy that needs footprints (pos,
// and guided in some runs) has to observe each step (ObserverOf), and is several times
// slower than the others.
package sched
