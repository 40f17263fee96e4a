// Package bisect finds the first patch of a series with which a kernel's engine does something wrong: kpsim bisect.
//
// What it is: a series (mails, commits of a repository, or sets of objects) is a list of steps, each a kernel with
// objects. The question is one: whether a witness' property is broken by the step's kernel and not by that of the first
// step. Halving the list answers it in a few steps.
//
// What it is not: a search for the question, which is a review's (package review), and no compiler (linux/compile).
//
// Its rule: every step is compared with the first one, not with its neighbour, and by the same runs. A step that can't
// be compiled or laid over the kernel is passed over; if it hides the culprit, all patches that may be it are named.
//
// # Limits
//
// A find that comes, goes and comes again is found once. A step whose runs show the find too rarely counts as good.
// Commits are compiled with the headers of one release, so those that change other headers don't compile.
package bisect
