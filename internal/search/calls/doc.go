// Package calls repeats the run of a replay on a kernel's own engine, and says which functions of it called which, at
// which lines of its C.
//
// What it is not: it judges nothing, and explains nothing (traces/view).
//
// Its rule: the run is the replay's, to the digest.
//
// Its limit: of a long run the first 100,000 calls are kept.
package calls
